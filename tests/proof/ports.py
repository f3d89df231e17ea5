# SPDX-License-Identifier: Apache-2.0
"""The guard's ports as a simulated process has them, and what the real modules get for `os` and the like."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable

from ocf_agents.guard import attempts, names, reading, reconciler, step, store
from ocf_agents.guard import guard as guard_module
from ocf_agents.guard import record as record_module
from ocf_agents.guard.ports import Errand
from ocf_agents.guard.record import OVERDUE_AFTER, Instant, Process
from tests.proof.bounds import BIRTH_TICKS
from tests.proof.disk import SimulatedLock, SimulatedOs, SimulatedTime

if TYPE_CHECKING:
    from tests.proof.machine import Proc, World


def never() -> bool:
    return False


@dataclass(frozen=True)
class SimulatedClock:
    proc: Proc

    def now(self) -> Instant:
        world = self.proc.world
        return Instant(f"boot-{world.boot}", world.now - world.booted)

    def utc(self) -> str:
        return "2026-11-30T00:00:00Z"

    def pause(self, floor: float, spread: float) -> None:
        world = self.proc.world
        self.proc.reading = None  # whoever has slept has to read again before he writes
        self.proc.wait("pause", ready=never, timer=world.now + floor + spread * world.chooser.jitter())

    def token(self) -> str:
        self.proc.tokens += 1
        return f"{self.proc.process.pid:012x}{self.proc.tokens:04x}"


@dataclass(frozen=True)
class SimulatedProcesses:
    proc: Proc

    def me(self) -> Process:
        return self.proc.process

    def is_alive(self, process: Process) -> bool:
        answer = self.proc.world.is_alive(process)
        self.proc.saw(answer)
        return answer

    def born(self, process: Process) -> float:
        return process.start / BIRTH_TICKS

    def end(self, processes: Any, grace: float) -> None:
        """A helper that sleeps leaves when asked; whoever else does not leave is killed after the grace."""
        world = self.proc.world
        for process in processes:
            other = world.find(process)
            if other is None:
                continue
            if other.what != "pause" and other.kind == "helper" and grace > 0:
                self.proc.wait("waits for its end", ready=other.has_ended, timer=world.now + grace)
            if not other.is_dead:
                world.tell(f"{world.name(self.proc)} ends {world.name(other)} (before: {other.what})")
                world.kill(other)


class SimulatedHelper:
    def __init__(self, parent: Proc, proc: Proc) -> None:
        self._parent, self._proc = parent, proc
        self.process: Process | None = proc.process

    def wait_for_word(self, seconds: float) -> bool:
        proc, world = self._proc, self._parent.world
        return self._parent.wait(
            "waits for the helper's word",
            ready=lambda: proc.has_spoken or proc.is_dead,
            timer=world.now + seconds,
        )

    def release(self) -> None:
        self._proc.is_held = False


@dataclass(frozen=True)
class SimulatedSpawner:
    proc: Proc

    def spawn(self, errand: Errand, *, is_held: bool = False) -> SimulatedHelper:
        parent, world = self.proc, self.proc.world
        parent.wait("spawn a helper")
        if world.left["no_spawns"] and world.chooser.inner(2):
            world.spend("no_spawns")
            parent.was_refused = True
            raise OSError("Cannot allocate memory")

        def live(proc: Proc) -> None:
            if is_held:
                proc.wait("held", ready=lambda: not proc.is_held or parent.is_dead)

            def speak() -> None:
                proc.has_spoken = True

            finish = world.guard(proc).run_errand(errand, speak)
            world.tell(f"{world.name(proc)} ends: {finish.ending if finish else 'not needed'}")
            world.watch.helper_ended(proc, finish)

        helper = world.spawn("helper", live, parent)
        helper.is_held = is_held
        last_calls = 2 * world.policy.api_timeout
        helper.overdue_at = world.now + errand.deadline + last_calls + OVERDUE_AFTER + 1.0
        parent.saw(helper.process.pid)
        world.tell(f"{world.name(parent)} spawns {world.name(helper)} to have it {errand.want}")
        return SimulatedHelper(parent, helper)


@dataclass(frozen=True)
class SimulatedReporter:
    proc: Proc

    def decided(self, generation: int, read: str, decided: str, why: str) -> None:
        world = self.proc.world
        if world.story is not None:
            world.tell(f"{world.name(self.proc)}: {read}: {decided} ({why})")

    def info(self, text: str) -> None:
        pass

    def warning(self, text: str) -> None:
        self.proc.world.watch.warned()
        self.proc.world.tell(f"{self.proc.world.name(self.proc)} warns: {text}")


class _Secrets:
    """What `guard` calls `secrets`: the number that a lost record begins with."""

    world: World

    def randbelow(self, bound: int) -> int:
        self.world.losses += 1
        return 1000 + self.world.losses


_OS, _TIME, _SECRETS = SimulatedOs(), SimulatedTime(), _Secrets()


@dataclass
class _Memo:
    """Pure functions are not computed twice."""

    function: Callable[[Any], Any]
    known: dict[Any, Any] = field(default_factory=dict)

    def __call__(self, argument: Any) -> Any:
        found = self.known.get(argument)
        if found is None:
            if len(self.known) > 50_000:
                self.known.clear()
            found = self.known[argument] = self.function(argument)
        return found


def _replace(value: Any, **changes: Any) -> Any:
    """As dataclasses.replace, ten times as fast; the guard's values check nothing when they are made."""
    new = object.__new__(type(value))
    new.__dict__.update(value.__dict__, **changes)
    return new


def attach(world: World) -> None:
    """This is the world that the real modules are in now."""
    _OS.world = _TIME.world = _SECRETS.world = SimulatedLock.world = world
    pace: Any = step
    pace.BACKOFF = world.bounds.backoff


def install() -> None:
    """Puts the simulated parts under the real modules. Once in each interpreter."""
    module: Any = store
    module.os, module.time, module.FileLock = _OS, _TIME, SimulatedLock
    module.decode = _Memo(record_module.decode)
    module.encode = _Memo(record_module.encode)
    names_module: Any = names
    names_module.stem = _Memo(names.stem)
    secrets_user: Any = guard_module
    secrets_user.secrets = _SECRETS
    for module in (record_module, attempts, reading, guard_module, reconciler, step):
        module.replace = _replace
