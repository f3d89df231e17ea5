# SPDX-License-Identifier: Apache-2.0
"""One world: processes as coroutines, a clock, a disk, a cloud, and every event that may come next.

A process runs until it is about to do something that others can see; there the world stops it and
a chooser decides what happens next: that process goes on, another one does, a request lands, an
answer comes, somebody else acts, a process is killed or frozen, the power fails, or time passes.
Time passes only when nobody who is not frozen has anything to do. The same choices give the same
world, so a list of choices is a schedule that can be run again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Protocol

from greenlet import GreenletExit, getcurrent, greenlet

from ocf_agents.guard import marker, names, store
from ocf_agents.guard import record as record_module
from ocf_agents.guard.guard import Guard
from ocf_agents.guard.record import DISABLE, DISABLED, ENABLED, Attempt, Instant, Known, Process, Record
from ocf_agents.guard.store import Identity, Store
from ocf_agents.guard.verdict import Policy
from tests.proof.bounds import BIRTH_TICKS, HOST, MACHINE, RESOURCE, Bounds
from tests.proof.cloud import Cloud, Request, SimulatedRows
from tests.proof.disk import DIRECTORY, Directory, QuickStore
from tests.proof.ports import (
    SimulatedClock,
    SimulatedProcesses,
    SimulatedReporter,
    SimulatedSpawner,
    attach,
    install,
)
from tests.proof.watch import Watch

__all__ = ["World", "install"]

MONITOR_INTERVAL = 10.0
STOP_SECONDS = 60.0
READ = "read the row"
FLAG = names.flag(RESOURCE)
STRIKES = ("kills", "power", "freezes", "forever", "ticks", "by_hand", "deaths")
LOCAL = frozenset(("begin", "pause", "wait", "held", "waits for the helper's word", "waits for its end"))
"""Where a process goes on without anybody seeing it, up to its next point: no other order is of interest."""


class Unbounded(Exception):
    """A schedule that does not come to an end."""


class Chooser(Protocol):
    def pick(self, world: World, options: list[Any]) -> int:
        """Which of several events comes next. May raise Pruned."""

    def inner(self, count: int) -> int:
        """Which of several outcomes a process meets, in the middle of its step. 0 is the usual one."""

    def jitter(self) -> float:
        """Between 0 and 1."""


class Proc:
    """One process. `history` is a digest of all that it has seen, so it stands for its inner state."""

    def __init__(
        self, world: World, kind: str, body: Callable[[Proc], None], parent: Proc | None = None
    ) -> None:
        self.world, self.kind, self.body, self.parent = world, kind, body, parent
        self.process = world.new_process()
        self.fds: dict[int, Any] = {}
        self.next_fd = 3
        self.tokens = 0
        self.history = hash(kind)
        self.what, self.ready, self.timer = "begin", None, None
        self.frozen = self.was_frozen = self.is_dead = self.has_spoken = False
        self.is_held = self.was_refused = False
        self.request: Any = None
        self.reading: Any = None
        self.frozen_at = 0.0
        self.never_wakes, self.overdue_at = False, 0.0
        self.last, self.served = "unread", False
        self.begun = self.locked_at = world.now
        self.greenlet = greenlet(self._live, parent=world.hub)

    def _live(self) -> None:
        try:
            self.body(self)
        except GreenletExit:
            pass
        finally:
            self.is_dead = True

    def wait(self, what: str, *, ready: Callable[[], bool] | None = None, timer: float | None = None) -> bool:
        """Lets others go on; returns when it is our turn: whether we were ready, rather than out of time."""
        world = self.world
        self.what, self.ready, self.timer = what, ready, timer
        world.hub.switch()
        if self.is_dead:
            raise GreenletExit
        is_ready = ready is None or ready()
        self.history = hash((self.history, what, world.now, is_ready))
        if what == "lock":
            self.locked_at = world.now
        return is_ready

    def saw(self, what: Any) -> None:
        self.history = hash((self.history, what))

    def open(self, inode: Any) -> int:
        self.next_fd += 1
        self.fds[self.next_fd] = inode
        return self.next_fd

    def has_ended(self) -> bool:
        return self.is_dead

    def may_run(self) -> bool:
        if self.ready is not None and self.ready():
            return True
        if self.timer is not None:
            return self.timer <= self.world.now
        return self.ready is None

    def state(self) -> Any:
        asleep = (self.frozen and self.frozen_at, self.never_wakes and self.overdue_at)
        flags = (asleep, self.was_frozen, self.is_held, self.has_spoken)
        return (
            self.process,
            self.history,
            self.what,
            self.timer,
            flags,
            self.reading,
            self.last,
            self.served,
        )


class World:
    """All of it. Seconds never go back; a boot counts its own."""

    def __init__(self, bounds: Bounds, chooser: Chooser, *, story: list[str] | None = None) -> None:
        self.bounds, self.chooser, self.story = bounds, chooser, story
        self.policy = Policy(
            RESOURCE, HOST, **{"hold": bounds.hold, "api_timeout": bounds.api_timeout, **dict(bounds.policy)}
        )
        self.left = bounds.budget()
        self.spent: dict[str, int] = {}
        self.may_strike = any(self.left[one] for one in STRIKES)
        self.is_over = False
        self.now, self.booted, self.boot = 1000.0, 0.0, 1
        self.pids, self.randoms, self.losses = 100, 0, 0
        self.procs: list[Proc] = []
        self.current: Proc | None = None
        self.hub = getcurrent()
        self.script = list(bounds.script)
        self.action: Proc | None = None
        self.newest = "start succeeded"
        self.is_idle: Any = None
        self.steps = 0
        self.service: Process | None = self.new_process()
        self.service_born = 0.0
        self.now = 2000.0
        self.cloud = Cloud(self)
        self.watch = Watch(self)
        self.disk = self._disk()
        attach(self)

    def _disk(self) -> Directory:
        record = self._record_after_a_stop() if self.bounds.is_open else self._record_at_rest()
        files = {names.record(RESOURCE): record_module.encode(record).encode(), names.lock(RESOURCE): b""}
        if not record.is_quiet:
            files[names.flag(RESOURCE)] = b""
        return Directory(files, keeps_everything=not self.left["power"])

    def _record_at_rest(self) -> Record:
        """Of a service that has run for long, its row enabled, nothing unsettled."""
        known = Known(ENABLED, 7, is_final=True)
        return replace(Record.empty(RESOURCE, MACHINE, HOST), row_id="row-1", generation=7, known=known)

    def _record_after_a_stop(self) -> Record:
        """Of a service that was stopped; the client of its disable has died, the request is under way."""
        now = Instant(f"boot-{self.boot}", self.now - self.booted)
        token = "0" * 16
        attempt = Attempt(token, DISABLE, "row-1", now, self.new_process(), let_go=now)
        request = Request(
            DISABLE, "row-1", str(marker.make(RESOURCE, HOST, "2026-11-30T00:00:00Z", token)), self.now, 10.0
        )
        self.cloud.requests.append(request)
        self.cloud.let_go(request)
        self.service, self.newest = None, "stop"
        return replace(
            self._record_at_rest(),
            want=DISABLED,
            attempts=(attempt,),
            known=Known(ENABLED, 7),
            stopped=now,
        )

    # running

    def run(self) -> None:
        """Goes on until nothing can happen any more. Raises what a process raised, and Violation."""
        while True:
            options = self._options()
            if not options:
                break
            number = self.chooser.pick(self, options) if len(options) > 1 else 0
            self._do(options[number])
            if self.is_over:
                break
            self.steps += 1
            if self.steps > 3000:
                raise Unbounded
            if self.cloud.row is None and self.steps > 600:
                return  # helpers look for a row that does not come back, for ever
        self.watch.at_rest()

    def close(self) -> None:
        """Ends every process, so that nothing of this world stays behind."""
        for proc in self.procs:
            self._throw(proc)
        self.procs.clear()

    def key(self) -> int:
        """A digest of all that decides how this world can go on."""
        return hash(
            (
                self.now,
                self.boot,
                self.disk.sign(),
                self.disk.owner.process if self.disk.owner else None,
                self.cloud.state(),
                self.watch.state(),
                tuple(p.state() for p in self.procs),
                self.action.process if self.action else None,
                self.service,
                self.newest,
                tuple(self.script),
                self.is_idle,
                self.losses,
                tuple(self.left.values()),
            )
        )

    def outcome(self) -> Any:
        """How it all ended, as far as anybody cares."""
        record = self.watch.record()
        memory = record.foreign.reason if record and record.foreign else "nothing"
        gist = (record.want, record.known.status, len(record.attempts), memory) if record else None
        reason = "ours" if self.cloud.is_ours else self.cloud.row and self.cloud.row.reason
        return (self.newest, self.cloud.status, reason, self.watch.claim, self.service is None, gist)

    def tell(self, text: str) -> None:
        if self.story is not None:
            self.story.append(f"{self.now - 2000:7.1f} s  {text}")

    def spend(self, name: str, count: int = 1) -> None:
        self.left[name] -= count
        self.may_strike = any(self.left[one] for one in STRIKES)
        self.spent[name] = self.spent.get(name, 0) + count

    # what may happen

    def _options(self) -> list[Any]:
        options: list[Any] = []
        frozen: list[Any] = []
        is_busy = is_seen = False
        for proc in self.procs:
            if proc.frozen:
                if not proc.never_wakes:
                    frozen.append(("thaw", proc))
            elif proc.may_run():
                if proc.what in LOCAL and self.bounds.is_reduced:
                    return [("run", proc)]
                is_busy = True
                is_seen |= proc.what == READ
                options.append(("run", proc))
        is_seen |= self.cloud.add_options(options)
        self._add_cluster(options)
        if not is_busy:
            is_seen |= self._add_time(options)
        extras = frozen + self._extras(is_seen or not options or not self.bounds.is_reduced)
        if options or frozen or not extras:  # whoever is frozen wakes up in the end
            return options + extras
        return [("end",), *extras]

    def _extras(self, is_seen: bool) -> list[Any]:
        """What may happen besides, and need not. `is_seen`: a change of the row would now be seen."""
        left = self.left
        options: list[Any] = []
        if is_seen:
            options += [("late", request) for request in self.cloud.late()]
            if left["acts"]:
                options += [("act", act) for act in self.bounds.others if self.cloud.can_act(act)]
        if self.may_strike:
            options += self._strikes(left)
        return options

    def _strikes(self, left: dict[str, int]) -> list[Any]:
        """What may happen to the node, at any moment."""
        options: list[Any] = []
        victims = [proc for proc in self.procs if proc.kind in self.bounds.victims]
        if left["kills"]:
            options += [("kill", proc) for proc in victims]
        if left["freezes"]:
            options += [("freeze", proc) for proc in victims if not proc.frozen and proc.may_run()]
        if left["forever"]:
            options += [("freeze for ever", proc) for proc in self.procs if self._may_sleep(proc)]
        if left["ticks"] and self._has_monitor():
            options.append(("tick",))
        if left["by_hand"] and self.service is None and self.newest == "stop" and self.action is None:
            options.append(("by hand",))
        if left["deaths"] and self.service is not None:
            options.append(("death",))
        if left["power"]:
            options += [("power", files) for files in self.disk.outcomes()]
            if left["losses"]:
                options.append(("power", None))
        return options

    def _may_sleep(self, proc: Proc) -> bool:
        """Whether a process may stop for ever: a helper; with the lock in its hands only one on record."""
        if proc.kind != "helper" or proc.frozen or not proc.may_run():
            return False
        if self.disk.owner is not proc:
            return True
        record = self.watch.record()
        return bool(record and record.reconciler and record.reconciler.process == proc.process)

    def _add_cluster(self, options: list[Any]) -> None:
        if self.script and (self.action is None or self.script[0] == "overlap"):
            options.append(("cluster",))

    def _has_monitor(self) -> bool:
        return self.service is not None and self.action is None and FLAG in self.disk.names

    def _add_time(self, options: list[Any]) -> bool:
        """Time may pass. Whether that ends a chance of a late request."""
        now = self.now
        timers = self.cloud.timers()
        has_helper = False
        for proc in self.procs:
            if proc.frozen:
                timers += [proc.frozen_at + 20.0, proc.frozen_at + self.policy.hold + 20.0]
            elif proc.timer is not None:
                timers.append(proc.timer)
            if proc.never_wakes:
                timers.append(proc.overdue_at)
            elif proc.kind == "helper":
                has_helper = True
        if self._has_monitor() and not has_helper and self.is_idle != self._idle_key():
            timers.append(now + MONITOR_INTERVAL)
        later = min((t for t in timers if t > now), default=None)
        if later is None or self.left["lost"] < self.cloud.unanswered():
            return False
        options.append(("time", later))
        return self.cloud.misses(later)

    def _idle_key(self) -> Any:
        overdue = sum(p.never_wakes and p.overdue_at <= self.now for p in self.procs)
        return (self.disk.sign(), self.service, overdue)

    # what does happen

    def _do(self, option: Any) -> None:
        kind = option[0]
        if kind == "run":
            self._resume(option[1])
        elif kind == "time":
            self._pass_time(option[1])
        elif kind in ("land", "late", "answer", "refuse", "forbid", "reset"):
            self.cloud.do(kind, option[1])
        elif kind == "cluster":
            self._next_action()
        elif kind == "act":
            self.spend("acts")
            self.cloud.act(option[1])
        elif kind == "kill":
            self.spend("kills")
            self.tell(f"{self.name(option[1])} is killed (before: {option[1].what})")
            self.kill(option[1])
        elif kind in ("freeze", "freeze for ever"):
            self._freeze(option[1], for_ever=kind != "freeze")
        elif kind == "thaw":
            option[1].frozen = False
            self.tell(f"{self.name(option[1])} wakes up")
        elif kind == "tick":
            self.spend("ticks")
            self._monitor()
        elif kind == "by hand":
            self.spend("by_hand")
            self.tell("somebody starts the service by hand")
            self._serve()
            self.newest = "by hand"
            self.watch.begun_by_hand()
        elif kind == "death":
            self.spend("deaths")
            self.tell("the service dies")
            self.service = None
            self._recover()
        elif kind == "power":
            self.power_loss(option[1])
        elif kind == "end":
            self.is_over = True

    def _freeze(self, proc: Proc, *, for_ever: bool) -> None:
        self.spend("forever" if for_ever else "freezes")
        proc.frozen = proc.was_frozen = True
        proc.frozen_at, proc.never_wakes = self.now, for_ever
        self.tell(f"{self.name(proc)} is frozen{' for ever' * for_ever} (before: {proc.what})")

    def _resume(self, proc: Proc) -> None:
        self.current = proc
        if self.story is not None and proc.what not in ("begin", "load", "lock", "pause", "wait", "held"):
            self.tell(f"{self.name(proc)}: {proc.what}")
        proc.greenlet.switch()
        self.current = None
        if proc.is_dead and proc in self.procs:
            self._gone(proc)

    def _pass_time(self, until: float) -> None:
        self.spend("lost", self.cloud.charge())
        self.now = until
        self.cloud.tidy()
        is_alone = all(proc.never_wakes for proc in self.procs)
        if self._has_monitor() and is_alone and self.is_idle != self._idle_key():
            self._monitor()

    # processes

    def new_process(self) -> Process:
        self.pids += 1
        return Process(self.pids, int((self.now - self.booted) * BIRTH_TICKS), f"boot-{self.boot}")

    def name(self, proc: Proc) -> str:
        return f"{proc.kind} {proc.process.pid}"

    def spawn(self, kind: str, body: Callable[[Proc], None], parent: Proc | None = None) -> Proc:
        proc = Proc(self, kind, body, parent)
        self.procs.append(proc)
        return proc

    def find(self, process: Process) -> Proc | None:
        return next((p for p in self.procs if p.process == process), None)

    def is_alive(self, process: Process) -> bool:
        return process == self.service or self.find(process) is not None

    def kill(self, proc: Proc) -> None:
        self._throw(proc)
        self._gone(proc)

    def _throw(self, proc: Proc) -> None:
        proc.is_dead = True
        before, self.current = self.current, proc
        if proc.greenlet is not getcurrent():
            proc.greenlet.parent = getcurrent()
            proc.greenlet.throw(GreenletExit)
        if self.disk.owner is proc:
            self.disk.owner = None
        self.current = before

    def _gone(self, proc: Proc) -> None:
        self.procs.remove(proc)
        self.cloud.client_gone(proc)
        if proc is self.action:
            self.action = None
            if self.newest not in ("stop", "start succeeded"):
                self._recover()
        if proc.kind == "monitor":
            # One that could not start a helper is no proof that there is nothing to do: the next one tries.
            self.is_idle = None if proc.was_refused else self._idle_key()
        elif proc.kind == "helper":
            self.is_idle = None

    def _recover(self) -> None:
        """What Pacemaker does after a failure: stop, then start."""
        if self.left["recoveries"] and "overlap" not in self.script:
            self.spend("recoveries")
            self.script = ["stop", "start"] if self.newest != "stopping" else ["stop", *self.script]

    # crashes

    def point_of_writing(self) -> None:
        """A process is about to write its record."""
        if self.bounds.is_fine and self.current is not None and not self.current.is_dead:
            self.current.wait("write")

    def point_of_crash(self, what: str) -> None:
        """Before a change of the disk: a chooser may kill the process, or take the power, here."""
        proc = self.current
        if proc is None or proc.is_dead:
            return
        if self.left["kills"] and proc.kind in self.bounds.victims and self.chooser.inner(2):
            self.spend("kills")
            self.tell(f"{self.name(proc)} is killed before {what}")
            proc.is_dead = True
            self.watch.crashed({name: inode.data for name, inode in self.disk.names.items()}, proc)
            raise GreenletExit
        if self.left["power"] and proc in self.procs:
            outcomes = self.disk.outcomes()
            number = self.chooser.inner(1 + len(outcomes))
            if number:
                self.tell(f"{self.name(proc)} was about to {what}")
                self.power_loss(outcomes[number - 1])
                raise GreenletExit

    def power_loss(self, files: dict[str, bytes] | None) -> None:
        """The node is gone, and comes back with what the disk kept; None: with an empty disk."""
        self.spend("power")
        for proc in list(self.procs):
            self._throw(proc)
            self.procs.remove(proc)
            self.cloud.client_gone(proc)
        if files is None:
            self.spend("losses")
            self.watch.record_lost()
            files = {}
            self.tell("the power fails, and the disk is lost")
        else:
            self.tell(f"the power fails; on disk: {self._describe(files)}")
            self.watch.crashed(files, self.current)
        files = {names.lock(RESOURCE): b"", **files}
        self.disk = Directory(files, keeps_everything=not self.left["power"])
        self.service = self.action = None
        self.boot += 1
        self.booted = self.now
        self.is_idle = None
        self.newest = "power loss"
        self.script = ["start"]

    def _describe(self, files: dict[str, bytes]) -> str:
        text = files.get(names.record(RESOURCE))
        if text is None:
            return "no record"
        try:
            record = store.decode(text.decode())
        except record_module.Unusable:
            return f"a torn record ({len(text)} bytes)"
        return f"generation {record.generation}, {record.want}, {len(record.attempts)} attempts"

    # actions

    def guard(self, proc: Proc) -> Guard:
        return Guard(
            policy=self.policy,
            disk=self._store(proc),
            clock=SimulatedClock(proc),
            processes=SimulatedProcesses(proc),
            spawner=SimulatedSpawner(proc),
            reporter=SimulatedReporter(proc),
            connect=lambda seconds: SimulatedRows(proc, seconds),
            disable_deadline=self.bounds.disable_deadline,
        )

    def _store(self, proc: Proc) -> Any:
        if self.bounds.is_quick:
            return QuickStore(proc, Record.empty(RESOURCE, MACHINE, HOST))
        return Store(DIRECTORY, Identity(RESOURCE, MACHINE, HOST), lambda text: None)

    def _next_action(self) -> None:
        if self.script[0] == "overlap":
            self.script.pop(0)
        name = self.script.pop(0)
        self.newest = "stopping" if name == "stop" else "starting"
        self.tell(f"the cluster calls {name}")
        self.watch.action_begins(name)
        self.action = self.spawn(name, self._stop if name == "stop" else self._start)

    def _stop(self, proc: Proc) -> None:
        guard = self.guard(proc)
        stopping = guard.stopping(is_alive=self.service is not None, seconds=60.0)
        if self.service is not None:
            proc.wait("ends the service")
            self.service = None
        guard.stopped(stopping, 60.0)
        self.watch.stop_ended(proc)
        if proc is self.action:
            self.newest = "stop"

    def _start(self, proc: Proc) -> None:
        guard = self.guard(proc)
        seconds = self.bounds.start_timeout
        try:
            starting = guard.starting(seconds / 2, seconds)
        except store.StoreError as error:
            self.tell(f"{self.name(proc)} fails: {error.text}")
            return
        proc.wait("starts the service")
        if self.left["failures"] and self.chooser.inner(2):
            self.spend("failures")
            self.tell("the service does not start")
            return
        if self.service is None:
            self._serve()
        assert self.service is not None
        conclusion = guard.started(starting, self.service, seconds - (self.now - proc.begun))
        self.tell(f"{self.name(proc)} ends: success={conclusion.is_success}, {conclusion.text}")
        self.watch.start_ended(proc, conclusion)
        if conclusion.is_success and proc is self.action:
            self.newest = "start succeeded"

    def _serve(self) -> None:
        self.service = self.new_process()
        self.service = self.service._replace(start=self.service.start + 1)
        self.service_born = self.now

    def _tend(self, proc: Proc, service: Process) -> None:
        self.guard(proc).tend(service)

    def _monitor(self) -> None:
        service = self.service
        assert service is not None
        self.tell("a monitor looks at the record")
        self.spawn("monitor", lambda proc: self._tend(proc, service))
