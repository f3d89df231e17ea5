# SPDX-License-Identifier: Apache-2.0
"""Judging is pure: what a row of looks at the row amounts to, and when a silence is not a service's own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from ocf_agents.actions import row
from ocf_agents.actions.health import DEGRADED, DOWN, UNKNOWN, UP
from ocf_agents.actions.row import Limits, Misses, Seen, judge, may_be_enough, see, see_among, shared_fault
from ocf_agents.guard.row import Row
from ocf_agents.openstack.rows import Census
from ocf_agents.service.notes import Notes

LIMITS = Limits(misses=3, grace=120.0, silence=30.0, timeout=10.0)
OLD, NEW = "2026-11-30T10:00:00.000000", "2026-11-30T11:00:00.000000"
U, F, C, A, X = (Seen(kind, "why") for kind in (row.REPORTED, row.FORCED, row.SHARED, row.AWAY, row.UNTOLD))
S, T = Seen(row.SILENT, "why", OLD), Seen(row.SILENT, "why", NEW)


def judged(looks: list[Seen], apart: float = 60.0, limits: Limits = LIMITS) -> list[str]:
    misses, found = Misses(), []
    for number, seen in enumerate(looks):
        misses, health = judge(misses, seen, 1000.0 + apart * number, limits)
        found.append(health.status)
    return found


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([U, U], [UP, UP]),
        ([S, S, S, S], [UNKNOWN, UNKNOWN, DOWN, DOWN]),
        ([S, S, U, S, S, U], [UNKNOWN, UNKNOWN, UP, UNKNOWN, UNKNOWN, UP]),
        ([S, S, T, T, T], [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, DOWN]),
        ([S, T] * 4, [UNKNOWN] * 3 + [DEGRADED] * 5),
        ([X] * 9, [UNKNOWN] * 9),
        ([S, S, X, S, S], [UNKNOWN] * 5),
        ([F, F, U], [DEGRADED, DEGRADED, UP]),
        ([S, S, F, S], [UNKNOWN, UNKNOWN, DEGRADED, UNKNOWN]),
        ([A, A, A, A, U], [UNKNOWN, UNKNOWN, DEGRADED, DEGRADED, UP]),
        ([S, S, A, S, S], [UNKNOWN] * 5),
        ([S, S, C, S, S, S, S], [UNKNOWN, UNKNOWN, *[DEGRADED] * 4, DOWN]),
        ([C, A, S, U], [DEGRADED, DEGRADED, DEGRADED, UP]),
    ],
    ids=[
        "it is up",
        "three looks in a row",
        "every third look finds it up",
        "a new report begins a new count",
        "it is down and reports",
        "it tells nothing",
        "what tells nothing ends a row of misses",
        "forced down",
        "forced down ends a row of misses",
        "the API is away and comes back",
        "what was not read ends a row of misses",
        "after an outage of the control plane a grace, and then three looks",
        "an outage of the control plane lasts until the row is up",
    ],
)
def test_a_row_of_looks_amounts_to(looks: list[Seen], expected: list[str]) -> None:
    assert judged(looks) == expected


def test_what_is_not_the_services_own_fault_never_makes_it_fail() -> None:
    for seen in (U, F, C, A, X):
        assert DOWN not in judged([seen] * 100)
    assert DOWN not in judged([S, S, C] * 50), "each outage begins a new grace"


def test_three_quick_looks_are_no_proof() -> None:
    assert judged([S] * 17, apart=2.0).index(DOWN) == 15, "30 s after the first"


def test_a_service_that_reports_seldom_is_given_longer() -> None:
    """Case 155: with a report each ten minutes the row is down for nine of them."""
    limits = LIMITS._replace(silence=1800.0)
    assert DOWN not in judged(([S] * 9 + [U]) * 3, limits=limits)
    assert DOWN in judged([S] * 40, limits=limits)


def test_all_rows_are_asked_for_only_where_the_look_may_be_the_last() -> None:
    misses, asked = Misses(), []
    for number, seen in enumerate([U, S, S, S]):
        now = 1000.0 + 60 * number
        asked.append(may_be_enough(misses, now, LIMITS))
        misses, _ = judge(misses, seen, now, LIMITS)
    assert asked == [False, False, False, True]


def one(up: bool | None = False, beat: str = OLD, disabled: bool = False, forced_down: bool = False) -> Row:
    return Row("id", disabled, None, up, forced_down, beat)


@pytest.mark.parametrize(
    ("own", "outcome"),
    [
        (one(up=True), row.REPORTED),
        (one(up=True, disabled=True), row.REPORTED),
        (one(), row.SILENT),
        (one(disabled=True), row.SILENT),
        (one(forced_down=True), row.FORCED),
        (one(up=None), row.AWAY),
        (None, row.UNTOLD),
    ],
    ids=["up", "up, disabled", "down", "down, disabled", "forced down", "not said", "missing"],
)
def test_what_a_row_says(own: Row | None, outcome: str) -> None:
    seen = see(own, "cmp-7")
    assert seen.outcome == outcome
    assert bool(seen.text) == (outcome != row.REPORTED)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([one(up=True)] * 2, None),
        ([], "1 of 1"),
        ([one(up=True)], "1 of 2"),
        ([one(up=True)] * 3 + [one()], "2 computes down that fell silent together"),
        ([one(up=True)] * 3 + [one(beat=NEW)], None),
        ([one(up=True)] * 2 + [one(beat=NEW)], "2 of 4"),
        ([one(up=True)] * 9 + [None] * 9, "10 of 19"),
        ([one(up=True)] * 2 + [one(disabled=True)] * 9, None),
        ([one(up=True)] * 2 + [one(forced_down=True)] * 9, None),
        ([one(up=True, disabled=True)] * 2, None),
        ([one(up=True)] * 99 + [one()] * 9, "10 computes down that fell silent together"),
        ([one(up=True)] * 3 + [one(beat="")], None),
        ([one(up=True)] * 3 + [one(beat="yesterday")], None),
        ([one(up=True)] * 3 + [one(beat="2026-11-30T10:00:59Z")], "together"),
    ],
    ids=[
        "it is alone",
        "it is the only one",
        "one of two is half",
        "another one at the same time",
        "another one at another time",
        "half of them",
        "a cell that does not answer is down",
        "who is disabled and down may be switched off",
        "who is forced down is off",
        "who is disabled and up proves that reports arrive",
        "a small cell of a large cloud",
        "one that never reported",
        "a time that is none",
        "a time of another spelling",
    ],
)
def test_whose_fault_a_silence_is(others: list[Row | None], said: str | None) -> None:
    named = {f"other-{number}": row for number, row in enumerate(others)}
    reason = shared_fault(OLD, named)
    assert (reason is None) is (said is None), reason
    assert (said or "") in (reason or "")
    seen = see_among(Census(one(), named), "cmp-7")
    assert seen.outcome == (row.SILENT if said is None else row.SHARED)


def test_a_row_that_is_up_or_forced_down_is_so_whatever_the_others_are() -> None:
    others = {"other": one()}
    assert see_among(Census(one(up=True), others), "cmp-7").outcome == row.REPORTED
    assert see_among(Census(one(forced_down=True), others), "cmp-7").outcome == row.FORCED
    assert see_among(Census(None, others), "cmp-7").outcome == row.UNTOLD


@pytest.mark.parametrize("beat", [OLD, "", "two words\nand a line", "\ud800\u00e9", "x" * 999])
def test_misses_are_remembered_whatever_the_api_calls_a_time(tmp_path: Path, beat: str) -> None:
    process = SimpleNamespace(pid=7, start=99)
    misses = Misses(row.as_word(beat), 2, 1000.25, 1, 0, True, 1100.5)
    notes = Notes(str(tmp_path / "notes"), "boot")
    notes.put(row.SUBJECT, [["7", "99", *row.as_words(misses)]])
    notes.save()
    again = Notes(str(tmp_path / "notes"), "boot")
    assert row.remembered(again, process) == misses  # type: ignore[arg-type]
    process.start = 100
    assert row.remembered(again, process) == Misses(), "another process"  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [["7", "99"], ["7", "99", *["x"] * 7], []])
def test_what_is_no_note_is_none(tmp_path: Path, words: list[str]) -> None:
    notes = Notes(str(tmp_path / "notes"), "boot")
    notes.put(row.SUBJECT, [words])
    assert row.remembered(notes, SimpleNamespace(pid=7, start=99)) == Misses()  # type: ignore[arg-type]
