# SPDX-License-Identifier: Apache-2.0
"""Kills an action or its helper at one point after the other, recovers, and looks whether all is right.

    python3 -m tests.crashes.killing [--each N] [--errors] [--workers N] [STORY...]

Each story brings a node into a state and lets something happen in which one process, its role, is
killed: before or after its point. Then comes what a cluster would do: a start, a stop and a start,
a reboot and a start. In the end the row is as it must be and stays so.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Callable

from ocf_agents.testing.compute_api import faults
from ocf_agents.testing.node import kill, wait_for
from ocf_agents.testing.run import Result

from .stage import WORKERS, Job, Stage, play
from .victim import Point, Victim

REASON = "RAM swap, ticket 4711 (Zoë)"
LATE = 3.0
LONG_HOLD = {"hold": "6s"}
LONGER_HOLD = {"hold": "15s"}
"""A start on a busy machine takes its time; after `hold` it would have nothing left for a helper."""

KILLS = ("after", "before")
ERRORS = ("ENOSPC", "EIO", "EROFS")
FILE_CALLS = ("open", "write", "fsync", "rename", "unlink", "mkdir", "flock")
SETTLED_WITHIN = 40.0


@dataclass(frozen=True, eq=False)
class Story:
    """`prepare` works on a node that runs and is enabled; `act` is where `role` is killed.

    `reason`: what an operator wrote, which must stand in the end.
    """

    name: str
    role: str
    prepare: Callable[[Victim], None]
    act: Callable[[Victim], Result]
    reason: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    recoveries: tuple[str, ...] = ("start", "stop start", "reboot start")

    @property
    def key(self) -> str:
        return f"{self.name} ({self.role})"


@dataclass(frozen=True)
class Case:
    story: Story
    point: Point
    when: str
    recovery: str

    def __str__(self) -> str:
        what = f"{self.when} call {self.point.index} ({self.point.what})"
        return f"{self.story.name}: {self.point.role} killed {what}, then {self.recovery}"


Found = dict[Story, list[Point]]

# what goes before


def nothing(victim: Victim) -> None:
    assert not victim.row.disabled


def stopped(victim: Victim) -> None:
    victim.act("stop")
    assert victim.wait_for_quiet()
    assert victim.row.disabled


def operator_first(victim: Victim) -> None:
    victim.operator_disables(REASON)


def operator_over_ours(victim: Victim) -> None:
    stopped(victim)
    victim.row.reason = REASON


def all_lost(victim: Victim) -> None:
    stopped(victim)
    shutil.rmtree(victim.state_dir)
    shutil.rmtree(victim.run_dir)


def torn_record(victim: Victim) -> None:
    path = victim.state_dir / "nova-compute.json"
    path.write_text(path.read_text()[:200])


def torn_record_when_stopped(victim: Victim) -> None:
    stopped(victim)
    torn_record(victim)


def helper_at_work(victim: Victim) -> None:
    """Stopped while the API was down: the helper still tries when the API is back."""
    victim.cloud.fail(faults.status(503), service="compute", times=None)
    victim.act("stop")
    assert victim.helpers()
    victim.cloud.heal()


def late_writes(victim: Victim) -> None:
    """Each disable lands long after its client has left."""
    victim.cloud.fail(faults.commit_late(LATE), method="PUT", times=1)


def stopped_with_a_late_disable(victim: Victim) -> None:
    late_writes(victim)
    victim.act("stop")
    # On a busy machine a stop ends before its helper has sent anything, and a start would end the helper.
    assert wait_for(lambda: bool(victim.record().attempts), 20)


# what happens


def stop(victim: Victim) -> Result:
    return and_its_helper(victim, victim.run("stop", timeout=40))


def start(victim: Victim) -> Result:
    return and_its_helper(victim, victim.run("start", timeout=40))


def and_its_helper(victim: Victim, result: Result) -> Result:
    """A helper reaches its point some time after its action has ended."""
    wait_for(lambda: victim.has_fired() or victim.is_quiet(), SETTLED_WITHIN)
    return result


STORIES = (
    Story("stop", "stop", nothing, stop),
    Story("stop", "helper-disabled", nothing, stop),
    Story("stop, the disable late", "helper-disabled", late_writes, stop, None, LONG_HOLD),
    Story("stop over a torn record", "stop", torn_record, stop),
    Story("stop of what an operator disabled", "stop", operator_first, stop, REASON),
    Story("stop of what an operator disabled", "helper-disabled", operator_first, stop, REASON),
    Story("start", "start", stopped, start),
    Story("start without a record", "start", all_lost, start),
    Story("start over a torn record", "start", torn_record_when_stopped, start),
    Story("start against a living helper", "start", helper_at_work, start),
    Story("start of what an operator disabled", "start", operator_over_ours, start, REASON),
    Story(
        "start before a late disable",
        "start",
        stopped_with_a_late_disable,
        start,
        None,
        LONG_HOLD,
        ("start", "stop start"),
    ),
    Story(
        "start before a late disable",
        "helper-enabled",
        stopped_with_a_late_disable,
        start,
        None,
        LONGER_HOLD,
        ("monitor", "start", "stop start"),
    ),
)


# how it is played


def find_points(story: Story, stage: Stage) -> list[Point]:
    """What there is to be tried: the story without a kill. A machine that is too busy gets another chance."""
    victim = stage.victim
    for _ in range(3):
        story.prepare(victim)
        victim.forget_points()
        story.act(victim)
        victim.wait_for_quiet()
        points = victim.points(story.role)
        recover(stage, story, "start")
        if points:
            return points
    raise AssertionError(f"{story.key}: there was no such process")


def strike(case: Case, stage: Stage) -> bool:
    """Play the case: whether its point was reached. AssertionError when something is wrong in the end."""
    story, victim = case.story, stage.victim
    story.prepare(victim)
    victim.plan(case.point.role, case.point.index, case.when)
    result = story.act(victim)
    has_fired = victim.has_fired()
    victim.forget_plan()
    if case.when in ERRORS and story.act is stop:
        assert result.code == 0, f"a file's fault made the stop fail: {result}"
        assert not victim.daemons()
    if case.when in ERRORS and result.code != 0:
        assert result.reason, result
        assert "Traceback" not in result.stderr, result
    recover(stage, story, case.recovery)
    return has_fired


def told(case: Case, stage: Stage, tell: Callable[[str], object]) -> bool:
    """`strike`, and a line about it at once: the whole product takes hours."""
    try:
        has_fired = strike(case, stage)
    except AssertionError as error:
        tell(f"WRONG {case}: {error}")
        raise
    tell(f"{'right' if has_fired else 'not reached'}: {case}")
    return has_fired


def recover(stage: Stage, story: Story, recovery: str) -> None:
    """What a cluster does next; then all must be right."""
    victim = stage.victim
    probe = victim.pacemaker.probe()
    complaints = [] if probe.code in (0, 1, 7) else [f"probe: {probe}"]
    for action in recovery.split():
        complaints += _acted(victim, action)
    stage.cloud.heal()
    complaints += victim.complaints(reason=story.reason)
    if complaints:
        raise AssertionError("\n".join([*complaints, victim.history()]))
    if story.reason is not None:
        victim.operator_enables()


def _acted(victim: Victim, action: str) -> list[str]:
    if action == "reboot":
        victim.end_helpers()
        for pid in victim.daemons():
            kill(pid)
        shutil.rmtree(victim.run_dir, ignore_errors=True)
        return []
    result = victim.run(action, timeout=40)
    return [] if result.code == 0 else [f"{action}: {result}"]


def all_cases(story: Story, points: Sequence[Point], whens: Sequence[str]) -> list[Case]:
    """Each point in all ways."""
    ways = list(itertools.product(story.recoveries, whens))
    return [Case(story, point, when, then) for point in points for then, when in ways]


def sample(found: Found, whens: Sequence[str], each: int, offset: int = 0) -> list[Case]:
    """So many points of each story, each in one way, the kinds of calls in turn, so that all are seen.

    `offset` gives another sample. The ways take turns too.
    """
    seen: Counter[str] = Counter()
    chosen = []
    for number, (story, points) in enumerate(found.items()):
        ways = list(itertools.product(story.recoveries, whens))
        left = list(points)
        random.Random(f"{offset} {story.key}").shuffle(left)
        for turn in range(min(each, len(left))):
            point = min(left, key=lambda one: (seen[one.kind], seen[f"{one.role} {one.kind}"]))
            left.remove(point)
            seen.update((point.kind, f"{point.role} {point.kind}"))
            then, when = ways[(number + turn + offset) % len(ways)]
            chosen.append(Case(story, point, when, then))
    return chosen


@dataclass
class Tally:
    """What was found and tried, for each story and role and for each kind of call, and what went wrong."""

    found: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    kinds_tried: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def untried(self) -> set[str]:
        """Kinds of calls, and stories, of which nothing was tried."""
        return (set(self.kinds) - set(self.kinds_tried)) | (set(self.found) - set(self.tried))

    def note(self, case: Case, result: object) -> None:
        """`result`: whether the point was reached, or what was wrong."""
        if isinstance(result, AssertionError):
            self.failures.append(f"{case}: {result}")
        if result is False:
            self.missed[case.story.key] += 1
        else:
            self.tried[case.story.key] += 1
            self.kinds_tried[case.point.kind] += 1

    def lines(self) -> list[str]:
        """A table, and its sum."""
        table = [
            f"{name:<58} {self.found[name]:>4} points, {self.tried[name]:>4} tried"
            + (f", {self.missed[name]} not reached" if self.missed[name] else "")
            for name in self.found
        ]
        kinds = [f"{kind} {self.kinds_tried[kind]} of {self.kinds[kind]}" for kind in sorted(self.kinds)]
        found, tried = sum(self.found.values()), sum(self.tried.values())
        total = f"{found} kill points found, {tried} tried, {len(self.failures)} wrong"
        return [*table, "by call: " + ", ".join(kinds), total]


def find(stories: Sequence[Story], workers: int = WORKERS) -> Found:
    """The points of each story. AssertionError when one goes wrong undisturbed."""
    jobs = [Job(lambda stage, s=story: find_points(s, stage), story.parameters) for story in stories]
    found: Found = {}
    for story, points in zip(stories, play(jobs, workers)):
        if isinstance(points, AssertionError):
            raise AssertionError(f"{story.key}, undisturbed: {points}") from points
        found[story] = points
    return found


def run(
    found: Found,
    each: int,
    workers: int = WORKERS,
    offset: int = 0,
    whens: Sequence[str] = KILLS,
    tell: Callable[[str], object] = lambda line: None,
) -> Tally:
    """Plays `each` cases of each story (0: all points in all ways), and again for kinds that were missed."""
    if whens is not KILLS:
        found = {story: [p for p in points if p.kind in FILE_CALLS] for story, points in found.items()}
    tally = Tally()
    for story, points in found.items():
        tally.found[story.key] = len(points)
        tally.kinds.update(point.kind for point in points)
    todo = sample(found, whens, each, offset)
    if not each:
        todo = [case for story, points in found.items() for case in all_cases(story, points, whens)]
    for attempt in range(3):
        jobs = [Job(lambda stage, c=case: told(c, stage, tell), case.story.parameters) for case in todo]
        for case, result in zip(todo, play(jobs, workers)):
            tally.note(case, result)
        more = sample(found, whens, 4, offset + attempt + 1) if tally.untried else []
        todo = [case for case in more if {case.point.kind, case.story.key} & tally.untried]
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 when something was tried and nothing was wrong."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.crashes.killing")
    parser.add_argument(
        "--each", type=int, default=8, help="so many points of each story; 0: all, in all ways"
    )
    parser.add_argument("--offset", type=int, default=0, help="which of them")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--errors", action="store_true", help="do not kill, let the call fail")
    parser.add_argument("story", nargs="*", help="words of the stories' names or role=ROLE; default: all")
    options = parser.parse_args(arguments)
    chosen = [story for story in STORIES if all(_is_meant(story, word) for word in options.story)]
    begin = time.monotonic()
    whens = ERRORS if options.errors else KILLS
    found = find(chosen, options.workers)
    tally = run(found, options.each, options.workers, options.offset, whens, print_now)
    for failure in tally.failures:
        print("WRONG", failure.partition("\n")[0])
    print("\n".join(tally.lines()), f"in {time.monotonic() - begin:.0f} s")
    return 0 if tally.tried and not tally.failures else 1


def print_now(line: str) -> None:
    print(line, flush=True)


def _is_meant(story: Story, word: str) -> bool:
    return word == f"role={story.role}" or word in story.name


if __name__ == "__main__":
    sys.exit(main())
