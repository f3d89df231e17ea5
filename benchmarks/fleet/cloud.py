# SPDX-License-Identifier: Apache-2.0
"""A cloud of fixed capacity: so many workers, so many places to wait, and a 503 for whoever comes then.

The rows live by the rules of the embedded API (`ocf_agents.testing.compute.services`): a change is
saved at once, and then holds its worker while Nova calls the compute.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Callable, NamedTuple

from benchmarks.fleet.kernel import Proc, Signal, Simulation
from ocf_agents.testing.compute.capacity import Capacity
from ocf_agents.testing.compute.services import ServiceRow, Services

ROUND_TRIP = 0.005
OK, BUSY, REFUSED, SILENT = "200", "503", "refused", "no answer"


class Reply(NamedTuple):
    """What a client got: OK, BUSY, REFUSED (no connection) or SILENT (nothing within its time)."""

    outcome: str
    retry_after: float | None = None


@dataclass
class Request:
    """One request. `work` applies it and says how long it holds its worker beyond the usual."""

    work: Callable[[], float]
    done: Signal = field(default_factory=Signal)
    is_cut: bool = False


class Server:
    """One API. It does not know whose client has given up: such a request is served like any other."""

    def __init__(self, simulation: Simulation, capacity: Capacity) -> None:
        self.capacity = capacity
        self.is_down = False
        self.offered: Counter[int] = Counter()
        self.served: Counter[int] = Counter()
        self._simulation = simulation
        self._serving: set[int] = set()
        self._running: dict[int, Request] = {}
        self._waiting: deque[Request] = deque()

    def call(self, proc: Proc, work: Callable[[], float], timeout: float) -> Reply:
        """One request and its answer, as a client has it who waits for so long."""
        proc.sleep(ROUND_TRIP)
        self.offered[int(self._simulation.now)] += 1
        if self.is_down:
            return Reply(REFUSED)
        request = Request(work)
        if len(self._running) < self.capacity.workers:
            self._serve(request)
        elif len(self._waiting) < self.capacity.queue:
            self._waiting.append(request)
        else:
            return Reply(BUSY, self.capacity.retry_after)
        if not proc.wait(request.done, timeout - ROUND_TRIP):
            return Reply(SILENT)
        return Reply(SILENT if request.is_cut else OK)

    def go_down(self) -> None:
        """Refuse connections; what waits or is under way gets no answer."""
        self.is_down = True
        for request in [*self._running.values(), *self._waiting]:
            request.is_cut = True
            request.done.set()
        self._running.clear()
        self._waiting.clear()

    def come_back(self) -> None:
        self.is_down = False

    def _serve(self, request: Request) -> None:
        self._running[id(request)] = request
        seconds = self.capacity.seconds + request.work()
        self._simulation.at(self._simulation.now + seconds, lambda: self._finish(request))

    def _finish(self, request: Request) -> None:
        if request.is_cut:
            return
        del self._running[id(request)]
        self.served[int(self._simulation.now)] += 1
        request.done.set()
        if self._waiting:
            self._serve(self._waiting.popleft())


class Cloud:
    """Keystone and Nova, each with this capacity, and Nova's rows."""

    def __init__(self, simulation: Simulation, capacity: Capacity) -> None:
        self.keystone, self.nova = Server(simulation, capacity), Server(simulation, capacity)
        self.services = Services(clock=lambda: simulation.now)
        self.changed: dict[str, float] = {}
        self._simulation = simulation

    def add(self, host: str) -> ServiceRow:
        """A service that is up and enabled."""
        return self.services.add(host)

    def save(self, row: ServiceRow, *, disabled: bool, reason: str | None) -> float:
        """Change a row, and note when; for how many seconds Nova's call to the compute blocks."""
        self.changed[row.host] = self._simulation.now
        return self.services.set_status(row, disabled, reason)

    def go_down(self) -> None:
        """Both refuse connections."""
        self.keystone.go_down()
        self.nova.go_down()

    def come_back(self) -> None:
        self.keystone.come_back()
        self.nova.come_back()

    def offered(self) -> Counter[int]:
        """Requests that were sent, by second."""
        return self.keystone.offered + self.nova.offered
