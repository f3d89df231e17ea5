# SPDX-License-Identifier: Apache-2.0
"""Killed anywhere, or let down by the disk anywhere, a node comes back as it must (see `killing`).

A sample, each point in one way; CRASHES_EVERY=1 tries all points in all ways, which takes hours.
"""

from __future__ import annotations

import os

import pytest

from .killing import ERRORS, KILLS, STORIES, run

EVERY = int(os.environ.get("CRASHES_EVERY", "20"))
OFFSET = int(os.environ.get("CRASHES_OFFSET", "0"))


@pytest.mark.parametrize("whens", [KILLS, ERRORS], ids=["killed", "a file's call fails"])
def test_at_each_call_that_matters(whens: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    every = EVERY if whens is KILLS or EVERY == 1 else 2 * EVERY
    tally = run(STORIES, every, offset=OFFSET, whens=whens)
    with capsys.disabled():
        print("", *tally.lines(), sep="\n")
    assert len(tally.found) == len(STORIES)
    assert sum(tally.tried.values()) > 2 * len(STORIES)
    assert tally.failures == [], "\n".join(tally.failures)
