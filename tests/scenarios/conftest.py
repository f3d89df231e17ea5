# SPDX-License-Identifier: Apache-2.0
"""A compute node in a temporary directory: the real agent, a stand-in daemon, the embedded cloud."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node

AGENT = Path(__file__).parents[2] / "heartbeat" / "nova-compute"


@pytest.fixture
def cloud() -> Iterator[ComputeApi]:
    """The cloud, with a row for the node."""
    with ComputeApi() as api:
        api.add("cmp-7", alive=False)
        yield api


@pytest.fixture
def node(tmp_path: Path, cloud: ComputeApi) -> Iterator[Node]:
    """The node; its row lives and dies with its daemon."""
    node = Node(tmp_path, AGENT, cloud.credentials(), "cmp-7", hold="2s", api_timeout="2s")
    cloud.follow(cloud.row("cmp-7"), node.is_alive, first_report=0.3)
    yield node
    node.clean_up()
