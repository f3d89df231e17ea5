# SPDX-License-Identifier: Apache-2.0
"""Stopping a service that runs as a process: loaded by a stop only.

The processes are looked up again in every round, so that a worker born between two looks is found
too. Each signal goes to a process that was just proven.
"""

from __future__ import annotations

import select
import signal
import time
from os import close
from typing import TYPE_CHECKING

from ocf_agents.ocf.errors import GenericError, PermissionDenied

from . import pidfile, runfile
from .proc import ProcessId, open_pidfd
from .process import tree_roots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ocf_agents.ocf.deadline import Deadline

    from .proc import Info, Stat
    from .process import ProcessSupervisor

SHORTEST_TERM = 1.0
LEAST_KILL = 2.0
MOST_KILL = 10.0
KILL_SHARE = 0.1
SHORTEST_KILL = 1.0
ROUND_SECONDS = 0.5
NO_PIDFD_SECONDS = 0.05
LEAST_WAIT = 0.1
FREEZE_ROUNDS = 20


def stop(supervisor: ProcessSupervisor, deadline: Deadline, on_note: Callable[[str], None]) -> None:
    """See ProcessSupervisor.stop."""
    stopping = Stopping(supervisor, on_note)
    if supervisor.command.uid() is None:
        user = supervisor.command.user
        on_note(f"user {user} does not exist here: processes of existing users are left alone")
    term_seconds = term_budget(deadline.remaining())
    if not stopping.ask(term_seconds):
        on_note(f"{supervisor.name} did not end within {term_seconds:.0f} s of SIGTERM and is killed")
        stopping.kill(max(deadline.remaining(), SHORTEST_KILL))
    # A mistyped parameter must not cost another file.
    if pidfile.is_replaceable(supervisor.pid_path):
        runfile.remove(supervisor.pid_path)


def term_budget(seconds: float) -> float:
    """How long SIGTERM may take out of `seconds`: all but what SIGKILL needs, and at least 1 s (case 97)."""
    reserve = min(MOST_KILL, max(LEAST_KILL, seconds * KILL_SHARE))
    return max(SHORTEST_TERM, seconds - reserve)


class Stopping:
    """One stop: what it has seen of the service, and what it has sent to whom."""

    def __init__(self, supervisor: ProcessSupervisor, on_note: Callable[[str], None]) -> None:
        self._supervisor = supervisor
        self._table = supervisor.table
        self._on_note = on_note
        self._record = supervisor.record()
        self._known: set[ProcessId] = set()
        self._asked: set[ProcessId] = set()
        self._refused: set[ProcessId] = set()
        self._is_proven = supervisor.recorded(self._record) is not None

    def ask(self, seconds: float) -> bool:
        """SIGTERM to the service, and to what it leaves behind; True when all of it has ended.

        The main process comes first and ends its workers itself; helpers come last, because it
        needs them to end well. Raises PermissionDenied when only root may signal what is left.
        """
        end = time.monotonic() + seconds
        while True:
            living = self.living()
            if not living:
                return True
            for info in self._next_to_ask(living):
                self._ask_one(info)
            left = end - time.monotonic()
            self._require_permission(living, has_time=left > 0)
            if left <= 0:
                return False
            self._wait_for_change(living, min(left, ROUND_SECONDS))

    def kill(self, seconds: float) -> None:
        """SIGKILL to all that is left. Raises GenericError when something survives it for `seconds`.

        Raises PermissionDenied when only root may signal what is left.
        """
        end = time.monotonic() + seconds
        killed: set[ProcessId] = set()
        while living := self._freeze():
            self._require_permission(living, has_time=False)
            survivors = [info for info in living if self._identity(info) in killed]
            over = time.monotonic() - end
            if over >= 0 and (survivors or over >= SHORTEST_KILL):
                raise self._survival(survivors or living)
            for info in living:
                self._send(info, signal.SIGKILL)
                killed.add(self._identity(info))
            self._wait_for_all(living, max(end, time.monotonic() + LEAST_WAIT))

    def living(self) -> list[Info]:
        """Everything of the service that runs now, and is no zombie."""
        daemons = self._supervisor.matching(self._record, is_proven=self._is_proven)
        main = self._recorded_main()
        if main is not None and all(info.pid != main.pid for info in daemons):
            daemons.append(main)
        self._known.update(self._identity(info) for info in daemons)
        helpers = self._helpers({info.pid for info in daemons})
        self._known.update(self._identity(info) for info in helpers)
        return daemons + helpers

    def _recorded_main(self) -> Info | None:
        stat = self._supervisor.recorded(self._record)
        return None if stat is None or stat.is_dead() else self._table.info(stat.pid)

    def _helpers(self, daemons: set[int]) -> list[Info]:
        """The helpers that the service started: below it, of its session, of its run, or seen so before."""
        helpers = []
        for pid in self._table.pids():
            if pid in daemons or not self._supervisor.command.is_helper(self._table.argv(pid)):
                continue
            info = self._table.info(pid)
            if info is None or info.is_dead() or not info.is_own_namespace:
                continue
            if self._identity(info) in self._known or self._is_own_helper(info):
                helpers.append(info)
        return helpers

    def _is_own_helper(self, info: Info) -> bool:
        if self._record is not None and self._supervisor.belongs(info, self._record):
            return True
        own = {process.pid for process in self._known}
        if self._supervisor.is_own_helper(info) or info.session in own:
            return True
        return self._has_ancestor(info, own)

    def _has_ancestor(self, stat: Stat, pids: set[int]) -> bool:
        ancestor: Stat | None = stat
        while ancestor is not None and ancestor.ppid > 1:
            if ancestor.ppid in pids:
                return True
            ancestor = self._table.stat(ancestor.ppid)
        return False

    def _next_to_ask(self, living: list[Info]) -> list[Info]:
        daemons = [info for info in living if not self._supervisor.command.is_helper(info.argv)]
        roots = tree_roots(daemons or living)
        return [info for info in roots if self._identity(info) not in self._asked]

    def _ask_one(self, info: Info) -> None:
        self._asked.add(self._identity(info))
        self._send(info, signal.SIGTERM)
        if info.state == "T":
            # A stopped process would keep the request until somebody continues it.
            self._send(info, signal.SIGCONT)

    def _freeze(self) -> list[Info]:
        """All that lives, stopped, so that nothing of it can start another while the rest is killed."""
        frozen: set[ProcessId] = set()
        living = self.living()
        for _ in range(FREEZE_ROUNDS):
            fresh = [info for info in living if self._identity(info) not in frozen]
            if not fresh:
                break
            for info in fresh:
                self._send(info, signal.SIGSTOP)
                frozen.add(self._identity(info))
            living = self.living()
        return living

    def _send(self, info: Stat, number: int) -> None:
        try:
            self._table.send(self._identity(info), number)
        except PermissionError:
            self._refused.add(self._identity(info))

    def _require_permission(self, living: list[Info], *, has_time: bool) -> None:
        """Raises PermissionDenied when the service, or all that is left of it, may not be signalled.

        While there is time, a helper that may not be signalled can still follow its daemon.
        """
        refused = [info for info in living if self._identity(info) in self._refused]
        if has_time:
            refused = [info for info in refused if not self._supervisor.command.is_helper(info.argv)]
        if refused and (has_time or len(refused) == len(living)):
            who = f"pid {refused[0].pid} ({self._supervisor.name})"
            raise PermissionDenied(f"may not signal {who}: stop it as root or as its user")

    def _wait_for_change(self, living: Iterable[Stat], seconds: float) -> None:
        """Until one of them has ended, or the time is over."""
        descriptors = [fd for fd in (open_pidfd(info.pid) for info in living) if fd is not None]
        try:
            poller = select.poll()
            for descriptor in descriptors:
                poller.register(descriptor, select.POLLIN)
            poller.poll((seconds if descriptors else min(seconds, NO_PIDFD_SECONDS)) * 1000)
        finally:
            for descriptor in descriptors:
                close(descriptor)

    def _wait_for_all(self, living: Iterable[Stat], end: float) -> None:
        for info in living:
            self._table.wait(self._identity(info), max(0.0, end - time.monotonic()))

    def _survival(self, living: list[Info]) -> GenericError:
        shown = ", ".join(f"{info.pid} (state {info.state})" for info in living[:5])
        return GenericError(f"{self._supervisor.name} survives SIGKILL: pid {shown}")

    def _identity(self, stat: Stat) -> ProcessId:
        return ProcessId(stat.pid, stat.start, self._table.boot_id())
