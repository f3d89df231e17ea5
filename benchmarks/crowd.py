# SPDX-License-Identifier: Apache-2.0
"""Real hosts at once: the real agent in as many directories, one embedded API of little capacity."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ocf_agents.testing.compute_api import Capacity, ComputeApi, ServiceRow
from ocf_agents.testing.node import Node

NODES = 20
CAPACITY = Capacity(workers=2, seconds=0.1, queue=4, retry_after=1.0)
PARAMETERS = {"hold": "5s", "head_start": "2s"}


@dataclass(frozen=True)
class Turn:
    """What one action on all hosts at once came to.

    `last`: seconds until each row was right (None: never). `peak`: requests in the busiest second.
    """

    action: str
    codes: list[int]
    last: float | None
    requests: int
    refused: int
    peak: int
    nodes: int

    @property
    def is_right(self) -> bool:
        return self.last is not None and set(self.codes) == {0}

    def __str__(self) -> str:
        last = "never" if self.last is None else f"{self.last:.1f} s"
        return (
            f"  {self.action:<6} exit codes {dict(Counter(self.codes))}, all rows right after {last}; "
            f"{self.requests / self.nodes:.1f} requests of a host, {self.refused} answered 503, "
            f"{self.peak} in the busiest second"
        )


class Crowd:
    """The hosts and their cloud."""

    def __init__(self, api: ComputeApi, nodes: list[Node]) -> None:
        self.api, self.nodes = api, nodes

    def turn(self, action: str, seconds: float = 120.0) -> Turn:
        """Run an action everywhere at the same time, and wait until each row is right."""
        self.api.forget()
        begin = time.monotonic()
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            results = list(pool.map(lambda node: node.run(action, timeout=seconds), self.nodes))
        wanted = action == "stop"
        is_right = self.api.wait_for(lambda: all(row.disabled == wanted for row in self._rows()), seconds)
        last = time.monotonic() - begin
        requests = self.api.requests
        by_second = Counter(int(request.t0 - begin) for request in requests)
        return Turn(
            action,
            [result.code for result in results],
            last if is_right else None,
            len(requests),
            sum(request.status == 503 for request in requests),
            max(by_second.values(), default=0),
            len(self.nodes),
        )

    def _rows(self) -> list[ServiceRow]:
        return [self.api.row(node.host) for node in self.nodes]


@contextmanager
def crowd(agent: Path, directory: Path, count: int = NODES, capacity: Capacity = CAPACITY) -> Iterator[Crowd]:
    """As many hosts, none of which runs its service yet. An RPC to a service that is gone blocks for 2 s."""
    with ExitStack() as stack:
        api = stack.enter_context(
            ComputeApi(capacity=capacity, rpc_timeout=2.0, down_time=4.0, report_interval=1.0)
        )
        nodes = []
        for number in range(count):
            name = f"cmp-{number}"
            (directory / name).mkdir()
            node = Node(directory / name, agent, api.credentials(), name, **PARAMETERS)
            stack.callback(node.clean_up)
            api.follow(api.add(name, alive=False, up=False), node.is_alive, first_report=0.5)
            nodes.append(node)
        yield Crowd(api, nodes)


def bench(agent: Path, directory: Path) -> list[str]:
    """Start, stop and start all; name what went wrong."""
    print(f"\n{NODES} real hosts at once; Keystone and Nova serve {CAPACITY.rate:.0f} requests/s each\n")
    failures = []
    with crowd(agent, directory) as here:
        for action in ("start", "stop", "start"):
            turn = here.turn(action)
            print(turn, flush=True)
            failures += [] if turn.is_right else [f"{NODES} hosts, {action}: {turn}"]
    return failures
