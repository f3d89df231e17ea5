# SPDX-License-Identifier: Apache-2.0
"""The whole process of a monitor, a probe and meta-data, beside a bare interpreter and other agents."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.installed import compile_all, install
from benchmarks.table import Measure, report
from ocf_agents.testing.node import Node
from ocf_agents.testing.run import execute

RUNS = 41
FACTORS = {"monitor": 2.0, "probe": 2.0, "meta-data": 1.6}
"""Of a bare interpreter's median."""

LEAD = 2.0
"""How many times our time an agent on ocf.py of resource-agents must take."""

MEMORY_FACTOR = 1.5
AGENTS = Path("/usr/lib/ocf/resource.d")
OCF_PY = "heartbeat/dummypy"
PEERS = (OCF_PY, "heartbeat/Dummy", "openstack/nova-compute-wait", "openstack/NovaEvacuate")
IN_DEBIAN = PEERS[:2]
STUB = Path(__file__).resolve().parents[1] / "docs" / "examples" / "stub"
"""What dummypy does, on this package."""
NO_CLOUD = {"auth_url": "http://127.0.0.1:9/v3", "username": "u", "password": "p", "project_name": "p"}
RUN_AGENT = """\
sys.argv = sys.argv[1:]
code = compile(open(sys.argv[0], "rb").read(), sys.argv[0], "exec")
exec(code, {"__name__": "__main__", "__file__": sys.argv[0]})
"""
SHOW_MODULES = """\
import os, sys
os._exit = lambda code: print("MODULES", *sorted(sys.modules), file=sys.__stderr__)
"""
SHOW_PEAK = """\
import os, sys
os._exit = lambda code: sys.__stderr__.write(open("/proc/self/status").read())
"""


def interpreter(agent: Path) -> str:
    """The one that the agent's first line names, so that a monitor is timed as Pacemaker runs it."""
    named = agent.read_text(encoding="utf-8").splitlines()[0][2:].split()[0]
    return named if os.access(named, os.X_OK) else sys.executable


def bench(agent: Path, directory: Path) -> list[str]:
    """Measure, print, and name what is past its bound: of the agent as a package installs it."""
    python = interpreter(agent)
    agent = install(directory / "installed", python)
    compile_all(directory / "installed", python)
    node = Node(directory, agent, NO_CLOUD, disable_on_stop="false", enable_on_start="false")
    try:
        started = node.run("start", timeout=60.0)
        if started.code != 0:
            return [f"monitor: the daemon could not be started: {started.reason}"]
        return _bench(python, agent, node)
    finally:
        node.clean_up()


def _bench(python: str, agent: Path, node: Node) -> list[str]:
    peers = [peer for peer in PEERS if _has(peer)]
    measures = {name: Measure(name) for name in ("python3 -c pass", *FACTORS)}
    names = [f"{peer} {action}" for peer in ("stub", *peers) for action in ASKED]
    measures.update({name: Measure(name) for name in names})
    for name in measures:  # this warms the caches, too
        result = execute(_command(name, python, agent), _environ(node, name), 30.0)
        if name in FACTORS and result.code != 0:
            return [f"{name}: exit code {result.code}: {result.reason}"]
    for _ in range(RUNS):
        for name, measure in measures.items():
            measure.seconds.append(seconds(_command(name, python, agent), _environ(node, name)))
    return [
        *_judge(python, measures),
        *_missing(peers),
        *memory(python, agent, node),
        *third_party(python, agent, node),
    ]


ASKED = ("monitor", "meta-data")


def seconds(command: list[str], environ: dict[str, str]) -> float:
    """Of the process alone: nobody reads what it says, and it is spawned without a copy of this one."""
    begin = time.perf_counter()
    subprocess.run(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        close_fds=False,
    )
    return time.perf_counter() - begin


def _command(name: str, python: str, agent: Path) -> list[str]:
    if name == "python3 -c pass":
        return [python, "-c", "pass"]
    if name in FACTORS:
        return [python, "-IS", str(agent), "monitor" if name == "probe" else name]
    peer, _, action = name.partition(" ")
    return [python, "-IS", str(STUB), action] if peer == "stub" else [str(AGENTS / peer), action]


def _environ(node: Node, name: str) -> dict[str, str]:
    interval = 10.0 if name == "monitor" else None
    return node.pacemaker.environ("monitor", interval=interval, timeout=30.0, level=None)


def _judge(python: str, measures: dict[str, Measure]) -> list[str]:
    bare = measures["python3 -c pass"].median
    for name, factor in FACTORS.items():
        measures[name].bound = factor * bare
        rival = measures.get(f"{OCF_PY} {name}")
        if rival:
            measures[name].bound = min(factor * bare, rival.median / LEAD)
            measures[f"stub {name}"].bound = rival.median / LEAD
    title = f"nova-compute, installed (monitor, probe, meta-data), as whole processes, {python}"
    failures = report(title, list(measures.values()))
    print(f"  Bounds: {FACTORS} of a bare interpreter, and 1/{LEAD:g} of an agent on ocf.py")
    for name in ASKED:
        if f"{OCF_PY} {name}" in measures:
            ratio = measures[f"{OCF_PY} {name}"].median / measures[name].median
            print(f"  An agent on ocf.py takes {ratio:.2f} times as long for {name}")
    return failures


def _missing(peers: list[str]) -> list[str]:
    """Where everything must run, what cannot be compared has failed."""
    for peer in PEERS:
        if peer not in peers:
            print(f"  {peer}: not installed here, so not compared")
    is_strict = os.environ.get("OCF_AGENTS_NO_SKIPS") == "1"
    return [f"{peer} is not installed" for peer in IN_DEBIAN if is_strict and peer not in peers]


def memory(python: str, agent: Path, node: Node) -> list[str]:
    """The peak of the resident memory, beside a bare interpreter's."""
    bare = _peak([python, "-I", "-c", SHOW_PEAK + "os._exit(0)"], {})
    failures = []
    print()
    for name in FACTORS:
        command = _command(name, python, agent)
        peak = _peak([python, "-I", "-c", SHOW_PEAK + RUN_AGENT, *command[2:]], _environ(node, name))
        print(f"  peak memory of {name}: {peak} kB, {peak / bare:.2f} of a bare interpreter's {bare} kB")
        if peak > MEMORY_FACTOR * bare:
            failures.append(f"peak memory of {name}: {peak} kB is more than {MEMORY_FACTOR} of {bare} kB")
    return failures


def _peak(command: list[str], environ: dict[str, str]) -> int:
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=True, timeout=30)
    return int(done.stderr.rpartition("VmHWM:")[2].split()[0])


def _has(peer: str) -> bool:
    return os.access(AGENTS / peer, os.X_OK)


def third_party(python: str, agent: Path, node: Node) -> list[str]:
    """What a monitor loads beyond a bare interpreter and this package; there must be nothing."""
    environ = node.pacemaker.environ("monitor", interval=10.0, timeout=30.0, level=None)
    shown = _modules([python, "-I", "-c", SHOW_MODULES + RUN_AGENT, str(agent), "monitor"], environ)
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
