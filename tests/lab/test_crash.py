# SPDX-License-Identifier: Apache-2.0
"""nova-compute dies of SIGKILL. Nova believes it up for a minute and asks it about the disable, in vain."""

from __future__ import annotations

import signal
import time

from labkit.journal import Action
from labkit.report import Entry
from labkit.resource import Resource
from labkit.tap import Request
from words import (
    HOLD,
    assert_asked_little,
    assert_disabled_by_us,
    assert_in_service,
    assert_stays_in_service,
    writes,
)


def test_recovery(compute: Resource, story: Entry) -> None:
    """Killed; Pacemaker recovers it."""
    failure, stop, start = compute.crash()
    assert failure.code != 0
    assert (stop.code, start.code) == (0, 0)
    assert stop.seconds < 3, "a stop does not wait for Nova's answer"
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)
    assert_asked_little(compute, start, story)


def test_started_while_the_disable_is_under_way(compute: Resource, story: Entry) -> None:
    """Killed and stopped; started as soon as the disable is in the row, which Nova has not answered yet."""
    _, disable = kill_and_stop(compute)
    start = compute.start()
    assert start.code == 0
    assert_in_service(compute)
    story.notes.append(f"Nova's answer took {answer(compute, disable).seconds or 0:.1f} s")
    assert_stays_in_service(compute, HOLD)


def test_disable_answered_a_minute_late(compute: Resource, story: Entry) -> None:
    """Killed and stopped; started a moment before Nova answers the disable."""
    stop, disable = kill_and_stop(compute)
    time.sleep(max(0.0, disable.begin + 52 - compute.tap.now()))
    assert answer(compute, disable).seconds is None, "still under way"

    start = compute.start()
    assert start.code == 0
    late = answer(compute, disable).seconds
    assert late is not None
    assert late > 50
    story.notes.append(f"stopped in {stop.seconds:.2f} s, Nova's answer took {late:.1f} s")
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)


def kill_and_stop(compute: Resource) -> tuple[Action, Request]:
    """SIGKILL, and stopped before Pacemaker can start it again: returns when our disable is in the row."""
    process = compute.process
    assert process is not None
    mark = compute.journal.mark()
    process.signal(signal.SIGKILL)
    compute.set_role("Stopped")
    stop = compute.wait_for_action("stop", mark)
    assert stop.code == 0
    assert stop.seconds < 3, "a stop does not wait for Nova's answer"
    assert_disabled_by_us(compute)
    return stop, writes(compute.requests)[0]


def answer(compute: Resource, request: Request) -> Request:
    """The same request, as it stands now."""
    return next(r for r in writes(compute.requests) if r.begin == request.begin)
