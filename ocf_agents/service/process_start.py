# SPDX-License-Identifier: Apache-2.0
"""Starting a service as a process: loaded by a start only."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ocf_agents.ocf.errors import GenericError, NotInstalled, PermissionDenied

from . import pidfile, runfile
from .account import entry_of
from .command import read_shebang
from .pidfile import Record
from .process import RUN_ID_VARIABLE
from .supervisor import GONE, ORPHANS, STOPPED, ZOMBIE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ocf_agents.ocf.deadline import Deadline

    from .command import Command
    from .proc import ProcessId
    from .process import ProcessSupervisor

UMASK = 0o022
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TAIL_BYTES = 4096
LOCK_POLL = 0.1
EXEC_POLL = 0.02


class Account:
    """The user whom the daemon runs as."""

    def __init__(self, name: str, uid: int, gid: int, home: str) -> None:
        self.name = name
        self.uid = uid
        self.gid = gid
        self.home = home


def start(supervisor: ProcessSupervisor, deadline: Deadline, settle: float) -> ProcessId:
    """See ProcessSupervisor.start."""
    account = find_account(supervisor.command)
    check_binary(supervisor.command.binary)
    make_pid_directory(supervisor, account)
    # Before the lock is made beside it: nothing is ours to do next to somebody else's file.
    check_pid_path(supervisor)
    with only_one_start(supervisor, deadline):
        runfile.tidy(supervisor.pid_path)
        running = _running(supervisor)
        if running is not None:
            return running
        return _launch(supervisor, account, deadline, settle)


def find_account(command: Command) -> Account:
    """The account of the command's user. Raises NotInstalled, PermissionDenied.

    Whoever runs the agent may have a number only, without an entry.
    """
    entry = entry_of(command.user)
    if entry is None:
        uid = command.uid()
        if uid == os.geteuid():
            return Account(str(uid), uid, os.getegid(), "/")
        raise NotInstalled(f"user {command.user or os.geteuid()} does not exist on this node")
    if os.geteuid() not in (0, entry.pw_uid):
        raise PermissionDenied(f"only root can start {command.name} as user {entry.pw_name}")
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir)


def check_binary(path: str) -> None:
    """Raises NotInstalled or PermissionDenied when it cannot be run; an interpreter is looked for too."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise NotInstalled(f"{path} does not exist: install it or set the parameter binary") from None
    except OSError as error:
        raise PermissionDenied(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(mode):
        raise NotInstalled(f"{path} is not a file: set the parameter binary")
    if not mode & 0o111:
        raise PermissionDenied(f"{path} is not executable")
    for words in read_shebang(path)[:1]:
        if not os.path.exists(words[0]):
            raise NotInstalled(f"{path} needs {words[0]}, which does not exist")


def make_pid_directory(supervisor: ProcessSupervisor, account: Account) -> None:
    """The directory of the pid file, 0755: root's if it is the cluster's, else the daemon's (case 103)."""
    directory = os.path.dirname(supervisor.pid_path)
    is_clusters = directory == supervisor.run_dir.rstrip("/")
    try:
        made = make_directory(directory, 0o755, None if is_clusters else account, _lock_name(supervisor))
    except OSError as error:
        raise GenericError(f"cannot make {directory} for the pid file: {error.strerror}") from None
    if made is not None:
        os.close(made)


def make_directory(path: str, mode: int, owner: Account | None, known: str = "") -> int | None:
    """Make a directory in an existing one; a descriptor of it, or None when it is there already.

    Where others may write beside it, what is found under its name need not be what was made: only a
    directory of ours is given away, and only an empty one, but for the file `known` that another
    start may have put there meanwhile. Raises OSError.
    """
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid() or set(os.listdir(descriptor)) - {known}:
            raise OSError(errno.EBUSY, "somebody else uses that name")
        if owner is not None and owner.uid != os.geteuid():
            os.fchown(descriptor, owner.uid, owner.gid)
        os.fchmod(descriptor, mode)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def only_one_start(supervisor: ProcessSupervisor, deadline: Deadline) -> Iterator[None]:
    """Two starts at once must not start two daemons. The kernel's lock goes with its holder."""
    path = os.path.join(os.path.dirname(supervisor.pid_path), _lock_name(supervisor))
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise GenericError(f"cannot open {path}: {error.strerror}") from None
    try:
        while not _lock(descriptor, path):
            if deadline.expired():
                raise GenericError(f"another start of {supervisor.name} holds {path}")
            time.sleep(deadline.bound(LOCK_POLL))
        yield
    finally:
        os.close(descriptor)


def _lock_name(supervisor: ProcessSupervisor) -> str:
    return os.path.basename(supervisor.pid_path) + ".lock"


def _lock(descriptor: int, path: str) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:  # a kernel or a file system without locks to give
        raise GenericError(f"cannot lock {path}: {error.strerror}") from None
    return True


def _running(supervisor: ProcessSupervisor) -> ProcessId | None:
    """The process that runs already, its pid file made good; None when there is none."""
    status = supervisor.status()
    if status.state in (GONE, ZOMBIE) or status.process is None:
        return None
    if status.state == STOPPED:
        raise GenericError(
            f"{supervisor.name} (pid {status.process.pid}) is stopped by a signal: stop it first"
        )
    if status.state == ORPHANS:
        raise GenericError(f"workers of an earlier {supervisor.name} still run: stop it first")
    if supervisor.recorded(supervisor.record()) is None:
        run_id = supervisor.table.environ_value(status.process.pid, RUN_ID_VARIABLE) or ""
        _write_record(supervisor, status.process, run_id)
    return status.process


def _launch(supervisor: ProcessSupervisor, account: Account, deadline: Deadline, settle: float) -> ProcessId:
    run_id = supervisor.new_run_id()
    output, end_of_log = open_log(supervisor.log_path, account)
    try:
        child = _spawn(supervisor.command, account, run_id, output)
        try:
            process = _settle(supervisor, child, run_id, deadline, settle)
        except _EndedAtOnce as death:
            reason = f"{supervisor.name} ended at once ({death})"
            last = last_line(output, end_of_log)
            raise GenericError(f"{reason}: {last}" if last else reason) from None
    finally:
        os.close(output)
    # It outlives us, and nobody here waits for it.
    child.returncode = 0
    return process


def check_pid_path(supervisor: ProcessSupervisor) -> None:
    """A file that is no pid file is replaced in the run directory only, where it can be nothing else.

    Raises GenericError.
    """
    path = supervisor.pid_path
    is_run_file = os.path.dirname(path) == supervisor.run_dir.rstrip("/")
    is_file = not os.path.isdir(path) or os.path.islink(path)
    if is_file and (is_run_file or pidfile.is_replaceable(path)):
        return
    todo = "remove it or set" if os.path.isfile(path) else "set"
    raise GenericError(f"{path} is no pid file, and is left alone: {todo} the parameter pid")


class _EndedAtOnce(Exception):
    """The daemon died before it had settled; the text says how."""


def _settle(
    supervisor: ProcessSupervisor,
    child: subprocess.Popen[bytes],
    run_id: str,
    deadline: Deadline,
    settle: float,
) -> ProcessId:
    """The process, recorded, once it has lived long enough. Raises _EndedAtOnce, GenericError."""
    end = time.monotonic() + deadline.bound(settle)
    process: ProcessId | None = None
    image = None
    try:
        while child.poll() is None and time.monotonic() < end:
            if process is None:
                image = supervisor.table.image(child.pid)
                process = _recognize(supervisor, child.pid, run_id)
            time.sleep(min(max(0.0, end - time.monotonic()), EXEC_POLL))
        if child.returncode is not None:
            return _successor(supervisor, child, run_id, end)
        # A wrapper script may have become another program meanwhile. One that is the same program
        # with another command line has given itself a title, and stays what it was recorded as.
        if process is None or image is None or supervisor.table.image(child.pid) != image:
            process = _recognize(supervisor, child.pid, run_id)
        if process is None:
            raise _unrecognized(supervisor, child)
    except GenericError:
        child.kill()
        child.wait()
        runfile.remove(supervisor.pid_path)
        raise
    return process


def _recognize(supervisor: ProcessSupervisor, pid: int, run_id: str) -> ProcessId | None:
    """Record the process once its command line is the service's: `env` in a shebang takes a moment."""
    argv = supervisor.table.argv(pid)
    process = supervisor.table.identify(pid)
    if process is None or not supervisor.command.is_kind(argv):
        return None
    _write_record(supervisor, process, run_id)
    return process


def _successor(
    supervisor: ProcessSupervisor, child: subprocess.Popen[bytes], run_id: str, end: float
) -> ProcessId:
    """A daemon that put itself into the background left a child; anything else has died."""
    # Beside the record of its parent it would look like an orphan.
    runfile.remove(supervisor.pid_path)
    if child.returncode == 0 and supervisor.process() is not None:
        # It may be one that is about to leave too, as a second fork does.
        time.sleep(max(0.0, end - time.monotonic()))
        process = supervisor.process()
        if process is not None:
            _write_record(supervisor, process, run_id)
            return process
    code = child.returncode
    raise _EndedAtOnce(f"signal {-code}" if code < 0 else f"exit status {code}")


def _unrecognized(supervisor: ProcessSupervisor, child: subprocess.Popen[bytes]) -> GenericError:
    """It could not be found again without its pid file, so it must not run."""
    shown = " ".join(supervisor.table.argv(child.pid))[:60]
    return GenericError(f"{supervisor.command.binary} runs as {shown!a}: set the parameter binary to that")


def _write_record(supervisor: ProcessSupervisor, process: ProcessId, run_id: str) -> None:
    info = supervisor.table.info(process.pid)
    if info is None or info.start != process.start or not info.argv:
        return
    uid = os.geteuid() if info.uid is None else info.uid
    try:
        pidfile.write(supervisor.pid_path, Record(process, uid, run_id, info.argv))
    except OSError as error:
        raise GenericError(f"cannot write {supervisor.pid_path}: {error.strerror}") from None


def _spawn(command: Command, account: Account, run_id: str, output: int) -> subprocess.Popen[bytes]:
    """The daemon in a session of its own, without a terminal, as its user (cases 111, 115)."""
    is_other_user = account.uid != os.geteuid()
    try:
        with default_signals():
            return subprocess.Popen(
                [os.fsencode(word) for word in _as_words(command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env={**clean_environment(account, run_id), **command.environment},
                umask=UMASK,
                start_new_session=True,
                user=account.uid if is_other_user else None,
                group=account.gid if is_other_user else None,
                extra_groups=os.getgrouplist(account.name, account.gid) if is_other_user else None,
            )
    except FileNotFoundError:
        raise NotInstalled(f"{command.binary} or its interpreter does not exist") from None
    except PermissionError as error:
        raise PermissionDenied(f"cannot run {command.binary} as {account.name}: {error.strerror}") from None
    except OSError as error:
        if error.errno == errno.ENOEXEC:
            raise NotInstalled(f"{command.binary} is not a program of this system") from None
        raise GenericError(f"cannot run {command.binary}: {error.strerror}") from None


def _as_words(command: Command) -> list[bytes]:
    return [word.encode("utf-8", "surrogateescape") for word in command.argv]


def clean_environment(account: Account, run_id: str) -> dict[str, str]:
    """Nothing of the cluster's: neither its variables nor, among the resource's, a password."""
    return {
        "PATH": SEARCH_PATH,
        "LANG": "C.UTF-8",
        "HOME": account.home,
        "USER": account.name,
        "LOGNAME": account.name,
        RUN_ID_VARIABLE: run_id,
    }


@contextmanager
def default_signals() -> Iterator[None]:
    """No signal ignored or blocked, as a child inherits it; restored afterwards.

    Only the main thread can say what is ignored; an agent starts its daemon in that one.
    """
    ignored = ignored_signals() if threading.current_thread() is threading.main_thread() else []
    blocked = signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        for number in ignored:
            signal.signal(number, signal.SIG_DFL)
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def ignored_signals() -> list[int]:
    """What our caller had us ignore. Two more Python ignores itself, and subprocess gives them back."""
    own = (signal.SIGPIPE, signal.SIGXFSZ)
    return [n for n in signal.valid_signals() if n not in own and signal.getsignal(n) == signal.SIG_IGN]


def open_log(path: str | None, account: Account) -> tuple[int, int]:
    """The log for the daemon's output, made 0640 and the daemon's, and its size so far.

    A link, a second name, a FIFO or a file of a third user at its place is refused: the directory is
    often the daemon's own, and root opens the file.
    """
    if path is None:
        return os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC), 0
    try:
        directory = _open_log_directory(os.path.dirname(path), account)
        try:
            _check_log_kind(directory, path)
            descriptor = _open_log_file(directory, os.path.basename(path), account)
        finally:
            os.close(directory)
    except OSError as error:
        text = "is a link" if error.errno == errno.ELOOP else error.strerror
        raise GenericError(f"cannot open the log {path}: {text}") from None
    status = os.fstat(descriptor)
    problem = "" if _is_null(status) else _log_problem(status, account)
    if problem:
        os.close(descriptor)
        raise GenericError(f"the log {path} {problem}")
    os.set_blocking(descriptor, True)
    return descriptor, status.st_size


def _check_log_kind(directory: int, path: str) -> None:
    """Raises GenericError for what is no file: to open a device may do something already."""
    try:
        status = os.stat(os.path.basename(path), dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode) and not _is_null(status):
        raise GenericError(f"the log {path} is no file: set the parameter log")


def _is_null(status: os.stat_result) -> bool:
    """True for /dev/null, under whatever name."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat(os.devnull).st_rdev


def _log_problem(status: os.stat_result, account: Account) -> str:
    """What is wrong with an open log; empty when nothing is."""
    if not stat.S_ISREG(status.st_mode):
        return "is no file: set the parameter log"
    if status.st_nlink != 1:
        return "has a second name (a hard link): remove it"
    if status.st_uid not in (0, account.uid):
        return f"belongs to user {status.st_uid}, not to {account.name}: remove it"
    return ""


def _open_log_directory(path: str, account: Account) -> int:
    """The directory, made 0750 and the daemon's if its parent exists; its last component is no link."""
    made = make_directory(path, 0o750, account)
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if made is None else made


def _open_log_file(directory: int, name: str, account: Account) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        return os.open(name, flags, dir_fd=directory)
    except FileNotFoundError:
        pass
    descriptor = os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o640, dir_fd=directory)
    os.fchmod(descriptor, 0o640)
    if account.uid != os.geteuid():
        os.fchown(descriptor, account.uid, account.gid)
    return descriptor


def last_line(descriptor: int, begin: int) -> str:
    """The last line that was written to the log since it had `begin` bytes; empty when none was."""
    try:
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, TAIL_BYTES, max(begin, size - TAIL_BYTES))
    except OSError:
        return ""
    lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")
