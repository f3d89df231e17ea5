# SPDX-License-Identifier: Apache-2.0
"""Kills an action or its helper at one point after the other, recovers, and looks whether all is right.

    python3 -m tests.crashes.killing [--every N] [--workers N] [STORY...]

Each story brings a node into a state and lets something happen in which one process, its role, is
killed: before or after its point. Then comes what a cluster would do: a start, a stop and a start,
a reboot and a start. In the end the row is as it must be and stays so.
"""

from __future__ import annotations

import argparse
import itertools
import queue
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from ocf_agents.testing.compute_api import ComputeApi, faults
from ocf_agents.testing.node import wait_for

from .victim import Point, Victim

REASON = "RAM swap, ticket 4711 (Zoë)"
LATE = 3.0
LONG_HOLD = {"hold": "6s"}
TRIVIAL = ("mkdir", "chmod", "fchmod")


@dataclass(frozen=True)
class Story:
    """`prepare` works on a node that runs and is enabled; `act` is where `role` is killed.

    `reason`: what an operator wrote, which must stand in the end.
    """

    name: str
    role: str
    prepare: Callable[[Victim], None]
    act: Callable[[Victim], None]
    reason: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    recoveries: tuple[str, ...] = ("start", "stop start", "reboot start")


@dataclass(frozen=True)
class Case:
    story: Story
    point: Point
    when: str
    recovery: str

    def __str__(self) -> str:
        what = f"{self.when} call {self.point.index} ({self.point.what})"
        return f"{self.story.name}: {self.point.role} killed {what}, then {self.recovery}"


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


# what happens


def stop(victim: Victim) -> None:
    victim.run("stop", timeout=40)
    settle_role(victim)


def start(victim: Victim) -> None:
    victim.run("start", timeout=40)
    settle_role(victim)


def settle_role(victim: Victim) -> None:
    """A helper reaches its point some time after its action has ended."""
    wait_for(lambda: victim.has_fired() or not victim.helpers(), 20)


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
        LONG_HOLD,
        ("monitor", "start", "stop start"),
    ),
)


class Stage:
    """Where one case after the other is played: one node with a cloud of its own.

    A case that ends well leaves it as the next one needs it; after another one it is set up afresh.
    """

    def __init__(self, root: Path, parameters: dict[str, str]) -> None:
        self.root, self.parameters = root, parameters
        self._count = itertools.count()
        self._set_up()

    def _set_up(self) -> None:
        self.cloud = ComputeApi(report_interval=1.0)
        self.cloud.start()
        root = self.root / f"n{next(self._count)}"
        self.victim = Victim(root, self.cloud, "cmp-7", **self.parameters)
        self.victim.act("start")
        self.victim.wait_for_quiet()

    def close(self) -> None:
        self.victim.destroy()
        self.cloud.close()

    def find_points(self, story: Story) -> list[Point]:
        """What there is to be tried: the story without a kill."""
        victim = self._prepared(story)
        story.act(victim)
        victim.wait_for_quiet()
        points = victim.points(story.role)
        assert points, f"{story.name}: no process with the role {story.role}"
        assert not self._recover(story, "start"), f"{story.name}, undisturbed"
        return points

    def play(self, case: Case) -> list[str] | None:
        """What is wrong in the end; None when the point was not reached this time."""
        story, victim = case.story, self._prepared(case.story)
        victim.plan(case.point.role, case.point.index, case.when)
        story.act(victim)
        has_fired = victim.has_fired()
        victim.forget_plan()
        complaints = self._recover(story, case.recovery)
        return complaints if complaints or has_fired else None

    def _prepared(self, story: Story) -> Victim:
        victim = self.victim
        victim.forget_points()
        story.prepare(victim)
        victim.wait_for_quiet() if story.prepare is nothing else None
        victim.forget_points()
        return victim

    def _recover(self, story: Story, recovery: str) -> list[str]:
        victim = self.victim
        complaints = []
        probe = victim.pacemaker.probe()
        if probe.code not in (0, 1, 7):
            complaints.append(f"probe: {probe}")
        for action in recovery.split():
            complaints += _recovered(victim, action)
        self.cloud.heal()
        complaints += victim.complaints(reason=story.reason)
        if complaints:
            complaints.append(victim.history())
            self.close()
            self._set_up()
        elif story.reason is not None:
            victim.row.disabled, victim.row.reason = False, None
            victim.row.trait = False
        return complaints


def _recovered(victim: Victim, action: str) -> list[str]:
    if action == "reboot":
        victim.end_helpers()
        for pid in victim.daemons():
            kill(pid)
        shutil.rmtree(victim.run_dir, ignore_errors=True)
        return []
    result = victim.run(action, timeout=40)
    return [] if result.code == 0 else [f"{action}: {result}"]


def kill(pid: int) -> None:
    from ocf_agents.testing.node import kill as end

    end(pid)


def cases(story: Story, points: Sequence[Point], every: int, offset: int = 0) -> list[Case]:
    """All of the product with `every` 1; otherwise each so many-th point that matters, each in one way.

    The ways take turns, so that all are seen.
    """
    if every == 1:
        ways = itertools.product(points, ("before", "after"), story.recoveries)
        return [Case(story, point, when, recovery) for point, when, recovery in ways]
    chosen = [point for point in points if not point.what.startswith(TRIVIAL)][offset % every :: every]
    turns = itertools.cycle(itertools.product(story.recoveries, ("after", "before")))
    for _ in range(offset):
        next(turns)
    return [Case(story, point, when, recovery) for point, (recovery, when) in zip(chosen, turns)]


@dataclass
class Tally:
    """What was found and tried, for each story and role."""

    found: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[Case | Story, list[str]]] = field(default_factory=list)

    def lines(self) -> list[str]:
        return [
            f"{name:<58} {self.found[name]:>4} points, {self.tried[name]:>4} kills"
            + (f", {self.missed[name]} not reached" if self.missed[name] else "")
            for name in self.found
        ]


def key(story: Story) -> str:
    return f"{story.name} ({story.role})"


def run(
    stories: Iterable[Story],
    *,
    every: int,
    workers: int,
    tell: Callable[[str], None] = print,
    root: Path | None = None,
) -> Tally:
    """Play all cases of the stories; the stories are shared out among the workers."""
    tally, lock = Tally(), threading.Lock()
    tasks: queue.Queue[tuple[Story, list[Case] | None]] = queue.Queue()
    open_stories = list(stories)
    for story in open_stories:
        tasks.put((story, None))
    left = [len(open_stories)]

    def work(number: int, top: Path) -> None:
        stages: dict[tuple[tuple[str, str], ...], Stage] = {}
        try:
            while True:
                try:
                    story, todo = tasks.get(timeout=0.5)
                except queue.Empty:
                    with lock:
                        if left[0] == 0:
                            return
                    continue
                kind = tuple(sorted(story.parameters.items()))
                if kind not in stages:
                    stages[kind] = Stage(top / f"{number}-{len(stages)}", story.parameters)
                try:
                    todo = _one(stages[kind], story, todo)
                finally:
                    with lock:
                        left[0] -= 1
                del todo
        finally:
            for stage in stages.values():
                stage.close()

    def _one(stage: Stage, story: Story, todo: list[Case] | None) -> None:
        if todo is None:
            try:
                points = stage.find_points(story)
            except AssertionError as error:
                with lock:
                    tally.failures.append((story, [str(error)]))
                return
            todo = cases(story, points, every, offset=open_stories.index(story))
            with lock:
                tally.found[key(story)] = len(points)
                left[0] += len(todo)
            for case in todo:
                tasks.put((story, [case]))
            return
        (case,) = todo
        try:
            complaints = stage.play(case)
        except AssertionError as error:
            complaints = [f"AssertionError: {error}"]
            stage.close()
            stage._set_up()
        with lock:
            if complaints is None:
                tally.missed[key(story)] += 1
            else:
                tally.tried[key(story)] += 1
            if complaints:
                tally.failures.append((case, complaints))
                tell(f"WRONG {case}\n  " + "\n  ".join(complaints))

    with tempfile.TemporaryDirectory(dir=root) as directory:
        threads = [threading.Thread(target=work, args=(n, Path(directory))) for n in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--every", type=int, default=8, help="each so many-th point; 1: all, in all ways")
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("story", nargs="*", help="words of the stories' names, or role=ROLE; default: all")
    options = parser.parse_args(arguments)
    chosen = [s for s in STORIES if all(_is_meant(s, w) for w in options.story)]
    begin = time.monotonic()
    tally = run(chosen, every=options.every, workers=options.workers)
    print("\n".join(tally.lines()))
    print(
        f"{sum(tally.found.values())} points found, {sum(tally.tried.values())} kills,"
        f" {len(tally.failures)} wrong, {time.monotonic() - begin:.0f} s"
    )
    return 1 if tally.failures or not sum(tally.tried.values()) else 0


def _is_meant(story: Story, word: str) -> bool:
    return word.removeprefix("role=") == story.role if word.startswith("role=") else word in story.name


if __name__ == "__main__":
    sys.exit(main())
