# SPDX-License-Identifier: Apache-2.0
"""The keeper: what it runs, what it sees, and that nothing outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.testing.conformance.runner import Call, Ran, Runner
from ocf_agents.testing.node import is_running, wait_for

ENVIRON = {"PATH": os.defpath}


@pytest.fixture
def runner() -> Iterator[Runner]:
    with Runner() as runner:
        yield runner


def run(runner: Runner, script: str, timeout: float = 10, **more: object) -> Ran:
    call = Call(["/bin/sh", "-c", script], ENVIRON, "/")
    return runner.run([call], timeout, **more)[0]  # type: ignore[arg-type]


def test_the_exit_code_and_both_outputs_come_back(runner: Runner) -> None:
    ran = run(runner, "echo out; echo ocf-exit-reason:why >&2; exit 6")
    assert (ran.code, ran.stdout, ran.reason, ran.timed_out, ran.is_open) == (6, "out\n", "why", False, False)


def test_bytes_that_are_no_text_come_back_as_they_were(runner: Runner) -> None:
    ran = run(runner, r"printf '\377'")
    assert ran.stdout.encode("utf-8", "surrogateescape") == b"\xff"


def test_what_cannot_be_run_says_why(runner: Runner) -> None:
    ran = runner.run([Call(["/no/such/agent", "start"], ENVIRON, "/")], 5)[0]
    assert ran.code == 127
    assert "No such file" in ran.stderr


def test_an_action_is_killed_with_its_group_at_the_timeout(runner: Runner) -> None:
    ran = run(runner, "sleep 100 & sleep 100", 0.3)
    assert (ran.code, ran.timed_out) == (-signal.SIGKILL, True)
    assert ran.seconds < 5
    assert wait_for(lambda: not runner.processes())


def test_a_much_output_is_read_while_it_comes(runner: Runner) -> None:
    ran = run(runner, "dd if=/dev/zero bs=1000 count=1000 2>/dev/null | tr '\\0' x")
    assert (ran.code, len(ran.stdout)) == (0, 1000000)


def test_a_child_with_the_outputs_is_noticed_and_not_waited_for(runner: Runner) -> None:
    ran = run(runner, "sleep 100 & exit 0")
    assert (ran.code, ran.is_open) == (0, True)
    assert ran.seconds < 5


def test_a_daemon_is_known_whatever_its_session_and_environment(runner: Runner) -> None:
    run(runner, "env -i setsid sleep 100 </dev/null >/dev/null 2>&1 &")
    (process,) = runner.processes()
    assert (process.command, process.is_root) == ("sleep 100", True)


def test_a_dead_daemon_leaves_no_zombie_that_an_agent_would_wait_for(runner: Runner) -> None:
    run(runner, "sleep 0.2 </dev/null >/dev/null 2>&1 &")
    (process,) = runner.processes()
    assert wait_for(lambda: not Path(f"/proc/{process.pid}").exists())


def test_actions_run_at_once(runner: Runner) -> None:
    begin = time.monotonic()
    call = Call(["/bin/sh", "-c", "sleep 0.7"], ENVIRON, "/")
    assert [ran.code for ran in runner.run([call, call, call], 10)] == [0, 0, 0]
    assert time.monotonic() - begin < 2.0


def test_needles_are_found_in_the_arguments_of_processes_below_only(runner: Runner) -> None:
    ran = run(runner, "sh -c 'sleep 0.3; :' needle-4711", needles=["needle-4711", "other-4711"])
    assert "needle-4711" in ran.seen
    assert "other-4711" not in ran.seen


def test_only_processes_below_get_a_signal(runner: Runner) -> None:
    run(runner, "sleep 100 </dev/null >/dev/null 2>&1 &")
    (process,) = runner.processes()
    runner.signal([os.getpid(), process.pid], signal.SIGKILL)
    assert wait_for(lambda: not runner.processes())


def test_nothing_outlives_the_keeper() -> None:
    with Runner() as runner:
        run(runner, "(trap '' TERM; setsid sleep 100) </dev/null >/dev/null 2>&1 &")
        assert wait_for(lambda: any(one.command == "sleep 100" for one in runner.processes()))
        pids = [one.pid for one in runner.processes()]
    assert [pid for pid in pids if is_running(pid)] == []


SHORT = "/bin/true a-short-life; exec /bin/sh -c 'sleep 100 </dev/null >/dev/null 2>&1 & exit 3'"


def test_a_traced_action_tells_of_each_program_however_short_it_lives(runner: Runner) -> None:
    call = Call(["/bin/sh", "-c", SHORT], ENVIRON, "/", trace="programs")
    (ran,) = runner.run([call], 10, needles=["a-short-life", "other-4711"])
    assert ran.code == 3
    assert ran.programs is not None, "this system does not allow ptrace"
    assert [words[0] for words in ran.programs] == ["/bin/sh", "/bin/true", "/bin/sh", "sleep"]
    assert ran.seen == ("a-short-life",)
    assert [one.command for one in runner.processes()] == ["sleep 100"], "it lives on, and is let go"


def test_a_traced_action_ends_as_it_would(runner: Runner) -> None:
    call = Call(["/bin/sh", "-c", "kill -HUP $$"], ENVIRON, "/", trace="programs")
    assert runner.run([call], 10)[0].code == -signal.SIGHUP
    call = Call(["/no/such/agent", "start"], ENVIRON, "/", trace="programs")
    ran = runner.run([call], 10)[0]
    assert (ran.code, "No such file" in ran.stderr) == (127, True)
    call = Call(["/bin/sh", "-c", "sleep 100"], ENVIRON, "/", trace="programs")
    ran = runner.run([call], 0.3)[0]
    assert (ran.code, ran.timed_out) == (-signal.SIGKILL, True)
    assert wait_for(lambda: not runner.processes())


DEEDS = "cd $1; echo x >draft; mv draft final; cat </etc/hostname >/dev/null; exec 3<>/dev/tcp/127.0.0.1/9"


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="only bash speaks to the network by itself")
def test_a_traced_action_tells_what_it_writes_and_whom_it_speaks_to(runner: Runner, tmp_path: Path) -> None:
    call = Call(["/bin/bash", "-c", DEEDS, "-", str(tmp_path)], ENVIRON, "/", trace="deeds")
    (ran,) = runner.run([call], 10)
    assert ran.deeds is not None, "this system does not allow ptrace"
    files = [one["file"] for one in ran.deeds if "file" in one]
    assert [name for name in files if not name.startswith("/dev/")] == [
        str(tmp_path / "draft"),
        str(tmp_path / "final"),
    ]
    assert [one for one in ran.deeds if "peer" in one] == [{"peer": "127.0.0.1:9"}]


def test_who_is_deaf_is_ended_by_sigkill_alone(runner: Runner) -> None:
    run(runner, "sleep 100 </dev/null >/dev/null 2>&1 &")
    (process,) = runner.processes()
    assert runner.deafen([process.pid]), "this system does not allow ptrace"
    for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGCONT, signal.SIGINT):
        runner.signal([process.pid], number)
    assert not wait_for(lambda: not runner.processes(), 0.5)
    runner.signal([process.pid], signal.SIGKILL)
    assert wait_for(lambda: not runner.processes())


def test_who_gets_sigstop_has_stopped_when_that_is_said(runner: Runner) -> None:
    """Also where more want a processor than there are: a process stops when it is its turn."""
    count = 8 * (os.cpu_count() or 1)
    run(runner, f"for i in $(seq {count}); do (while :; do :; done) </dev/null >/dev/null 2>&1 & done")
    pids = [process.pid for process in runner.processes()]
    assert len(pids) == count
    runner.signal(pids, signal.SIGSTOP)
    states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in pids]
    assert set(states) == {"T"}


def test_a_bystander_is_no_part_of_the_resource(runner: Runner) -> None:
    with runner.bystander() as one:
        assert is_running(one.pid)
        assert runner.processes() == []
        runner.signal([one.pid], signal.SIGKILL)
        assert not wait_for(lambda: not is_running(one.pid), 0.3)
    assert one.lived
    assert not is_running(one.pid)


def test_a_bystander_that_was_ended_is_told(runner: Runner) -> None:
    with runner.bystander() as one:
        os.kill(one.pid, signal.SIGTERM)
        assert wait_for(lambda: not is_running(one.pid))
    assert not one.lived


ABANDONED = """
import os, sys
from ocf_agents.testing.conformance.runner import Call, Runner
with Runner() as runner:
    script = "sleep 98 </dev/null >/dev/null 2>&1 & echo $! >$1; sleep 99"
    runner.run([Call(["/bin/sh", "-c", script, "-", sys.argv[1]], {"PATH": os.defpath}, "/")], 60)
"""


def test_nothing_outlives_a_check_that_is_killed_in_the_middle_of_an_action(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    root = Path(__file__).parents[4]
    check = subprocess.Popen(
        [sys.executable, "-c", ABANDONED, str(note)], env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert wait_for(lambda: note.is_file() and note.read_text().endswith("\n"))
    pid = int(note.read_text())
    assert is_running(pid)
    check.kill()
    check.wait()
    assert wait_for(lambda: not is_running(pid))
