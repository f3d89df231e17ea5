# SPDX-License-Identifier: Apache-2.0
"""nova-compute as a unit of systemd on a remote node, whose pacemaker_remoted is a unit too."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from labkit import compute as nova
from labkit.cluster import Cluster
from labkit.command import command
from labkit.control import Control
from labkit.lab import Lab
from labkit.power import PowerSwitch, fencing
from labkit.remote import SystemdRemoteNode
from labkit.report import Entry
from labkit.resource import STATE_DIR, Resource
from labkit.systemd import COMPUTE, DROP_IN
from words import (
    HOLD,
    assert_disabled_by_us,
    assert_in_service,
    assert_stays_in_service,
    bring_to_rest,
    establish,
    writes,
)


@pytest.fixture(scope="module")
def node(lab: Lab, cluster: Cluster) -> Iterator[SystemdRemoteNode]:
    """The node, online in the cluster."""
    node = lab.systemd_remote
    node.kill()
    nova.provide(node, lab.control.settings)
    node.add_compute(lab.nova_venv.bin("nova-compute"), lab.compute_user)
    node.join(cluster)
    yield node
    node.leave(cluster)


@pytest.fixture(scope="module")
def switch(lab: Lab, cluster: Cluster, node: SystemdRemoteNode) -> Iterator[PowerSwitch]:
    """The cluster can fence the node."""
    with fencing(PowerSwitch(lab.layout.power, [node], cluster)) as switch:
        yield switch


@pytest.fixture(scope="module")
def resource(
    lab: Lab, cluster: Cluster, node: SystemdRemoteNode, switch: PowerSwitch, parameters: dict[str, str]
) -> Iterator[Resource]:
    journal = node.journal(cluster)
    resource = Resource("unit-compute", node, cluster, lab.control.cloud, lab.control.tap, journal)
    node.run("rm", "-rf", STATE_DIR)
    establish(resource, {**parameters, "unit": "nova-compute"}, lab.control)
    yield resource
    resource.delete()


@pytest.fixture
def compute(resource: Resource, control: Control) -> Resource:
    """nova-compute on the remote node: running, enabled, up, nothing under way."""
    return bring_to_rest(resource, control)


def test_a_unit_on_a_remote_node(
    compute: Resource, node: SystemdRemoteNode, switch: PowerSwitch, story: Entry
) -> None:
    """systemd, remote node: stopped, started, killed and recovered, and nobody is fenced."""
    process = compute.process
    assert process is not None
    assert int(node.show(COMPUTE, "MainPID")) == process.pid
    assert node.path(DROP_IN).exists()
    assert compute.stop().code == 0
    assert_disabled_by_us(compute, within=0)
    assert node.show(COMPUTE, "ActiveState") == "inactive"
    assert not node.path(DROP_IN).exists()
    said = command(node, "status", "unit-compute")
    assert (said.title, said["service"]) == (f"unit-compute on {node.name}", "not running")
    assert said["disabled by"].startswith("the agent of resource unit-compute, when its service was stopped")
    assert compute.start().code == 0
    assert_in_service(compute)
    failure, stop, start = compute.crash()
    assert (failure.code, stop.code, start.code) == (7, 0, 0)
    assert node.show(COMPUTE, "NRestarts") == "0"
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)
    assert switch.fenced == []


def test_a_shutdown_of_a_remote_host(
    compute: Resource, node: SystemdRemoteNode, cluster: Cluster, switch: PowerSwitch, story: Entry
) -> None:
    """systemd, remote node: its connection is stopped, the host shuts down; nobody is fenced.

    Pacemaker 2.1.5 does not wait for the cluster when a remote node shuts down by itself (mended in 2.1.6).
    """
    node.set_connection(cluster, "Stopped")
    cluster.wait()
    assert_disabled_by_us(compute, within=0)
    [disable] = writes(compute.requests)
    assert disable.seconds is not None
    assert disable.seconds < 1, "sent after the end of the service it takes a minute"
    assert [(action.name, action.code) for action in compute.actions] == [("stop", 0)]
    begin = time.monotonic()
    node.shut_down()
    story.notes.append(f"the shutdown took {time.monotonic() - begin:.1f} s")
    mark = compute.journal.mark()
    node.start()
    node.set_connection(cluster, "Started")
    node.wait_until_online(cluster)
    assert compute.wait_for_action("start", mark).code == 0
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)
    assert switch.fenced == []
