# SPDX-License-Identifier: Apache-2.0
"""Many guards at once against an API of fixed capacity: `make scale` runs the same with a thousand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import crowd, scale
from benchmarks.fleet import fleet
from benchmarks.fleet.fleet import NEVER, Case, Outcome, simulate
from ocf_agents.guard import step

from .conftest import AGENT

NODES = 200
BOUNDED = [case for case, bound in scale.CASES.items() if bound != scale.Bound()]


def shrunk(case: Case) -> Case:
    """A smaller fleet and an API that is as much smaller."""
    part = NODES / case.nodes
    capacity = case.capacity
    smaller = replace(capacity, seconds=capacity.seconds / part, queue=int(capacity.queue * part))
    return replace(case, nodes=NODES, capacity=smaller)


def case_of(name: str, action: str = "stop") -> Case:
    return next(shrunk(case) for case in scale.CASES if (case.name, case.action) == (name, action))


@pytest.fixture(scope="module")
def outcomes() -> dict[Case, Outcome]:
    return {case: simulate(shrunk(case)) for case in scale.CASES}


@pytest.mark.parametrize("case", BOUNDED, ids=lambda case: f"{case.action}, {case.name}")
def test_each_row_is_right_in_time_and_the_load_is_bounded(case: Case, outcomes: dict[Case, Outcome]) -> None:
    bound = scale.CASES[case]
    assert bound._replace(peak=bound.peak * NODES / case.nodes).failures(outcomes[case]) == []


@pytest.mark.parametrize("case", BOUNDED, ids=lambda case: f"{case.action}, {case.name}")
def test_the_load_falls_after_the_first_peak(case: Case, outcomes: dict[Case, Outcome]) -> None:
    one = outcomes[case]
    assert one.rate(0, 60) > 1.3 * one.rate(60, 180) > 1.3 * one.rate(240, 600)


@pytest.mark.parametrize("action", ["stop", "start"])
def test_without_jitter_all_come_back_in_step(action: str, outcomes: dict[Case, Outcome]) -> None:
    dull = next(one for one in outcomes.values() if one.case.action == action and not one.case.has_jitter)
    name = dull.case.name.removesuffix(", no jitter")
    same = next(one for one in outcomes.values() if (one.case.action, one.case.name) == (action, name))
    assert dull.peak(scale.SETTLED) > 4 * same.peak(scale.SETTLED)
    assert dull.last > 1.3 * same.last


def test_an_endless_queue_is_never_left_by_helpers_that_come_back_each_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Why a silent API is asked less often: the collapse that the longer backoff prevents is real."""
    case = case_of("no 503: an endless queue")
    monkeypatch.setattr(fleet, "LONGEST", 1800.0)
    assert simulate(case).last < NEVER
    monkeypatch.setattr(step, "LONGEST_BACKOFF_FROM_SILENCE", step.LONGEST_BACKOFF)
    assert simulate(case).last == NEVER


def test_disables_of_killed_computes_hold_all_workers_until_nova_sees_them_down(
    outcomes: dict[Case, Outcome],
) -> None:
    killed = next(one for one in outcomes.values() if one.case.is_killed)
    assert 30 <= killed.frozen() <= 75


def test_the_same_fleet_does_the_same_again(outcomes: dict[Case, Outcome]) -> None:
    case = next(iter(scale.CASES))
    assert simulate(shrunk(case)) == outcomes[case]


def test_the_plot_is_an_svg_with_readable_words(outcomes: dict[Case, Outcome]) -> None:
    text = scale.plot(list(outcomes.values()))
    words = {one.text for one in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")}
    assert {case.name for case in scale.CASES} <= words
    assert scale.plot(list(outcomes.values())) == text


def test_five_real_hosts_at_once_are_right_though_most_requests_are_refused(tmp_path: Path) -> None:
    narrow = replace(crowd.CAPACITY, workers=1, queue=1, seconds=0.15)
    with crowd.crowd(AGENT, tmp_path, 5, narrow) as here:
        for action in ("start", "stop", "start"):
            turn = here.turn(action)
            assert turn.is_right, str(turn)
            assert turn.requests <= 40 * turn.nodes
        assert here.api.wait_for(lambda: all(row.may_be_chosen for row in here.api.rows), 10)
    assert turn.peak > 0
