# SPDX-License-Identifier: Apache-2.0
"""An embedded cloud with one compute host, and rows that are read through the real openstacksdk."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Callable

import pytest

from ocf_agents.openstack.cloud import CloudSettings, hush
from ocf_agents.openstack.rows import ComputeRows
from ocf_agents.testing.compute_api import ComputeApi, ServiceRow

HOST = "node1"
MakeRows = Callable[..., ComputeRows]


@pytest.fixture(scope="session", autouse=True)
def _loaded() -> None:
    """Load openstacksdk before anything is timed: a busy machine takes seconds for it."""
    hush()
    for module in ("openstack.connection", "openstack.config.loader", "openstack.compute.v2._proxy"):
        importlib.import_module(module)


@pytest.fixture
def api() -> Iterator[ComputeApi]:
    with ComputeApi() as api:
        api.add(HOST)
        yield api


@pytest.fixture
def row(api: ComputeApi) -> ServiceRow:
    return api.row(HOST)


@pytest.fixture
def make_rows(api: ComputeApi) -> MakeRows:
    def make(host: str = HOST, timeout: float = 10.0, **settings: object) -> ComputeRows:
        given = {**api.credentials(), **settings}
        return ComputeRows(CloudSettings(**given), host, timeout=timeout)  # type: ignore[arg-type]

    return make


@pytest.fixture
def rows(make_rows: MakeRows) -> ComputeRows:
    return make_rows()
