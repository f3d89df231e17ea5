# SPDX-License-Identifier: Apache-2.0
"""nova-compute as a unit of systemd, which is PID 1 of the node, under a Pacemaker that is a unit too."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from labkit import compute as nova
from labkit.cluster import Cluster
from labkit.compute import CONFIG
from labkit.control import Control
from labkit.errors import wait_for
from labkit.lab import Lab
from labkit.report import Entry
from labkit.resource import STATE_DIR, Resource
from labkit.systemd import COMPUTE as UNIT
from labkit.systemd import DROP_IN, UNITS, SystemdNode
from words import HOLD, assert_in_service, assert_stays_in_service, bring_to_rest, establish, writes


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[Cluster]:
    """A cluster of one node that systemd has booted."""
    [node] = lab.systemd_cluster.nodes
    node.kill()
    nova.provide(node, lab.control.settings)
    assert isinstance(node, SystemdNode)
    node.add_compute(lab.nova_venv.bin("nova-compute"), lab.compute_user)
    lab.systemd_cluster.up()
    yield lab.systemd_cluster
    node.kill()


@pytest.fixture(scope="module")
def node(cluster: Cluster) -> SystemdNode:
    return cast(SystemdNode, cluster.nodes[0])


@pytest.fixture(scope="module")
def resource(lab: Lab, cluster: Cluster, node: SystemdNode) -> Iterator[Resource]:
    resource = Resource("nova-compute", node, cluster, lab.control.cloud, lab.control.tap)
    if resource.exists:
        resource.delete()
    node.run("rm", "-rf", STATE_DIR)
    parameters = {
        "unit": "nova-compute",
        "binary": lab.nova_venv.bin("nova-compute"),
        "config": CONFIG,
        "user": lab.compute_user,
        "cloud": "lab",
        "hold": f"{HOLD}s",
    }
    establish(resource, parameters, lab.control)
    yield resource
    if node.is_up:
        resource.delete()


@pytest.fixture
def compute(resource: Resource, cluster: Cluster, control: Control) -> Resource:
    """nova-compute as a unit under Pacemaker: running, enabled, up, nothing under way."""
    return bring_to_rest(resource, control)


def assert_ours(compute: Resource, within: float = 20) -> None:
    """The row bears our marker, `within` seconds from now at the latest."""
    wait_for("our disable in the row", lambda: not compute.row.is_enabled, within)
    assert (compute.row.reason or "").startswith(
        f"ocf-agents disabled: resource=nova-compute host={compute.host} "
    )


def main_pid(node: SystemdNode) -> int:
    return int(node.show(UNIT, "MainPID"))


def test_stop_and_start_of_a_unit(compute: Resource, node: SystemdNode, story: Entry) -> None:
    """systemd: stopped, then started."""
    process = compute.process
    assert process is not None
    assert main_pid(node) == process.pid
    assert node.path(DROP_IN).exists()
    stop = compute.stop()
    assert stop.code == 0
    assert_ours(compute, within=0)
    [disable] = writes(compute.requests)
    assert disable.seconds is not None
    assert disable.seconds < 1, "sent after the end of the service it takes a minute"
    assert node.show(UNIT, "ActiveState") == "inactive"
    assert compute.process is None
    assert not node.path(DROP_IN).exists()
    story.notes.append(f"the disable took {disable.seconds * 1000:.0f} ms, the stop {stop.seconds:.1f} s")
    assert compute.start().code == 0
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)


def test_a_crash_is_recovered_by_the_cluster_alone(
    compute: Resource, node: SystemdNode, story: Entry
) -> None:
    """systemd: SIGKILL to a unit that has Restart=always; Pacemaker recovers it, systemd does not."""
    failure, stop, start = compute.crash()
    assert (failure.code, stop.code, start.code) == (7, 0, 0)
    assert node.show(UNIT, "NRestarts") == "0"
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)


def test_a_masked_unit_fails_the_start(compute: Resource, node: SystemdNode, story: Entry) -> None:
    """systemd: masked while stopped; unmasked, it starts by itself."""
    assert compute.stop().code == 0
    text = node.path(f"{UNITS}/{UNIT}").read_text(encoding="utf-8")
    node.run("rm", f"{UNITS}/{UNIT}")
    node.systemctl("mask", UNIT)
    assert compute.start().code == 5
    node.systemctl("unmask", UNIT)
    node.path(f"{UNITS}/{UNIT}").write_text(text, encoding="utf-8")
    node.systemctl("daemon-reload")
    mark = compute.journal.mark()
    compute.clean_up()
    assert compute.wait_for_action("start", mark).code == 0
    assert_in_service(compute)


def test_a_nova_compute_by_hand(compute: Resource, node: SystemdNode, lab: Lab, story: Entry) -> None:
    """systemd: stopped; somebody starts nova-compute beside the unit: found, and stopped again."""
    assert compute.stop().code == 0
    binary = lab.nova_venv.bin("nova-compute")
    # With its groups: without them it cannot read its configuration, and is gone before a probe comes.
    node.spawn([binary, f"--config-file={CONFIG}"], Path("/var/log/nova/by-hand.log"), user=lab.compute_user)
    wait_for("nova-compute", lambda: compute.process, 20)
    assert node.show(UNIT, "ActiveState") == "inactive"
    mark = compute.journal.mark()
    compute.cluster.run("crm_resource", f"--resource={compute.name}", "--refresh")
    assert compute.wait_for_action("stop", mark).code == 0
    assert compute.process is None
    assert compute.start().code == 0
    assert main_pid(node) > 0
    assert_in_service(compute)


def test_systemd_executes_itself_anew_under_monitors(
    compute: Resource, node: SystemdNode, story: Entry
) -> None:
    """systemd: daemon-reexec and daemon-reload, again and again, while monitors run."""
    for _ in range(5):
        node.run("systemctl", "daemon-reexec", check=False)
        node.run("systemctl", "daemon-reload", check=False)
        assert compute.check() == 0
        time.sleep(1)
    assert [(action.name, action.code) for action in compute.actions] == []


def test_a_shutdown_of_the_host(compute: Resource, cluster: Cluster, node: SystemdNode, story: Entry) -> None:
    """systemd: the host shuts down; disabled before the network goes, and enabled after the boot."""
    begin = time.monotonic()
    cluster.shut_down(node)
    seconds = time.monotonic() - begin
    assert_ours(compute, within=0)
    [disable] = writes(compute.requests)
    assert disable.seconds is not None
    assert disable.seconds < 1
    stops = [action for action in compute.actions if action.name == "stop"]
    assert [action.code for action in stops] == [0]
    assert [action for action in compute.actions if action.name == "monitor"] == []
    story.notes.append(
        f"the shutdown took {seconds:.1f} s, its stop {stops[0].seconds:.1f} s; no monitor failed on the way"
    )
    mark = compute.journal.mark()
    cluster.start(node)
    assert compute.wait_for_action("start", mark).code == 0
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)
