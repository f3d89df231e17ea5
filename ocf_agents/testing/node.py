# SPDX-License-Identifier: Apache-2.0
"""A compute host in a directory: the real agent, and a small daemon that stands in for nova-compute.

    with ComputeApi() as cloud:
        node = Node(directory, agent, cloud.credentials())
        cloud.follow(cloud.add(node.host, alive=False), node.is_alive)
        node.run("start")
        ...
        node.clean_up()

All its files lie in the directory; it needs no root.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Callable

from ocf_agents.testing.pinned import pin
from ocf_agents.testing.run import Pacemaker, Result

RESOURCE = "nova-compute"
DAEMON = """#!{python} -IS
import signal, sys, time
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
signal.alarm({lifetime})
while True:
    time.sleep(0.2)
"""
LIFETIME = 3600
"""Seconds after which a stand-in ends by itself, whatever became of the test."""


class Node:
    """One host. `pacemaker` runs the agent there; `parameters` come over those that the directory needs.

    agent: the agent's path. credentials: its parameters for the cloud. host: its name in Nova.
    """

    def __init__(
        self,
        root: Path,
        agent: Path,
        credentials: Mapping[str, object],
        host: str = "cmp-7",
        **parameters: object,
    ) -> None:
        self.root, self.host = root, host
        self.run_dir, self.state_dir = root / "run", root / "state"
        self.binary, self.log = root / "nova-compute", root / "cluster.log"
        self.binary.write_text(DAEMON.format(python=sys.executable, lifetime=LIFETIME))
        self.binary.chmod(0o755)
        # Not the parameter `host`: a name that Nova here would not use is one that moves between nodes.
        self.config = root / "nova.conf"
        self.config.write_text(f"[DEFAULT]\nhost = {host}\n")
        (root / "agent").mkdir()
        self.pacemaker = Pacemaker(
            str(pin(agent, root / "agent")),
            {
                "supervisor": "process",  # whatever this machine has
                "binary": self.binary,
                "user": os.geteuid(),
                "log": root / "daemon.log",
                "state_dir": self.state_dir,
                "config": self.config,
                **credentials,
                **parameters,
            },
            RESOURCE,
            {"HA_RSCTMP": str(self.run_dir), "HA_LOGFILE": str(self.log)},
        )

    def run(self, action: str, **more: object) -> Result:
        """Run an action; a monitor is a recurring one. The arguments are those of `Pacemaker.run`."""
        if action == "monitor":
            more.setdefault("interval", 10.0)
        return self.pacemaker.run(action, **more)  # type: ignore[arg-type]

    @property
    def pid(self) -> int | None:
        """What the pid file says; None without one."""
        try:
            return int((self.run_dir / f"{RESOURCE}-{RESOURCE}.pid").read_text().split()[0])
        except (FileNotFoundError, ValueError, IndexError):
            return None

    def is_alive(self) -> bool:
        """True while the daemon of the pid file runs."""
        pid = self.pid
        return pid is not None and os.fsencode(self.binary) in command_line(pid) and is_running(pid)

    def crash(self) -> None:
        """SIGKILL to the daemon; returns when it is dead."""
        pid = self.pid
        if pid is None or not self.is_alive():
            raise RuntimeError("the daemon does not run")
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not is_running(pid))

    def helpers(self) -> list[int]:
        """The agent's helpers that work for this node."""
        return [pid for pid in all_pids() if self._is_helper(pid)]

    def end_helpers(self) -> None:
        """Kill them, as a power cut would."""
        for pid in self.helpers():
            kill(pid)

    def clean_up(self) -> None:
        """Leave no process behind."""
        self.end_helpers()
        pid = self.pid
        if pid is not None and self.is_alive():
            kill(pid)

    def _is_helper(self, pid: int) -> bool:
        is_script = any(word.endswith(b"/actions/helper.py") for word in command_line(pid))
        return is_script and is_running(pid) and self._is_ours(pid)

    def _is_ours(self, pid: int) -> bool:
        variable = b"OCF_RESKEY_state_dir=" + os.fsencode(self.state_dir)
        try:
            return variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False


def all_pids() -> Iterator[int]:
    """The processes of this host."""
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def command_line(pid: int) -> list[bytes]:
    """A process's arguments; none when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []


def is_running(pid: int) -> bool:
    """True while the process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in (b"Z", b"X")


def kill(pid: int) -> None:
    """SIGKILL, and wait for the end."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    wait_for(lambda: not is_running(pid))


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Wait until the condition holds; False when the time is over."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
