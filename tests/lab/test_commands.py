# SPDX-License-Identifier: Apache-2.0
"""The command `ocf-agents`, as an operator types it, on a node of a living cluster and beside a real Nova."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from labkit.command import command, opinion
from labkit.control import Control
from labkit.errors import wait_for
from labkit.lab import Lab
from labkit.node import Node
from labkit.report import Entry
from labkit.resource import STATE_DIR, Resource
from words import (
    HOLD,
    OPERATIONS,
    assert_disabled_by_us,
    assert_in_service,
    assert_stays_in_service,
    bring_to_rest,
    writes,
)

WORDS = "RAM swap, ticket 4711"
DONE, PROBLEM, BAD_INPUT, NOT_FOUND, REFUSED = 0, 1, 2, 3, 6


def told(node: Node, *words: str) -> Any:
    """The one resource in the answer as JSON."""
    [one] = json.loads(command(node, *words, "--json").text)["resources"]
    return one


@pytest.fixture
def node2(lab: Lab) -> Node:
    return lab.node("node2")


def test_while_it_runs(compute: Resource, node1: Node, node2: Node, story: Entry) -> None:
    """Commands: status, explain, history, list, run and a status from elsewhere, while it runs."""
    process = compute.process
    assert process is not None
    said = command(node1, "status")
    assert said.title == "nova-compute on node1"
    assert said["service"].startswith(f"running, pid {process.pid}, for ")
    assert said["row"] == "enabled, up"
    assert "disabled by" not in said.text
    assert said["record"].startswith("wants the row enabled, generation ")
    assert said["unsettled"] == "no request"
    assert said["next start"].startswith("leaves the row")

    said = command(node1, "explain", "nova-compute")
    assert said["is"] == "enabled: the row is enabled"
    assert said["now"].startswith("leaves the row")
    assert said["next stop"].startswith("sends a request to disable it")

    said = command(node2, "status", "--host", "node1", "--cloud", "lab")
    assert (said.title, said["row"]) == ("node1", "enabled, up")
    assert said["next start"] == "leaves the row, it is enabled"

    lines = [json.loads(line) for line in command(node1, "history", "-n", "5", "--json").text.splitlines()]
    assert lines == compute.decisions[-5:]
    assert len(command(node1, "history").text.splitlines()) > 5
    assert "  ocf:heartbeat:nova-compute  " in command(node1, "list").text
    for level in ("0", "10", "20"):
        words = ("run", "nova-compute", "monitor", "--resource", "nova-compute", "--level", level)
        assert command(node1, *words).text.startswith("monitor: 0 (success) in "), level
    assert writes(compute.requests) == [], "nothing of this changes anything"
    assert [str(action) for action in compute.actions] == []
    story.notes.append(f"status from node2: {said['row']}")


def test_while_it_is_stopped(compute: Resource, node1: Node, node2: Node, story: Entry) -> None:
    """Commands: stopped by the cluster; every view names the agent, and what the next start does."""
    assert compute.stop().code == 0
    assert_disabled_by_us(compute, within=0)
    compute.wait_until_nobody_works_on_it(HOLD + 40)
    who = "the agent of resource nova-compute, when its service was stopped, since 20"
    said = command(node1, "status")
    assert (said["service"], said["row"]) == ("not running", "disabled, up")
    assert said["disabled by"].startswith(who)
    assert said["record"].startswith("wants the row disabled, generation ")
    assert said["helper"] == "none at work, none needed"
    assert said["unsettled"] == "no request"
    assert said["next start"] == "sends a request to enable it: the disable is ours"

    said = command(node1, "explain")
    assert said["is"] == "ours: the reason is, exactly, a marker of this resource and this host"
    assert said["now"] == "leaves the row: disabled by us already"
    assert said["next start"] == "sends a request to enable it: the disable is ours"
    assert said["next stop"] == "leaves the row: disabled by us already"

    said = command(node2, "status", "--host", "node1", "--cloud", "lab")
    assert said["disabled by"].startswith(who)
    assert said["record"].startswith("on node1 itself")
    assert said["next start"] == "of resource nova-compute on node1 enables it"

    said = command(node1, "run", "nova-compute", "monitor", "--resource", "nova-compute", code=7)
    assert said.text.startswith("monitor: 7 (not running) in ")
    assert compute.start().code == 0
    assert_in_service(compute)


def test_while_an_operator_has_disabled_it(compute: Resource, node1: Node, node2: Node, story: Entry) -> None:
    """Commands: somebody has disabled it; their words, from here and from elsewhere, and since when."""
    compute.cloud.disable(compute.host, WORDS)
    said = command(node1, "status")
    assert said["disabled by"] == f"somebody, '{WORDS}'", "nobody has read it yet"
    assert said["next start"].startswith("leaves the row")
    assert command(node1, "release", code=REFUSED).errors.count(WORDS) == 1
    refused = command(node1, "hold", "--reason", "mine", code=REFUSED)
    assert WORDS in refused.errors
    assert compute.row.reason == WORDS

    assert compute.stop().code == 0
    compute.wait_until_nobody_works_on_it(HOLD + 40)
    assert command(node1, "status")["disabled by"].startswith(f"somebody, '{WORDS}', read so since 20")
    assert command(node1, "explain")["is"].startswith("foreign: ")
    assert told(node2, "status", "--host", "node1", "--cloud", "lab")["disabled_by"]["words"] == WORDS
    assert compute.start().code == 0
    assert compute.row.reason == WORDS
    assert writes(compute.requests) == []


def test_a_hold(compute: Resource, node1: Node, node2: Node, story: Entry) -> None:
    """Commands: held by zoe; the words stay through stop, start and crash, until the release."""
    held = command(node1, "hold", "nova-compute", "--by", "zoe", "--reason", WORDS)
    assert held.text == f"node1 is disabled, and held by zoe: {WORDS}\n"
    reason = compute.row.reason or ""
    assert reason.startswith("ocf-agents hold: by=zoe at=")
    assert reason.endswith(f": {WORDS}")

    assert compute.stop().code == 0
    assert compute.row.reason == reason
    assert "the cluster has stopped nova-compute here" in command(node1, "release", code=REFUSED).errors
    assert compute.start().code == 0
    assert compute.row.reason == reason
    failure, stop, start = compute.crash()
    assert (failure.code, stop.code, start.code) == (7, 0, 0)
    wait_for("the row to be up", lambda: compute.row.is_up, 90, every=0.5)
    assert compute.row.reason == reason
    for said in (command(node1, "status"), command(node2, "status", "--host", "node1", "--cloud", "lab")):
        assert said["disabled by"].startswith(f"zoe, with a hold: '{WORDS}', since 20")

    released = command(node1, "release", "nova-compute")
    assert released.text == "node1 is enabled; the hold of zoe is over\n"
    assert_in_service(compute)
    assert command(node1, "release").text == "it is enabled already\n"
    assert_stays_in_service(compute, HOLD)


def test_a_hold_over_a_disable_of_ours(compute: Resource, node1: Node, story: Entry) -> None:
    """Commands: held while the cluster has it stopped; the start leaves the hold, the release ends it."""
    assert compute.stop().code == 0
    assert_disabled_by_us(compute, within=0)
    compute.wait_until_nobody_works_on_it(HOLD + 40)
    # Nova still believes the stopped compute to be up: the row has the words at once, the answer comes late.
    held = command(node1, "hold", "--by", "zoe", "--reason", WORDS)
    assert held.text.startswith(f"node1 is disabled, and held by zoe: {WORDS}\n")
    assert compute.start().code == 0
    compute.settle(HOLD + 40)
    assert command(node1, "status")["disabled by"].startswith(f"zoe, with a hold: '{WORDS}'")
    command(node1, "release")
    # What Nova told the compute while it was down waits for it, and may overtake what comes after: Nova puts
    # that right in Placement within a minute.
    wait_for("Placement lets the host be chosen", lambda: compute.may_be_chosen, 90)
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)


@pytest.fixture
def advised(compute: Resource) -> Iterator[Resource]:
    """The resource with the timeouts that README advises."""
    timeouts = {"start": "240s", "stop": "240s", "monitor": "30s"}
    for action, timeout in timeouts.items():
        compute.set_timeout(action, timeout)
    compute.cluster.wait()
    yield compute
    for action in timeouts:
        compute.set_timeout(action, OPERATIONS[action].rpartition("timeout=")[2])
    compute.cluster.wait()


def test_doctor(advised: Resource, node1: Node, story: Entry) -> None:
    """Commands: doctor names what is wrong here, and a timeout that is made too short, and no more."""
    compute = advised
    found = opinion(node1)
    assert found.code == PROBLEM
    assert found.problems == ["fencing: stonith-enabled is false: a stop that fails is never resolved"]
    assert [one.partition(":")[0] for one in found.warnings] == ["clone"], "it is none, to be on one node"
    story.notes.append(f"warned: {'; '.join(found.warnings)}")

    for action, timeout in (("start", "40s"), ("stop", "30s"), ("monitor", "3s")):
        compute.set_timeout(action, timeout)
        found = opinion(node1)
        mine = [one for one in [*found.problems, *found.warnings] if one.startswith(action)]
        assert len(mine) == 1, found
        assert f"its timeout is {timeout.rstrip('s')} s" in mine[0]
        story.notes.append(mine[0])
        compute.set_timeout(action, "240s")

    compute.cloud.disable(compute.host, WORDS)
    assert [one for one in opinion(node1).warnings if one.startswith("now: ") and WORDS in one]
    compute.cloud.enable(compute.host)
    compute.cluster.wait()


@pytest.fixture
def renamed(compute: Resource, control: Control) -> Iterator[Resource]:
    """The resource under another name in the cluster, stopped; it has its own again afterwards."""
    assert compute.stop().code == 0
    assert_disabled_by_us(compute, within=0)
    compute.wait_until_nobody_works_on_it(HOLD + 40)
    compute.rename("compute")
    yield compute
    if compute.name != "nova-compute":
        if compute.is_active:
            compute.stop()
        compute.rename("nova-compute")
    bring_to_rest(compute, control)
    compute.node.run("sh", "-c", f"rm -f {STATE_DIR}/compute.*")


def test_adopt_after_a_renaming(renamed: Resource, node1: Node, story: Entry) -> None:
    """Commands: renamed while stopped, adopted, started; renamed back, started, adopted."""
    compute = renamed
    shown = command(node1, "adopt")
    assert shown.text.startswith("disabled by resource nova-compute on host node1, since 20")
    assert "the agent of another resource or host" in command(node1, "status", "compute")["disabled by"]
    assert "--from-resource nova-compute" in command(node1, "adopt", "--yes", code=BAD_INPUT).errors
    adopted = command(node1, "adopt", "--yes", "--from-resource", "nova-compute")
    assert adopted.text.startswith("the disable is now compute's own: its next start enables the host")
    assert_disabled_by_us(compute, within=0)
    assert compute.start().code == 0
    assert_in_service(compute)

    assert compute.stop().code == 0
    assert_disabled_by_us(compute, within=0)
    compute.wait_until_nobody_works_on_it(HOLD + 40)
    compute.rename("nova-compute")
    assert compute.start().code == 0
    wait_for("the row to be up", lambda: compute.row.is_up, 90, every=0.5)
    reason = compute.row.reason or ""
    assert reason.startswith("ocf-agents disabled: resource=compute "), "to the guard it is somebody else's"
    command(node1, "adopt", "nova-compute", "--yes", "--from-resource", "compute")
    assert_in_service(compute)
