# SPDX-License-Identifier: Apache-2.0
"""A service that the agent itself starts, as a process of its own.

It is known by the agent's pid file, if that is proven, and otherwise by its command line, user and
PID namespace. So neither a lost pid file loses the daemon (case 72) nor a wrong one makes a
stranger of ours (cases 68 to 71).

Each run has an id, `INSTANCE/PID-FILE/UUID`, which the daemon and all that it starts have in their
environment. It tells two resources apart that run the same command, and knows a daemon again that
has changed its command line. Guests inherit it too, so it makes nothing a part of the service that
does not look like one. The pid file's path tells nodes apart that share one process table.
"""

from __future__ import annotations

import os

from . import pidfile
from .command import is_run_by
from .proc import ProcessId, ProcTable
from .supervisor import GONE, ORPHANS, RUNNING, STOPPED, ZOMBIE, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
    run_dir: the cluster's directory for volatile files, made when it is missing. instance: the
    resource's name, without a slash; without one, other resources' daemons cannot be told.
    """

    __slots__ = ("command", "instance", "log_path", "pid_path", "run_dir", "table")

    def __init__(
        self,
        command: Command,
        pid_path: str,
        log_path: str | None = None,
        *,
        table: ProcTable | None = None,
        run_dir: str = RUN_DIR,
        instance: str = "",
    ) -> None:
        self.command = command
        self.pid_path = pid_path
        self.log_path = log_path
        self.table = ProcTable() if table is None else table
        self.run_dir = run_dir
        self.instance = instance

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

    def status(self, patience: float = 0.0) -> Status:
        """How the service is. With a good pid file this costs four small reads, else a walk of /proc.

        Nobody but the agent has it on its way up or down, so there is nothing to be patient for.
        """
        found, is_orphan = self._look()
        if found is None:
            return Status(GONE, None)
        if is_orphan:
            return Status(ORPHANS, found.process)
        return status_of(found.process, found.state)

    def require_installed(self) -> None:
        """Raises NotInstalled or PermissionDenied when the binary cannot be run."""
        from .process_start import check_binary

        check_binary(self.command.binary)

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
        """The pid file's record, if it is of this boot, this resource and our binary's name.

        Where the binary is a guess, a record with a run id is taken: the process must have it too.
        """
        record = pidfile.read(self.pid_path)
        if record is None or record.process.boot_id != self.table.boot_id():
            return None
        if self.is_anothers(record.run_id):
            return None
        return record if self.command.is_kind(record.argv) or self._is_guess(record) else None

    def recorded(self, record: Record | None) -> Stat | None:
        """The recorded process as it is now, if it still is that one.

        Its pid and start time must be right, and the process itself must say that it is ours: a file
        that tells another's number is not enough (cases 70, 71).
        """
        if record is None:
            return None
        stat = self.table.stat(record.process.pid)
        if stat is None or stat.start != record.process.start:
            return None
        return stat if stat.is_dead() or self._is_told_by_itself(record) else None

    def matching(self, record: Record | None, *, is_proven: bool = False) -> list[Info]:
        """The living processes that carry our command line, or the recorded one, as its user.

        The recorded one counts too, since parameters may have changed since the start.
        is_proven: the recorded process was found, so a guess at the command line finds no other.
        """
        candidates = _Candidates(self, record, is_proven)
        return [info for info in map(candidates.look, self.table.pids()) if info is not None]

    def new_run_id(self) -> str:
        """An id for the environment of a new run."""
        import uuid

        return f"{self.instance}/{self.pid_path}/{uuid.uuid4().hex}"

    def is_own(self, run_id: str | None) -> bool:
        """True when the run id names our instance and our pid file."""
        return bool(run_id) and (run_id or "").rpartition("/")[0] == f"{self.instance}/{self.pid_path}"

    def belongs(self, info: Stat, record: Record) -> bool:
        """True when the recorded process, dead or alive, started this one: same session or run id.

        A session keeps its number reserved while it has a member, so the number proves it.
        """
        if info.session == record.process.pid:
            return True
        run_id = self.table.environ_value(info.pid, RUN_ID_VARIABLE)
        return bool(record.run_id) and run_id == record.run_id

    def is_contradicted(self, pid: int) -> bool:
        """True when the process has another value for a variable that our service is given."""
        return any(
            self.table.environ_value(pid, name) not in (None, value)
            for name, value in self.command.environment.items()
        )

    def is_own_helper(self, info: Stat) -> bool:
        """True when a helper program is ours by where it runs; a process of our own says nothing there."""
        return False

    def is_anothers(self, run_id: str | None) -> bool:
        """True when the run id names another instance."""
        return bool(self.instance) and _instance(run_id) not in ("", self.instance)

    def _is_guess(self, record: Record) -> bool:
        return not self.command.is_known and bool(record.run_id)

    def _is_told_by_itself(self, record: Record) -> bool:
        """True when the living process has the recorded command line, or the run id where it has not.

        A daemon may execute another program or give itself a title. A long title is written over the
        environment too; then its program and its user must be the recorded ones.
        """
        pid = record.process.pid
        if self.command.is_kind(record.argv) and self.table.argv(pid) == record.argv:
            return True
        if record.run_id and self.table.environ_value(pid, RUN_ID_VARIABLE) == record.run_id:
            return True
        return self.command.is_known and self._is_retitled(record)

    def _is_retitled(self, record: Record) -> bool:
        pid = record.process.pid
        if not record.run_id or not self.table.is_overwritten(pid):
            return False
        info = self.table.info(pid)
        is_user = info is not None and info.uid == record.uid
        return is_user and is_run_by(record.argv[0], self.table.executable(pid))

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


class _Candidates:
    """What a walk through /proc takes for the service, process by process."""

    __slots__ = ("_command", "_is_limited", "_is_proven", "_is_user", "_record", "_supervisor")

    def __init__(self, supervisor: ProcessSupervisor, record: Record | None, is_proven: bool) -> None:
        self._supervisor = supervisor
        self._command = supervisor.command
        self._record = record
        self._is_user = _user_test(supervisor.command)
        self._is_proven = is_proven
        self._is_limited = is_proven and not (self._command.is_exact and self._command.is_known)

    def look(self, pid: int) -> Info | None:
        """The process, if it is of the service and lives."""
        table = self._supervisor.table
        argv = table.argv(pid)
        if not (self._has_recorded(argv) or self._command.matches(argv) or self._command.is_kind(argv)):
            return None
        info = table.info(pid)
        if info is None or info.is_dead() or not info.is_own_namespace or pid == os.getpid():
            return None
        return info if self._is_ours(info) else None

    def _has_recorded(self, argv: Sequence[str]) -> bool:
        return self._record is not None and argv == self._record.argv

    def _is_ours(self, info: Info) -> bool:
        """Its run id decides where it has one; where not, its looks."""
        run_id = self._supervisor.table.environ_value(info.pid, RUN_ID_VARIABLE)
        if self._supervisor.is_anothers(run_id):
            return False
        is_user = self._is_user(info.uid)
        if is_user and self._supervisor.is_own(run_id) and self._command.is_kind(info.argv):
            return True
        is_alike = is_user and self._command.matches(info.argv)
        if self._record is not None and self._record.uid == info.uid and self._has_recorded(info.argv):
            if self._is_of_run(info, run_id, self._record):
                return True
            is_alike = is_alike or self._command.is_kind(info.argv)
        return is_alike and not self._is_limited and not self._supervisor.is_contradicted(info.pid)

    def _is_of_run(self, info: Info, run_id: str | None, record: Record) -> bool:
        """A session proves something only for a record that is more than a guess."""
        if self._command.is_known or self._is_proven:
            return self._supervisor.belongs(info, record)
        return run_id == record.run_id


def _instance(run_id: str | None) -> str:
    """The instance that a run id names; empty for an older one, which names none."""
    instance, slash, _ = (run_id or "").partition("/")
    return instance if slash else ""


def status_of(process: ProcessId, state: str) -> Status:
    """The status of a main process by its state's letter."""
    return Status({"T": STOPPED, "Z": ZOMBIE}.get(state, RUNNING), process, state == "t")


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
