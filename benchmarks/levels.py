# SPDX-License-Identifier: Apache-2.0
"""A monitor at level 10 beside a shell agent's: ours asks the service, the other looks at its connection."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.monitor import interpreter
from benchmarks.table import Measure, report
from ocf_agents.testing.message_bus import MessageBus
from ocf_agents.testing.node import Node, wait_for
from ocf_agents.testing.run import Result, execute

RUNS = 21
FACTOR = 12.0
"""Of the shell's time, which looks at a connection and asks nobody. Measured: 7.3 and 8.2 on a quiet machine,
half of it for loading amqp."""

SHELL = Path(__file__).with_name("shell_monitor.sh")
LIBRARY = Path("/usr/lib/ocf/lib/heartbeat/ocf-shellfuncs")
OURS, THEIRS = "nova-compute monitor, level 10", "shell: pid, ss, nova.conf"
NO_CLOUD = {"auth_url": "http://127.0.0.1:9/v3", "username": "u", "password": "p", "project_name": "p"}
CONNECTED = """#!{python} -IS
import signal, socket, sys, time
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
signal.alarm(3600)
line = socket.create_connection(("127.0.0.1", {port}))
while True:
    time.sleep(0.2)
"""
"""A stand-in daemon that has a connection to the message bus, as the real one has."""


def bench(agent: Path, directory: Path) -> list[str]:
    """Measure, print, and name what is past its bound."""
    python = with_amqp(interpreter(agent))
    if python is None:
        print("\nLevel 10: not measured, python3-amqp is not installed")
        return []
    with MessageBus() as bus:
        node = Node(
            directory, agent, NO_CLOUD, disable_on_stop="false", enable_on_start="false", bus_grace="0"
        )
        try:
            return _bench(python, agent, node, bus)
        finally:
            node.clean_up()


def with_amqp(*preferred: str) -> str | None:
    """An interpreter that can ask over the message bus."""
    for python in (*preferred, sys.executable):
        done = subprocess.run(
            [python, "-I", "-c", "import amqp"], capture_output=True, check=False, timeout=60
        )
        if done.returncode == 0:
            return python
    return None


def _bench(python: str, agent: Path, node: Node, bus: MessageBus) -> list[str]:
    node.binary.write_text(CONNECTED.format(python=sys.executable, port=bus.port))
    with node.config.open("a") as file:
        file.write(f"transport_url = {bus.url}\n")
    started = node.run("start", timeout=60.0)
    if started.code != 0:
        return [f"level 10: the daemon could not be started: {started.reason}"]
    commands = {OURS: [python, "-IS", str(agent), "monitor"], THEIRS: ["/bin/sh", str(SHELL)]}
    environ = node.pacemaker.environ("monitor", interval=60.0, timeout=60.0, level=10)
    if not wait_for(lambda: run(commands[THEIRS], environ).code == 0):
        return [f"level 10: {THEIRS}: {run(commands[THEIRS], environ)}"]
    measures = {name: Measure(name) for name in commands}
    for turn in range(RUNS + 1):
        for name, command in commands.items():
            result = run(command, environ)
            if result.code != 0:
                return [f"{name}: exit code {result.code}: {result.stderr}"]
            if turn:  # the first run warms the caches
                measures[name].seconds.append(result.seconds)
    if len(bus.keys) <= RUNS:
        return [f"level 10: only {len(bus.keys)} questions reached the message bus"]
    measures[OURS].bound = FACTOR * measures[THEIRS].median
    failures = report(f"Level 10, {python} (bound: {FACTOR:g} times the shell's)", list(measures.values()))
    told = "with the library of resource-agents" if LIBRARY.exists() else "without resource-agents' library"
    print(f"  ratio {measures[OURS].median / measures[THEIRS].median:.2f}; the shell's ran {told}")
    return failures


def run(command: list[str], environ: dict[str, str]) -> Result:
    """As Pacemaker would."""
    return execute(command, environ, 60.0)
