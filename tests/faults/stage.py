# SPDX-License-Identifier: Apache-2.0
"""One host and its cloud, and what holds for each action whatever the cloud does."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ocf_agents.guard import marker
from ocf_agents.testing.compute_api import Account, ComputeApi, ServiceRow
from ocf_agents.testing.node import Node, all_pids, wait_for
from ocf_agents.testing.run import REASON_PREFIX, Result

from .watch import Watch, read

AGENT = Path(__file__).parents[2] / "heartbeat" / "nova-compute"
HOST = "cmp-7"
NO_CLOUD = {"disable_on_stop": "false", "enable_on_start": "false"}
START_TIMEOUT = 12.0
PATIENCE = 6.0
"""How many times as long as a start without a cloud (beyond the second that it looks at its child), or two
monitors, one with a cloud may need for its own work."""
BOUND = 25.0
"""Seconds within which an action ends that waits for no cloud. A busy machine is slow; a fault lasts."""

STRANGE = "the answer makes no sense (TypeError)"
UNCLEAR = re.compile(r"Traceback|\b[A-Za-z]+(Error|Exception)\b|object at 0x|NoneType|[<>]")


def secrets(mark: str) -> Account:
    """An account whose every secret has the mark in it, among characters that break careless programs."""
    return Account(password=f"p/@:%20'\"{mark}$é\\", credential_secret=f"s+{mark}=", token_mark=f"t-{mark}-")


class Stage:
    """A node whose row lives and dies with its daemon, its cloud, and the watch on their secrets."""

    def __init__(
        self,
        folder: Path,
        api: ComputeApi,
        watch: Watch,
        row: ServiceRow | None = None,
        credentials: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.api, self.watch, self.pace = api, watch, 0.3
        self.row = row or api.add(HOST, alive=False)
        given = {"hold": "1s", "api_timeout": "2s", "head_start": "1s", **parameters}
        self.node = Node(
            folder, AGENT, api.credentials() if credentials is None else credentials, HOST, **given
        )
        home = folder / "home"
        home.mkdir()
        more = {
            "HOME": str(home),
            "TMPDIR": str(home),
            "HA_debug": "1",
            "HA_DEBUGLOG": str(folder / "debug.log"),
        }
        pacemaker = self.node.pacemaker
        self.node.pacemaker = replace(pacemaker, environment={**pacemaker.environment, **more})
        api.follow(self.row, self.node.is_alive, first_report=0.3)

    def run(self, action: str, *, bound: float = BOUND, **more: Any) -> Result:
        """Run an action, and check what holds for each: its time, its words, its secrets."""
        result = self.node.run(action, **more)
        what = f"{action}: {result}"
        for where, text in (("stdout", result.stdout), ("stderr", result.stderr)):
            self.watch.check_text(f"{where} of {action}", text)
        if action == "monitor" and "level" not in more:
            self.pace = max(self.pace, 2 * result.seconds)
        assert not result.timed_out, what
        assert result.seconds < bound, what
        lines = result.stderr.splitlines()
        assert len(lines) == (result.reason is not None), f"one line at most; {what}"
        if result.reason is not None:
            assert lines[0].startswith(REASON_PREFIX), what
            assert result.reason.isprintable(), what
            assert not UNCLEAR.search(result.reason.replace(STRANGE, "")), f"not clear; {what}"
        assert action == "meta-data" or result.stdout == "", what
        return result

    def start(self, seconds: float = START_TIMEOUT, **more: Any) -> Result:
        """A start that is told of a timeout of some seconds, and more on a machine that was found busy."""
        seconds += PATIENCE * self.pace
        told = {"OCF_RESKEY_CRM_meta_timeout": str(int(seconds * 1000))}
        return self.run("start", bound=seconds + BOUND, env_extra=told, **more)

    def stop(self, **more: Any) -> Result:
        """A stop, which succeeds whatever the cloud does, and says nothing."""
        result = self.run("stop", **more)
        assert (result.code, result.reason) == (0, None), result
        assert not self.node.is_alive(), "the service is gone"
        return result

    def run_service(self) -> None:
        """The service runs, and the cloud was not asked."""
        result = self.run("start", parameters=NO_CLOUD)
        assert result.code == 0, result
        assert self.api.count() == 0
        self.pace = max(self.pace, result.seconds - 1.0)

    def look_on(self) -> None:
        """Everything that only looks, at a service that runs, and sends nothing."""
        with self.silent():
            assert self.run("monitor").code == 0
            assert self.run("monitor", interval=0.0).code == 0, "a probe"
            described = self.run("meta-data")
            assert (described.code, described.stdout[:5]) == (0, "<?xml")
            assert self.run("validate-all").code == 0

    def look_at_row(self) -> None:
        """A monitor that reads the row, and judges it at once: nothing is the service's fault."""
        result = self.run("monitor", level=20, parameters={"row_grace": "0", "row_misses": "1"})
        assert result.code in (0, 190), result
        assert self.api.count("PUT") == 0, self.requests()
        self.api.forget()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """No request comes meanwhile; what helpers there are sleep."""
        with self.frozen() as helpers:
            if helpers:
                time.sleep(0.2)  # what they have sent arrives
            before = self.api.count()
            yield
            assert self.api.count() == before, f"who only looks sends nothing: {self.requests()[before:]}"

    @contextmanager
    def frozen(self) -> Iterator[list[int]]:
        """The node's helpers do nothing meanwhile."""
        helpers = self.node.helpers()
        for pid in helpers:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield helpers
        finally:
            for pid in set(helpers).intersection(self.node.helpers()):
                os.kill(pid, signal.SIGCONT)

    def come_to_rest(self, seconds: float = 30.0) -> None:
        """Wait until no helper works any more."""
        assert wait_for(lambda: not self.node.helpers(), seconds), f"a helper goes on: {self.history()}"

    def is_ours(self) -> bool:
        """True when the row is disabled in this resource's own words."""
        found = marker.parse(self.row.reason)
        return self.row.disabled and found is not None and found.belongs_to("nova-compute", HOST)

    def requests(self) -> list[str]:
        """What was asked, and answered, as texts."""
        return [str(request) for request in self.api.requests]

    def history(self) -> str:
        """What the guard has decided, for the message of an assertion."""
        path = self.node.state_dir / "nova-compute.history.jsonl"
        return path.read_text() if path.exists() else "no history"

    def log(self) -> str:
        """The cluster's log."""
        return self.node.log.read_text() if self.node.log.exists() else ""

    def running(self) -> list[int]:
        """All processes that have to do with this node."""
        place = os.fsencode(self.node.root) + b"/"
        return [pid for pid in all_pids() if place in read(pid, "cmdline") + read(pid, "environ")]

    def close(self, *known: Path) -> None:
        """Leave nothing running, and look through all files."""
        self.node.clean_up()
        assert wait_for(lambda: not self.running()), self.running()
        self.watch.check_files(self.node.root, *known)
