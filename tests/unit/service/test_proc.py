# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from ocf_agents.service import proc
from ocf_agents.service.host import boottime
from ocf_agents.service.proc import ProcessId, ProcTable

from .conftest import DEAF, SLEEP, Workshop, is_running, wait_until

TABLE = ProcTable()
SLEEPER = [sys.executable, "-IS", "-c", "import time; time.sleep(60)"]


def identify(pid: int) -> ProcessId:
    process = TABLE.identify(pid)
    assert process is not None
    return process


def test_our_own_process_is_seen_as_it_is() -> None:
    info = TABLE.info(os.getpid())
    assert info is not None
    assert (info.pid, info.ppid, info.uid) == (os.getpid(), os.getppid(), os.geteuid())
    assert info.session == os.getsid(0)
    assert info.is_own_namespace
    assert info.state == "R"
    assert info.argv[0].endswith(os.path.basename(sys.executable)) or "python" in info.argv[0]
    assert os.getpid() in TABLE.pids()


def test_a_name_with_parentheses_and_blanks_does_not_confuse(workshop: Workshop) -> None:
    script = workshop.script("x) R 1 (")
    process = workshop.run([script])
    workshop.said("up")
    wait_until(lambda: state_and_parent(process.pid) == ("S", os.getpid()))


def state_and_parent(pid: int) -> tuple[str, int] | None:
    stat = TABLE.stat(pid)
    return None if stat is None else (stat.state, stat.ppid)


def test_arguments_are_kept_byte_for_byte(workshop: Workshop) -> None:
    extra = ["", "a b", "line\nbreak", os.fsdecode(b"\xff"), "x" * 10000, ""]
    process = workshop.run([*SLEEPER, *extra])
    wait_until(lambda: TABLE.argv(process.pid)[-6:] == tuple(extra))


def test_a_process_that_has_gone_is_none_everywhere(workshop: Workshop) -> None:
    process = workshop.run(SLEEPER)
    identity = identify(process.pid)
    process.kill()
    process.wait()
    assert TABLE.stat(process.pid) is None
    assert TABLE.info(process.pid) is None
    assert TABLE.identify(process.pid) is None
    assert TABLE.argv(process.pid) == ()
    assert TABLE.environ_value(process.pid, "PATH") is None
    assert not TABLE.is_alive(identity)
    assert not TABLE.send(identity, signal.SIGTERM)
    assert TABLE.wait(identity, 0)
    assert TABLE.end(identity, 1)


def test_a_zombie_is_not_alive(workshop: Workshop) -> None:
    process = workshop.run(SLEEPER)
    identity = identify(process.pid)
    assert TABLE.is_alive(identity)
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(process.pid))
    stat = TABLE.stat(process.pid)
    assert stat is not None
    assert stat.state == "Z"
    assert not TABLE.is_alive(identity)
    assert TABLE.wait(identity, 0)


@pytest.mark.parametrize("other", ["start", "boot"])
def test_another_process_of_the_same_number_is_not_signalled(workshop: Workshop, other: str) -> None:
    process = workshop.run(SLEEPER)
    real = identify(process.pid)
    wrong = ProcessId(real.pid, real.start + (other == "start"), "b" if other == "boot" else real.boot_id)
    assert not TABLE.is_alive(wrong)
    assert not TABLE.send(wrong, signal.SIGKILL)
    assert TABLE.end(wrong, 0)
    time.sleep(0.05)
    assert process.poll() is None


def test_end_asks_and_waits(workshop: Workshop) -> None:
    process = workshop.run(SLEEPER)
    assert TABLE.end(identify(process.pid), 10)
    assert process.wait(5) == -signal.SIGTERM


def test_end_kills_who_does_not_listen(workshop: Workshop) -> None:
    process = workshop.run([workshop.script("deaf", DEAF + SLEEP)])
    workshop.said("up")
    assert TABLE.end(identify(process.pid), 0.1)
    assert process.wait(5) == -signal.SIGKILL


def test_end_without_grace_kills_at_once(workshop: Workshop) -> None:
    process = workshop.run(SLEEPER)
    assert TABLE.end(identify(process.pid), 0)
    assert process.wait(5) == -signal.SIGKILL


def test_without_pidfd_the_same_holds(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proc, "open_pidfd", lambda pid: None)
    process = workshop.run(SLEEPER)
    real = identify(process.pid)
    assert not TABLE.send(ProcessId(real.pid, real.start + 1, real.boot_id), signal.SIGKILL)
    assert not TABLE.wait(real, 0.05)
    assert TABLE.end(real, 10)
    assert process.wait(5) == -signal.SIGTERM


def test_wait_is_bounded(workshop: Workshop) -> None:
    process = workshop.run(SLEEPER)
    begin = time.monotonic()
    assert not TABLE.wait(identify(process.pid), 0.1)
    assert 0.1 <= time.monotonic() - begin < 2


def test_the_start_instant_is_on_the_clock_of_the_boot(workshop: Workshop) -> None:
    before = boottime()
    process = workshop.run(SLEEPER)
    identity = identify(process.pid)
    assert before - 0.02 <= TABLE.start_instant(identity) <= boottime() + 0.02
    assert 0 <= TABLE.age(identity) < 5


def test_a_variable_of_the_environment_is_found_whole(workshop: Workshop) -> None:
    process = workshop.run(SLEEPER, env={"XAGENT": "no", "AGENT": "a=b", "BIG": "x" * 50000, "Z": "\udcff"})
    wait_until(lambda: TABLE.environ_value(process.pid, "AGENT") is not None)
    assert TABLE.environ_value(process.pid, "AGENT") == "a=b"
    assert TABLE.environ_value(process.pid, "Z") == "\udcff"
    assert TABLE.environ_value(process.pid, "NONE") is None


def test_identities_compare_by_value() -> None:
    one = ProcessId(2, 3, "b")
    assert one == ProcessId(2, 3, "b")
    assert len({one, ProcessId(2, 3, "b"), ProcessId(2, 4, "b"), ProcessId(3, 3, "b")}) == 3
    assert one != (2, 3, "b")


def test_a_strange_table_raises_nothing(tmp_path: Path) -> None:
    for pid, stat in (("7", "7 (x"), ("8", ""), ("9", "9 (x) S 1")):
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "stat").write_text(stat)
    (tmp_path / "self").mkdir()
    table = ProcTable(str(tmp_path))
    assert sorted(table.pids()) == [7, 8, 9]
    assert [table.stat(pid) for pid in (7, 8, 9, 10)] == [None] * 4
