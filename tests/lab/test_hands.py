# SPDX-License-Identifier: Apache-2.0
"""An administrator's hands on the service itself, with Pacemaker's leave or behind its back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from labkit.cluster import Cluster
from labkit.compute import CONFIG
from labkit.errors import wait_for
from labkit.lab import Lab
from labkit.node import Process
from labkit.report import Entry
from labkit.resource import Resource
from words import HOLD, assert_disabled_by_us, assert_in_service, assert_stays_in_service, writes


@pytest.fixture
def compute(compute: Resource, cluster: Cluster) -> Iterator[Resource]:
    """The resource; whatever the story leaves, the cluster manages it again afterwards."""
    yield compute
    cluster.set("maintenance-mode", None)
    cluster.run("crm_standby", f"--node={compute.node.name}", "--delete")
    compute.set_managed(True)


def test_standby(compute: Resource, cluster: Cluster, story: Entry) -> None:
    """Standby; back again."""
    mark = compute.journal.mark()
    cluster.run("crm_standby", f"--node={compute.node.name}", "--update=on")
    assert compute.wait_for_action("stop", mark).code == 0
    assert_disabled_by_us(compute, within=0)
    assert not compute.may_be_chosen
    mark = compute.journal.mark()
    cluster.run("crm_standby", f"--node={compute.node.name}", "--delete")
    assert compute.wait_for_action("start", mark).code == 0
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)


def test_killed_in_maintenance_mode(compute: Resource, cluster: Cluster, story: Entry) -> None:
    """Maintenance mode; ended by hand, which nobody minds; the mode ends, and Pacemaker starts it."""
    with in_maintenance(cluster):
        ended(compute)
        time.sleep(3)
        assert compute.process is None
        assert compute.actions == []
        assert compute.row.is_enabled, "no stop of ours: the row is as it was"
        mark, end = compute.journal.mark(), time.monotonic()
    start = compute.wait_for_action("start", mark)
    assert start.code == 0
    story.notes.append(f"running again {time.monotonic() - end:.0f} s after the end of the mode")
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)


def test_restarted_by_hand_in_maintenance_mode(
    compute: Resource, cluster: Cluster, lab: Lab, story: Entry
) -> None:
    """Maintenance mode; the agent's own stop by hand, a start without the agent; the mode ends."""
    with in_maintenance(cluster):
        assert compute.force("stop") == 0
        assert compute.process is None
        assert_disabled_by_us(compute, within=0)
        by_hand(compute, lab)
        wait_for("the row to be up", lambda: compute.row.is_up, 60, every=0.5)
        assert_disabled_by_us(compute, within=0)
        end = time.monotonic()
    wait_for("the row to be enabled", lambda: compute.row.is_enabled, 60, every=0.2)
    story.notes.append(f"adopted: enabled {time.monotonic() - end:.0f} s after the end of the mode")
    wait_for("Placement to know", lambda: compute.may_be_chosen, 5)
    assert compute.actions == []
    assert_stays_in_service(compute, HOLD)


def test_stopped_by_hand_while_unmanaged(compute: Resource, lab: Lab, story: Entry) -> None:
    """Unmanaged, beside recurring monitors: the agent's own stop by hand, a start without the agent."""
    compute.set_managed(False)
    assert compute.force("stop") == 0
    assert_disabled_by_us(compute, within=0)
    failure = compute.wait_for_action("monitor", compute.mark)
    assert failure.code == 7
    time.sleep(3)
    assert [action.name for action in compute.actions if action.name != "monitor"] == []
    assert len(writes(compute.requests)) == 1

    by_hand(compute, lab)
    begin = time.monotonic()
    wait_for("the row to be enabled", lambda: compute.row.is_enabled, 90, every=0.2)
    story.notes.append(f"adopted: enabled {time.monotonic() - begin:.0f} s after its start")
    wait_for("Placement to know", lambda: compute.may_be_chosen, 5)
    compute.refresh()  # a cleanup passes by a failure that has expired, and Pacemaker never comes to rest
    compute.set_managed(True)
    compute.cluster.wait()
    assert [action.name for action in compute.actions if action.name != "monitor"] == []
    assert_stays_in_service(compute, HOLD)


def test_stopped_by_hand_beside_a_monitor(compute: Resource, story: Entry) -> None:
    """The agent's own stop by hand while Pacemaker manages it: recovered."""
    mark = compute.journal.mark()
    assert compute.force("stop") == 0
    start = compute.wait_for_action("start", mark)
    assert start.code == 0
    assert all(action.code == 0 for action in compute.actions if action.name == "stop")
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)


def test_started_by_hand_after_our_stop(compute: Resource, lab: Lab, story: Entry) -> None:
    """Stopped by Pacemaker, started behind its back: the next probe finds it, and it is stopped again."""
    assert compute.stop().code == 0
    assert_disabled_by_us(compute, within=0)
    by_hand(compute, lab)
    wait_for("the row to be up", lambda: compute.row.is_up, 60, every=0.5)
    assert compute.check() == 0, "a monitor by hand"
    mark = compute.journal.mark()
    compute.refresh()
    assert compute.wait_for_action("stop", mark).code == 0
    assert compute.process is None
    compute.settle(HOLD + 40)
    assert_disabled_by_us(compute, within=0)
    story.notes.append("the probe finds it, Pacemaker stops it, the row stays disabled by us")
    assert compute.start().code == 0
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)


@contextmanager
def in_maintenance(cluster: Cluster) -> Iterator[None]:
    """Pacemaker keeps its hands off everything."""
    cluster.set("maintenance-mode", "true")
    cluster.wait()
    yield
    cluster.set("maintenance-mode", None)


def ended(compute: Resource) -> None:
    """As `kill` does by hand."""
    process = compute.process
    assert process is not None
    process.end()


def by_hand(compute: Resource, lab: Lab) -> Process:
    """Somebody starts nova-compute without the agent."""
    binary = lab.nova_venv.bin("nova-compute")
    log = compute.node.home / "log" / "by-hand.log"
    return compute.node.spawn([binary, f"--config-file={CONFIG}"], log, user=lab.compute_user)
