# SPDX-License-Identifier: Apache-2.0
"""nova-compute on a node that runs pacemaker_remoted and no corosync, in a cluster that fences."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from labkit import compute as nova
from labkit.cluster import Cluster
from labkit.control import Control
from labkit.errors import wait_for
from labkit.lab import Lab
from labkit.power import PowerSwitch, fencing
from labkit.remote import RemoteNode
from labkit.report import Entry
from labkit.resource import STATE_DIR, Resource
from words import (
    HOLD,
    assert_disabled_by_us,
    assert_in_service,
    assert_stays_in_service,
    bring_to_rest,
    establish,
    writes,
)

WORDS = "they have cut the cable, ticket 4712"


@pytest.fixture(scope="module")
def remote(lab: Lab, cluster: Cluster) -> Iterator[RemoteNode]:
    """The node, online in the cluster."""
    node = lab.remote
    node.kill()
    nova.provide(node, lab.control.settings)
    node.join(cluster)
    yield node
    lab.network.heal(node.name)
    node.leave(cluster)


@pytest.fixture(scope="module")
def switch(lab: Lab, cluster: Cluster, remote: RemoteNode) -> Iterator[PowerSwitch]:
    """What the cluster has fenced, and can."""
    with fencing(PowerSwitch(lab.layout.power, [remote], cluster)) as switch:
        yield switch


@pytest.fixture(scope="module")
def resource(
    lab: Lab, cluster: Cluster, remote: RemoteNode, switch: PowerSwitch, parameters: dict[str, str]
) -> Iterator[Resource]:
    resource = Resource(
        "remote-compute", remote, cluster, lab.control.cloud, lab.control.tap, remote.journal(cluster)
    )
    remote.run("rm", "-rf", STATE_DIR)
    establish(resource, parameters, lab.control)
    yield resource
    resource.delete()


@pytest.fixture
def compute(resource: Resource, control: Control) -> Resource:
    """nova-compute on the remote node: running, enabled, up, nothing under way."""
    return bring_to_rest(resource, control)


def test_stop_and_start_on_a_remote_node(
    compute: Resource, cluster: Cluster, switch: PowerSwitch, story: Entry
) -> None:
    """Remote node: stopped, then started. A cluster node tells the metadata, as user hacluster."""
    stop = compute.stop()
    assert stop.code == 0
    assert_disabled_by_us(compute, within=0)
    [disable] = writes(compute.requests)
    assert disable.seconds is not None
    assert disable.seconds < 1, "sent after the kill it takes a minute"
    assert compute.start().code == 0
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)
    agent = "/usr/lib/ocf/resource.d/heartbeat/nova-compute"
    words = ["setpriv", "--reuid=hacluster", "--regid=haclient", "--clear-groups", "--", agent, "meta-data"]
    for node in cluster.nodes:
        assert '<resource-agent name="nova-compute"' in node.run(*words).stdout
        assert "Failed to get metadata" not in cluster.journal(node).log.read_text(encoding="utf-8")
    assert switch.fenced == []


def test_crash_on_a_remote_node(compute: Resource, switch: PowerSwitch, story: Entry) -> None:
    """Remote node: killed; Pacemaker recovers it, and fences nobody."""
    failure, stop, start = compute.crash()
    assert failure.code != 0
    assert (stop.code, start.code) == (0, 0)
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)
    assert switch.fenced == []


@pytest.mark.parametrize("is_attended", [False, True], ids=["nobody", "an operator disables"])
def test_a_remote_node_is_cut_off(
    lab: Lab,
    compute: Resource,
    remote: RemoteNode,
    switch: PowerSwitch,
    cluster: Cluster,
    story: Entry,
    is_attended: bool,
) -> None:
    """Remote node: its cable is pulled; it is fenced, comes back, and is started again."""
    before, mark, begin = len(switch.fenced), compute.journal.mark(), compute.tap.now()
    lab.network.cut(remote.name)
    wait_for("the fencing", lambda: len(switch.fenced) > before, 60)
    story.notes.append(f"fenced {switch.fenced[-1].at - begin:.1f} s after the cut")
    with compute.cloud.elsewhere() as operator:
        if is_attended:
            operator.submit(compute.cloud.disable, compute.host, WORDS)
            wait_for("the operator's words in the row", lambda: compute.row.reason == WORDS, 10)
            story.notes.append("meanwhile an operator disables the host")
        wait_for("the node to boot", lambda: remote.is_up, 20)
        lab.network.heal(remote.name)
        plugged = time.monotonic()
        start = compute.wait_for_action("start", mark)
        assert start.code == 0
    story.notes.append(f"running again {time.monotonic() - plugged:.0f} s after the cable is back")
    assert [fencing.node for fencing in switch.fenced[before:]] == [remote.name]
    assert [action.name for action in compute.actions if action.name != "monitor"] == ["start"]
    assert writes(compute.requests) == [], "it was enabled all the time, or it is somebody else's disable"
    if is_attended:
        wait_for("the row to be up", lambda: compute.row.is_up, 90, every=0.5)
        compute.settle(HOLD + 40)
        row = compute.row
        assert (row.status, row.reason) == ("disabled", WORDS)
    else:
        assert_in_service(compute)
        assert_stays_in_service(compute, HOLD)


def test_a_stop_is_ordered_while_a_remote_node_is_cut_off(
    lab: Lab, compute: Resource, remote: RemoteNode, switch: PowerSwitch, cluster: Cluster, story: Entry
) -> None:
    """Remote node: its cable is pulled, and it is to be stopped; it is fenced, and no stop runs any more."""
    before = len(switch.fenced)
    lab.network.cut(remote.name)
    compute.set_role("Stopped")
    wait_for("the fencing", lambda: len(switch.fenced) > before, 60)
    wait_for("the node to boot", lambda: remote.is_up, 20)
    lab.network.heal(remote.name)
    remote.wait_until_online(cluster)
    cluster.wait()
    assert [fencing.node for fencing in switch.fenced[before:]] == [remote.name]
    assert compute.process is None
    assert [action.name for action in compute.actions if action.code == 0] == []
    assert writes(compute.requests) == [], "nobody was left to send one"
    assert compute.row.is_enabled, "as any host that has lost its power, and not as one that was stopped"
    story.notes.append(f"row while it is stopped: {compute.row}")
    assert compute.start().code == 0
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)
