# SPDX-License-Identifier: Apache-2.0
"""A compute node in a temporary directory: the real agent, a stand-in daemon, the embedded cloud."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.service.proc import ProcTable
from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.pinned import pin
from ocf_agents.testing.run import Pacemaker

AGENT = Path(__file__).parents[2] / "heartbeat" / "nova-compute"
DAEMON = """#!{python} -IS
import signal, sys, time
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
while True:
    time.sleep(60)
"""


class Node:
    """One host under test. `cloud` is the compute API, `resource` runs the agent as Pacemaker does."""

    def __init__(self, root: Path, cloud: ComputeApi, host: str) -> None:
        self.root, self.cloud, self.host = root, cloud, host
        self.run_dir, self.state_dir = root / "run", root / "state"
        self.binary = root / "nova-compute"
        self.binary.write_text(DAEMON.format(python=sys.executable))
        self.binary.chmod(0o755)
        (root / "agent").mkdir()
        self.config = root / "nova.conf"
        self.config.write_text(f"[DEFAULT]\nhost = {host}\n")
        self.resource = Pacemaker(
            str(pin(AGENT, root / "agent")),
            {
                "binary": self.binary,
                "user": os.geteuid(),
                "log": root / "daemon.log",
                "state_dir": self.state_dir,
                "config": self.config,
                "hold": "2s",
                "api_timeout": "2s",
                **cloud.credentials(),
            },
            "nova-compute",
            {"HA_RSCTMP": str(self.run_dir), "HA_LOGFILE": str(root / "ha.log")},
        )

    @property
    def record(self) -> dict[str, object]:
        return dict(json.loads((self.state_dir / "nova-compute.json").read_text()))

    @property
    def pid(self) -> int | None:
        try:
            return int((self.run_dir / "nova-compute-nova-compute.pid").read_text().split()[0])
        except (FileNotFoundError, IndexError):
            return None

    def is_alive(self) -> bool:
        pid = self.pid
        stat = ProcTable().stat(pid) if pid else None
        return stat is not None and not stat.is_dead()

    def crash(self) -> None:
        pid = self.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert wait_for(lambda: not self.is_alive())

    def helpers(self) -> list[int]:
        """The helpers of this node that live."""
        table, mark = ProcTable(), str(self.root)
        return [pid for pid in table.pids() if _is_helper(table, pid, mark)]

    def wait_for_quiet(self, seconds: float = 20.0) -> bool:
        """Until no helper works any more."""
        return wait_for(lambda: not self.helpers(), seconds)

    def clean_up(self) -> None:
        for pid in [*self.helpers(), *([self.pid] if self.is_alive() and self.pid else [])]:
            os.kill(pid, signal.SIGKILL)


def _is_helper(table: ProcTable, pid: int, mark: str) -> bool:
    argv = table.argv(pid)
    return any(word.endswith("agents/helper.py") for word in argv) and mark in (
        table.environ_value(pid, "OCF_RESKEY_state_dir") or ""
    )


def wait_for(condition: object, seconds: float = 5.0) -> bool:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture
def cloud() -> Iterator[ComputeApi]:
    with ComputeApi() as api:
        yield api


@pytest.fixture
def node(tmp_path: Path, cloud: ComputeApi) -> Iterator[Node]:
    row = cloud.add("cmp-7", alive=False)
    node = Node(tmp_path, cloud, "cmp-7")
    cloud.follow(row, node.is_alive, first_report=0.3)
    yield node
    node.clean_up()
