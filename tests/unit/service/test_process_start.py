# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import fcntl
import os
import pwd
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ocf_agents.ocf.deadline import Deadline
from ocf_agents.ocf.errors import GenericError, NotInstalled, OcfError, PermissionDenied
from ocf_agents.service import pidfile
from ocf_agents.service.command import Command
from ocf_agents.service.proc import ProcessId, ProcTable
from ocf_agents.service.process import ProcessSupervisor
from ocf_agents.service.process_start import find_account

from .conftest import SLEEP, WORKERS, Workshop, is_running, wait_until

TABLE = ProcTable()

CONFESS = """\
status = open("/proc/self/status").read()
def mask(name):
    return int(status.split(name + ":")[1].split()[0], 16)
open(os.path.join(here, "made"), "w").close()
say("facts", repr({
    "environ": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid(), "session": os.getsid(0),
    "group": os.getpgid(0), "fds": sorted(os.listdir("/proc/self/fd")), "blocked": mask("SigBlk"),
    "ignored": mask("SigIgn"), "links": [os.readlink("/proc/self/fd/%d" % n) for n in (0, 1, 2)],
    "tty": open("/proc/self/stat").read().rpartition(")")[2].split()[4],
}))
"""


def start(supervisor: ProcessSupervisor, settle: float = 0.05, seconds: float = 20) -> ProcessId:
    return supervisor.start(Deadline(seconds), settle)


def test_it_returns_the_living_process_and_has_recorded_it(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"), ["--config", "/etc/x y"])
    process = start(supervisor)
    assert TABLE.is_alive(process)
    record = pidfile.read(supervisor.pid_path)
    assert record is not None
    assert record.process == process
    assert record.uid == os.geteuid()
    assert record.argv == TABLE.argv(process.pid)
    assert record.argv[-3:] == (supervisor.command.binary, "--config", "/etc/x y")


def test_starting_twice_is_one_daemon(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    assert start(supervisor) == start(supervisor)
    assert len(supervisor.matching(None)) == 1


def test_two_starts_at_once_are_one_daemon(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    results: list[ProcessId] = []
    threads = [threading.Thread(target=lambda: results.append(start(supervisor, 0.2))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert len(set(results)) == 1
    assert len(supervisor.matching(None)) == 1


def test_a_start_that_waits_for_another_is_bounded(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    process = start(supervisor)
    with open(supervisor.pid_path + ".lock") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        begin = time.monotonic()
        with pytest.raises(GenericError, match="another start of nova-fake holds"):
            start(supervisor, seconds=0.3)
        assert time.monotonic() - begin < 1.2
    assert start(supervisor) == process


def test_the_daemon_inherits_no_lock(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    start(supervisor)
    with open(supervisor.pid_path + ".lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_daemon_finds_a_clean_house(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever Pacemaker, a shell or the resource's parameters left around the agent."""
    home = workshop.directory / "home"
    home.mkdir()
    (home / ".profile").write_text("echo 911\n")
    (home / ".bashrc").write_text("echo 911\n")
    for name in ("OCF_RESKEY_password", "OCF_ROOT", "HA_RSCTMP", "LD_PRELOAD", "PYTHONPATH", "http_proxy"):
        monkeypatch.setenv(name, "s3cret")
    monkeypatch.setenv("HOME", str(home))
    supervisor = workshop.supervisor(workshop.script("nova-fake", CONFESS + SLEEP))
    leaked = os.open("/dev/zero", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    umask = os.umask(0o077)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        process = start(supervisor)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.SIGUSR1 in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        os.umask(umask)
        signal.signal(signal.SIGHUP, ignored)
        os.close(leaked)
    facts = eval(workshop.said("facts")[0])
    account = pwd.getpwuid(os.geteuid())
    assert sorted(facts["environ"]) == ["AGENT_RUN_ID", "HOME", "LANG", "LOGNAME", "PATH", "USER"]
    assert "s3cret" not in repr(facts)
    assert (facts["environ"]["HOME"], facts["environ"]["USER"]) == (account.pw_dir, account.pw_name)
    assert "/usr/bin" in facts["environ"]["PATH"].split(":")
    assert facts["cwd"] == "/"
    assert facts["pid"] == facts["session"] == facts["group"] == process.pid
    assert facts["tty"] == "0"
    assert facts["links"] == ["/dev/null", supervisor.log_path, supervisor.log_path]
    # Python has one more open: the directory that it lists.
    assert facts["fds"] == ["0", "1", "2", "3"]
    assert facts["blocked"] == 0
    assert not facts["ignored"] & 1 << signal.SIGHUP - 1
    assert stat.S_IMODE((workshop.directory / "made").stat().st_mode) == 0o644
    assert Path(supervisor.pid_path).read_text().splitlines()[0] == str(process.pid)


def test_the_service_gets_the_variables_of_its_command(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake", CONFESS + SLEEP))
    supervisor.command.environment["LANG"] = "C"
    supervisor.command.environment["OS_X"] = "a=b"
    start(supervisor)
    environ = eval(workshop.said("facts")[0])["environ"]
    assert (environ["LANG"], environ["OS_X"]) == ("C", "a=b")


def test_the_log_is_made_for_the_daemon_alone_and_appended_to(workshop: Workshop) -> None:
    body = "print('hello', flush=True)\n" + SLEEP
    supervisor = workshop.supervisor(workshop.script("nova-fake", body))
    log = Path(str(supervisor.log_path))
    start(supervisor)
    wait_until(lambda: log.read_text() == "hello\n")
    assert stat.S_IMODE(log.stat().st_mode) == 0o640
    supervisor.stop(Deadline(20))
    start(supervisor)
    wait_until(lambda: log.read_text() == "hello\nhello\n")


def test_a_missing_log_directory_is_made(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    supervisor.log_path = str(workshop.directory / "log" / "x.log")
    start(supervisor)
    assert stat.S_IMODE((workshop.directory / "log").stat().st_mode) == 0o750


def test_without_a_log_the_output_goes_nowhere(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    supervisor.log_path = None
    process = start(supervisor)
    assert os.readlink(f"/proc/{process.pid}/fd/1") == "/dev/null"


@pytest.mark.parametrize("kind", ["link", "second name", "fifo", "directory", "dangling link"])
def test_a_planted_log_is_refused_and_nothing_is_started(workshop: Workshop, kind: str) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    log = Path(str(supervisor.log_path))
    target = workshop.directory / "target"
    target.write_text("keep")
    if kind == "link":
        log.symlink_to(target)
    elif kind == "dangling link":
        log.symlink_to(workshop.directory / "none")
    elif kind == "second name":
        os.link(target, log)
    elif kind == "fifo":
        os.mkfifo(log)
    else:
        log.mkdir()
    with pytest.raises(GenericError, match=str(log)):
        start(supervisor)
    assert target.read_text() == "keep"
    assert not (workshop.directory / "none").exists()
    assert supervisor.status().state == "gone"


def test_a_daemon_that_dies_at_once_fails_the_start_with_its_last_words(workshop: Workshop) -> None:
    log = workshop.directory / "daemon.log"
    log.write_text("an old line\n")
    body = "print('first', flush=True)\nraise ValueError('no such option: %s')\n"
    supervisor = workshop.supervisor(workshop.script("nova-fake", body))
    with pytest.raises(GenericError) as caught:
        start(supervisor, 10)
    assert caught.value.reason == "nova-fake ended at once (exit status 1): ValueError: no such option: %s"
    assert not os.path.exists(supervisor.pid_path)
    assert log.read_text().startswith("an old line\n")


def test_old_lines_of_the_log_are_nobodys_last_words(workshop: Workshop) -> None:
    (workshop.directory / "daemon.log").write_text("an old line\n")
    supervisor = workshop.supervisor(workshop.script("nova-fake", "os.kill(os.getpid(), signal.SIGKILL)\n"))
    with pytest.raises(GenericError) as caught:
        start(supervisor, 10)
    assert caught.value.reason == "nova-fake ended at once (signal 9)"


def test_a_daemon_that_goes_into_the_background_is_followed(workshop: Workshop) -> None:
    leave = "os.setsid()\nif os.fork():\n    time.sleep(0.3)\n    os._exit(0)\n"
    body = "if os.fork(): os._exit(0)\n" + leave + SLEEP
    supervisor = workshop.supervisor(workshop.script("nova-fake", body))
    process = start(supervisor, 1)
    assert workshop.said("up") == [str(process.pid)]
    assert supervisor.process() == process


def test_the_settling_time_keeps_to_the_deadline(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    begin = time.monotonic()
    start(supervisor, 60, seconds=0.5)
    assert 0.4 <= time.monotonic() - begin < 5


def test_an_interpreter_that_env_finds_is_recorded_as_it_runs(workshop: Workshop) -> None:
    path = workshop.directory / "nova-fake"
    path.write_text(
        "#!/usr/bin/env -S sh -e\nsleep 60 & echo $! > " + str(workshop.directory / "up") + "\nwait\n"
    )
    path.chmod(0o755)
    supervisor = workshop.supervisor(str(path))
    process = start(supervisor, 0.3)
    record = pidfile.read(supervisor.pid_path)
    assert record is not None
    assert record.argv == ("sh", "-e", str(path))
    os.unlink(supervisor.pid_path)
    assert supervisor.process() == process
    supervisor.stop(Deadline(20))
    os.kill(int(workshop.said("up")[0]), signal.SIGKILL)


def test_a_wrapper_that_becomes_the_daemon_is_recorded_as_the_daemon(workshop: Workshop) -> None:
    real = workshop.directory / "venv"
    real.mkdir()
    daemon = real / "nova-fake"
    daemon.write_text(Path(workshop.script("x")).read_text())
    daemon.chmod(0o755)
    wrapper = workshop.directory / "nova-fake"
    wrapper.write_text(f'#!/bin/sh\nsleep 0.2\nexec {daemon} "$@"\n')
    wrapper.chmod(0o755)
    supervisor = workshop.supervisor(str(wrapper), ["--x"])
    process = start(supervisor, 1)
    assert supervisor.process() == process
    assert TABLE.argv(process.pid)[-2:] == (str(daemon), "--x")
    supervisor.stop(Deadline(20))
    assert not is_running(process.pid)


def test_a_binary_that_becomes_something_else_is_not_left_running(workshop: Workshop) -> None:
    wrapper = workshop.directory / "nova-fake"
    wrapper.write_text("#!/bin/sh\nexec sleep 60\n")
    wrapper.chmod(0o755)
    supervisor = workshop.supervisor(str(wrapper))
    with pytest.raises(GenericError, match="runs as 'sleep 60': set the parameter binary to that"):
        start(supervisor, 0.3)
    assert not os.path.exists(supervisor.pid_path)


def test_a_missing_binary_is_not_installed(workshop: Workshop) -> None:
    with pytest.raises(NotInstalled, match="/no/such/daemon does not exist: install it or set"):
        start(workshop.supervisor("/no/such/daemon"))


def test_a_missing_interpreter_is_named(workshop: Workshop) -> None:
    path = workshop.directory / "nova-fake"
    path.write_text("#!/opt/python2/bin/python -u\n")
    path.chmod(0o755)
    with pytest.raises(NotInstalled, match="needs /opt/python2/bin/python, which does not exist"):
        start(workshop.supervisor(str(path)))


def test_what_is_no_program_is_refused(workshop: Workshop) -> None:
    path = workshop.directory / "nova-fake"
    path.write_bytes(b"\0\1\2\3" * 20)
    with pytest.raises(PermissionDenied, match="is not executable"):
        start(workshop.supervisor(str(path)))
    path.chmod(0o755)
    with pytest.raises(NotInstalled, match="is not a program of this system"):
        start(workshop.supervisor(str(path)))
    with pytest.raises(NotInstalled, match="is not a file"):
        start(workshop.supervisor(str(workshop.directory)))


@pytest.mark.parametrize("user", ["no-such-user", "4294967294", "9" * 30])
def test_an_unknown_user_is_not_installed(workshop: Workshop, user: str) -> None:
    with pytest.raises(NotInstalled, match=f"user {user} does not exist on this node"):
        start(workshop.supervisor(workshop.script("nova-fake"), user=user))


def test_our_own_user_is_no_other_by_name_or_number(workshop: Workshop) -> None:
    for user in (str(os.geteuid()), pwd.getpwuid(os.geteuid()).pw_name):
        supervisor = workshop.supervisor(workshop.script("nova-fake"), user=user)
        start(supervisor)
        supervisor.stop(Deadline(20))


@contextmanager
def without_root() -> Iterator[None]:
    user = os.geteuid()
    os.seteuid(user or 65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_only_root_starts_as_another_user() -> None:
    with without_root(), pytest.raises(PermissionDenied, match="only root can start nova-fake as user root"):
        find_account(Command("/usr/bin/nova-fake", user="root"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_daemon_runs_as_its_user_with_its_groups(workshop: Workshop) -> None:
    entry = pwd.getpwnam("nobody")
    for directory in (workshop.directory, *list(workshop.directory.parents)[:-2]):
        directory.chmod(directory.stat().st_mode | 0o011)
    binary = Path(workshop.script("nova-fake"))
    binary.write_text("#!/usr/bin/python3 -IS\nimport time\ntime.sleep(60)\n")
    supervisor = workshop.supervisor(str(binary), user="nobody")
    supervisor.log_path = str(workshop.directory / "log" / "x.log")
    supervisor.pid_path = str(workshop.directory / "own" / "x.pid")
    process = start(supervisor)
    status = Path(f"/proc/{process.pid}/status").read_text()
    assert f"Uid:\t{entry.pw_uid}\t{entry.pw_uid}\t{entry.pw_uid}\t{entry.pw_uid}" in status
    assert f"Gid:\t{entry.pw_gid}\t" in status
    groups = status.split("Groups:")[1].split("\n")[0].split()
    assert [int(group) for group in groups] == os.getgrouplist("nobody", entry.pw_gid)
    log = Path(supervisor.log_path)
    assert (log.stat().st_uid, log.parent.stat().st_uid) == (entry.pw_uid, entry.pw_uid)
    # The agent writes the file as root, into a directory that is the daemon's.
    assert Path(supervisor.pid_path).stat().st_uid == 0
    assert Path(supervisor.pid_path).parent.stat().st_uid == entry.pw_uid
    assert supervisor.process() == process
    supervisor.stop(Deadline(20))


def test_the_clusters_run_directory_is_made_for_all_to_see(workshop: Workshop) -> None:
    umask = os.umask(0o026)
    try:
        start(workshop.supervisor(workshop.script("nova-fake")))
    finally:
        os.umask(umask)
    status = workshop.run_dir.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o755, os.geteuid())


def test_a_run_directory_that_cannot_be_made_is_named(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    supervisor.pid_path = "/no/such/dir/x.pid"
    with pytest.raises(GenericError, match="cannot make /no/such/dir for the pid file"):
        start(supervisor)


def test_a_mistyped_pid_parameter_costs_nobody_a_file(workshop: Workshop) -> None:
    precious = workshop.directory / "passwd"
    precious.write_text("root:x:0:0\n")
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    supervisor.pid_path = str(precious)
    with pytest.raises(GenericError, match="is no pid file, and is left alone"):
        start(supervisor)
    supervisor.stop(Deadline(20))
    assert precious.read_text() == "root:x:0:0\n"


def test_a_directory_at_the_pid_files_place_is_named(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    os.makedirs(supervisor.pid_path)
    with pytest.raises(GenericError, match=r"daemon\.pid is no pid file"):
        start(supervisor)
    assert supervisor.status().state == "gone"


def test_a_stopped_daemon_is_not_taken_for_started(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    process = start(supervisor)
    os.kill(process.pid, signal.SIGSTOP)
    wait_until(lambda: supervisor.status().state == "stopped")
    with pytest.raises(GenericError, match=rf"nova-fake \(pid {process.pid}\) is stopped by a signal"):
        start(supervisor)


def test_orphans_are_not_taken_for_started(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake", WORKERS + SLEEP), ["w"])
    process = start(supervisor)
    workshop.said("worker")
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(process.pid))
    with pytest.raises(GenericError, match="workers of an earlier nova-fake still run"):
        start(supervisor)


def test_a_dead_daemon_is_started_again(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    first = start(supervisor)
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(first.pid))
    second = start(supervisor)
    assert second != first
    assert supervisor.process() == second


def test_the_daemon_outlives_the_starters_process_group(workshop: Workshop) -> None:
    """Pacemaker kills the whole group when a start takes too long; the daemon is found all the same."""
    binary = workshop.script("nova-fake")
    supervisor = workshop.supervisor(binary)
    root = str(Path(sys.modules["ocf_agents"].__file__ or "").parents[1])
    code = (
        f"import sys; sys.path.insert(0, {root!r})\n"
        "from ocf_agents.ocf.deadline import Deadline\n"
        "from ocf_agents.service.command import Command\n"
        "from ocf_agents.service.process import ProcessSupervisor\n"
        f"supervisor = ProcessSupervisor(Command({binary!r}), {supervisor.pid_path!r})\n"
        "supervisor.start(Deadline(60), 50)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as starter:
        pid = int(workshop.said("up")[0])
        wait_until(lambda: os.path.exists(supervisor.pid_path))
        os.killpg(starter.pid, signal.SIGKILL)
    found = supervisor.find()
    assert found is not None
    assert (found.process.pid, found.is_recorded) == (pid, True)
    supervisor.stop(Deadline(20))
    assert not is_running(pid)


def test_every_failure_of_a_start_is_an_ocf_error(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    os.mkdir(workshop.run_dir)
    (workshop.run_dir / "daemon.pid.lock").symlink_to("/etc/passwd")
    with pytest.raises(OcfError, match=r"cannot open .*daemon\.pid\.lock"):
        start(supervisor)


def test_only_an_empty_directory_of_ours_is_given_to_the_daemon(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who may write beside it swaps the directory that was just made for another."""
    real_mkdir = os.mkdir

    def mkdir_and_swap(path: str, mode: int = 0o777) -> None:
        real_mkdir(path, mode)
        (Path(path) / "precious").touch()

    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", mkdir_and_swap)
        with pytest.raises(GenericError, match="for the pid file: somebody else uses that name"):
            start(supervisor)
    assert stat.S_IMODE(workshop.run_dir.stat().st_mode) == 0o700


def test_a_log_of_dev_null_is_a_log(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    supervisor.log_path = "/dev/null"
    process = start(supervisor)
    assert os.readlink(f"/proc/{process.pid}/fd/1") == "/dev/null"


@pytest.mark.parametrize("path", ["/dev/full", "/dev/zero", "fifo"])
def test_a_log_that_is_no_file_is_refused_and_nobody_is_told_to_remove_a_device(
    workshop: Workshop, path: str
) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    supervisor.log_path = os.path.join(workshop.directory, path)
    if path == "fifo":
        os.mkfifo(supervisor.log_path)
    with pytest.raises(GenericError) as caught:
        start(supervisor)
    assert caught.value.reason == f"the log {supervisor.log_path} is no file: set the parameter log"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_log_of_a_third_user_names_who_may_own_it(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    Path(str(supervisor.log_path)).touch()
    os.chown(str(supervisor.log_path), 54321, 54321)
    with pytest.raises(GenericError, match="belongs to user 54321, not to root: remove it"):
        start(supervisor)


@pytest.mark.parametrize("is_running_already", [False, True])
def test_nothing_is_made_beside_a_pid_path_that_is_not_ours(
    workshop: Workshop, is_running_already: bool
) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    if is_running_already:
        start(supervisor)
    other = workshop.directory / "etc"
    other.mkdir()
    (other / "passwd").write_text("root:x:0:0\n")
    supervisor.pid_path = str(other / "passwd")
    with pytest.raises(GenericError, match="is no pid file, and is left alone: remove it or set"):
        start(supervisor)
    assert os.listdir(other) == ["passwd"]
    assert (other / "passwd").read_text() == "root:x:0:0\n"


def test_a_device_as_pid_file_is_left_alone(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    supervisor.pid_path = "/dev/null"
    with pytest.raises(GenericError, match="/dev/null is no pid file, and is left alone: set the parameter"):
        start(supervisor)
    assert not os.path.exists("/dev/null.lock")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_number_without_an_account_runs_a_service_as_itself(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_entry(key: object) -> None:
        raise KeyError(key)

    uid = str(os.geteuid())
    for user in (uid, None):
        supervisor = workshop.supervisor(workshop.script("nova-fake", CONFESS + SLEEP), user=user)
        with monkeypatch.context() as patch:
            patch.setattr(pwd, "getpwuid", no_entry)
            start(supervisor)
            supervisor.stop(Deadline(20))
    environ = eval(workshop.said("facts")[0])["environ"]
    assert (environ["HOME"], environ["USER"], environ["LOGNAME"]) == ("/", uid, uid)


def test_a_start_leaves_no_warning_behind(workshop: Workshop) -> None:
    """As `python -W error` shows it: something that was not closed."""
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    root = str(Path(sys.modules["ocf_agents"].__file__ or "").parents[1])
    code = (
        f"import sys; sys.path.insert(0, {root!r})\n"
        "from ocf_agents.ocf.deadline import Deadline\n"
        "from ocf_agents.service.command import Command\n"
        "from ocf_agents.service.process import ProcessSupervisor\n"
        f"supervisor = ProcessSupervisor(Command({supervisor.command.binary!r}), {supervisor.pid_path!r})\n"
        "print(supervisor.start(Deadline(20), 0.05).pid)\n"
        "supervisor.stop(Deadline(20))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip().isdigit()
    assert done.stderr == ""
