# SPDX-License-Identifier: Apache-2.0
"""The whole process of a monitor, a probe and meta-data, beside a bare interpreter and other agents."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.table import Measure, report
from ocf_agents.testing.node import Node
from ocf_agents.testing.run import execute

RUNS = 41
FACTOR = 2.5
AGENTS = Path("/usr/lib/ocf/resource.d")
PEERS = ("heartbeat/Dummy", "openstack/nova-compute-wait", "openstack/NovaEvacuate")
NO_CLOUD = {"auth_url": "http://127.0.0.1:9/v3", "username": "u", "password": "p", "project_name": "p"}
SHOW_MODULES = """\
import os, sys
os._exit = lambda code: print("MODULES", *sorted(sys.modules), file=sys.__stderr__)
sys.argv = sys.argv[1:]
code = compile(open(sys.argv[0], "rb").read(), sys.argv[0], "exec")
exec(code, {"__name__": "__main__", "__file__": sys.argv[0]})
"""


def interpreter(agent: Path) -> str:
    """The one that the agent's first line names, so that a monitor is timed as Pacemaker runs it."""
    named = agent.read_text(encoding="utf-8").splitlines()[0][2:].split()[0]
    return named if os.access(named, os.X_OK) else sys.executable


def bench(agent: Path, directory: Path) -> list[str]:
    """Measure, print, and name what is past its bound."""
    node = Node(directory, agent, NO_CLOUD, disable_on_stop="false", enable_on_start="false")
    try:
        started = node.run("start", timeout=60.0)
        if started.code != 0:
            return [f"monitor: the daemon could not be started: {started.reason}"]
        return _bench(agent, node)
    finally:
        node.clean_up()


def _bench(agent: Path, node: Node) -> list[str]:
    python = interpreter(agent)
    commands = {
        "python3 -c pass": ([python, "-c", "pass"], None),
        "nova-compute monitor": ([python, "-I", str(agent), "monitor"], 10.0),
        "nova-compute probe": ([python, "-I", str(agent), "monitor"], None),
        "nova-compute meta-data": ([python, "-I", str(agent), "meta-data"], None),
    }
    commands.update(
        {f"{peer} monitor": ([str(AGENTS / peer), "monitor"], None) for peer in PEERS if _has(peer)}
    )
    measures = {name: Measure(name) for name in commands}
    for turn in range(RUNS + 1):
        for name, (command, interval) in commands.items():
            environ = node.pacemaker.environ("monitor", interval=interval, timeout=30.0, level=None)
            result = execute(command, environ, 30.0)
            if name.startswith("nova-compute ") and result.code != 0:
                return [f"{name}: exit code {result.code}: {result.reason}"]
            if turn:  # the first run warms the caches
                measures[name].seconds.append(result.seconds)
    bare = measures["python3 -c pass"].median
    for name in ("nova-compute monitor", "nova-compute probe", "nova-compute meta-data"):
        measures[name].bound = FACTOR * bare
    failures = report(
        f"Whole processes, {python} (bound: {FACTOR} times a bare one)", list(measures.values())
    )
    for peer in PEERS:
        if not _has(peer):
            print(f"  {peer}: not installed here, so not compared")
    return failures + third_party(python, agent, node)


def _has(peer: str) -> bool:
    return os.access(AGENTS / peer, os.X_OK)


def third_party(python: str, agent: Path, node: Node) -> list[str]:
    """What a monitor loads beyond a bare interpreter and this package; there must be nothing."""
    environ = node.pacemaker.environ("monitor", interval=10.0, timeout=30.0, level=None)
    shown = _modules([python, "-I", "-c", SHOW_MODULES, str(agent), "monitor"], environ)
    bare = _modules(
        [python, "-I", "-c", "import os, sys; print('MODULES', *sys.modules, file=sys.stderr)"], environ
    )
    ours = {name for name in shown if name.split(".")[0] == "ocf_agents"}
    strange = sorted(shown - ours - bare - {"__future__"})
    print(f"\n  A monitor loads {len(ours)} modules of this package and {len(strange)} of others", end="")
    print(f": {', '.join(strange)}" if strange else ".")
    return [f"a monitor loads {name}" for name in strange]


def _modules(command: list[str], environ: dict[str, str]) -> set[str]:
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=True, timeout=30)
    return set(done.stderr.rpartition("MODULES")[2].split())
