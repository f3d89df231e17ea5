# SPDX-License-Identifier: Apache-2.0
"""What comes into the guard from outside: time, processes, the record's disk, people's logs.

The cloud's port is `row.Rows`. A simulation implements all of these; `host` does it for real.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ocf_agents.guard.record import Instant, Process, Record
from ocf_agents.guard.store import Change


class Clock(Protocol):
    """Time that cannot be set back (CLOCK_BOOTTIME), and UTC for people."""

    def now(self) -> Instant: ...

    def utc(self) -> str:
        """Like 2026-11-30T11:23:23Z."""

    def pause(self, floor: float, spread: float) -> None:
        """Sleeps `floor` seconds and a random part of `spread` more."""

    def token(self) -> str:
        """16 random hex digits, never the same twice."""


class Processes(Protocol):
    """Other processes of ours, proven by pid, start time and boot id."""

    def me(self) -> Process: ...

    def is_alive(self, process: Process) -> bool:
        """False also for a zombie: it sends nothing any more."""

    def born(self, process: Process) -> float:
        """When it started, in seconds of its boot's CLOCK_BOOTTIME."""

    def end(self, processes: Iterable[Process], grace: float) -> None:
        """Gives each `grace` seconds to leave by itself, then kills it, and waits a moment for its end."""


class Disk(Protocol):
    """The record's home; see `store.Store`, which is the real one."""

    def load(self) -> Record: ...

    def update(self, change: Change, timeout: float) -> Record: ...


class Errand(NamedTuple):
    """What a helper is sent to do.

    `generation` is the one it works for. With `expected`, the intent is not on disk yet: the
    helper writes it (`want`, generation + 1), if the record still has the expected generation.
    `deadline` is in seconds from its start. `service` is the process that an enable is for.
    """

    want: str
    generation: int
    deadline: float
    expected: int | None = None
    service: Process | None = None


class Spawned(Protocol):
    """A helper that was started: a fresh interpreter in its own session."""

    @property
    def process(self) -> Process | None:
        """None when it ended before it could be looked at."""

    def wait_for_word(self, seconds: float) -> bool:
        """Waits for the helper's first word (answered, nothing to send) or its end."""

    def release(self) -> None:
        """Lets a helper go on that was spawned to take over from its parent."""


class Spawner(Protocol):
    def spawn(self, errand: Errand, *, is_held: bool = False) -> Spawned:
        """Starts a helper; held back until `release` (or our end) if `is_held`. Raises OSError."""


class Reporter(Protocol):
    """Where decisions go: the history and the log."""

    def decided(self, generation: int, read: str, decided: str, why: str) -> None: ...

    def info(self, text: str) -> None: ...

    def warning(self, text: str) -> None: ...
