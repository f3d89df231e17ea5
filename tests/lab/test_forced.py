# SPDX-License-Identifier: Apache-2.0
"""Somebody, a fencing agent as a rule, has told Nova that the host is down: forced_down."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from labkit.errors import wait_for
from labkit.journal import Action
from labkit.report import Entry
from labkit.resource import Resource
from words import (
    HOLD,
    assert_disabled_by_us,
    assert_in_service,
    assert_stays_in_service,
    assert_untouched,
    writes,
)

TOLD = "the row is forced down, which is left to whoever fenced the host"


@pytest.fixture
def forced(compute: Resource) -> Iterator[Resource]:
    """The resource; whatever the story leaves, Nova may call it up again afterwards."""
    yield compute
    compute.cloud.force_down(compute.host, False)


def test_forced_down_before_a_start(forced: Resource, story: Entry) -> None:
    """Forced down while it runs: nobody minds; stopped and started: enabled, and still forced down."""
    process = forced.process
    assert process is not None
    forced.cloud.force_down(forced.host, True)
    assert [forced.check() for _ in range(3)] == [0] * 3
    assert_untouched(forced, process.pid)
    assert forced.stop().code == 0
    assert_disabled_by_us(forced)
    start = forced.start()
    assert_told(forced, start, story)
    assert_let_go(forced, story)


def test_forced_down_while_it_starts(forced: Resource, story: Entry) -> None:
    """Stopped; forced down while the start waits for the row to be up."""
    assert forced.stop().code == 0
    assert_disabled_by_us(forced)
    mark = forced.journal.mark()
    forced.set_role("Started")
    wait_for("nova-compute", lambda: forced.process, 20)
    forced.cloud.force_down(forced.host, True)
    start = forced.wait_for_action("start", mark)
    assert_told(forced, start, story)
    assert_let_go(forced, story)


def assert_told(compute: Resource, start: Action, story: Entry) -> None:
    """The start succeeds, does not wait for what cannot come, undoes our disable, and nothing else."""
    assert start.code == 0
    assert any(line.startswith("WARNING") and TOLD in line for line in compute.told), compute.told
    row = compute.row
    assert (row.is_enabled, row.is_forced_down, row.state) == (True, True, "down")
    assert len(writes(compute.requests)) == 2, "our disable, and the enable that undoes it"
    story.notes.append(f"start 0 after {start.seconds:.1f} s with a warning: {TOLD}")


def assert_let_go(compute: Resource, story: Entry) -> None:
    """Whoever fenced it takes that back. Nova passes the enable on to Placement within its minute."""
    compute.settle(HOLD + 40)
    assert compute.row.is_forced_down, "nothing of ours touches it"
    compute.cloud.force_down(compute.host, False)
    wait_for("the row to be up", lambda: compute.row.is_up, 60, every=0.5)
    back = compute.tap.now()
    wait_for("Placement to know", lambda: compute.may_be_chosen, 90, every=0.5)
    story.notes.append(f"taken back: chosen again {compute.tap.now() - back:.0f} s after the row was up")
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)
