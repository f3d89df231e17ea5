# SPDX-License-Identifier: Apache-2.0
"""How much an API can do at a time, and what becomes of the rest."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from ocf_agents.testing.compute.exchange import Response


@dataclass(frozen=True)
class Capacity:
    """`workers` requests are served at a time, and `queue` more wait; whoever comes then gets a 503.

    Each holds its worker for `seconds`, and for as long as the service itself takes. `retry_after` is
    what a 503 says, in seconds; None: nothing.
    """

    workers: int = 4
    seconds: float = 0.2
    queue: int = 40
    retry_after: float | None = 5.0

    @property
    def rate(self) -> float:
        """Requests per second that can be served."""
        return self.workers / self.seconds

    def refusal(self) -> Response:
        """The 503."""
        headers = {} if self.retry_after is None else {"Retry-After": f"{self.retry_after:.0f}"}
        return Response(503, b"<html><h1>503 Service Unavailable</h1></html>\n", headers)


class Gate:
    """Lets in what the capacity allows; without one, everybody. Safe to use from any thread."""

    def __init__(self, capacity: Capacity | None) -> None:
        self.capacity = capacity
        self._changed = threading.Condition()
        self._inside = self._served = 0

    def enter(self) -> bool:
        """Wait for a worker; False at once where too many wait already."""
        capacity = self.capacity
        if capacity is None:
            return True
        with self._changed:
            if self._inside >= capacity.workers + capacity.queue:
                return False
            self._inside += 1
            self._changed.wait_for(lambda: self._served < capacity.workers)
            self._served += 1
        return True

    def leave(self) -> None:
        """Give the worker to the next."""
        with self._changed:
            self._inside -= 1
            self._served -= 1
            self._changed.notify()
