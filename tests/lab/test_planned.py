# SPDX-License-Identifier: Apache-2.0
"""The administrator stops and starts the resource."""

from __future__ import annotations

from labkit.report import Entry
from labkit.resource import Resource
from words import (
    HOLD,
    LONG,
    assert_asked_little,
    assert_disabled_by_us,
    assert_in_service,
    assert_stays_in_service,
    writes,
)


def test_stop_and_start(compute: Resource, story: Entry) -> None:
    """Stopped, then started."""
    stop = compute.stop()
    assert stop.code == 0
    assert_disabled_by_us(compute, within=0)
    assert not compute.may_be_chosen

    [disable] = writes(compute.requests)
    assert disable.seconds is not None
    assert disable.end is not None
    assert disable.seconds < 1, "sent after the kill it takes a minute"
    assert stop.begin < disable.begin < disable.end < stop.end
    story.notes.append(f"the disable took {disable.seconds * 1000:.0f} ms and went out before the kill")

    start = compute.start()
    assert start.code == 0
    assert_in_service(compute)
    assert len(writes(compute.requests)) == 2
    assert_stays_in_service(compute, HOLD)
    assert_asked_little(compute, start, story)


def test_monitors_ask_nothing(compute: Resource, story: Entry) -> None:
    """Twenty monitors of a running service, twenty of a stopped one."""
    assert [compute.check() for _ in range(20)] == [0] * 20
    assert compute.requests == []

    compute.stop()
    compute.settle(HOLD + 40)
    compute.wait_until_nobody_works_on_it(HOLD + 40)
    asked = len(compute.requests)
    assert [compute.check() for _ in range(20)] == [7] * 20
    assert len(compute.requests) == asked
    story.notes.append("none of the requests is a monitor's")

    compute.start()
    assert_in_service(compute)


def test_stop_and_start_at_once_again_and_again(compute: Resource, story: Entry) -> None:
    """Started as soon as it was stopped, again and again."""
    rounds = 30 if LONG else 5
    for _ in range(rounds):
        assert compute.stop().code == 0
        assert compute.start().code == 0
        assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)
    story.notes.append(f"{rounds} rounds, enabled after each")
