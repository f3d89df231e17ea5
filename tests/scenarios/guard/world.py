# SPDX-License-Identifier: Apache-2.0
"""A small world for the guard: the real guard code on a simulated clock, disk, process table and cloud.

Every process is a thread, and exactly one thread runs at a time: a process runs until it calls one
of the guard's ports, and the world then decides who is next, by simulated time. The same calls in
the same order give the same history, without a real second going by.

    with World() as world:
        world.run_service()
        world.cloud.fates.append(Fate.lost())        # the next write: no answer, lands when told
        world.stop()
        world.cloud.land(world.cloud.requests[-1])
        assert world.start().is_success

What the world watches by itself, and notes in `violations`: each write that was not on record
before (invariant 5), and each write on a row whose disable is foreign, or is ours but covers a
person's own that was on record (invariants 1 and 2), unless somebody else acted on the row after
the writer had read it, which no client can see (`exempt`).
"""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Callable, NamedTuple

from ocf_agents.guard import marker
from ocf_agents.guard.guard import Conclusion, Guard, Stopping
from ocf_agents.guard.ports import Errand
from ocf_agents.guard.record import (
    DISABLE,
    ENABLE,
    ENABLED,
    Instant,
    Known,
    Process,
    Record,
    Unusable,
    decode,
    encode,
)
from ocf_agents.guard.row import APPLIED, REFUSED, UNKNOWN, Answer, Row, Unreadable
from ocf_agents.guard.store import Change, LockBusy, StoreError
from ocf_agents.guard.verdict import Policy

SERVICE_DOWN_TIME = 60.0
STALE_AFTER = 13.0
FIRST_REPORT = 13.0
REPORT_INTERVAL = 10.0
ROUND_TRIP = 0.02
DISK_TIME = 0.002
HELPER_BIRTH = 0.2
PROCESS_END = 0.5
STEPS_AT_MOST = 200_000


class Killed(BaseException):
    """This simulated process has ended; its thread unwinds."""


def _closed_gate() -> threading.Lock:
    """A lock that one thread waits at until another one releases it."""
    gate = threading.Lock()
    gate.acquire()
    return gate


class Actor:
    """One simulated process: a thread that runs only while the world lets it."""

    def __init__(self, world: World, name: str, body: Callable[[Actor], Any]) -> None:
        self.world = world
        self.name = name
        self.process = world.new_process()
        self.parent: Actor | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.wake_at = world.now
        self.ready: Callable[[], bool] | None = None
        self.is_pausing = False
        self.is_doomed = False
        self.has_ended = False
        self.is_released = True
        self.is_unkillable = False
        self._body = body
        self._turn = _closed_gate()
        self._thread = threading.Thread(target=self._live, name=name, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return not (self.is_doomed or self.has_ended)

    @property
    def is_helper(self) -> bool:
        return self.name.startswith("helper")

    def _live(self) -> None:
        self._turn.acquire()
        try:
            if not self.is_doomed:
                self.result = self._body(self)
        except Killed:
            pass
        except BaseException as error:
            self.error = error
        self.has_ended = True
        self.world.baton.release()

    def take_turn(self) -> None:
        """Runs this process until it blocks or ends. Called by the world only."""
        self._turn.release()
        self.world.baton.acquire()

    def block(self, until: float, ready: Callable[[], bool] | None = None, *, is_pause: bool = False) -> None:
        """Lets others run until simulated time `until`, or until `ready`."""
        self.wake_at, self.ready, self.is_pausing = until, ready, is_pause
        self.world.baton.release()
        self._turn.acquire()
        self.is_pausing = False
        if self.is_doomed:
            raise Killed

    def sleep(self, seconds: float) -> None:
        self.block(self.world.now + seconds)

    def point(self, what: str) -> None:
        """A moment at which a test may act: kill, freeze, or let somebody else do something."""
        self.world.at_point(self, what)
        if self.is_doomed:
            raise Killed

    def kill(self) -> None:
        """SIGKILL: nothing more is sent; what is under way in the network stays there."""
        if self.is_alive and not self.is_unkillable:
            self.is_doomed = True
            self.wake_at = self.world.now
            self.ready = None


class Fate(NamedTuple):
    """What the network does to one write.

    `commits`: seconds after the send at which it takes effect; none, one, or two (sent twice by a
    proxy). `answer_after`: seconds after the send, None for never. `answer`: what the client hears.
    `busy_for`: seconds for which the client's thread still has it in hand.
    """

    commits: tuple[float, ...] = (ROUND_TRIP / 2,)
    answer_after: float | None = ROUND_TRIP
    answer: Answer = Answer(APPLIED)
    busy_for: float = 0.0

    @classmethod
    def lost(cls, *commits: float) -> Fate:
        """No answer; applied at these times, or when the test says so (`Cloud.land`)."""
        return cls(commits, None)

    @classmethod
    def refused(cls, text: str = "409", *, permanent: bool = False) -> Fate:
        return cls((), ROUND_TRIP, Answer(REFUSED, text, permanent=permanent))

    @classmethod
    def slow(cls, seconds: float) -> Fate:
        """Applied at once, answered late, as when Nova calls a dead compute (facts: 60 s, then 200)."""
        return cls((ROUND_TRIP / 2,), seconds)


@dataclass
class Request:
    """One write that was sent."""

    kind: str
    row_id: str
    reason: str | None
    sent: float
    by: Actor
    read_version: int
    landed: int = 0


@dataclass
class Cloud:
    """The API and its one row. Fates are taken in turn; without one a write is applied and answered."""

    world: World
    row: Row | None = field(default_factory=lambda: Row("row-1", disabled=False))
    fates: deque[Fate] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)
    trouble: Unreadable | None = None
    reads: int = 0
    version: int = 0
    covered: bool = False
    last_report: float = -1000.0

    # what operators and others do

    def operator(self, *, disabled: bool, reason: str | None = None) -> None:
        """Somebody else's write on the row."""
        assert self.row is not None
        self._somebody_acts()
        self.row = replace(self.row, disabled=disabled, reason=reason if disabled else None)

    def recreate(self, row_id: str, *, disabled: bool = False, reason: str | None = None) -> None:
        self._somebody_acts()
        self.row = Row(row_id, disabled, reason)

    def _somebody_acts(self) -> None:
        self.version += 1
        self.covered = False

    def force_down(self) -> None:
        assert self.row is not None
        self.row = replace(self.row, forced_down=True)

    # what the network does

    def land(self, request: Request) -> None:
        """A request takes effect now (once more, if it has already)."""
        request.landed += 1
        row = self.row
        if row is None or row.id != request.row_id:
            return
        self._watch(request, row)
        disabled = request.kind == DISABLE
        self.row = replace(row, disabled=disabled, reason=request.reason)

    def _watch(self, request: Request, row: Row) -> None:
        if not row.disabled or self.world.policy.releases(row.reason):
            return
        if self.is_ours and not (self.covered and request.kind == ENABLE):
            return
        self.covered = request.kind == DISABLE and self.world.disk.record().foreign is not None
        note = f"{request.kind} of {request.by.name} changed a row disabled with {row.reason!r}"
        is_exempt = request.read_version != self.version
        (self.world.exempt if is_exempt else self.world.violations).append(note)

    # what a client sees

    def look(self) -> Row | None:
        self.reads += 1
        if self.trouble:
            raise self.trouble
        if self.row is None:
            return None
        self._report()
        is_up = self.world.now - self.last_report <= SERVICE_DOWN_TIME and not self.row.forced_down
        return replace(self.row, up=is_up, beat=f"{self.last_report:.0f}")

    def _report(self) -> None:
        """The service's reports up to now: the first one comes late, then one each ten seconds."""
        born, end = self.world.service_born, self.world.service_end
        if born is None or end - born < FIRST_REPORT:
            return
        lived = end - born - FIRST_REPORT
        self.last_report = born + FIRST_REPORT + lived // REPORT_INTERVAL * REPORT_INTERVAL

    @property
    def is_ours(self) -> bool:
        found = marker.parse(self.row.reason) if self.row and self.row.disabled else None
        return bool(found and found.belongs_to(self.world.resource, self.world.host))


class SimulatedRows:
    """The guard's port to the cloud, as one process has it."""

    def __init__(self, actor: Actor, api_timeout: float) -> None:
        self._actor = actor
        self._cloud = actor.world.cloud
        self._timeout = api_timeout
        self._read_version = -1
        self._busy_until = 0.0
        self._read_at = 0.0

    def read(self) -> Row | None:
        self._actor.point("read")
        self._read_at = self._actor.world.now
        self._actor.sleep(ROUND_TRIP / 2)
        self._read_version = self._cloud.version
        row = self._cloud.look()
        self._actor.sleep(ROUND_TRIP / 2)
        self._actor.point("was read")
        return row

    def disable(self, row_id: str, reason: str) -> Answer:
        return self._write(DISABLE, row_id, reason)

    def enable(self, row_id: str) -> Answer:
        return self._write(ENABLE, row_id, None)

    def busy(self) -> bool:
        return self._actor.world.now < self._busy_until

    def _write(self, kind: str, row_id: str, reason: str | None) -> Answer:
        self._actor.point("send")
        world, cloud = self._actor.world, self._cloud
        request = Request(kind, row_id, reason, world.now, self._actor, self._read_version)
        world.require_intent(request, self._read_at)
        cloud.requests.append(request)
        fate = cloud.fates.popleft() if cloud.fates else Fate()
        self._busy_until = world.now + fate.busy_for
        for delay in fate.commits:
            world.later(delay, lambda: cloud.land(request))
        self._actor.point("sent")
        if fate.answer_after is None:
            self._actor.sleep(self._timeout)
            self._actor.point("answered")
            return Answer(UNKNOWN, f"no answer within {self._timeout:.0f} s")
        self._actor.sleep(fate.answer_after)
        self._actor.point("answered")
        return fate.answer


@dataclass
class SimulatedDisk:
    """One resource's record. `locked_until` holds its lock, `fault` makes it fail; `lose` empties it."""

    world: World
    text: str | None = None
    locked_until: float = 0.0
    fault: str = ""

    def record(self) -> Record:
        empty = Record.empty(self.world.resource, "machine", self.world.host)
        try:
            return decode(self.text) if self.text is not None else empty
        except Unusable:
            return empty

    def lose(self) -> None:
        self.text = None


class SimulatedStore:
    """The guard's port to the disk, as one process has it."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._disk = actor.world.disk

    def load(self) -> Record:
        self._actor.point("load")
        if self._disk.fault:
            raise StoreError(self._disk.fault)
        return self._disk.record()

    def update(self, change: Change, timeout: float) -> Record:
        self._actor.point("update")
        self._actor.sleep(DISK_TIME)
        self._wait_for_lock(timeout)
        if self._disk.fault:
            raise StoreError(self._disk.fault)
        before = self._disk.record()
        after = change(before)
        if after is None or after == before:
            return before
        self._actor.point("write")
        self._disk.text = encode(after)
        self._actor.point("written")
        return after

    def _wait_for_lock(self, timeout: float) -> None:
        world = self._actor.world
        if self._disk.locked_until <= world.now:
            return
        end = world.now + timeout
        self._actor.block(end, lambda: self._disk.locked_until <= world.now)
        if self._disk.locked_until > world.now:
            raise LockBusy(f"the record is locked by another process for {timeout:.0f} s")


class SimulatedClock:
    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    def now(self) -> Instant:
        world = self._actor.world
        return Instant(world.boot_id, world.now - world.booted)

    def utc(self) -> str:
        seconds = int(self._actor.world.now)
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_796_000_000 + seconds))

    def pause(self, floor: float, spread: float) -> None:
        self._actor.point("pause")
        world = self._actor.world
        self._actor.block(world.now + floor + world.random.random() * spread, is_pause=True)

    def token(self) -> str:
        return f"{self._actor.world.random.getrandbits(64):016x}"


class SimulatedProcesses:
    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._world = actor.world

    def me(self) -> Process:
        return self._actor.process

    def is_alive(self, process: Process) -> bool:
        return self._world.is_alive(process)

    def born(self, process: Process) -> float:
        return process.start / 100

    def end(self, processes: Iterable[Process], grace: float) -> None:
        """As the real one: a sleeping helper leaves when asked, a busy one is killed after the grace.

        A process that is no helper has not learnt to leave: the asking kills it.
        """
        for process in processes:
            self._world.ended.append(process)
            actor = self._world.actor_of(process)
            if actor and actor.is_alive:
                self._end(actor, grace)

    def _end(self, actor: Actor, grace: float) -> None:
        if actor.is_helper and not actor.is_pausing:
            self._actor.block(self._world.now + grace, lambda: not actor.is_alive)
        actor.kill()


class SimulatedHelper:
    """A helper as the process that started it has it."""

    def __init__(self, parent: Actor, helper: Actor) -> None:
        self._parent = parent
        self._helper = helper
        self.words = 0
        self.process: Process | None = helper.process

    def wait_for_word(self, seconds: float) -> bool:
        self._parent.point("wait for word")
        self._parent.block(self._parent.world.now + seconds, self._has_word)
        return self._has_word()

    def _has_word(self) -> bool:
        return self.words > 0 or not self._helper.is_alive

    def release(self) -> None:
        self._helper.is_released = True


class SimulatedSpawner:
    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    def spawn(self, errand: Errand, *, is_held: bool = False) -> SimulatedHelper:
        self._actor.point("spawn")
        world = self._actor.world
        if world.cannot_spawn:
            raise OSError("Cannot allocate memory")
        lines: list[SimulatedHelper] = []
        parent = self._actor

        def live(helper: Actor) -> object:
            if not helper.is_released:
                helper.block(world.now + 86400, lambda: helper.is_released or not parent.is_alive)
            helper.sleep(HELPER_BIRTH)

            def say() -> None:
                lines[0].words += 1

            return world.guard(helper).run_errand(errand, say)

        helper = world.actor(f"helper of {parent.name}", live)
        helper.is_released = not is_held
        lines.append(SimulatedHelper(parent, helper))
        world.errands.append(errand)
        self._actor.point("spawned")
        return lines[0]


@dataclass
class Notes:
    """What the guard told people."""

    decisions: list[tuple[str, int, str, str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class SimulatedReporter:
    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    def decided(self, generation: int, read: str, decided: str, why: str) -> None:
        self._actor.world.notes.decisions.append((self._actor.name, generation, read, decided, why))

    def info(self, text: str) -> None:
        pass

    def warning(self, text: str) -> None:
        self._actor.world.notes.warnings.append(text)


class Hook(NamedTuple):
    """A test's own act at the n-th time that a process whose name begins so comes to a point."""

    name: str
    what: str
    act: Callable[[Actor], None]


class World:
    """All of it. Times are in seconds; `now` never goes back, also over a reboot."""

    def __init__(self, *, seed: int = 0, **policy: Any) -> None:
        self.resource = policy.pop("resource", "nova-compute")
        self.host = policy.pop("host", "c1")
        self.policy = Policy(self.resource, self.host, **policy)
        self.options: dict[str, Any] = {}
        self.random = random.Random(seed)
        self.now = 1000.0
        self.booted = 0.0
        self.boot_id = "boot-1"
        self.baton = _closed_gate()
        self.actors: list[Actor] = []
        self._living: list[Actor] = []
        self.disk = SimulatedDisk(self)
        self.cloud = Cloud(self)
        self.notes = Notes()
        self.violations: list[str] = []
        self.exempt: list[str] = []
        self.errands: list[Errand] = []
        self.ended: list[Process] = []
        self.cannot_spawn = False
        self.service: Process | None = None
        self.service_born: float | None = None
        self._service_died = 0.0
        self.observer: Callable[[Actor, str], None] = lambda actor, what: None
        self._hooks: list[Hook] = []
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._counter = 100

    def __enter__(self) -> World:
        return self

    def __exit__(self, *error: object) -> None:
        for actor in self.actors:
            if not actor.has_ended:
                actor.is_doomed = True
                actor.take_turn()

    # time and processes

    def new_process(self) -> Process:
        self._counter += 1
        return Process(self._counter, int((self.now - self.booted) * 100), self.boot_id)

    def actor(self, name: str, body: Callable[[Actor], Any]) -> Actor:
        actor = Actor(self, name, body)
        self.actors.append(actor)
        self._living.append(actor)
        return actor

    def actor_of(self, process: Process) -> Actor | None:
        return next((a for a in self.actors if a.process == process), None)

    def is_alive(self, process: Process) -> bool:
        if process == self.service:
            return True
        actor = self.actor_of(process)
        return actor is not None and actor.is_alive

    def helpers(self) -> list[Actor]:
        """The helpers that live now."""
        return [a for a in self.actors if a.is_alive and a.is_helper]

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        self._counter += 1
        heapq.heappush(self._events, (self.now + seconds, self._counter, act))

    def on(self, name: str, what: str, act: Callable[[Actor], None]) -> None:
        """Once, when a process whose name begins with `name` comes to `what`, `act` happens first."""
        self._hooks.append(Hook(name, what, act))

    def at_point(self, actor: Actor, what: str) -> None:
        self.observer(actor, what)
        for hook in self._hooks:
            if actor.name.startswith(hook.name) and what == hook.what:
                self._hooks.remove(hook)
                hook.act(actor)
                return

    def run(self, seconds: float = 0.0, until: Callable[[], bool] | None = None) -> None:
        """Lets the world go on for so long, or until something is so. Raises what a process raised."""
        limit = self.now + seconds
        for _ in range(STEPS_AT_MOST):
            if until and until():
                return
            if not self._turn(limit):
                self.now = max(self.now, limit)
                return
        raise AssertionError("the simulated world does not come to rest")

    def _turn(self, limit: float) -> bool:
        actor = min(self._living, key=self._when, default=None)
        when = self._when(actor) if actor else float("inf")
        if self._events and self._events[0][0] <= when:
            if self._events[0][0] > limit:
                return False
            when, _, act = heapq.heappop(self._events)
            self.now = max(self.now, when)
            act()
            return True
        if actor is None or when > limit:
            return False
        self.now = max(self.now, when)
        actor.take_turn()
        if actor.has_ended:
            self._living.remove(actor)
        if actor.error:
            raise actor.error
        return True

    def _when(self, actor: Actor) -> float:
        return self.now if actor.is_doomed or (actor.ready and actor.ready()) else actor.wake_at

    # the guard and the actions

    def guard(self, actor: Actor) -> Guard:
        return Guard(
            policy=self.policy,
            disk=SimulatedStore(actor),
            clock=SimulatedClock(actor),
            processes=SimulatedProcesses(actor),
            spawner=SimulatedSpawner(actor),
            reporter=SimulatedReporter(actor),
            connect=lambda seconds: SimulatedRows(actor, seconds),
            **self.options,
        )

    def require_intent(self, request: Request, read_at: float) -> None:
        """Invariant 5: the attempt is on disk, with the token that a disable's marker carries.

        It was decided on a reading of just before: nobody can help a process that is frozen later.
        """
        found = marker.parse(request.reason)
        intents = {
            a.token: a.sent.seconds + self.booted
            for a in self.disk.record().attempts
            if (a.kind, a.row_id, a.client) == (request.kind, request.row_id, request.by.process)
        }
        note = f"{request.kind} of {request.by.name} was sent"
        if not intents or (found and found.token not in intents):
            self.violations.append(f"{note} without an attempt on disk")
        elif max(intents.values()) - read_at > STALE_AFTER:
            self.violations.append(f"{note} on a reading that was stale when it was decided")

    @property
    def service_end(self) -> float:
        return self.now if self.service else self._service_died

    def run_service(self) -> Process:
        """A service process starts, by whomever."""
        self.service = self.new_process()
        self.service_born = self.now
        return self.service

    def at_rest(self, generation: int = 7) -> World:
        """A service that has run for long, its row enabled, nothing unsettled on record."""
        self.run_service()
        self.run(1000.0)
        assert self.cloud.row is not None
        record = Record.empty(self.resource, "machine", self.host)
        known = Known(ENABLED, generation, is_final=True)
        self.disk.text = encode(replace(record, row_id=self.cloud.row.id, generation=generation, known=known))
        return self

    def kill_service(self) -> None:
        self.cloud._report()
        self.service, self._service_died = None, self.now

    def begin(self, name: str, body: Callable[[Actor, Guard], Any]) -> Actor:
        """An action starts; it goes on when the world does."""
        return self.actor(name, lambda actor: body(actor, self.guard(actor)))

    def do(self, name: str, body: Callable[[Actor, Guard], Any], seconds: float = 3600.0) -> Any:
        """An action from its start to its end (None when it was killed)."""
        actor = self.begin(name, body)
        self.run(seconds, lambda: actor.has_ended)
        assert actor.has_ended, f"{name} does not end"
        return actor.result

    def begin_stop(self, name: str = "stop", *, takes: float = 1.0) -> Actor:
        return self.begin(name, lambda actor, guard: self._stop(actor, guard, takes))

    def stop(self, name: str = "stop", *, takes: float = 1.0) -> Stopping | None:
        """The agent's stop: the guard, then the service's own end, which takes so many seconds."""
        result: Stopping | None = self.do(name, lambda actor, guard: self._stop(actor, guard, takes))
        return result

    def _stop(self, actor: Actor, guard: Guard, takes: float) -> Stopping:
        stopping = guard.stopping(is_alive=self.service is not None, seconds=60.0)
        if self.service:
            actor.sleep(takes)
            self.kill_service()
        guard.stopped(stopping, 60.0)
        return stopping

    def begin_start(self, name: str = "start", *, seconds: float = 240.0, serves: bool = True) -> Actor:
        return self.begin(name, lambda actor, guard: self._start(actor, guard, seconds, serves))

    def start(self, name: str = "start", *, seconds: float = 240.0, serves: bool = True) -> Conclusion:
        """The agent's start, with so many seconds for the cloud. Unsuccessful when it was killed."""
        result = self.do(name, lambda actor, guard: self._start(actor, guard, seconds, serves))
        return result if isinstance(result, Conclusion) else Conclusion(False, "killed")

    def _start(self, actor: Actor, guard: Guard, seconds: float, serves: bool) -> Conclusion:
        try:
            starting = guard.starting(seconds / 2, 2 * seconds)
        except StoreError as error:
            return Conclusion(False, error.text)
        actor.sleep(1.0)
        if not serves:
            return Conclusion(False, "the service did not start")
        service = self.service or self.run_service()
        conclusion = guard.started(starting, service, seconds)
        actor.sleep(PROCESS_END)
        return conclusion

    def monitor(self) -> None:
        """A recurring monitor's part of it: the flag is up unless the record is quiet."""
        if self.service and self.disk.text is not None and not self.disk.record().is_quiet:
            service = self.service
            self.do("monitor", lambda actor, guard: guard.tend(service), 60.0)

    def keep_running(self, seconds: float, interval: float = 10.0) -> None:
        """Time goes by with a monitor each `interval`."""
        end = self.now + seconds
        while self.now < end:
            self.run(end - self.now if self.is_idle else min(interval, end - self.now))
            self.monitor()

    @property
    def is_idle(self) -> bool:
        """Nobody lives, nothing is under way, and a monitor finds nothing to do."""
        return not (self._living or self._events) and self.disk.record().is_quiet

    def crash(self, *, down: float = 120.0) -> None:
        """The node loses its power and comes back with the record as it was on disk."""
        for actor in self.actors:
            actor.is_unkillable = False
            actor.kill()
        self.run(0.0)
        if self.service:
            self.kill_service()
        self.run(down)
        self.booted = self.now
        self.boot_id = f"boot-{int(self.boot_id[5:]) + 1}"
