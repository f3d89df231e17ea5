# SPDX-License-Identifier: Apache-2.0
"""All hosts stop, or start, at the same moment: what it costs, and when each row is right."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from benchmarks.fleet.cloud import Cloud
from benchmarks.fleet.kernel import Simulation
from benchmarks.fleet.node import Node
from ocf_agents.testing.compute.capacity import Capacity

SEED = 1
AGE = 1000.0
"""Seconds since all services came up, or since all were stopped, when it begins."""

LONGEST = 7200.0
"""Seconds after which a fleet that has not come to rest is given up."""

NEVER = float("inf")


@dataclass(frozen=True)
class Case:
    """What happens: `nodes` hosts call `action` (stop, start) at second 0.

    `is_killed`: all services have been killed a moment before. `outage`: from when to when, in
    seconds, nobody answers. `has_jitter` False: each pause has its mean length.
    """

    name: str
    action: str
    capacity: Capacity = field(default_factory=Capacity)
    nodes: int = 1000
    has_jitter: bool = True
    is_killed: bool = False
    outage: tuple[float, float] | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of it. Times are in seconds from the begin.

    `right`: when each row became right, in order (`NEVER`: not at all). `requests`: of each host.
    `offered`: requests to both APIs, by second; `served`: those that Nova has served.
    """

    case: Case
    right: list[float]
    requests: list[int]
    failed_starts: int
    offered: Counter[int]
    served: Counter[int]

    @property
    def last(self) -> float:
        """When the last row was right."""
        return self.right[-1]

    @property
    def mean_requests(self) -> float:
        return sum(self.requests) / len(self.requests)

    def peak(self, begin: int = 0) -> int:
        """The busiest second from second `begin` on."""
        return max((count for second, count in self.offered.items() if second >= begin), default=0)

    def rate(self, begin: int, end: int) -> float:
        """Requests offered per second, from `begin` up to `end`."""
        return sum(self.offered[second] for second in range(begin, end)) / (end - begin)

    def frozen(self) -> int:
        """The longest time, in seconds, for which Nova served nobody between two whom it did serve."""
        busy = sorted(self.served)
        return max((later - before - 1 for before, later in zip(busy, busy[1:])), default=0)

    def rows_right(self, second: float) -> int:
        """How many rows were right by then."""
        return sum(moment <= second for moment in self.right)


def simulate(case: Case) -> Outcome:
    """Run a case to its end."""
    simulation = Simulation(SEED, has_jitter=case.has_jitter)
    cloud = Cloud(simulation, case.capacity)
    nodes = [Node(simulation, cloud, f"cmp-{number}") for number in range(case.nodes)]
    simulation.now += AGE
    begin = simulation.now
    for node in nodes:
        _prepare(node, case)
        node.call([case.action])
    if case.outage:
        simulation.at(begin + case.outage[0], cloud.go_down)
        simulation.at(begin + case.outage[1], cloud.come_back)
    simulation.run(until=begin + LONGEST)
    return Outcome(
        case,
        sorted(cloud.changed[node.name] - begin if node.is_right(case.action) else NEVER for node in nodes),
        [node.account.requests for node in nodes],
        sum(node.account.failed_starts for node in nodes),
        _since(begin, cloud.offered()),
        _since(begin, cloud.nova.served),
    )


def _prepare(node: Node, case: Case) -> None:
    if case.action == "start":
        node.has_stopped(AGE)
    else:
        node.cloud.services.report(node.row)
    if case.is_killed:
        node.crash()


def _since(begin: float, seconds: Counter[int]) -> Counter[int]:
    return Counter({second - int(begin): count for second, count in seconds.items()})
