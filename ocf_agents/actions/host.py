# SPDX-License-Identifier: Apache-2.0
"""The guard's ports on a real host: its clock, its processes, the helpers that it can start."""

from __future__ import annotations

import json
import os
import random
import secrets
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

from ocf_agents.actions import helper as helper_script
from ocf_agents.guard.history import History
from ocf_agents.guard.ports import Errand
from ocf_agents.guard.record import Instant, Process
from ocf_agents.ocf.log import Log
from ocf_agents.service.host import boot_id, boottime
from ocf_agents.service.proc import ProcessId, ProcTable

KEPT_VARIABLES = ("OCF_", "HA_", "PCMK_")
"""Beginnings of the environment variables that a helper needs: its parameters, and where to log."""


class HostClock:
    """CLOCK_BOOTTIME and UTC. `is_pausing` tells a signal handler that nothing is under way."""

    def __init__(self) -> None:
        self._boot_id = boot_id()
        self.is_pausing = False

    def now(self) -> Instant:
        return Instant(self._boot_id, boottime())

    def utc(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def pause(self, floor: float, spread: float) -> None:
        self.is_pausing = True
        try:
            time.sleep(floor + random.random() * spread)  # noqa: S311 (jitter)
        finally:
            self.is_pausing = False

    def token(self) -> str:
        return secrets.token_hex(8)


class HostProcesses:
    """Processes of this host, proven through /proc and ended through pidfds."""

    def __init__(self) -> None:
        self._table = ProcTable()

    def me(self) -> Process:
        found = self._table.identify(os.getpid())
        assert found is not None
        return as_process(found)

    def is_alive(self, process: Process) -> bool:
        return self._table.is_alive(ProcessId(*process))

    def born(self, process: Process) -> float:
        return self._table.start_instant(ProcessId(*process))

    def end(self, processes: Iterable[Process], grace: float) -> None:
        """Asks each to leave (a helper that sleeps does so at once), and kills what stays."""
        for process in processes:
            if self.is_alive(process):
                self._table.end(ProcessId(*process), grace)


class HelperProcess:
    """A helper that runs, and our end of the line to it."""

    def __init__(self, child: subprocess.Popen[bytes], line: socket.socket) -> None:
        child.returncode = 0  # it outlives us, and nobody here waits for it
        self._line = line
        found = ProcTable().identify(child.pid)
        self.process = as_process(found) if found else None

    def wait_for_word(self, seconds: float) -> bool:
        return bool(select.select([self._line], [], [], max(0.0, seconds))[0])

    def release(self) -> None:
        self._line.close()

    def __del__(self) -> None:
        self.release()


class HelperSpawner:
    """Starts helpers: a fresh interpreter, its own session, no files but one line to us (cases 123 to 125).

    `module` declares the agent. `facts` are what the helper cannot find out by itself; no secret is
    among them, for they are its arguments. Its parameters come by its environment, as ours did.
    """

    def __init__(self, module: str, facts: dict[str, Any], environ: dict[str, str]) -> None:
        self._module = module
        self._facts = facts
        self._environ = environ

    def spawn(self, errand: Errand, *, is_held: bool = False) -> HelperProcess:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                child = self._run(errand, theirs, is_held=is_held)
        except BaseException:
            ours.close()
            raise
        return HelperProcess(child, ours)

    def _run(self, errand: Errand, line: socket.socket, *, is_held: bool) -> subprocess.Popen[bytes]:
        order = {**self._facts, "errand": errand._asdict(), "line": line.fileno(), "is_held": is_held}
        return subprocess.Popen(
            [sys.executable, "-I", helper_script.__file__, self._module, json.dumps(order)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[line.fileno()],
            start_new_session=True,
            cwd="/",
            umask=0o077,
            env=self._environ,
        )


def helper_environment(environ: dict[str, str]) -> dict[str, str]:
    """What a helper is given of our environment: no proxies, no locale, nothing of the caller's shell."""
    kept = {name: value for name, value in environ.items() if name.startswith(KEPT_VARIABLES)}
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/", **kept}


class HostReporter:
    """Decisions go to the history, and what an operator should see to the cluster's log.

    A quiet one works for monitors: what start or stop has said is not said again each time.
    """

    def __init__(self, log: Log, history: History, action: str, *, is_quiet: bool = False) -> None:
        self._log = log
        self._is_quiet = is_quiet
        self._history = history
        self._action = action

    def decided(self, generation: int, read: str, decided: str, why: str) -> None:
        self._history.add(self._action, generation, read, decided, why)
        self._log.debug(f"generation {generation}: {read}: {decided} ({why})")

    def info(self, text: str) -> None:
        self._log.info(text)

    def warning(self, text: str) -> None:
        tell = self._log.debug if self._is_quiet else self._log.warning
        tell(text)


def as_process(process: ProcessId) -> Process:
    return Process(process.pid, process.start, process.boot_id)
