# SPDX-License-Identifier: Apache-2.0
"""nova-conductor does no work: healthy computes cannot report, and Nova calls them down."""

from __future__ import annotations

import signal
import time

from labkit.control import Control
from labkit.errors import wait_for
from labkit.report import Entry
from labkit.resource import Resource
from words import assert_in_service, assert_untouched, deep_codes

DOWN_TIME = 60
"""Seconds without a report after which Nova calls a compute down (service_down_time)."""


def test_nova_calls_a_healthy_compute_down(watched: Resource, control: Control, story: Entry) -> None:
    """nova-conductor is stopped by a signal for more than service_down_time; nothing is restarted."""
    conductor, process = control.conductor.process, watched.process
    assert conductor is not None
    assert process is not None
    begin = time.monotonic()
    conductor.signal(signal.SIGSTOP)
    try:
        wait_for("Nova to call it down", lambda: not watched.row.is_up, DOWN_TIME + 30, every=0.5)
        down = time.monotonic()
        assert watched.check() == 0
        time.sleep(5)  # some monitors of either level
        assert_untouched(watched, process.pid)
        assert watched.row.is_enabled
    finally:
        conductor.signal(signal.SIGCONT)
    story.notes.append(f"down in the API after {down - begin:.0f} s, no monitor says so")
    back = time.monotonic()
    wait_for("the row to be up", lambda: watched.row.is_up, 90, every=0.5)
    story.notes.append(f"up again {time.monotonic() - back:.0f} s after the signal that lets it go on")
    assert deep_codes(watched) == [], "no answer over the bus was missing"
    assert_untouched(watched, process.pid)
    assert watched.requests == []
    assert_in_service(watched)
