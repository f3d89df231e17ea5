# SPDX-License-Identifier: Apache-2.0
"""Finding the service: by its pid file when that is proven, by its looks when it is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ocf_agents.ocf.deadline import Deadline
from ocf_agents.service import pidfile
from ocf_agents.service.command import Command
from ocf_agents.service.pidfile import Record
from ocf_agents.service.proc import ProcessId, ProcTable
from ocf_agents.service.process import ProcessSupervisor
from ocf_agents.service.supervisor import GONE, ORPHANS, RUNNING, STOPPED, ZOMBIE

from .conftest import SLEEP, WORKERS, Workshop, is_running, reap, wait_until

TABLE = ProcTable()


def started(workshop: Workshop, *arguments: str, body: str = SLEEP) -> tuple[ProcessSupervisor, ProcessId]:
    supervisor = workshop.supervisor(workshop.script("nova-fake", body), arguments)
    process = supervisor.start(Deadline(20), 0.05)
    workshop.said("up")
    return supervisor, process


def record_of(pid: int, argv: tuple[str, ...] | None = None, start: int | None = None) -> Record:
    info = TABLE.info(pid)
    assert info is not None
    assert info.uid is not None
    process = ProcessId(pid, info.start if start is None else start, TABLE.boot_id())
    return Record(process, info.uid, "", info.argv if argv is None else argv)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_running(pid))
    reap()


def test_nothing_runs_nothing_is_found(workshop: Workshop) -> None:
    supervisor = workshop.supervisor("/usr/bin/no-such-daemon")
    assert supervisor.status().state == GONE
    assert (supervisor.find(), supervisor.process()) == (None, None)


def test_the_recorded_process_is_found_without_a_look_at_others(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor, process = started(workshop)
    monkeypatch.setattr(ProcTable, "pids", lambda self: pytest.fail("walked through /proc"))
    assert supervisor.process() == process
    found = supervisor.find()
    assert found is not None
    assert found.is_recorded


def test_a_lost_pid_file_does_not_lose_the_daemon(workshop: Workshop) -> None:
    supervisor, process = started(workshop, "--config", "/x y")
    os.unlink(supervisor.pid_path)
    assert supervisor.status().state == RUNNING
    assert supervisor.process() == process
    assert supervisor.start(Deadline(20), 0.05) == process
    record = pidfile.read(supervisor.pid_path)
    assert record is not None
    assert record.process == process
    supervisor.stop(Deadline(20))
    assert not is_running(process.pid)


def test_other_arguments_than_at_the_start_find_it_through_the_pid_file(workshop: Workshop) -> None:
    supervisor, process = started(workshop, "--old")
    changed = workshop.supervisor(supervisor.command.binary, ["--new"])
    assert changed.process() == process
    os.unlink(supervisor.command.binary)
    assert changed.process() == process
    changed.stop(Deadline(20))
    assert not is_running(process.pid)


def test_a_missing_binary_does_not_hide_the_daemon(workshop: Workshop) -> None:
    supervisor, process = started(workshop)
    os.unlink(supervisor.command.binary)
    os.unlink(supervisor.pid_path)
    assert supervisor.process() == process


JUNK = [b"", b"123 456\n", b"\0\xff\x7fELF", b"9" * 30, b"77777777\n", b"\n\n"]


@pytest.mark.parametrize("content", JUNK)
def test_a_pid_file_of_junk_is_no_pid_file(workshop: Workshop, content: bytes) -> None:
    supervisor, process = started(workshop)
    Path(supervisor.pid_path).write_bytes(content)
    assert supervisor.process() == process
    kill(process.pid)
    assert supervisor.status().state == GONE
    again = supervisor.start(Deadline(20), 0.05)
    assert Path(supervisor.pid_path).read_text().splitlines()[0] == str(again.pid)


def test_a_recycled_pid_is_a_stranger(workshop: Workshop) -> None:
    stranger = workshop.run(["sleep", "60"])
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    os.mkdir(workshop.run_dir)
    for record in (
        record_of(stranger.pid, argv=(sys.executable, supervisor.command.binary)),
        record_of(stranger.pid, argv=(sys.executable, supervisor.command.binary), start=1),
    ):
        pidfile.write(supervisor.pid_path, record)
        assert supervisor.status().state == GONE
        supervisor.stop(Deadline(20))
    Path(supervisor.pid_path).write_text(f"{stranger.pid}\n")
    assert supervisor.status().state == GONE
    supervisor.stop(Deadline(20))
    assert stranger.poll() is None


def test_a_file_that_tells_the_whole_truth_about_a_stranger_is_not_believed(workshop: Workshop) -> None:
    """Its pid, start time and command line are all right; but it is not our program."""
    stranger = workshop.run([workshop.script("sshd"), "nova-fake"])
    workshop.said("up")
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    os.mkdir(workshop.run_dir)
    pidfile.write(supervisor.pid_path, record_of(stranger.pid))
    assert supervisor.status().state == GONE
    supervisor.stop(Deadline(20))
    assert stranger.poll() is None


def test_a_record_of_another_boot_proves_nothing(workshop: Workshop) -> None:
    supervisor = workshop.supervisor(workshop.script("nova-fake"), ["--old"])
    os.mkdir(workshop.run_dir)
    by_hand = workshop.run([supervisor.command.binary, "--old"])
    workshop.said("up")
    process = TABLE.identify(by_hand.pid)
    assert process is not None
    record = record_of(process.pid)
    pidfile.write(
        supervisor.pid_path, Record(ProcessId(process.pid, process.start, "other"), 0, "", record.argv)
    )
    changed = workshop.supervisor(supervisor.command.binary, ["--new"])
    assert changed.status().state == GONE
    assert supervisor.process() == process


def test_a_record_of_another_start_is_not_taken_for_the_process(workshop: Workshop) -> None:
    """The pid came back to the same program: the present one is meant, not the recorded one."""
    supervisor, process = started(workshop)
    pidfile.write(supervisor.pid_path, record_of(process.pid, start=process.start - 1))
    found = supervisor.find()
    assert found is not None
    assert (found.process, found.is_recorded) == (process, False)


def test_leftovers_without_a_process_are_not_a_sick_service(workshop: Workshop) -> None:
    supervisor, process = started(workshop)
    kill(process.pid)
    assert os.path.exists(supervisor.pid_path)
    assert supervisor.status().state == GONE


def test_decoys_are_neither_found_nor_signalled(workshop: Workshop) -> None:
    binary = workshop.script("nova-fake")
    decoys = [
        workshop.run([workshop.script("vim"), binary]),
        workshop.run([sys.executable, "-IS", "-c", "import time; time.sleep(60)", binary]),
        workshop.run([sys.executable, "-IS", workshop.script("tail"), binary, "--config"]),
        workshop.run([binary, "--other"]),
    ]
    workshop.said("up", 3)
    supervisor = workshop.supervisor(binary)
    assert supervisor.status().state == GONE
    supervisor.stop(Deadline(20))
    assert [decoy.poll() for decoy in decoys] == [None] * 4


def test_the_same_command_of_another_user_is_not_ours(workshop: Workshop) -> None:
    binary = workshop.script("nova-fake")
    process = workshop.run([binary])
    workshop.said("up")
    assert workshop.supervisor(binary).status().state == RUNNING
    stranger = workshop.supervisor(binary, user=str(os.geteuid() + 1))
    assert stranger.status().state == GONE
    stranger.stop(Deadline(20))
    assert process.poll() is None


def test_with_an_unknown_user_only_the_pid_file_counts(workshop: Workshop) -> None:
    """By looks alone it would be a process of a user who exists: a stranger's."""
    supervisor, process = started(workshop)
    unknown = workshop.supervisor(supervisor.command.binary, user="no-such-user")
    notes: list[str] = []
    record = Path(supervisor.pid_path).read_bytes()
    os.unlink(supervisor.pid_path)
    assert unknown.status().state == GONE
    unknown.stop(Deadline(20), notes.append)
    assert is_running(process.pid)
    assert notes == ["user no-such-user does not exist here: processes of existing users are left alone"]

    Path(supervisor.pid_path).write_bytes(record)
    assert unknown.process() == process
    unknown.stop(Deadline(20))
    assert not is_running(process.pid)


def fake_process(
    root: Path, pid: int, argv: str, uid: int, nspid: str, start: int = 100, ppid: int = 1
) -> None:
    directory = root / str(pid)
    directory.mkdir()
    fields = f"{pid} (x) S {ppid} {pid} {pid} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {start} 0 0"
    (directory / "stat").write_text(fields)
    (directory / "cmdline").write_text(argv.replace(" ", "\0") + "\0")
    (directory / "status").write_text(f"Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nNSpid:\t{nspid}\n")


def test_user_and_namespace_decide_among_equals(tmp_path: Path) -> None:
    """A table as the kernel shows it, since a test has one user only."""
    line = "/usr/bin/python3 /usr/bin/nova-fake --x"
    fake_process(tmp_path, 900001, line, 162, "900001\t7")
    fake_process(tmp_path, 900002, line, 163, "900002")
    fake_process(tmp_path, 900003, line, 54321, "900003")
    table = ProcTable(str(tmp_path))

    def pids(user: str) -> list[int]:
        command = Command("/usr/bin/nova-fake", ["--x"], user)
        supervisor = ProcessSupervisor(command, str(tmp_path / "none.pid"), table=table)
        return [info.pid for info in supervisor.matching(None)]

    assert pids("162") == []
    assert pids("163") == [900002]
    # An account that was removed leaves processes of a number without a name.
    assert 900003 in pids("no-such-user")
    fake_process(tmp_path, 900004, line, 0, "900004")
    assert 900004 not in pids("no-such-user")


def test_the_oldest_root_is_the_main_process(tmp_path: Path) -> None:
    line = "/usr/bin/nova-fake"
    for pid, start, ppid in (
        (900005, 300, 900007),
        (900007, 200, 1),
        (900009, 250, 1),
        (900004, 210, 900009),
    ):
        fake_process(tmp_path, pid, line, 162, str(pid), start, ppid)
    command = Command("/usr/bin/nova-fake", (), "162")
    found = ProcessSupervisor(command, "/nonexistent/x.pid", table=ProcTable(str(tmp_path))).find()
    assert found is not None
    assert found.process.pid == 900007


def test_a_process_of_a_container_is_not_ours(workshop: Workshop) -> None:
    binary = workshop.script("nova-fake")
    inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", binary]
    workshop.run(inside)
    if subprocess.run([*inside[:-1], "true"], check=False).returncode != 0:
        pytest.skip("this kernel lets users make no PID namespace")
    workshop.said("up")
    supervisor = workshop.supervisor(binary)
    twins = [pid for pid in TABLE.pids() if supervisor.command.matches(TABLE.argv(pid))]
    assert len(twins) == 1
    info = TABLE.info(twins[0])
    assert info is not None
    assert (info.uid, info.is_own_namespace) == (os.geteuid(), False)
    assert supervisor.status().state == GONE
    supervisor.stop(Deadline(20))
    assert is_running(twins[0])


def test_a_stopped_daemon_is_told_from_a_running_one(workshop: Workshop) -> None:
    supervisor, process = started(workshop)
    os.kill(process.pid, signal.SIGSTOP)
    wait_until(lambda: supervisor.status().state == STOPPED)
    os.unlink(supervisor.pid_path)
    assert supervisor.status().state == STOPPED
    assert supervisor.process() == process


def test_a_zombie_is_told_from_a_running_one(workshop: Workshop) -> None:
    supervisor, process = started(workshop)
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(process.pid))
    assert supervisor.status().state == ZOMBIE
    assert supervisor.process() is None
    supervisor.stop(Deadline(20))
    assert supervisor.status().state == GONE


def test_workers_do_not_make_the_parent_less_running(workshop: Workshop) -> None:
    supervisor, process = started(workshop, "w", "w", body=WORKERS + SLEEP)
    workers = [int(pid) for pid in workshop.said("worker", 2)]
    for known in (True, False):
        if not known:
            os.unlink(supervisor.pid_path)
        assert supervisor.status().state == RUNNING
        assert supervisor.process() == process
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(is_running(pid) for pid in workers))
    assert supervisor.status().state == RUNNING


@pytest.mark.parametrize("kinds", [("w", "w"), ("w",), ("s",)])
def test_workers_without_their_parent_are_orphans(workshop: Workshop, kinds: tuple[str, ...]) -> None:
    supervisor, process = started(workshop, *kinds, body=WORKERS + SLEEP)
    workers = [int(pid) for pid in workshop.said("worker", len(kinds))]
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(process.pid))
    assert supervisor.status().state == ORPHANS
    reap()
    assert supervisor.status().state == ORPHANS
    assert supervisor.process() is None
    supervisor.stop(Deadline(20))
    assert not any(is_running(pid) for pid in workers)
    assert supervisor.status().state == GONE


def test_several_workers_are_orphans_without_a_pid_file_too(workshop: Workshop) -> None:
    supervisor, process = started(workshop, "w", "w", body=WORKERS + SLEEP)
    workshop.said("worker", 2)
    os.unlink(supervisor.pid_path)
    kill(process.pid)
    assert supervisor.status().state == ORPHANS


def test_a_daemon_that_somebody_started_beside_a_stale_pid_file_runs(workshop: Workshop) -> None:
    supervisor, process = started(workshop)
    kill(process.pid)
    other = workshop.run([supervisor.command.binary], start_new_session=True)
    workshop.said("up", 2)
    assert supervisor.status().state == RUNNING
    found = supervisor.process()
    assert found is not None
    assert found.pid == other.pid


def twin(workshop: Workshop, supervisor: ProcessSupervisor, **environment: str) -> ProcessSupervisor:
    """Another resource that runs the same command."""
    command = Command(supervisor.command.binary, supervisor.command.argv[1:], environment=environment)
    pid_path = str(workshop.run_dir / "other.pid")
    return ProcessSupervisor(command, pid_path, None, run_dir=supervisor.run_dir, instance="other")


# Writes a title over the arguments and, when it is long, over the environment, as setproctitle does.
RETITLE = """
def retitle(title, *, is_over_environment):
    fields = open("/proc/self/stat").read().rpartition(")")[2].split()
    begin, end, environ_end = int(fields[45]), int(fields[46]), int(fields[48])
    if is_over_environment:
        end = environ_end
    memory = os.open("/proc/self/mem", os.O_RDWR)
    os.pwrite(memory, title.ljust(end - begin, b"\\0")[:end - begin], begin)
    os.close(memory)
"""


WAIT = "while not os.path.exists(os.path.join(here, 'go')):\n    time.sleep(0.02)\n"


def started_before_it_changes(workshop: Workshop, body: str) -> tuple[ProcessSupervisor, ProcessId]:
    supervisor = workshop.supervisor(workshop.script("nova-fake", body))
    process = supervisor.start(Deadline(20), 0.05)
    (workshop.directory / "go").touch()
    workshop.said("up")
    return supervisor, process


@pytest.mark.parametrize("is_over_environment", [False, True])
def test_a_daemon_with_a_new_title_is_the_recorded_one(workshop: Workshop, is_over_environment: bool) -> None:
    body = RETITLE + WAIT
    body += f"retitle(b'worker of nova', is_over_environment={is_over_environment})\n" + SLEEP
    supervisor, process = started_before_it_changes(workshop, body)
    assert TABLE.argv(process.pid)[0] == "worker of nova"
    assert TABLE.is_overwritten(process.pid) is is_over_environment
    assert supervisor.status().state == RUNNING
    assert supervisor.process() == process
    assert supervisor.start(Deadline(20), 0.05) == process
    supervisor.stop(Deadline(20))
    assert not is_running(process.pid)


@pytest.mark.parametrize("is_over_environment", [False, True])
def test_a_title_that_comes_while_the_start_settles_is_no_other_program(
    workshop: Workshop, is_over_environment: bool
) -> None:
    body = RETITLE + "time.sleep(0.3)\n"
    body += f"retitle(b'worker of nova', is_over_environment={is_over_environment})\n" + SLEEP
    supervisor = workshop.supervisor(workshop.script("nova-fake", body))
    process = supervisor.start(Deadline(20), 1.5)
    workshop.said("up")
    assert supervisor.process() == process
    supervisor.stop(Deadline(20))
    assert not is_running(process.pid)


def test_a_daemon_that_executes_another_program_later_is_the_recorded_one(workshop: Workshop) -> None:
    body = WAIT + "say('up')\nos.execv('/bin/sleep', ['sleep', '60'])\n"
    supervisor, process = started_before_it_changes(workshop, body)
    wait_until(lambda: TABLE.argv(process.pid) == ("sleep", "60"))
    assert supervisor.process() == process
    supervisor.stop(Deadline(20))
    assert not is_running(process.pid)


@pytest.mark.parametrize("is_retitled", [False, True])
def test_a_file_that_lies_about_a_strangers_command_costs_the_stranger_nothing(
    workshop: Workshop, is_retitled: bool
) -> None:
    """Its pid and start time are right, its command line and run id are ours."""
    body = RETITLE + "retitle(b'sshd: root', is_over_environment=True)\n" if is_retitled else ""
    supervisor = workshop.supervisor(workshop.script("nova-fake"))
    stranger = workshop.run([workshop.script("sshd", body + SLEEP)])
    workshop.said("up")
    os.mkdir(workshop.run_dir)
    record = record_of(stranger.pid, argv=("/bin/sh", supervisor.command.binary))
    lie = Record(record.process, record.uid, supervisor.new_run_id(), record.argv)
    pidfile.write(supervisor.pid_path, lie)
    assert supervisor.status().state == GONE
    supervisor.stop(Deadline(20))
    assert stranger.poll() is None


def test_two_resources_with_one_command_have_a_daemon_each(workshop: Workshop) -> None:
    first, process = started(workshop, "--x")
    second = twin(workshop, first)
    assert second.status().state == GONE
    second.stop(Deadline(20))
    other = second.start(Deadline(20), 0.05)
    assert other != process
    os.unlink(first.pid_path)
    assert first.process() == process
    second.stop(Deadline(20))
    assert not is_running(other.pid)
    assert is_running(process.pid)


def test_another_resources_pid_file_is_not_ours(workshop: Workshop) -> None:
    first, process = started(workshop)
    second = twin(workshop, first)
    Path(second.pid_path).write_bytes(Path(first.pid_path).read_bytes())
    assert second.status().state == GONE
    second.stop(Deadline(20))
    assert is_running(process.pid)


def test_a_daemon_with_another_host_in_its_environment_is_not_ours(workshop: Workshop) -> None:
    binary = workshop.script("nova-fake")
    by_hand = workshop.run([binary], env={"OS_X": "a"})
    plain = workshop.supervisor(binary)
    workshop.said("up")
    assert plain.status().state == RUNNING
    assert twin(workshop, plain, OS_X="a").status().state == RUNNING
    other = twin(workshop, plain, OS_X="b")
    assert other.status().state == GONE
    other.stop(Deadline(20))
    assert by_hand.poll() is None


def test_what_a_wrapper_became_is_found_without_its_pid_file(workshop: Workshop) -> None:
    real = workshop.directory / "venv"
    real.mkdir()
    daemon = real / "nova-fake"
    daemon.write_text(Path(workshop.script("x")).read_text())
    daemon.chmod(0o755)
    wrapper = workshop.directory / "nova-fake"
    wrapper.write_text(f'#!/bin/sh\nexec {daemon} "$@"\n')
    wrapper.chmod(0o755)
    supervisor = workshop.supervisor(str(wrapper), ["--x"])
    process = supervisor.start(Deadline(20), 1)
    os.unlink(supervisor.pid_path)
    assert supervisor.process() == process
    assert supervisor.start(Deadline(20), 0.05) == process
    os.unlink(supervisor.pid_path)
    elsewhere = ProcessSupervisor(supervisor.command, "/run/x.pid", instance=supervisor.instance)
    assert elsewhere.status().state == GONE
    supervisor.stop(Deadline(20))
    assert not is_running(process.pid)


# In a PID namespace of its own, where a wrong signal can reach the decoys only. The script is its
# process 1, and would see a signal to 1, to its group (0) or to everybody (-1).
HOSTILE = """
import os, signal, subprocess, sys, time
sys.path.insert(0, {root!r})
from ocf_agents.ocf.deadline import Deadline
from ocf_agents.service.command import Command
from ocf_agents.service.process import ProcessSupervisor
assert os.getpid() == 1, os.getpid()
seen = []
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCONT, signal.SIGHUP):
    signal.signal(number, lambda number, frame: seen.append(number))
binary, directory = sys.argv[1:3]
decoys = [subprocess.Popen([sys.executable, "-IS", "-c", "import time; time.sleep(60)"]) for _ in range(2)]
supervisor = ProcessSupervisor(Command(binary), directory + "/d.pid", run_dir=directory)
proof = "start={{start}}\\nboot={{boot}}\\nuid=0\\narg=" + sys.executable + "\\narg=" + binary + "\\n"
for pid in ("-1", "0", "1", "-2", "1 2", "123 456", "9" * 30, "\\xff\\x00"):
    for rest in ("", proof.format(start=supervisor.table.stat(1).start, boot=supervisor.table.boot_id())):
        with open(directory + "/d.pid", "w") as file:
            file.write(pid + "\\n" + rest)
        assert supervisor.status().state == "gone", pid
        supervisor.stop(Deadline(5))
        process = supervisor.start(Deadline(20), 0.05)
        with open(directory + "/d.pid", "w") as file:
            file.write(pid + "\\n" + rest)
        assert supervisor.process() == process, pid
        supervisor.stop(Deadline(5))
        assert supervisor.status().state == "gone", pid
        os.waitpid(process.pid, 0)
assert seen == [], seen
assert [decoy.poll() for decoy in decoys] == [None, None]
for decoy in decoys:
    decoy.kill(); decoy.wait()
print("all well")
"""


def test_hostile_numbers_reach_nobody(workshop: Workshop) -> None:
    root = str(Path(sys.modules["ocf_agents"].__file__ or "").parents[1])
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    unshare = ["unshare", *user, "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*unshare, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("this kernel lets users make no PID namespace")
    binary = workshop.script("nova-fake")
    os.mkdir(workshop.run_dir)
    done = subprocess.run(
        [*unshare, sys.executable, "-c", HOSTILE.format(root=root), binary, str(workshop.run_dir)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("all well\n", "")
