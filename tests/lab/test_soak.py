# SPDX-License-Identifier: Apache-2.0
"""A healthy nova-compute on a machine that is busy: no monitor fails."""

from __future__ import annotations

import os
import time

from labkit.load import load
from labkit.report import Entry
from labkit.resource import Resource
from words import LONG, assert_in_service, assert_untouched, deep_codes

SECONDS = 1800 if LONG else 20
SHARE = 0.7


def test_a_busy_machine(watched: Resource, story: Entry) -> None:
    """All processors are busy with something else, 70 % of the time; no monitor of either level fails."""
    process = watched.process
    assert process is not None
    down, busiest = 0, 0.0
    with load(SHARE, SECONDS + 60):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(5)
            down += not watched.row.is_up
            busiest = max(busiest, os.getloadavg()[0])
            assert_untouched(watched, process.pid)
    assert deep_codes(watched) == [], "no answer over the bus was missing"
    assert watched.requests == []
    story.notes.append(
        f"{SECONDS} s at level 0 each second and level 10 every 3 s, load {busiest:.1f} on"
        f" {os.cpu_count()} processors; the row was down in {down} looks"
    )
    assert_in_service(watched)
