# SPDX-License-Identifier: Apache-2.0
"""A node whose agent and helpers can be killed at any call; what must hold when all has settled."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ocf_agents.guard import record as records
from ocf_agents.testing.compute_api import ComputeApi, ServiceRow
from ocf_agents.testing.node import Node, all_pids, command_line, is_running, wait_for
from ocf_agents.testing.run import Result

AGENT = Path(__file__).parents[2] / "heartbeat" / "nova-compute"
HOOK = Path(__file__).with_name("hook.py")
DAEMON = """#!{python} -IS
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
while os.path.exists("/proc/{owner}"):
    time.sleep(2)
"""
PARAMETERS = {"hold": "1s", "api_timeout": "2s", "head_start": "1s", "disable_deadline": "60s"}
LASTING_FILES = (".json", ".lock", ".history.jsonl")


@dataclass(frozen=True)
class Point:
    """One call of one process: `role` as in `hook`, `index` from 1, `what` for people."""

    role: str
    index: int
    what: str = ""

    @property
    def kind(self) -> str:
        """The call's name."""
        return self.what.partition(" ")[0]


class Victim(Node):
    """A node run under `hook`. `row` is its record in the cloud."""

    def __init__(self, root: Path, cloud: ComputeApi, host: str, **parameters: object) -> None:
        root.mkdir(parents=True, exist_ok=True)
        super().__init__(root, AGENT, cloud.credentials(), host, **{**PARAMETERS, **parameters})
        self.state_dir = Path(str(parameters.get("state_dir", self.state_dir)))
        # It ends when its test has been killed.
        self.binary.write_text(DAEMON.format(python=sys.executable, owner=os.getpid()))
        self.cloud = cloud
        self.row: ServiceRow = cloud.add(host, alive=False)
        cloud.follow(self.row, self.is_alive, first_report=0.1, each=0.05)
        self.hooks = root / "hooks"
        (self.hooks / "points").mkdir(parents=True)
        self._hook(root / "agent" / "nova-compute", [str(AGENT), "*"])
        self._hook(self.hooks / "python", ["*"])
        environment: dict[str, str | None] = dict(self.pacemaker.environment)
        self.pacemaker.environment = {**environment, "HA_debug": "1"}

    def _hook(self, path: Path, words: list[str]) -> None:
        """An executable that runs the agent, or a helper's `-I SCRIPT ...`, under the hook.

        A tracer that `trace` asks for comes before it. Without one nothing is executed a second time:
        a process has no looks at that moment, and whoever counts helpers would miss it.
        """
        path.write_text(
            f"#!{sys.executable} -I\nimport json, os, runpy, sys\n"
            "rest = [word for word in sys.argv[1:] if word != '-I']\n"
            f"words = [w for word in {[str(HOOK), str(self.hooks), *words]!r}\n"
            "         for w in (rest if word == '*' else [word])]\n"
            "role = 'helper' if rest[0].endswith('helper.py') else rest[0]\n"
            "tracer = []\n"
            "try:\n"
            f"    tracer = json.load(open({str(self.hooks)!r} + '/tracer-' + role))\n"
            "except FileNotFoundError:\n"
            "    pass\n"
            "if tracer:\n"
            f"    os.execvp(tracer[0], [*tracer, {sys.executable!r}, '-I', *words])\n"
            "sys.argv = words\n"
            "runpy.run_path(words[0], run_name='__main__')\n"
        )
        path.chmod(0o755)

    # plans

    def plan(self, role: str, point: int, when: str, **more: object) -> None:
        """`when`: before, after, or an error's name."""
        self.forget_plan()
        text = json.dumps({"role": role, "point": point, "when": when, **more})
        (self.hooks / "plan.json").write_text(text)

    def forget_plan(self) -> None:
        for name in ("plan.json", "fired.json"):
            with contextlib.suppress(FileNotFoundError):
                (self.hooks / name).unlink()

    def has_fired(self) -> bool:
        return (self.hooks / "fired.json").exists()

    def forget_points(self) -> None:
        for path in (self.hooks / "points").iterdir():
            path.unlink()

    def points(self, role: str) -> list[Point]:
        """The points of the first process of this role since `forget_points`."""
        paths = sorted((self.hooks / "points").glob(f"{role}-*"), key=lambda path: path.stat().st_ctime_ns)
        if not paths:
            return []
        lines = paths[0].read_text().splitlines()
        return [Point(role, int(n), what) for n, _, what in (line.partition(" ") for line in lines)]

    def trace(self, role: str, *options: str) -> Path:
        """Let strace watch the main thread of the next process of a role; where it writes."""
        output = self.hooks / "trace"
        output.unlink(missing_ok=True)
        words = ["strace", "-D", "-q", "-o", str(output), *options]
        (self.hooks / f"tracer-{role.partition('-')[0]}").write_text(json.dumps(words))
        return output

    def forget_tracer(self) -> None:
        for path in self.hooks.glob("tracer-*"):
            path.unlink()

    # what happens to it

    def act(self, action: str, **more: object) -> Result:
        """An action that nothing disturbs: it must succeed."""
        result = self.run(action, timeout=40, **more)
        assert result.code == 0, f"{action}: {result}"
        return result

    def operator_disables(self, reason: str | None) -> None:
        self.row.disabled, self.row.reason = True, reason

    def operator_enables(self) -> None:
        self.row.disabled, self.row.reason, self.row.trait = False, None, False

    def daemons(self) -> list[int]:
        mark = os.fsencode(self.binary)
        return [pid for pid in all_pids() if mark in command_line(pid) and is_running(pid)]

    def record(self) -> records.Record:
        """Raises OSError or Unusable."""
        return records.decode((self.state_dir / "nova-compute.json").read_text())

    def is_quiet(self) -> bool:
        """No helper works, by its looks or by the record: while it is executed it has no looks."""
        try:
            helper = self.record().reconciler
        except (OSError, records.Unusable):
            helper = None
        return not (helper and is_running(helper.process.pid)) and not self.helpers()

    def wait_for_quiet(self, seconds: float = 30.0) -> bool:
        return wait_for(self.is_quiet, seconds)

    def destroy(self) -> None:
        for pid in [*self.helpers(), *self.daemons()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.root, ignore_errors=True)

    # what must hold

    def complaints(self, *, reason: str | None = None, stays: float = 0.3) -> list[str]:
        """What is not as it must be on a node that has started and settled.

        `reason`: an operator's, whose disable must stand; None: the row must be enabled.
        """
        if not wait_for(lambda: self.is_quiet() and not self._record_complaints(), 60.0):
            found = [] if self.is_quiet() else ["a helper is still at work"]
        else:
            found = []
        found += self._row_complaints(reason)
        time.sleep(stays)
        found += [f"later: {text}" for text in self._row_complaints(reason)]
        found += self._record_complaints()
        return found + self._leftovers()

    def _row_complaints(self, reason: str | None) -> list[str]:
        row = self.row
        if reason is not None:
            return [] if (row.disabled, row.reason) == (True, reason) else [f"the reason became {row}"]
        return [] if row.may_be_chosen else [f"not enabled: {row}"]

    def _record_complaints(self) -> list[str]:
        try:
            record = self.record()
        except (OSError, records.Unusable) as error:
            return [f"the record: {error}"]
        return [] if record.is_quiet else [f"the record is not at rest: {record}"]

    def _leftovers(self) -> list[str]:
        found = []
        for name in sorted(os.listdir(self.state_dir)):
            if not name.endswith(LASTING_FILES) and ".bad-" not in name:
                found.append(f"left in the state directory: {name}")
        for name in sorted(os.listdir(self.run_dir)):
            if not name.endswith((".pid", ".lock", ".notes")):
                found.append(f"left in the run directory: {name}")
        if len(self.daemons()) != 1:
            found.append(f"daemons: {self.daemons()}")
        log = self.log.read_text() if self.log.exists() else ""
        if "Traceback" in log or "gives up" in log:
            found.append("a traceback in the log:\n" + "\n".join(log.splitlines()[-40:]))
        tracebacks = self.hooks / "tracebacks"
        if tracebacks.exists():
            found.append("a traceback: " + tracebacks.read_text())
            tracebacks.unlink()
        return found

    def history(self) -> str:
        try:
            return (self.state_dir / "nova-compute.history.jsonl").read_text()
        except OSError:
            return ""
