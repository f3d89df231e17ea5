# SPDX-License-Identifier: Apache-2.0
"""A thousand guards in one simulation, twenty real hosts at once; a table, its bounds, and docs/scale.svg."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.fleet.fleet import LONGEST, NEVER, Case, Outcome, simulate
from benchmarks.plot import Chart, Line, draw
from ocf_agents.testing.compute.capacity import Capacity

PLOT = Path(__file__).resolve().parents[1] / "docs" / "scale.svg"
SETTLED = 60
"""Seconds after which no peak of the begin is left."""

SMALL = Capacity()
SILENT = replace(SMALL, retry_after=None)
LARGE = Capacity(workers=10)
HUGE = Capacity(workers=20, queue=200)
ENDLESS = replace(SMALL, queue=1_000_000)
OUTAGE = (30.0, 150.0)


class Bound(NamedTuple):
    """What a case must keep: the last row right within so many seconds, so many requests of a host on
    average, so many in the busiest second once the begin is over."""

    last: float = NEVER
    requests: float = NEVER
    peak: float = NEVER

    def failures(self, outcome: Outcome) -> list[str]:
        """What is past its bound, in words."""
        found = {
            f"last row right after {outcome.last:.0f} s": outcome.last > self.last,
            f"{outcome.mean_requests:.1f} requests of a host": outcome.mean_requests > self.requests,
            f"{outcome.peak(SETTLED)} requests in a second": outcome.peak(SETTLED) > self.peak,
        }
        return [
            f"{outcome.case.action}, {outcome.case.name}: {text}"
            for text, is_past in found.items()
            if is_past
        ]


CASES = {
    Case("503 and Retry-After", "stop", SMALL): Bound(360, 28, 200),
    Case("503 only", "stop", SILENT): Bound(360, 30, 200),
    Case("503 only, no jitter", "stop", SILENT, has_jitter=False): Bound(),
    Case("down from 30 s to 150 s", "stop", SMALL, outage=OUTAGE): Bound(540, 40, 200),
    Case("services killed, 20 workers", "stop", HUGE, is_killed=True): Bound(200, 24, 200),
    Case("no 503: an endless queue", "stop", ENDLESS): Bound(1200, 24, 200),
    Case("503 and Retry-After", "start", SMALL): Bound(360, 36, 300),
    Case("503 only", "start", SILENT): Bound(480, 60, 800),
    Case("503 only, 50/s", "start", replace(LARGE, retry_after=None)): Bound(200, 32, 200),
    Case("503 only, 50/s, no jitter", "start", replace(LARGE, retry_after=None), has_jitter=False): Bound(),
    Case("down from 30 s to 150 s, 50/s", "start", LARGE, outage=OUTAGE): Bound(480, 60, 1000),
}
"""A case of a fleet and what it must keep; without jitter it is there for comparison only."""


def run_all(cases: Sequence[Case]) -> list[Outcome]:
    """Each case, two at a time."""
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(simulate, cases))


COLUMNS = (
    "rows right",
    "half after",
    "all after",
    "requests",
    "peak",
    "peak later",
    "frozen",
    "failed starts",
)


def report(outcomes: Sequence[Outcome]) -> None:
    """Print the table."""
    nodes = outcomes[0].case.nodes
    print(f"\n{nodes} hosts at once; Keystone and Nova serve 20 requests/s each unless told otherwise.")
    print(
        f"Times in seconds; requests of a host on average; peaks in requests/s, later: from {SETTLED} s on.\n"
    )
    print(f"  {'':<36}" + "".join(f"{name:>{len(name) + 2}}" for name in COLUMNS))
    for one in outcomes:
        name = f"{one.case.action}, {one.case.name}"
        cells = zip(COLUMNS, _cells(one))
        print(f"  {name:<36}" + "".join(f"{cell:>{len(head) + 2}}" for head, cell in cells), flush=True)


def _cells(one: Outcome) -> tuple[str, ...]:
    half = one.right[len(one.right) // 2]
    numbers = (one.peak(), one.peak(SETTLED), one.frozen(), one.failed_starts)
    times = (f"{one.rows_right(LONGEST)}", f"{half:.0f}", f"{one.last:.0f}", f"{one.mean_requests:.1f}")
    return (*times, *map(str, numbers))


def plot(outcomes: Sequence[Outcome]) -> str:
    """Offered load and rows that are right, over time."""
    stops = [one for one in outcomes if one.case.action == "stop"]
    starts = [one for one in outcomes if one.case.action == "start"]
    return draw(
        [
            _load("All stop at once: requests per second that are sent (10 s means, log)", stops[1:4]),
            _load("All start at once: requests per second that are sent (10 s means, log)", starts[1:4]),
            _rows("All stop at once: rows that are right", stops),
            _rows("All start at once: rows that are right", starts),
        ],
        "A thousand hosts against an API of fixed capacity",
    )


def _load(title: str, outcomes: Sequence[Outcome]) -> Chart:
    chart = Chart(title, 600, 1000, range(0, 601, 100), (1, 10, 100, 1000), is_log=True)
    chart.lines = [
        Line(
            one.case.name,
            [(begin + 5, one.rate(begin, begin + 10)) for begin in range(0, 600, 10)],
            not one.case.has_jitter,
        )
        for one in outcomes
    ]
    return chart


def _rows(title: str, outcomes: Sequence[Outcome]) -> Chart:
    nodes = outcomes[0].case.nodes
    chart = Chart(title, 900, nodes, range(0, 901, 100), [nodes * part / 4 for part in range(5)])
    chart.lines = [
        Line(one.case.name, [(s, one.rows_right(s)) for s in range(0, 901, 5)], not one.case.has_jitter)
        for one in outcomes
    ]
    return chart


def bench(agent: Path, directory: Path) -> list[str]:
    """Simulate, print, draw, and name what is past its bound."""
    outcomes = run_all(list(CASES))
    report(outcomes)
    PLOT.write_text(plot(outcomes), encoding="utf-8")
    return [failure for one, bound in zip(outcomes, CASES.values()) for failure in bound.failures(one)]
