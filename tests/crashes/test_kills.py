# SPDX-License-Identifier: Apache-2.0
"""Killed anywhere, or let down by the disk anywhere, a node comes back as it must (see `killing`).

A sample: some points of each story, each in one way, each kind of call among them. CRASHES_ALL=1
tries all points in all ways, which takes hours; CRASHES_OFFSET=N is another sample.
"""

from __future__ import annotations

import os

import pytest

from .killing import ERRORS, KILLS, STORIES, Found, find, run

EACH = {KILLS: 3, ERRORS: 1}
IS_ALL = os.environ.get("CRASHES_ALL") == "1"
OFFSET = int(os.environ.get("CRASHES_OFFSET", "0"))


@pytest.fixture(scope="module")
def found() -> Found:
    return find(STORIES)


@pytest.mark.parametrize("whens", [KILLS, ERRORS], ids=["killed", "a file's call fails"])
def test_at_each_call_that_matters(
    found: Found, whens: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    tally = run(found, 0 if IS_ALL else EACH[whens], offset=OFFSET, whens=whens)
    with capsys.disabled():
        print("", *tally.lines(), sep="\n")
    assert tally.failures == [], "\n".join(tally.failures)
    assert tally.untried == set()
