# SPDX-License-Identifier: Apache-2.0
"""The guard's other ports: time, processes, the record's disk, helpers, and nobody who listens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Callable

from benchmarks.fleet.kernel import BOOT, TICKS, Proc, Signal
from ocf_agents.guard.ports import Errand
from ocf_agents.guard.record import Instant, Process, Record
from ocf_agents.guard.store import Change

DISK_TIME = 0.005
HELPER_BIRTH = 0.3


class SimulatedClock:
    def __init__(self, proc: Proc) -> None:
        self._proc = proc

    def now(self) -> Instant:
        return Instant(BOOT, self._proc.simulation.now)

    def utc(self) -> str:
        return "2026-11-30T00:00:00Z"

    def pause(self, floor: float, spread: float) -> None:
        self._proc.pause(floor + spread * self._proc.simulation.share())

    def token(self) -> str:
        return f"{self._proc.simulation.random.getrandbits(64):016x}"


class SimulatedProcesses:
    """As the real ones: a helper that sleeps leaves when asked, a busy one is killed after the grace."""

    def __init__(self, proc: Proc, is_service: Callable[[Process], bool]) -> None:
        self._proc, self._is_service = proc, is_service

    def me(self) -> Process:
        return self._proc.process

    def is_alive(self, process: Process) -> bool:
        return self._is_service(process) or self._proc.simulation.find(process) is not None

    def born(self, process: Process) -> float:
        return process.start / TICKS

    def end(self, processes: Iterable[Process], grace: float) -> None:
        for process in processes:
            other = self._proc.simulation.find(process)
            if other and (other.is_pausing or not self._proc.wait(other.ended, grace)):
                other.kill()


class SharedRecord:
    """One host's record, changed by one process at a time."""

    def __init__(self, record: Record) -> None:
        self.record = record


class SimulatedDisk:
    def __init__(self, proc: Proc, shared: SharedRecord) -> None:
        self._proc, self._shared = proc, shared

    def load(self) -> Record:
        return self._shared.record

    def update(self, change: Change, timeout: float) -> Record:
        self._proc.sleep(DISK_TIME)
        after = change(self._shared.record)
        if after is not None:
            self._shared.record = after
        return self._shared.record


class SimulatedHelper:
    """A helper as the process that started it has it."""

    def __init__(self, parent: Proc, helper: Proc, word: Signal, released: Signal) -> None:
        self.process: Process | None = helper.process
        self._parent, self._word, self._released = parent, word, released

    def wait_for_word(self, seconds: float) -> bool:
        return self._parent.wait(self._word, seconds)

    def release(self) -> None:
        self._released.set()


class SimulatedSpawner:
    """`live` is what a helper does with its errand, and what it calls for its first word."""

    def __init__(self, proc: Proc, live: Callable[[Proc, Errand, Callable[[], None]], object]) -> None:
        self._proc, self._live = proc, live

    def spawn(self, errand: Errand, *, is_held: bool = False) -> SimulatedHelper:
        word, released = Signal(), Signal()
        self._proc.ended.wake(released.set)

        def body(helper: Proc) -> None:
            helper.sleep(HELPER_BIRTH)
            if is_held:
                helper.wait(released)
            try:
                self._live(helper, errand, word.set)
            finally:
                word.set()

        return SimulatedHelper(self._proc, self._proc.simulation.spawn(body), word, released)


class Silence:
    """A reporter whom nobody reads."""

    def decided(self, generation: int, read: str, decided: str, why: str) -> None:
        """Nothing."""

    def info(self, text: str) -> None:
        """Nothing."""

    def warning(self, text: str) -> None:
        """Nothing."""
