# SPDX-License-Identifier: Apache-2.0
"""Real daemons in real process trees, each with a command line of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ocf_agents.service.command import Command
from ocf_agents.service.process import ProcessSupervisor

# Whatever a failing test leaves behind ends by itself.
LIFETIME = 60

PROLOGUE = f"""\
#!{sys.executable} -IS
import os, signal, sys, time
here = os.path.dirname(os.path.abspath(sys.argv[0]))
signal.alarm({LIFETIME})
def say(name, text=""):
    with open(os.path.join(here, name), "a") as file:
        file.write(str(text) + "\\n")
"""

SLEEP = "say('up', os.getpid())\ntime.sleep(600)\n"

# Says that it was asked, and ends well.
POLITE = """\
def leave(number, frame):
    say("asked", os.getpid())
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
"""

DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"

# A child per argument of the form w (worker) or s (worker in a session of its own).
WORKERS = """\
for kind in sys.argv[1:]:
    if kind in "ws" and os.fork() == 0:
        signal.alarm(60)
        if kind == "s":
            os.setsid()
        say("worker", os.getpid())
        time.sleep(600)
"""


class Workshop:
    """Makes daemons and decoys in one directory, and ends at the end what was started through it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.run_dir = directory / "run"
        self._started: list[subprocess.Popen[bytes]] = []

    def script(self, name: str, body: str = SLEEP) -> str:
        """An executable Python script."""
        path = self.directory / name
        path.write_text(PROLOGUE + body)
        path.chmod(0o755)
        return str(path)

    def supervisor(
        self, binary: str, arguments: Sequence[str] = (), user: str | None = None
    ) -> ProcessSupervisor:
        return ProcessSupervisor(
            Command(binary, arguments, user),
            str(self.run_dir / "daemon.pid"),
            str(self.directory / "daemon.log"),
            run_dir=str(self.run_dir),
            instance="fake",
        )

    def run(self, argv: Sequence[str], **more: object) -> subprocess.Popen[bytes]:
        """A process that no agent started."""
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, **more)  # type: ignore[call-overload]
        self._started.append(process)
        return process  # type: ignore[no-any-return]

    def said(self, name: str, count: int = 1) -> list[str]:
        """The lines that daemons said under this name, once there are enough."""
        path = self.directory / name
        wait_until(lambda: path.exists() and len(path.read_text().splitlines()) >= count)
        return path.read_text().splitlines()

    def close(self) -> None:
        """End whatever runs something of this workshop, known to a test or not, stopped or not."""
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                self._kill(int(name))
        for process in self._started:
            process.kill()
            process.wait()
        wait_until(lambda: not self._remain())
        reap()

    def _kill(self, pid: int) -> None:
        if self._is_ours(pid):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def _is_ours(self, pid: int) -> bool:
        try:
            return os.fsencode(self.directory) in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False

    def _remain(self) -> bool:
        return any(self._is_ours(int(name)) for name in os.listdir("/proc") if name.isdigit())


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def reap() -> None:
    """Fetch the results of children that a start left to us."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    shop = Workshop(tmp_path)
    yield shop
    shop.close()
