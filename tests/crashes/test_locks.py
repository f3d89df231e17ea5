# SPDX-License-Identifier: Apache-2.0
"""The record's lock: held for ever, refused by the kernel, planted (cases 127 to 132)."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Callable

import pytest

from ocf_agents.testing.node import wait_for

from .test_bad_records import bind, directory, instead, link
from .victim import Victim

BOUND = 12.0
"""Seconds: the wait for the lock, twice, and a loaded machine."""


def lock_path(victim: Victim) -> Path:
    return victim.state_dir / "nova-compute.lock"


@contextmanager
def held(path: Path) -> Iterator[None]:
    with path.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_lock_that_is_never_released_delays_a_stop_a_little_and_its_helper_goes_on(running: Victim) -> None:
    with held(lock_path(running)):
        result = running.run("stop", timeout=40)
        assert (result.code, running.daemons()) == (0, []), result
        assert result.seconds < BOUND
        assert running.helpers(), "goes on with it"
        assert not running.row.disabled
    assert wait_for(lambda: running.row.disabled, 20)
    assert running.wait_for_quiet()
    running.act("start")
    assert running.complaints() == []


def test_a_start_fails_with_the_reason_while_the_lock_is_held(running: Victim) -> None:
    running.act("stop")
    assert running.wait_for_quiet()
    with held(lock_path(running)):
        result = running.run("start", timeout=16)
        assert result.code == 1
        assert (result.reason or "").startswith("the record cannot be used: ")
        assert f"{lock_path(running)}: locked by another process" in running.log.read_text()
        assert not result.timed_out
    running.act("start")
    assert running.complaints() == []


def test_a_daemon_that_runs_on_holds_no_lock_of_ours(running: Victim) -> None:
    with lock_path(running).open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    (pid,) = running.daemons()
    opened = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
    assert not [name for name in opened if str(running.state_dir) in name or name.endswith(".lock")]


@pytest.mark.parametrize("error", ["ENOLCK", "ENOSYS", "EIO"])
def test_a_kernel_that_gives_no_lock_fails_no_stop(running: Victim, error: str) -> None:
    running.plan("stop", 0, error, call="flock", text="nova-compute.lock")
    result = running.run("stop", timeout=40)
    assert (result.code, running.daemons()) == (0, []), result
    assert result.seconds < BOUND
    assert "nova-compute" in running.log.read_text()
    running.plan("start", 0, error, call="flock", text="nova-compute.lock")
    result = running.run("start", timeout=16)
    assert result.code == 1
    assert str(running.state_dir) in (result.reason or ""), result
    running.forget_plan()
    running.act("start")
    assert running.complaints() == []


def test_a_kernel_that_gives_no_lock_to_the_pid_file_fails_the_start_in_one_line(running: Victim) -> None:
    running.act("stop")
    running.plan("start", 0, "ENOLCK", call="flock", text=".pid.lock")
    result = running.run("start", timeout=16)
    assert result.code == 1
    assert "cannot lock" in (result.reason or ""), result
    running.forget_plan()
    running.act("start")
    assert running.complaints() == []


PLANTS: dict[str, Callable[[Path], None]] = {
    "a link": instead(link),
    "a link to nothing": instead(lambda path: path.symlink_to(path.parent / "nowhere")),
    "a FIFO": instead(os.mkfifo),
    "a directory": instead(directory),
    "a socket": instead(bind),
    "removed": lambda path: path.unlink(),
    "full": lambda path: path.write_text("4711\n" * 1000) and None,
    "a dead holder's": lambda path: path.write_text("999999\n") and None,
}


@pytest.mark.parametrize("name", PLANTS)
def test_what_is_planted_in_the_locks_place_is_set_aside_or_used_but_never_followed(
    running: Victim, name: str
) -> None:
    path = lock_path(running)
    PLANTS[name](path)
    running.act("stop")
    assert running.wait_for_quiet()
    assert running.row.disabled
    PLANTS[name](path)
    running.act("start")
    for one in running.state_dir.glob("*.lock.bad-*"):
        shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
    assert running.complaints() == []
    target = running.root / "target"
    assert not target.exists() or target.read_text() == "another's file, to be left alone\n"
    assert not (running.state_dir / "nowhere").exists()


@pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not here; the errors above are the same"
)
def test_the_kernels_own_refusal_of_a_lock_fails_no_stop(running: Victim) -> None:
    """The same as above without any patch: the system call itself fails."""
    from ocf_agents.testing.run import execute

    environ = running.pacemaker.environ("stop", interval=None, timeout=40, level=None)
    agent = Path(__file__).parents[2] / "heartbeat" / "nova-compute"
    trace = ["strace", "-D", "-f", "-q", "-o", str(running.root / "trace"), "-e", "trace=flock"]
    argv = [*trace, "-e", "inject=flock:error=ENOLCK", sys.executable, "-I", str(agent), "stop"]
    result = execute(argv, environ, 40.0)
    assert (result.code, running.daemons()) == (0, []), result
    assert wait_for(lambda: "INJECTED" in (running.root / "trace").read_text())
    running.act("start")
    assert running.complaints() == []


def test_eight_writers_lose_no_update_and_the_lock_file_stays(tmp_path: Path) -> None:
    """Case 129: each raises the generation, each time under the lock."""
    rounds, writers = 40, 8
    program = (
        "import sys\nsys.path.insert(0, sys.argv[1])\n"
        "from dataclasses import replace\n"
        "from ocf_agents.guard.store import Identity, Store\n"
        "store = Store(sys.argv[2], Identity('r', 'm', 'h'), print)\n"
        f"for _ in range({rounds}):\n"
        "    store.update(lambda record: replace(record, generation=record.generation + 1), 60)\n"
        "print(store.load().generation)\n"
    )
    root = Path(__file__).parents[2]
    argv = [sys.executable, "-I", "-c", program, str(root), str(tmp_path / "state")]
    first = subprocess.run([*argv], capture_output=True, text=True, check=True)
    inode = (tmp_path / "state" / "r.lock").stat().st_ino
    rest = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(writers - 1)]
    seen = [int(one.communicate(timeout=120)[0].split()[-1]) for one in rest]
    assert int(first.stdout) == rounds
    assert max(seen) == rounds * writers
    assert (tmp_path / "state" / "r.lock").stat().st_ino == inode


def test_a_socket_is_no_lock_for_the_test_itself(tmp_path: Path) -> None:
    """The plant above is what it says."""
    path = tmp_path / "node" / "s"
    path.parent.mkdir()
    bind(path)
    assert path.is_socket()
    with socket.socket(socket.AF_UNIX) as one, pytest.raises(ConnectionRefusedError):
        one.connect(str(path))
