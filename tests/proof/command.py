# SPDX-License-Identifier: Apache-2.0
"""`python3 -m tests.proof WHAT`, where WHAT is one of

search      every schedule of the small worlds, and many of the large ones by chance
reductions  small worlds with and without the orders that nobody can tell apart
exemptions  each one withdrawn: the search finds what it excuses
mutants     each of them is caught
all         all four, within minutes
long        all four, with a search that takes an hour; `long N`: of N schedules
mutant NAME
replay WORLD CHOICES, or replay WORLD seed=N: one schedule as a story, as a failure names it
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from typing import Any

from tests.proof import mutants

CORES = 2
GOAL, LONG_GOAL = 200_000, 2_000_000
"""Schedules."""

MUTANT_EFFORT = 30_000
"""Schedules within which a mutant must be caught."""

ODDITIES = 10_000
"""Of them, those with the fewest unusual choices; the others are by chance."""


def search(*, is_long: bool, goal: int | None = None) -> bool:
    """Every schedule of the small worlds, many of the large ones. Whether all of them were right.

    At least `goal` schedules: what the worlds' own limits leave is filled up by chance, in those
    worlds that were not searched to their end.
    """
    from tests.proof import worlds

    begin = time.monotonic()
    goal = goal or (LONG_GOAL if is_long else GOAL)
    print(f"{'world':40} {'schedules':>10} {'states':>9} {'steps':>10} {'cpu s':>7}")
    results: list[Any] = []
    with get_context("spawn").Pool(CORES) as pool:
        tasks = worlds.tasks(is_long=is_long, goal=goal)
        while tasks:
            for result in pool.imap_unordered(_carry_out, tasks):
                results.append(result)
                _print(result)
            tasks = _filling(results, goal)
    failures = [result.failure for result in results if result.failure]
    for failure in failures:
        _explain(failure)
    _summarise(results, time.monotonic() - begin)
    return not failures


def _filling(results: list[Any], goal: int) -> list[Any]:
    """What is still to be tried, by chance; nothing when something is wrong already."""
    from tests.proof import worlds

    missing = goal - sum(result.schedules for result in results)
    if missing <= 0 or any(result.failure for result in results):
        return []
    names = [result.name for result in results if result.states and not result.is_complete]
    walked = sum(result.schedules for result in results if not result.states)
    return worlds.filling(names, missing, first_seed=1_000_000 + walked)


def _carry_out(task: Any) -> Any:
    from tests.proof import machine
    from tests.proof import search as engine

    machine.install()
    if task.seeds is None:
        result = engine.exhaust(task.bounds, limit=task.limit)
    else:
        result = engine.walk(task.bounds, task.seeds)
    if result.failure:
        result.failure = engine.shorten(result.failure)
    return result


def _print(result: Any) -> None:
    kind = "all of it" if result.is_complete else "in part" if result.states else "by chance"
    states = str(result.states or "")
    name = f"{result.name}, {kind}"
    print(f"{name:40} {result.schedules:10} {states:>9} {result.steps:10} {result.cpu:7.1f}", flush=True)


def _summarise(results: list[Any], seconds: float) -> None:
    total = sum(result.schedules for result in results)
    complete = sum(result.schedules for result in results if result.is_complete)
    states = sum(result.states for result in results)
    cpu = sum(result.cpu for result in results)
    print(f"{total} schedules, {states} states in {seconds:.0f} s ({cpu:.0f} s of CPU)")
    print(f"{complete} of the schedules exhaust their worlds")
    granted: dict[str, int] = {}
    for result in results:
        for name, count in result.granted.items():
            granted[name] = granted.get(name, 0) + count
    print("what no client can close, and how often it was met:")
    for name, count in sorted(granted.items()):
        print(f"  {count:8}  {name}")


def _explain(failure: Any) -> None:
    from tests.proof import machine
    from tests.proof import search as engine

    machine.install()
    print(f"\nFAILED in the world {failure.bounds.name!r}")
    for line in engine.tell(failure):
        print("  " + line)
    numbers = ",".join(map(str, failure.choices)) or "0"
    jitters = "".join(f" {value}" for value in failure.jitters)
    print(f"again: python3 -m tests.proof replay {failure.bounds.name} {numbers}{jitters}")
    if failure.seed is not None:
        print(f"   or: python3 -m tests.proof replay {failure.bounds.name} seed={failure.seed}")


def replay(world: str, numbers: str, *jitters: str) -> bool:
    """One schedule again, as a story."""
    from tests.proof import machine, worlds
    from tests.proof import search as engine

    machine.install()
    story: list[str] = []
    if numbers.startswith("seed="):
        chooser: engine.Scripted = engine.Walk(int(numbers[5:]), engine.WEIGHTS)
    else:
        chooser = engine.Scripted([int(n) for n in numbers.split(",")], [float(j) for j in jitters])
    _, failure = engine.attempt(worlds.ALL[world], chooser, story)
    print("\n".join(story))
    print(failure.text if failure else "nothing is wrong with it")
    return failure is None


def catch_all() -> bool:
    """Each mutant, searched for in an interpreter of its own. Whether all were caught."""
    begin = time.monotonic()
    with ThreadPoolExecutor(CORES) as pool:
        is_caught = list(pool.map(_run_mutant, [mutant.name for mutant in mutants.MUTANTS]))
    print(f"{sum(is_caught)} of {len(is_caught)} mutants caught in {time.monotonic() - begin:.0f} s")
    return all(is_caught)


def _run_mutant(name: str) -> bool:
    command = [sys.executable, "-m", "tests.proof", "mutant", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines() or ["?"]
    print(lines[0] if done.returncode == 0 else f"NOT CAUGHT  {name}: {lines[-1]}", flush=True)
    return done.returncode == 0


def catch(name: str) -> bool:
    """One mutant: those schedules with few unusual choices first, in the worlds where it can show."""
    found = mutants.named(name)
    mutants.install(found)
    result, tried = _hunt(found.worlds)
    if result is None:
        print(f"{name}: not caught in {tried} schedules")
        return False
    print(f"{tried:6} schedules  {name}\n{'':18}{result.name}: {result.failure.text}")
    return True


def _hunt(names: Iterable[str]) -> tuple[Any, int]:
    """The first failure in some worlds, and how many schedules it took."""
    from tests.proof import machine, worlds
    from tests.proof import search as engine

    machine.install()
    tried = 0
    for name in names:
        bounds = worlds.ALL[name]
        for try_it in (
            partial(engine.exhaust, bounds, limit=ODDITIES),
            partial(engine.walk, bounds, range(MUTANT_EFFORT - ODDITIES)),
        ):
            result = try_it()
            tried += result.schedules
            if result.failure:
                return result, tried
    return None, tried


def reductions() -> bool:
    """Small worlds once more with every order that nobody can tell apart: the same ends must come of them."""
    from tests.proof import machine, worlds
    from tests.proof import search as engine

    machine.install()
    is_same = True
    for name in worlds.COMPARED:
        ends: list[set[Any]] = [set(), set()]
        counts = []
        for found, is_reduced in zip(ends, (True, False)):
            bounds = replace(worlds.ALL[name], is_reduced=is_reduced)
            counts.append(engine.exhaust(bounds, outcomes=found).schedules)
        print(
            f"{name}: {counts[0]} schedules for {counts[1]}; {len(ends[0])} and {len(ends[1])} different ends"
        )
        is_same &= ends[0] == ends[1]
    return is_same


def exemptions() -> bool:
    """Each exemption withdrawn: the search must find what it excuses."""
    with get_context("spawn").Pool(CORES) as pool:
        found = pool.map(_withdraw, _exempt())
    return all(found)


def _exempt() -> tuple[tuple[str, str], ...]:
    from tests.proof import watch

    return tuple(zip(watch.EXEMPTIONS, watch.FOUND_IN))


def _withdraw(exemption: tuple[str, str]) -> bool:
    from tests.proof.watch import Watch

    name, world = exemption
    Watch.refused = frozenset((name,))
    result, tried = _hunt([world])
    Watch.refused = frozenset()
    is_found = result is not None and name in result.failure.text
    print(
        f"{tried:6} schedules  {'found' if is_found else 'NOT FOUND'} without its exemption: {name}",
        flush=True,
    )
    return is_found


def _worlds() -> list[str]:
    from tests.proof import worlds

    return list(worlds.ALL)


def _is_known(name: str, names: list[str]) -> bool:
    if name not in names:
        print(f"there is no {name!r}, but there are:\n  " + "\n  ".join(names))
    return name in names


def main(what: str = "", *arguments: str) -> int:
    if what == "replay" and len(arguments) > 1:
        return 1 - replay(*arguments) if _is_known(arguments[0], _worlds()) else 2
    if what == "mutant" and len(arguments) == 1:
        return 1 - catch(*arguments) if _is_known(arguments[0], [one.name for one in mutants.MUTANTS]) else 2
    if any(not argument.isdigit() for argument in arguments):
        what = ""
    goal = int(arguments[0]) if arguments and what else None
    parts = {
        "search": [lambda: search(is_long=False)],
        "long-search": [lambda: search(is_long=True, goal=goal)],
        "mutants": [catch_all],
        "exemptions": [exemptions],
        "reductions": [reductions],
        "all": [lambda: search(is_long=False), reductions, exemptions, catch_all],
        "long": [lambda: search(is_long=True, goal=goal), reductions, exemptions, catch_all],
    }
    if what not in parts:
        print(__doc__)
        return 2
    os.environ.setdefault("PYTHONHASHSEED", "0")
    results = [part() for part in parts[what]]
    print("passed" if all(results) else "FAILED")
    return 0 if all(results) else 1
