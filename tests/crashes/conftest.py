# SPDX-License-Identifier: Apache-2.0
"""One node with a cloud of its own, for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.testing.compute_api import ComputeApi

from .victim import Victim


@pytest.fixture
def cloud() -> Iterator[ComputeApi]:
    with ComputeApi(report_interval=1.0) as api:
        yield api


@pytest.fixture
def victim(tmp_path: Path, cloud: ComputeApi) -> Iterator[Victim]:
    """A node that has not been started yet."""
    node = Victim(tmp_path / "node", cloud, "cmp-7")
    yield node
    node.destroy()
    assert not node.daemons()


@pytest.fixture
def running(victim: Victim) -> Victim:
    """A node that runs and is enabled, with nothing unsettled."""
    victim.act("start")
    assert victim.wait_for_quiet()
    return victim
