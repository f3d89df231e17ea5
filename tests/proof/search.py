# SPDX-License-Identifier: Apache-2.0
"""Ways through a world: all of them, or as many as you like by chance. And one again, as a story."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass, field
from typing import Any

from tests.proof.bounds import Bounds
from tests.proof.machine import Unbounded, World
from tests.proof.watch import Violation, Watch

WEIGHTS = {
    "run": 12.0,
    "answer": 12.0,
    "land": 12.0,
    "time": 12.0,
    "cluster": 4.0,
    "end": 3.0,
    "late": 1.5,
    "act": 0.5,
    "reset": 1.0,
    "refuse": 0.4,
    "forbid": 0.2,
    "kill": 0.08,
    "freeze": 0.25,
    "freeze for ever": 0.1,
    "thaw": 0.5,
    "tick": 0.3,
    "power": 0.03,
    "by hand": 0.5,
    "death": 0.1,
}


class Pruned(Exception):
    """This state has been met before: whatever follows it is tried already, or will be."""


@dataclass
class Failure:
    """A schedule that breaks a rule: `choices` replays it in the world of these bounds."""

    bounds: Bounds
    choices: list[int]
    jitters: list[float]
    rule: str
    text: str
    seed: int | None = None


@dataclass
class Result:
    """What a search has tried. `schedules`: runs from the start of the world; `states`: distinct ones met."""

    name: str
    schedules: int = 0
    states: int = 0
    steps: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    is_complete: bool = True
    failure: Failure | None = None
    granted: dict[str, int] = field(default_factory=dict)


class Scripted:
    """Follows a list of choices, then takes the first option each time."""

    def __init__(self, choices: list[int], jitters: list[float] | None = None) -> None:
        self.choices = choices
        self.taken: list[int] = []
        self.widths: list[int] = []
        self.jitters = list(jitters or [])
        self.jittered: list[float] = []

    def pick(self, world: World, options: list[Any]) -> int:
        return self.inner(len(options))

    def inner(self, count: int) -> int:
        number = len(self.taken)
        choice = self.choices[number] if number < len(self.choices) else 0
        self.taken.append(choice)
        self.widths.append(count)
        return choice

    def jitter(self) -> float:
        return self.jitters.pop(0) if self.jitters else 0.5


class Exhaustive(Scripted):
    """Goes on where no earlier run has been."""

    def __init__(self, choices: list[int], seen: set[int]) -> None:
        super().__init__(choices)
        self.seen = seen

    def pick(self, world: World, options: list[Any]) -> int:
        if len(self.taken) >= len(self.choices):
            key = world.key()
            if key in self.seen:
                raise Pruned
            self.seen.add(key)
        return self.inner(len(options))


class Walk(Scripted):
    """Chooses by chance: usually what usually happens. Each walk has a temper of its own: what is rare in
    one is frequent in another, so that each mixture of events has its turn."""

    def __init__(self, seed: int, weights: dict[str, float]) -> None:
        super().__init__([])
        self.random = random.Random(seed)
        self.weights = {
            kind: weight * math.exp(self.random.uniform(-2, 2)) for kind, weight in weights.items()
        }
        self.faults = math.exp(self.random.uniform(-4, -1))

    def pick(self, world: World, options: list[Any]) -> int:
        weights = [self.weights[option[0]] for option in options]
        choice = self.random.choices(range(len(options)), weights)[0]
        self.taken.append(choice)
        return choice

    def inner(self, count: int) -> int:
        choice = self.random.randrange(count) if self.random.random() < self.faults else 0
        self.taken.append(choice)
        return choice

    def jitter(self) -> float:
        value = round(self.random.random(), 3)
        self.jittered.append(value)
        return value


def attempt(
    bounds: Bounds, chooser: Scripted, story: list[str] | None = None, outcomes: set[Any] | None = None
) -> tuple[int, Failure | None]:
    """One run of a world: the number of its steps, and the rule that it broke."""
    world = World(bounds, chooser, story=story)
    failure = None
    try:
        world.run()
        if outcomes is not None:
            outcomes.add(world.outcome())
    except Pruned:
        pass
    except Violation as error:
        failure = Failure(bounds, chooser.taken, chooser.jittered, error.rule, str(error))
    except Unbounded:
        failure = Failure(bounds, chooser.taken, chooser.jittered, "end", "end: this does not come to an end")
    except Exception as error:
        text = f"no traceback: {type(error).__name__}: {error}"
        failure = Failure(bounds, chooser.taken, chooser.jittered, "traceback", text)
    world.close()
    return world.steps, failure


def exhaust(
    bounds: Bounds,
    *,
    limit: int | None = None,
    seconds: float | None = None,
    outcomes: set[Any] | None = None,
) -> Result:
    """Every schedule of a world, but for those that meet a state from which all has been tried.

    Those with the fewest unusual choices come first, so that a failure is a short story.
    """
    result = Result(bounds.name)
    begin, cpu = time.monotonic(), time.process_time()
    seen: set[int] = set()
    waiting: list[list[bytes]] = [[b""]]
    Watch.granted = result.granted
    while any(waiting):
        if (limit and result.schedules >= limit) or (seconds and time.monotonic() - begin > seconds):
            result.is_complete = False
            break
        oddity = next(n for n, heads in enumerate(waiting) if heads)
        prefix = waiting[oddity].pop()
        chooser = Exhaustive(list(prefix), seen)
        steps, result.failure = attempt(bounds, chooser, outcomes=outcomes)
        result.schedules += 1
        result.steps += steps
        if result.failure:
            break
        if len(waiting) == oddity + 1:
            waiting.append([])
        taken = bytes(chooser.taken)
        for number in range(len(taken) - 1, len(prefix) - 1, -1):
            head = taken[:number]
            waiting[oddity + 1] += [head + bytes((other,)) for other in range(1, chooser.widths[number])]
    result.states = len(seen)
    result.seconds, result.cpu = time.monotonic() - begin, time.process_time() - cpu
    return result


def walk(bounds: Bounds, seeds: range, *, seconds: float | None = None) -> Result:
    """Schedules by chance, one for each seed; those that turn out the same are counted once."""
    result = Result(bounds.name, is_complete=False)
    begin, cpu = time.monotonic(), time.process_time()
    Watch.granted = result.granted
    ways: set[int] = set()
    for seed in seeds:
        chooser = Walk(seed, WEIGHTS)
        steps, result.failure = attempt(bounds, chooser)
        ways.add(hash((tuple(chooser.taken), tuple(chooser.jittered))))
        result.steps += steps
        if result.failure:
            result.failure.seed = seed
        if result.failure or (seconds and time.monotonic() - begin > seconds):
            break
    result.schedules = len(ways)
    result.seconds, result.cpu = time.monotonic() - begin, time.process_time() - cpu
    return result


def tell(failure: Failure) -> list[str]:
    """The story of a schedule, line by line."""
    story: list[str] = []
    _, again = attempt(failure.bounds, Scripted(failure.choices, failure.jitters), story)
    assert again is None or again.text == failure.text, again
    return [*story, failure.text if again else "(it does not fail when it is run again)"]


def shorten(failure: Failure) -> Failure:
    """A failure with as few unusual choices as can be found by leaving one out at a time."""
    best = failure
    number = 0
    while number < len(best.choices):
        if best.choices[number]:
            for candidate in (
                [*best.choices[:number], 0, *best.choices[number + 1 :]],
                best.choices[:number],
            ):
                chooser = Scripted(candidate, best.jitters)
                try:
                    _, found = attempt(best.bounds, chooser)
                except IndexError:
                    continue
                if found and found.rule == best.rule:
                    taken = list(chooser.taken)
                    while taken and taken[-1] == 0:
                        taken.pop()
                    best = Failure(best.bounds, taken, best.jitters, found.rule, found.text)
                    break
        number += 1
    return best
