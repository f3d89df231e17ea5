# SPDX-License-Identifier: Apache-2.0
"""The public cases (docs/cases.md) on the real agent: real processes, the embedded cloud."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node

from .place import clean_up, is_success, make_node


@pytest.fixture
def cloud() -> Iterator[ComputeApi]:
    with ComputeApi() as api:
        yield api


@pytest.fixture
def node(tmp_path: Path, cloud: ComputeApi) -> Iterator[Node]:
    """A node, stopped."""
    node = make_node(tmp_path, cloud)
    yield node
    clean_up(node)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, ComputeApi]]:
    """A node whose service runs, started once for a module, and its cloud."""
    with ComputeApi() as cloud:
        node = make_node(tmp_path_factory.mktemp("node"), cloud)
        assert is_success(node.run("start"))
        yield node, cloud
        clean_up(node)
