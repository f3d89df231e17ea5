# SPDX-License-Identifier: Apache-2.0
"""The process table (/proc), and processes told apart for good: pid, start time and boot id.

A pid alone proves nothing: it is used again. Nothing here raises for a process that has gone.
"""

from __future__ import annotations

import os

from .host import boot_id, boottime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

DEAD_STATES = "ZXx"
LONGEST_READ = 1 << 20
POLL_SECONDS = 0.02
KILL_SECONDS = 2.0
LONGEST_WAIT = 1e6
# Where the stack begins (field 28 of /proc/PID/stat), among the fields after the name.
STACK_FIELD = 25
# What the kernel puts behind the path of a file that was removed or replaced.
DELETED = " (deleted)"
# Lines of /proc/PID/status that count here, as they begin.
UID_LINE = b"Uid:"
NAMESPACES_LINE = b"NSpid:"
SWITCHES_LINE = b"\nvoluntary_ctxt_switches:"


class ProcessId:
    """One process, not to be confused with another that has its number.

    `start` is in clock ticks since boot (field 22 of /proc/PID/stat).
    """

    __slots__ = ("boot_id", "pid", "start")

    def __init__(self, pid: int, start: int, boot_id: str) -> None:
        self.pid = pid
        self.start = start
        self.boot_id = boot_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProcessId) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"ProcessId({self.pid}, {self.start}, {self.boot_id!r})"

    def _key(self) -> tuple[int, int, str]:
        return (self.pid, self.start, self.boot_id)


class Stat:
    """What the kernel keeps in /proc/PID/stat. `state` is one letter: R, S, D, T, t, Z, X, I.

    `ticks`: the CPU time that it has used, without its children's, in clock ticks.
    """

    __slots__ = ("pid", "ppid", "session", "start", "state", "ticks")

    def __init__(self, pid: int, state: str, ppid: int, session: int, start: int, ticks: int) -> None:
        self.pid = pid
        self.state = state
        self.ppid = ppid
        self.session = session
        self.start = start
        self.ticks = ticks

    def is_dead(self) -> bool:
        """True for a zombie too: it runs nothing any more."""
        return self.state in DEAD_STATES


class Info(Stat):
    """A process with its command line and its owner.

    `argv` is empty for a zombie and for a kernel thread; bytes that are no UTF-8 are surrogates.
    `uid` is None when the real and the effective user differ. `is_own_namespace` is False for a
    process of a container: one that lives in a PID namespace below this table's.
    """

    __slots__ = ("argv", "is_own_namespace", "uid")

    def __init__(self, stat: Stat, argv: tuple[str, ...], uid: int | None, is_own_namespace: bool) -> None:
        super().__init__(stat.pid, stat.state, stat.ppid, stat.session, stat.start, stat.ticks)
        self.argv = argv
        self.uid = uid
        self.is_own_namespace = is_own_namespace


class ProcTable:
    """The processes that /proc (or another mount of it, `root`) shows."""

    __slots__ = ("_boot_id", "_root")

    def __init__(self, root: str = "/proc") -> None:
        self._root = root
        self._boot_id: str | None = None

    def boot_id(self) -> str:
        """The id of this boot, read once."""
        if self._boot_id is None:
            self._boot_id = boot_id()
        return self._boot_id

    def path(self, pid: int, name: str) -> str:
        """Where a file of the process is."""
        return f"{self._root}/{pid}/{name}"

    def pids(self) -> Iterator[int]:
        """All process ids, in no order."""
        return (int(name) for name in os.listdir(self._root) if name.isdigit())

    def stat(self, pid: int) -> Stat | None:
        """The process's state and start time, from one file; None when there is no such process."""
        return _parse_stat(pid, self._read(pid, "stat"))

    def argv(self, pid: int) -> tuple[str, ...]:
        """The command line; empty when there is none, or no process."""
        return _parse_argv(self._read(pid, "cmdline"))

    def info(self, pid: int) -> Info | None:
        """All about the process, or None; all of it is about one process, not of two in a row."""
        before = self.stat(pid)
        if before is None:
            return None
        argv = self.argv(pid)
        uid, is_own = _parse_status(self._read(pid, "status"))
        after = self.stat(pid)
        if after is None or after.start != before.start:
            return None
        return Info(after, argv, uid, is_own)

    def environ_value(self, pid: int, name: str) -> str | None:
        """A variable of the environment that the process was started with; None also when unreadable."""
        prefix = name.encode() + b"="
        for entry in self._read(pid, "environ").split(b"\0"):
            if entry.startswith(prefix):
                return entry[len(prefix) :].decode("utf-8", "surrogateescape")
        return None

    def is_overwritten(self, pid: int) -> bool:
        """True when the environment's place in memory holds none: a long title was written over it."""
        data = self._read(pid, "environ")
        return bool(data) and b"=" not in data

    def executable(self, pid: int) -> str:
        """The path of the file that it executes; empty when unreadable."""
        try:
            path = os.readlink(self.path(pid, "exe"))
        except OSError:
            return ""
        return path[: -len(DELETED)] if path.endswith(DELETED) else path

    def image(self, pid: int) -> tuple[str, int] | None:
        """What changes whenever it executes another program, and never else; None when unreadable."""
        fields = self._read(pid, "stat").rpartition(b")")[2].split()
        stack = int(fields[STACK_FIELD]) if len(fields) > STACK_FIELD else 0
        executable = self.executable(pid)
        return (executable, stack) if executable and stack else None

    def switches(self, pid: int) -> int | None:
        """How often the process's tasks were switched so far; None when it has gone."""
        counts = [_count_switches(self._read(pid, f"task/{task}/status")) for task in self._tasks(pid)]
        return sum(counts) if counts else None

    def children(self, pid: int) -> list[int] | None:
        """The pids of its children; None where this kernel does not tell (no CONFIG_PROC_CHILDREN)."""
        tasks = self._tasks(pid)
        if tasks and not os.path.exists(self.path(pid, f"task/{pid}/children")):
            return None
        return [int(word) for task in tasks for word in self._read(pid, f"task/{task}/children").split()]

    def identify(self, pid: int) -> ProcessId | None:
        """The identity of the process that has this pid now."""
        stat = self.stat(pid)
        return None if stat is None else ProcessId(pid, stat.start, self.boot_id())

    def is_alive(self, process: ProcessId) -> bool:
        """True while this very process runs; a zombie does not."""
        stat = self.stat(process.pid)
        return (
            stat is not None
            and stat.start == process.start
            and not stat.is_dead()
            and process.boot_id == self.boot_id()
        )

    def start_instant(self, process: ProcessId) -> float:
        """When it started: seconds on CLOCK_BOOTTIME, as exact as the kernel's clock tick."""
        return process.start / os.sysconf("SC_CLK_TCK")

    def age(self, process: ProcessId) -> float:
        """Seconds since it started."""
        return max(0.0, boottime() - self.start_instant(process))

    def send(self, process: ProcessId, number: int) -> bool:
        """Send a signal to this very process; False when it has gone. Raises PermissionError.

        The descriptor pins the process before it is proven, so that the signal cannot reach a
        successor of its number. Kernels before 5.3 have no such descriptor: there the proof is
        repeated right before the signal.
        """
        descriptor = open_pidfd(process.pid)
        try:
            if process.pid <= 1 or not self.is_alive(process):
                return False
            if descriptor is None:
                os.kill(process.pid, number)
            else:
                import signal

                signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            return False
        finally:
            if descriptor is not None:
                os.close(descriptor)
        return True

    def wait(self, process: ProcessId, seconds: float) -> bool:
        """Wait until the process has ended; False when it still runs after `seconds`."""
        descriptor = open_pidfd(process.pid)
        try:
            if not self.is_alive(process):
                return True
            if descriptor is None:
                return self._poll(process, seconds)
            import select

            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            return bool(poller.poll(max(0.0, min(seconds, LONGEST_WAIT)) * 1000))
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def end(self, process: ProcessId, grace_seconds: float) -> bool:
        """Ask the process to end (SIGTERM), kill it after `grace_seconds`; True when it has gone.

        No grace: killed at once. After SIGKILL it has two seconds to vanish.
        """
        import signal

        try:
            if grace_seconds > 0 and self.send(process, signal.SIGTERM) and self.wait(process, grace_seconds):
                return True
            return not self.send(process, signal.SIGKILL) or self.wait(process, KILL_SECONDS)
        except PermissionError:
            return False

    def _tasks(self, pid: int) -> list[str]:
        try:
            return os.listdir(self.path(pid, "task"))
        except OSError:
            return []

    def _poll(self, process: ProcessId, seconds: float) -> bool:
        import time

        end = time.monotonic() + seconds
        while self.is_alive(process):
            if time.monotonic() >= end:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def _read(self, pid: int, name: str) -> bytes:
        """A file of the process; empty when it has gone, or may not be read."""
        try:
            descriptor = os.open(self.path(pid, name), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return _read_all(descriptor)
        except OSError:
            return b""
        finally:
            os.close(descriptor)


def open_pidfd(pid: int) -> int | None:
    """A descriptor of the process that has this pid now; None when it has gone or the kernel has none."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None


def _read_all(descriptor: int) -> bytes:
    """One read is enough for most: /proc gives all it has up to a page or more."""
    data = os.read(descriptor, 4096)
    if len(data) < 4096:
        return data
    parts = [data]
    size = len(data)
    while data and size < LONGEST_READ:
        data = os.read(descriptor, 65536)
        parts.append(data)
        size += len(data)
    return b"".join(parts)


def _parse_stat(pid: int, data: bytes) -> Stat | None:
    """The name, in parentheses, may hold anything: what counts begins after the last one."""
    fields = data.rpartition(b")")[2].split()
    if len(fields) < 20:
        return None
    state, ticks = fields[0].decode("ascii", "replace"), int(fields[11]) + int(fields[12])
    return Stat(pid, state, int(fields[1]), int(fields[3]), int(fields[19]), ticks)


def _count_switches(data: bytes) -> int:
    """Both kinds: a task that waits and one that is preempted have each done something."""
    lines = data.rpartition(SWITCHES_LINE)[2].split()
    return int(lines[0]) + int(lines[2]) if len(lines) >= 3 else 0


def _parse_argv(data: bytes) -> tuple[str, ...]:
    if not data:
        return ()
    if data.endswith(b"\0"):
        data = data[:-1]
    return tuple(data.decode("utf-8", "surrogateescape").split("\0"))


def _parse_status(data: bytes) -> tuple[int | None, bool]:
    """The uid (None when real and effective differ) and whether the process is of our namespace.

    `NSpid` has one number per PID namespace from the table's own down to the process's.
    """
    uid: int | None = None
    is_own = True
    for line in data.split(b"\n"):
        if line.startswith(UID_LINE):
            real, effective = line.split()[1:3]
            uid = int(real) if real == effective else None
        elif line.startswith(NAMESPACES_LINE):
            is_own = len(line.split()) == 2
    return uid, is_own
