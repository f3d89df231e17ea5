# SPDX-License-Identifier: Apache-2.0
"""A stop, whatever the API does: it answers, refuses, accepts nothing, or hangs for 90 s."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Measure, report
from ocf_agents.testing.compute_api import ComputeApi, Fault, faults
from ocf_agents.testing.node import Node

ALIVE_RUNS = 5
DEAD_RUNS = 21
HEAD_START = 3.0
DEAD_FACTOR = 1.2
HANG = 90.0
HEALTHY = "healthy"
PARAMETERS = {"head_start": f"{HEAD_START:.0f}s"}
NO_GUARD = {"disable_on_stop": "false", "enable_on_start": "false"}


@contextmanager
def black_hole() -> Iterator[str]:
    """A URL whose port accepts nothing: it listens, its queue is full, and the kernel drops what comes."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        port = listener.getsockname()[1]
        for _ in range(16):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", port))
        probe = stack.enter_context(socket.socket())
        probe.settimeout(0.5)
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise RuntimeError("the black hole accepts connections")
        yield f"http://127.0.0.1:{port}/v3"


def refused() -> str:
    """A URL whose port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v3"


@dataclass
class Case:
    """A node, and the API that has its row."""

    node: Node
    api: ComputeApi

    def stop(self, *, alive: bool) -> float:
        """Seconds of one stop, from a row that is enabled and a record that knows nothing of it."""
        node = self.node
        node.end_helpers()
        shutil.rmtree(node.state_dir, ignore_errors=True)
        if alive:
            started = node.run("start", parameters=NO_GUARD, timeout=60.0)
            if started.code != 0:
                raise RuntimeError(f"the daemon could not be started: {started.reason}")
        self.api.services.set_status(self.api.row(node.host), disabled=False, reason=None)
        result = node.run("stop", timeout=240.0)
        if result.code != 0 or node.is_alive():
            raise RuntimeError(f"a stop ended with {result.code}: {result.reason}")
        node.end_helpers()
        return result.seconds


class Bench:
    """One case for each condition of the API."""

    def __init__(self, agent: Path, directory: Path, stack: ExitStack) -> None:
        self._agent, self._directory, self._stack = agent, directory, stack
        healthy, busy, silent = (stack.enter_context(ComputeApi()) for _ in range(3))
        busy.fail(faults.answer_late(HANG), method="PUT", times=None)
        silent.fail(Fault(before=HANG), times=None)
        hole = stack.enter_context(black_hole())
        self.cases = {
            HEALTHY: self._case("healthy", healthy),
            "refused": self._case("refused", healthy, auth_url=refused()),
            "black-holed": self._case("hole", healthy, auth_url=hole),
            "each request hangs 90 s": self._case("silent", silent),
            "the write hangs 90 s": self._case("busy", busy),
        }

    def _case(self, name: str, api: ComputeApi, **more: str) -> Case:
        (self._directory / name).mkdir()
        node = Node(
            self._directory / name, self._agent, {**api.credentials(), **more}, f"cmp-{name}", **PARAMETERS
        )
        self._stack.callback(node.clean_up)
        api.add(node.host)
        return Case(node, api)

    def measure(self, *, alive: bool) -> list[Measure]:
        """All conditions in turn, so that a busy moment of the machine falls on all of them."""
        measures = {name: Measure(name) for name in self.cases}
        for _ in range(ALIVE_RUNS if alive else DEAD_RUNS):
            for name, case in self.cases.items():
                measures[name].seconds.append(case.stop(alive=alive))
        base = measures[HEALTHY].median
        for name, measure in measures.items():
            if name != HEALTHY:
                measure.bound = base + HEAD_START if alive else base * DEAD_FACTOR
        return list(measures.values())


def bench(agent: Path, directory: Path) -> list[str]:
    """Measure, print, and name what is past its bound."""
    with ExitStack() as stack:
        benched = Bench(agent, directory, stack)
        alive = report(
            f"Stop of a living service (bound: the healthy one + head_start, {HEAD_START:.0f} s)",
            benched.measure(alive=True),
            "s",
        )
        dead = report(
            f"Stop of a service that is dead (bound: {DEAD_FACTOR} times the healthy one)",
            benched.measure(alive=False),
            "s",
        )
    return alive + dead
