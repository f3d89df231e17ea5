# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from ocf_agents.ocf.deadline import Deadline, usable_seconds
from ocf_agents.ocf.errors import GenericError, PermissionDenied
from ocf_agents.service import pidfile
from ocf_agents.service.command import Command
from ocf_agents.service.proc import ProcessId, ProcTable
from ocf_agents.service.process import ProcessSupervisor
from ocf_agents.service.process_stop import term_budget

from .conftest import DEAF, POLITE, SLEEP, WORKERS, Workshop, is_running, wait_until

# Starts the program `name` beside the daemon, orphaned at once: not below it in the tree any more.
SPAWN = """\
import subprocess
def beside(name, own_session):
    if os.fork() == 0:
        if own_session:
            os.setsid()
        if os.fork() == 0:
            os.execv(os.path.join(here, name), [os.path.join(here, name)])
        os._exit(0)
    os.wait()
"""


def started(workshop: Workshop, body: str, *arguments: str) -> tuple[ProcessSupervisor, ProcessId]:
    supervisor = workshop.supervisor(workshop.script("nova-fake", body), arguments)
    process = supervisor.start(Deadline(20), 0.05)
    workshop.said("up")
    return supervisor, process


def stop(supervisor: ProcessSupervisor, seconds: float = 20) -> tuple[float, list[str]]:
    notes: list[str] = []
    begin = time.monotonic()
    supervisor.stop(Deadline(seconds), notes.append)
    return time.monotonic() - begin, notes


@pytest.mark.parametrize(
    ("seconds", "term"),
    [
        (0.0, 1.0),
        (1.0, 1.0),
        (2.5, 1.0),
        (5.0, 3.0),
        (19.0, 17.0),
        (57.0, 51.3),
        (195.0, 185.0),
        (1e7, 1e7 - 10),
    ],
)
def test_term_gets_most_of_the_time_and_kill_at_least_two_seconds(seconds: float, term: float) -> None:
    assert term_budget(seconds) == pytest.approx(term)


def test_a_polite_daemon_is_asked_and_ends(workshop: Workshop) -> None:
    supervisor, process = started(workshop, POLITE + SLEEP)
    seconds, notes = stop(supervisor)
    assert workshop.said("asked") == [str(process.pid)]
    assert not is_running(process.pid)
    assert (supervisor.status().state, notes) == ("gone", [])
    assert not os.path.exists(supervisor.pid_path)
    assert seconds < 3


def test_stopping_what_does_not_run_is_success(workshop: Workshop) -> None:
    supervisor, _ = started(workshop, POLITE + SLEEP)
    stop(supervisor)
    seconds, notes = stop(supervisor)
    assert notes == []
    assert seconds < 3
    stop(workshop.supervisor("/no/such/daemon"))


@pytest.mark.parametrize("milliseconds", [3000, 999, 0])
def test_a_short_timeout_leaves_a_second_for_term_and_kills(workshop: Workshop, milliseconds: int) -> None:
    supervisor, process = started(workshop, DEAF + SLEEP)
    seconds, notes = stop(supervisor, usable_seconds(milliseconds / 1000))
    assert not is_running(process.pid)
    assert 1.0 <= seconds < max(milliseconds / 1000, 1.0) + 1.0
    assert notes == ["nova-fake did not end within 1 s of SIGTERM and is killed"]


def test_a_daemon_that_needs_time_gets_it(workshop: Workshop) -> None:
    body = POLITE.replace("os._exit(0)", "time.sleep(1.5)\n    say('left')\n    os._exit(0)")
    supervisor, _ = started(workshop, body + SLEEP)
    _, notes = stop(supervisor, 10)
    assert workshop.said("left")
    assert notes == []


def test_a_stopped_daemon_is_asked_too(workshop: Workshop) -> None:
    supervisor, process = started(workshop, POLITE + SLEEP)
    os.kill(process.pid, signal.SIGSTOP)
    wait_until(lambda: supervisor.status().state == "stopped")
    seconds, notes = stop(supervisor)
    assert workshop.said("asked") == [str(process.pid)]
    assert (notes, seconds < 5) == ([], True)


def test_the_parent_is_asked_first_and_its_workers_only_when_it_has_gone(workshop: Workshop) -> None:
    body = WORKERS.replace('say("worker"', 'signal.signal(signal.SIGTERM, leave)\n        say("worker"')
    supervisor, process = started(workshop, POLITE + body + SLEEP, "w", "w")
    workers = [int(pid) for pid in workshop.said("worker", 2)]
    stop(supervisor)
    asked = [int(pid) for pid in workshop.said("asked", 3)]
    assert asked[0] == process.pid
    assert sorted(asked[1:]) == sorted(workers)
    assert not any(is_running(pid) for pid in workers)


def test_a_worker_in_its_own_session_that_ignores_everything_is_ended(workshop: Workshop) -> None:
    supervisor, process = started(workshop, DEAF + WORKERS + SLEEP, "s", "w")
    workers = [int(pid) for pid in workshop.said("worker", 2)]
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(process.pid))
    stop(supervisor, 2.5)
    assert not any(is_running(pid) for pid in workers)


def test_workers_of_an_older_configuration_are_ended(workshop: Workshop) -> None:
    supervisor, process = started(workshop, WORKERS + SLEEP, "w", "s")
    workers = [int(pid) for pid in workshop.said("worker", 2)]
    changed = workshop.supervisor(supervisor.command.binary, ["--new"])
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(process.pid))
    assert changed.status().state == "orphans"
    stop(changed)
    assert not any(is_running(pid) for pid in workers)


@pytest.mark.parametrize("own_session", [False, True])
@pytest.mark.parametrize("manners", [POLITE, DEAF])
def test_a_helper_ends_after_the_daemon(workshop: Workshop, own_session: bool, manners: str) -> None:
    workshop.script("privsep-helper", manners + "say('helper', os.getpid())\n" + "time.sleep(600)\n")
    supervisor, process = started(
        workshop, POLITE + SPAWN + f"beside('privsep-helper', {own_session})\n" + SLEEP
    )
    helper = int(workshop.said("helper")[0])
    stop(supervisor, 4)
    assert not is_running(helper)
    asked = [int(pid) for pid in workshop.said("asked", 2 if manners == POLITE else 1)]
    assert asked == [process.pid, helper][: len(asked)]


def test_a_helper_below_another_program_is_the_daemons(workshop: Workshop) -> None:
    """As sudo and rootwrap stand between nova-compute and its helper, with an environment of their own."""
    workshop.script("privsep-helper", "say('helper', os.getpid())\ntime.sleep(600)\n")
    workshop.script(
        "sudo",
        "import subprocess\nos.setsid()\n"
        "subprocess.run([os.path.join(here, 'privsep-helper')], env={}, start_new_session=True)\n",
    )
    body = "import subprocess\nsubprocess.Popen([os.path.join(here, 'sudo')], env={})\n"
    supervisor, _ = started(workshop, body + SLEEP)
    helper = int(workshop.said("helper")[0])
    stop(supervisor)
    assert not is_running(helper)


def test_a_helper_that_outlived_a_dead_daemon_is_ended(workshop: Workshop) -> None:
    workshop.script("privsep-helper", "say('helper', os.getpid())\ntime.sleep(600)\n")
    supervisor, process = started(workshop, SPAWN + "beside('privsep-helper', True)\n" + SLEEP)
    helper = int(workshop.said("helper")[0])
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(process.pid))
    stop(supervisor)
    assert not is_running(helper)


def test_another_services_helper_and_the_guests_live(workshop: Workshop) -> None:
    for name in ("privsep-helper", "qemu-system-x86_64"):
        workshop.script(
            name, f"say('{'guest' if 'qemu' in name else 'helper'}', os.getpid())\ntime.sleep(600)\n"
        )
    stranger = workshop.run([str(workshop.directory / "privsep-helper")])
    body = SPAWN + "beside('qemu-system-x86_64', False)\nbeside('qemu-system-x86_64', True)\n"
    body += "subprocess.Popen([os.path.join(here, 'qemu-system-x86_64')])\n"
    supervisor, process = started(workshop, DEAF + body + SLEEP)
    guests = [int(pid) for pid in workshop.said("guest", 3)]
    workshop.said("helper")
    assert process.pid in [os.getsid(pid) for pid in guests]
    stop(supervisor, 2.5)
    assert not is_running(process.pid)
    assert [is_running(pid) for pid in guests] == [True] * 3
    assert stranger.poll() is None


def test_a_family_that_grows_while_it_dies_is_ended(workshop: Workshop) -> None:
    """Each member ignores SIGTERM but answers it with a child, and has another when its parent dies."""
    body = """\
born, depth, children = time.monotonic(), 3, 0
def breed(*_):
    global depth, children
    children += 1
    if children <= 2 and depth > 0 and os.fork() == 0:
        depth, children = depth - 1, 0
        say("worker", os.getpid())
signal.signal(signal.SIGTERM, breed)
parent = os.getppid()
say("up", os.getpid())
while time.monotonic() < born + 30:
    time.sleep(0.01)
    if os.getppid() != parent:
        parent = os.getppid()
        breed()
"""
    supervisor, process = started(workshop, body)
    stop(supervisor, 4)
    assert not is_running(process.pid)
    born = [int(pid) for pid in workshop.said("worker", 2)]
    assert not any(is_running(pid) for pid in born)
    assert supervisor.matching(None) == []


def test_nobody_is_awake_while_the_others_are_killed(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that starts another whenever its parent dies is never given the time to do so."""
    watch = """parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(0.002)
        say("reborn")
"""
    supervisor, _ = started(workshop, DEAF + WORKERS.replace("time.sleep(600)\n", watch) + SLEEP, "w", "s")
    workshop.said("worker", 2)
    send = ProcTable.send

    def send_slowly(table: ProcTable, target: ProcessId, number: int) -> bool:
        result = send(table, target, number)
        time.sleep(0.2 if number == signal.SIGKILL else 0)
        return result

    monkeypatch.setattr(ProcTable, "send", send_slowly)
    stop(supervisor, 2.5)
    assert not (workshop.directory / "reborn").exists()


def test_a_worker_born_between_the_look_and_the_kill_is_found(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor, process = started(workshop, DEAF + SLEEP)
    late: list[subprocess.Popen[bytes]] = []
    send = ProcTable.send

    def send_and_breed(table: ProcTable, target: ProcessId, number: int) -> bool:
        if number == signal.SIGKILL and len(late) < 3:
            late.append(workshop.run([supervisor.command.binary]))
            wait_until(lambda: supervisor.command.matches(table.argv(late[-1].pid)))
        return send(table, target, number)

    monkeypatch.setattr(ProcTable, "send", send_and_breed)
    stop(supervisor, 2.5)
    assert len(late) == 3
    assert not is_running(process.pid)
    assert [worker.wait(5) for worker in late] == [-signal.SIGKILL] * 3


def test_what_survives_a_kill_is_an_error_that_names_it(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor, process = started(workshop, DEAF + SLEEP)
    with monkeypatch.context() as patch:
        patch.setattr(ProcTable, "send", lambda self, target, number: True)
        with pytest.raises(GenericError, match=rf"nova-fake survives SIGKILL: pid {process.pid} \(state S\)"):
            stop(supervisor, 1.2)
    assert os.path.exists(supervisor.pid_path)
    stop(supervisor, 1.2)
    assert not is_running(process.pid)


def test_a_stop_that_may_signal_nothing_says_so_at_once(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a user who stops root's daemon: it was neither killed, nor did it survive that."""
    supervisor, process = started(workshop, SLEEP)

    def refuse(table: ProcTable, target: ProcessId, number: int) -> bool:
        raise PermissionError

    notes: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(ProcTable, "send", refuse)
        begin = time.monotonic()
        with pytest.raises(PermissionDenied, match=rf"may not signal pid {process.pid} \(nova-fake\)"):
            supervisor.stop(Deadline(20), notes.append)
    assert time.monotonic() - begin < 5
    assert notes == []
    assert is_running(process.pid)
    assert os.path.exists(supervisor.pid_path)


def test_a_helper_that_may_not_be_signalled_has_time_to_follow_its_daemon(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.script("privsep-helper", "say('helper', os.getpid())\ntime.sleep(600)\n")
    supervisor, process = started(workshop, SPAWN + "beside('privsep-helper', False)\n" + SLEEP)
    helper = int(workshop.said("helper")[0])
    send = ProcTable.send

    def send_or_refuse(table: ProcTable, target: ProcessId, number: int) -> bool:
        if target.pid == helper:
            raise PermissionError
        return send(table, target, number)

    monkeypatch.setattr(ProcTable, "send", send_or_refuse)
    notes: list[str] = []
    begin = time.monotonic()
    with pytest.raises(PermissionDenied, match=rf"may not signal pid {helper} "):
        supervisor.stop(Deadline(3.5), notes.append)
    assert 1.0 < time.monotonic() - begin < 5
    assert notes == []
    assert not is_running(process.pid)


def test_it_needs_no_tool_and_no_path(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    supervisor, process = started(workshop, DEAF + WORKERS + SLEEP, "w")
    workshop.said("worker")
    stop(supervisor, 1.2)
    assert not is_running(process.pid)


def test_two_stops_at_once_both_succeed(workshop: Workshop) -> None:
    import threading

    supervisor, process = started(workshop, DEAF + WORKERS + SLEEP, "w")
    workshop.said("worker")
    failures: list[BaseException] = []

    def attempt() -> None:
        try:
            supervisor.stop(Deadline(2.5))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=attempt) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert not is_running(process.pid)


def test_without_pidfd_it_stops_all_the_same(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    from ocf_agents.service import proc, process_stop

    for module in (proc, process_stop):
        monkeypatch.setattr(module, "open_pidfd", lambda pid: None)
    supervisor, process = started(workshop, POLITE + SLEEP)
    seconds, notes = stop(supervisor)
    assert workshop.said("asked") == [str(process.pid)]
    assert notes == []
    assert seconds < 3


def test_unreadable_arguments_cost_no_other_daemon_of_the_binary(workshop: Workshop) -> None:
    supervisor, process = started(workshop, WORKERS + SLEEP, "w")
    workers = [int(pid) for pid in workshop.said("worker")]
    by_hand = workshop.run([supervisor.command.binary, "--of-somebody"])
    workshop.said("up", 2)
    supervisor.command = Command(supervisor.command.binary, None)
    stop(supervisor)
    assert not any(is_running(pid) for pid in (process.pid, *workers))
    assert by_hand.poll() is None


def test_unreadable_arguments_without_a_pid_file_spare_another_resource(workshop: Workshop) -> None:
    supervisor, process = started(workshop, SLEEP, "--x")
    command = Command(supervisor.command.binary, None)
    other = ProcessSupervisor(command, str(workshop.run_dir / "other.pid"), instance="other")
    stop(other)
    assert is_running(process.pid)
    os.unlink(supervisor.pid_path)
    supervisor.command = command
    stop(supervisor)
    assert not is_running(process.pid)


def test_a_bad_binary_parameter_does_not_hide_the_recorded_daemon(workshop: Workshop) -> None:
    supervisor, process = started(workshop, WORKERS + SLEEP, "w")
    workers = [int(pid) for pid in workshop.said("worker")]
    supervisor.command = Command("/usr/bin/no-such-default", ["w"], is_known=False)
    assert supervisor.process() == process
    stop(supervisor)
    assert not any(is_running(pid) for pid in (process.pid, *workers))


def test_a_bad_binary_parameter_makes_no_stranger_ours(workshop: Workshop) -> None:
    """The file tells the whole truth about it, but for the run."""
    supervisor = workshop.supervisor("/usr/bin/no-such-default")
    supervisor.command = Command("/usr/bin/no-such-default", is_known=False)
    stranger = workshop.run([workshop.script("sshd")], start_new_session=True)
    workshop.said("up")
    info = ProcTable().info(stranger.pid)
    assert info is not None
    os.mkdir(workshop.run_dir)
    process = ProcessId(info.pid, info.start, ProcTable().boot_id())
    for run_id in ("", supervisor.new_run_id()):
        pidfile.write(supervisor.pid_path, pidfile.Record(process, os.geteuid(), run_id, info.argv))
        stop(supervisor)
    assert stranger.poll() is None
