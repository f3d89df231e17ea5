# SPDX-License-Identifier: Apache-2.0
"""Every test of this folder runs on the embedded cloud, and on a real one where the environment names one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.cloud import CLOUDS, Access, Client


@pytest.fixture(scope="module", params=sorted(CLOUDS))
def access(request: pytest.FixtureRequest) -> Iterator[Access]:
    with CLOUDS[request.param]() as access:
        yield access


@pytest.fixture(scope="module")
def connected(access: Access) -> Client:
    return Client(access)


@pytest.fixture
def nova(connected: Client) -> Iterator[Client]:
    connected.restore()
    yield connected
    connected.restore()
