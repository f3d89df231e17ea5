# SPDX-License-Identifier: Apache-2.0
"""The worlds that are searched: small ones exhaustively, large ones by chance."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tests.proof.bounds import Bounds

EVERYBODY = ("disable", "disable silently", "empty reason", "enable", "edit", "nova", "tool", "neighbour")
NOVA = ("re-create", "re-create disabled", "delete", "nova")
RELEASES = (("enable_reasons", ("AUTO: ",)),)
CYCLE = ("stop", "start", "stop", "start")
HARD = ("stop", "start", "stop", "overlap", "start")

SMALL = (  # exhaustively, always
    Bounds("calm", script=CYCLE, is_quick=True),
    Bounds("stopped", script=("stop",), lost=1, refused=1, is_quick=True),
    Bounds("acts", acts=1, others=EVERYBODY, is_quick=True),
    Bounds("acts-two", acts=2, others=EVERYBODY, is_quick=True),
    Bounds("nova", acts=2, others=NOVA, lost=0, is_quick=True),
    Bounds("lost", lost=1, is_quick=True),
    Bounds("lost-repeats", lost=1, repeats=1, is_quick=True),
    Bounds("stuck", lost=1, stuck=1, is_quick=True),
    Bounds("moving", unread=1, policy=(("moves", True),), is_quick=True),
    Bounds(
        "released",
        acts=2,
        others=("nova", "disable"),
        policy=(("enable_reasons", ("AUTO: ",)),),
        is_quick=True,
    ),
    Bounds("forced-down", lost=1, forced_down=True, is_quick=True),
    Bounds("lost-two", lost=2, is_quick=True),
    Bounds("slow", lost=1, repeats=1, api_timeout=60.0, start_timeout=200.0, is_quick=True),
    Bounds("refused", refused=1, lost=0, is_quick=True),
    Bounds("unread", unread=1, is_quick=True),
    Bounds("power", power=1),
    Bounds("frozen", freezes=1, lost=0, is_quick=True),
    Bounds("frozen-for-ever", script=("start",), lost=1, forever=1, is_open=True, is_quick=True),
    Bounds("deaths", deaths=1, is_quick=True),
    Bounds("by-hand", by_hand=1, script=("stop",), lost=1, is_quick=True),
)

MIDDLE = (  # in part in CI, the fewest unusual choices first; up to a large limit in the long search
    Bounds("lost-acts", lost=1, acts=1, is_quick=True),
    Bounds("lost-cycle", lost=1, script=CYCLE, is_quick=True),
    Bounds("frozen-acts", freezes=1, acts=1, is_quick=True),
    Bounds("lost-refused-kill", lost=1, refused=1, kills=1, victims=("helper",), is_quick=True),
    Bounds("window", script=("start",), unread=1, kills=1, victims=("helper",), is_open=True, is_quick=True),
    Bounds("window-acts", script=("start",), acts=2, power=1, is_open=True),
    Bounds("window-killed", script=("start",), acts=1, kills=1, victims=("helper",), is_open=True),
    Bounds("frozen-lost", lost=1, freezes=1, victims=("helper",), is_quick=True),
    Bounds("frozen-for-ever-lost", lost=1, forever=1, is_quick=True),
    Bounds("frozen-for-ever-lock", script=HARD, forever=1, is_fine=True),
    Bounds("kills", kills=1),
    Bounds("lost-acts-two", lost=1, acts=2, is_quick=True),
    Bounds("lost-record", power=1, losses=1, lost=1),
    Bounds("races", freezes=0, kills=0, is_fine=True, script=HARD),
    Bounds("frozen-lock", freezes=1, is_fine=True),
    Bounds("lost-memory", script=("start",), acts=1, power=1, losses=1, is_open=True),
    Bounds("lost-acts-crash", lost=1, acts=1, power=1),
)

DEEP = (  # in the long search only, up to a still larger limit
    Bounds("lost-two-acts", lost=2, acts=1, is_quick=True),
    Bounds("frozen-lost-acts", lost=1, freezes=1, acts=1, is_quick=True),
    Bounds("lost-repeats-acts", lost=1, repeats=1, acts=2, is_quick=True),
)

WILD = Bounds(
    "wild",
    script=("stop", "start", "stop", "start", "stop", "overlap", "start"),
    lost=3,
    repeats=1,
    stuck=1,
    refused=1,
    unread=2,
    kills=2,
    power=1,
    losses=1,
    freezes=2,
    forever=1,
    acts=3,
    others=EVERYBODY + NOVA,
    ticks=2,
    by_hand=1,
    deaths=1,
    failures=1,
    no_spawns=1,
    recoveries=6,
    is_fine=True,
)
WILD_AND_REAL = replace(
    WILD,
    name="wild and real",
    is_real=True,
    forever=0,
    backoff=1.0,
    hold=300.0,
    start_timeout=240.0,
    disable_deadline=3600.0,
)

ALL = {bounds.name: bounds for bounds in (*SMALL, *MIDDLE, *DEEP, WILD, WILD_AND_REAL)}

COMPARED = ("acts", "acts-two", "stopped", "lost")
"""Searched with and without the reductions, which must not matter."""


class Task(NamedTuple):
    """One piece of work: all schedules of a world (up to `limit`), or one for each seed."""

    bounds: Bounds
    limit: int | None = None
    seeds: range | None = None


def tasks(*, is_long: bool, goal: int) -> list[Task]:
    """What CI searches, or what takes an hour. The long ones first, so that both cores end together."""
    if is_long:
        chosen = [Task(bounds, limit=goal // 8) for bounds in DEEP]
        chosen += [Task(bounds, limit=goal // 16) for bounds in MIDDLE]
        size, count = goal // 160, 4
    else:
        chosen = [Task(bounds, limit=_limit(bounds)) for bounds in MIDDLE]
        size, count = 750, 2
    chosen += [Task(bounds) for bounds in SMALL]
    for bounds in (WILD, WILD_AND_REAL):
        chosen += [Task(bounds, seeds=range(n * size, (n + 1) * size)) for n in range(count)]
    return chosen


def _limit(bounds: Bounds) -> int:
    """In CI, with four minutes for 200,000: more of what costs least."""
    if bounds.name in ("lost-acts", "frozen-lost", "frozen-acts"):
        return 56_000
    return 10_000 if bounds.is_quick else 1_500


def filling(names: Sequence[str], missing: int, *, first_seed: int) -> list[Task]:
    """So many schedules more, by chance, in equal parts."""
    size = min(10_000, missing // len(names) + 1)
    begins = range(first_seed, first_seed + missing, size)
    turns = zip(begins, itertools.cycle(names))
    return [Task(ALL[name], seeds=range(begin, begin + size)) for begin, name in turns]
