# SPDX-License-Identifier: Apache-2.0
"""A clock that jumps from event to event, and processes that are coroutines.

The same seed gives the same run, to the last request.
"""

from __future__ import annotations

import heapq
from collections import deque
from random import Random
from typing import Callable

from greenlet import GreenletExit, getcurrent, greenlet

from ocf_agents.guard.record import Process

BOOT = "boot-1"
TICKS = 100
"""Of a process's start time, in a second."""


class Simulation:
    """All events to come. `now` is in seconds. `has_jitter` False replaces each random part by its mean."""

    def __init__(self, seed: int, *, has_jitter: bool = True) -> None:
        self.random = Random(seed)  # noqa: S311 (jitter)
        self.has_jitter = has_jitter
        self.now = 1000.0
        self.hub = getcurrent()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._living: dict[Process, Proc] = {}

    def at(self, moment: float, act: Callable[[], None]) -> None:
        """Let something happen then."""
        self._count += 1
        heapq.heappush(self._events, (moment, self._count, act))

    def run(self, until: float = float("inf")) -> None:
        """Go on until nothing is left to happen, or until then."""
        while self._events and self._events[0][0] <= until:
            self.now, _, act = heapq.heappop(self._events)
            act()

    def share(self) -> float:
        """How much of a random pause is slept, from 0 to 1."""
        return self.random.random() if self.has_jitter else 0.5

    def new_process(self) -> Process:
        """An identity of its own."""
        self._count += 1
        return Process(self._count, int(self.now * TICKS), BOOT)

    def spawn(self, body: Callable[[Proc], None]) -> Proc:
        """A process that begins now."""
        proc = Proc(self, body)
        self._living[proc.process] = proc
        return proc

    def find(self, process: Process) -> Proc | None:
        """The living process of that identity."""
        return self._living.get(process)

    def gone(self, proc: Proc) -> None:
        """It has ended."""
        self._living.pop(proc.process, None)


class Signal:
    """Something that processes wait for."""

    def __init__(self) -> None:
        self.is_set = False
        self._waiting: deque[Callable[[], None]] = deque()

    def set(self) -> None:
        self.is_set = True
        while self._waiting:
            self._waiting.popleft()()

    def wake(self, resume: Callable[[], None]) -> None:
        """Call `resume` when it is set."""
        self._waiting.append(resume)


class Proc:
    """One process. Its body runs until it sleeps or waits."""

    def __init__(self, simulation: Simulation, body: Callable[[Proc], None]) -> None:
        self.simulation = simulation
        self.process = simulation.new_process()
        self.ended = Signal()
        self.is_pausing = False
        self._body = body
        self._turn = 0
        self._greenlet = greenlet(self._live, parent=simulation.hub)
        self._wake_at(simulation.now)

    def sleep(self, seconds: float) -> None:
        """Let others run for so long."""
        self._wake_at(self.simulation.now + seconds)
        self.simulation.hub.switch()

    def pause(self, seconds: float) -> None:
        """A sleep in which the process leaves at once when it is asked to."""
        self.is_pausing = True
        self.sleep(seconds)
        self.is_pausing = False

    def wait(self, signal: Signal, seconds: float | None = None) -> bool:
        """Wait for the signal; False when so many seconds have passed without it."""
        if not signal.is_set:
            self._turn += 1
            turn = self._turn
            if seconds is not None:
                self.simulation.at(self.simulation.now + max(0.0, seconds), lambda: self._resume(turn))
            signal.wake(lambda: self.simulation.at(self.simulation.now, lambda: self._resume(turn)))
            self.simulation.hub.switch()
        return signal.is_set

    def kill(self) -> None:
        """End it here and now."""
        self._turn += 1
        self._greenlet.parent = getcurrent()
        self._greenlet.throw(GreenletExit)
        if not self.ended.is_set:  # it had not begun
            self._end()

    def _live(self) -> None:
        try:
            self._body(self)
        except GreenletExit:
            return
        finally:
            self._end()

    def _end(self) -> None:
        self.simulation.gone(self)
        self.ended.set()

    def _wake_at(self, moment: float) -> None:
        self._turn += 1
        turn = self._turn
        self.simulation.at(moment, lambda: self._resume(turn))

    def _resume(self, turn: int) -> None:
        if turn == self._turn and not self.ended.is_set:
            self._greenlet.switch()
