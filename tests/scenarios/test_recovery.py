# SPDX-License-Identifier: Apache-2.0
"""What an operator sees of a compute host that Pacemaker stops, starts and recovers."""

from __future__ import annotations

from ocf_agents.guard import marker

from .conftest import Node


def test_stop_and_start_disable_and_enable_the_host(node: Node) -> None:
    assert node.resource.run("start").code == 0
    row = node.cloud.row("cmp-7")
    assert not row.disabled

    assert node.resource.run("stop").code == 0
    assert row.disabled
    found = marker.parse(row.reason)
    assert found is not None
    assert found.belongs_to("nova-compute", "cmp-7")
    assert node.wait_for_quiet()

    assert node.resource.run("start").code == 0
    assert not row.disabled
    assert node.is_alive()
