# SPDX-License-Identifier: Apache-2.0
"""Who asked the cloud for what, and when: the request logs that the cloud's own servers write (see `wsgi`).

The agents' requests are told by the node that they come from and by openstacksdk's User-Agent: nova-compute
on the same node asks keystone and placement too, but through keystoneauth alone. What the cloud asks itself,
for example nova-api keystone, comes from the control node. A request to a dead server is refused by the
kernel and leaves no line.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

AGENT = "openstacksdk"


@dataclass(frozen=True)
class Request:
    """`end` and `status` are None while it is under way, and for ever if its server died over it."""

    service: str
    peer: str
    agent: str
    method: str
    path: str
    begin: float
    end: float | None = None
    status: int | None = None

    @property
    def seconds(self) -> float | None:
        return None if self.end is None else self.end - self.begin

    def __str__(self) -> str:
        took = "under way" if self.seconds is None else f"{self.status} in {self.seconds:.3f} s"
        return f"{self.service} {self.method} {self.path}: {took}"


class Tap:
    """Reads what the servers wrote into `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def requests(self, since: float = 0.0) -> list[Request]:
        """All requests that began at `since` (epoch seconds) or later, in the order of their beginning."""
        found: list[Request] = []
        for log in self.folder.glob("requests-*.jsonl"):
            service = log.stem.partition("-")[2]
            found += [request for request in _read(service, log) if request.begin >= since]
        return sorted(found, key=lambda request: request.begin)

    def of_agent(self, address: str, since: float = 0.0) -> list[Request]:
        """What the agent on the node of that address asked for."""
        return [r for r in self.requests(since) if r.peer == address and AGENT in r.agent]

    @staticmethod
    def now() -> float:
        return time.time()


def _read(service: str, log: Path) -> list[Request]:
    begun: dict[str, Request] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "begin" in entry:
            begun[entry["id"]] = Request(service, begin=entry["at"], **entry["begin"])
        elif entry["id"] in begun:
            begun[entry["id"]] = replace(begun[entry["id"]], end=entry["at"], status=entry["status"])
    return list(begun.values())
