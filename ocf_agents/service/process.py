# SPDX-License-Identifier: Apache-2.0
"""A service that the agent itself starts, as a process of its own.

It is known by the agent's pid file, if that is proven, and otherwise by its command line, user and
PID namespace. So neither a lost pid file loses the daemon (case 72) nor a wrong one makes a
stranger of ours (cases 68 to 71).
"""

from __future__ import annotations

import os

from . import pidfile
from .proc import ProcessId, ProcTable
from .supervisor import GONE, ORPHANS, RUNNING, STOPPED, ZOMBIE, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ocf_agents.ocf.deadline import Deadline

    from .command import Command
    from .pidfile import Record
    from .proc import Info, Stat

RUN_DIR = "/run/resource-agents"
RUN_ID_VARIABLE = "AGENT_RUN_ID"
SETTLE_SECONDS = 1.0


class Found:
    """The service's main process. `is_recorded`: proven by the pid file rather than by its looks."""

    __slots__ = ("is_recorded", "process", "state")

    def __init__(self, process: ProcessId, state: str, is_recorded: bool) -> None:
        self.process = process
        self.state = state
        self.is_recorded = is_recorded


class ProcessSupervisor:
    """Finds, starts and stops one service.

    pid_path: the agent's pid file. log_path: where the daemon's output goes, None: nowhere.
    run_dir: the cluster's directory for volatile files, made when it is missing.
    """

    __slots__ = ("command", "log_path", "pid_path", "run_dir", "table")

    def __init__(
        self,
        command: Command,
        pid_path: str,
        log_path: str | None = None,
        *,
        table: ProcTable | None = None,
        run_dir: str = RUN_DIR,
    ) -> None:
        self.command = command
        self.pid_path = pid_path
        self.log_path = log_path
        self.table = ProcTable() if table is None else table
        self.run_dir = run_dir

    @property
    def name(self) -> str:
        """The binary's base name."""
        return self.command.name

    def find(self) -> Found | None:
        """The service's main process: the recorded one, else the oldest that nothing of ours started."""
        found, _ = self._look()
        return found

    def process(self) -> ProcessId | None:
        """The main process while there is one: neither a zombie nor an orphaned worker."""
        status = self.status()
        return status.process if status.state in (RUNNING, STOPPED) else None

    def status(self) -> Status:
        """How the service is. With a good pid file this costs four small reads, else a walk of /proc."""
        found, is_orphan = self._look()
        if found is None:
            return Status(GONE, None)
        if is_orphan:
            return Status(ORPHANS, found.process)
        state = {"T": STOPPED, "Z": ZOMBIE}.get(found.state, RUNNING)
        return Status(state, found.process, found.state == "t")

    def start(self, deadline: Deadline, settle: float = SETTLE_SECONDS) -> ProcessId:
        """Start the service unless it runs, and return its process once it has lived for `settle` seconds.

        Raises NotInstalled (binary, interpreter or user missing), PermissionDenied, GenericError (it
        ended at once: with the last line of its output; or it is there but does not run).
        """
        from .process_start import start

        return start(self, deadline, settle)

    def stop(self, deadline: Deadline, on_note: Callable[[str], None] = lambda text: None) -> None:
        """End everything of the service: SIGTERM, then SIGKILL inside the deadline (case 97).

        Guests and whatever else the service started live on (case 139). `on_note` is told what an
        operator should know. Raises GenericError when something of it still runs.
        """
        from .process_stop import stop

        stop(self, deadline, on_note)

    def record(self) -> Record | None:
        """The pid file's record, if it is of this boot and of a command of our binary's name."""
        record = pidfile.read(self.pid_path)
        if record is None or record.process.boot_id != self.table.boot_id():
            return None
        return record if self.command.is_kind(record.argv) else None

    def recorded(self, record: Record | None) -> Stat | None:
        """The recorded process as it is now, if it still is that one: same start, same command line."""
        if record is None:
            return None
        stat = self.table.stat(record.process.pid)
        if stat is None or stat.start != record.process.start:
            return None
        return stat if stat.is_dead() or self.table.argv(stat.pid) == record.argv else None

    def matching(self, record: Record | None) -> list[Info]:
        """The living processes that carry our command line, or the recorded one, as its user.

        The recorded one counts too, since parameters may have changed since the start.
        """
        is_user = _user_test(self.command)
        found = []
        for pid in self.table.pids():
            argv = self.table.argv(pid)
            is_configured = self.command.matches(argv)
            if not is_configured and (record is None or argv != record.argv):
                continue
            info = self.table.info(pid)
            if info is None or info.is_dead() or not info.is_own_namespace or pid == os.getpid():
                continue
            is_recorded = record is not None and argv == record.argv and info.uid == record.uid
            if is_recorded or (is_configured and is_user(info.uid)):
                found.append(info)
        return found

    def belongs(self, info: Stat, record: Record) -> bool:
        """True when the recorded process, dead or alive, started this one: same session or run id.

        A session keeps its number reserved while it has a member, so the number proves it.
        """
        if info.session == record.process.pid:
            return True
        run_id = self.table.environ_value(info.pid, RUN_ID_VARIABLE)
        return bool(record.run_id) and run_id == record.run_id

    def _look(self) -> tuple[Found | None, bool]:
        """The main process, and whether it is an orphan."""
        record = self.record()
        stat = self.recorded(record)
        if record is not None and stat is not None and not stat.is_dead():
            return Found(record.process, stat.state, True), False
        roots = tree_roots(self.matching(record))
        if roots:
            oldest = min(roots, key=lambda info: (info.start, info.pid))
            process = ProcessId(oldest.pid, oldest.start, self.table.boot_id())
            return Found(process, oldest.state, False), self._are_orphans(roots, record)
        if record is not None and stat is not None:
            return Found(record.process, "Z", True), False
        return None, False

    def _are_orphans(self, roots: list[Info], record: Record | None) -> bool:
        """True when the roots are workers whose parent has died (case 84).

        Without a record: several of one session, whose leader has gone.
        """
        if record is not None and any(self.belongs(root, record) for root in roots):
            return True
        sessions = {root.session for root in roots}
        leader = self.table.stat(next(iter(sessions)))
        return len(roots) > 1 and len(sessions) == 1 and (leader is None or leader.is_dead())


def tree_roots(infos: Iterable[Info]) -> list[Info]:
    """Those whose parent is not among them."""
    infos = list(infos)
    pids = {info.pid for info in infos}
    return [info for info in infos if info.ppid not in pids]


def _user_test(command: Command) -> Callable[[int | None], bool]:
    """Whether a process's user is the service's.

    When this host does not know the service's user (a removed package takes the account along),
    a process of no known user may be ours; one of a user who exists is a stranger's.
    """
    uid = command.uid()
    if uid is not None:
        return lambda owner: owner == uid
    return _is_nobody_known


def _is_nobody_known(uid: int | None) -> bool:
    import pwd

    if uid is None:
        return False
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return True
    return False
