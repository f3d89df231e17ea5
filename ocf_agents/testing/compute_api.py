# SPDX-License-Identifier: Apache-2.0
"""An embedded compute API: Keystone v3 and Nova's os-services over real HTTP, with faults to order.

    with ComputeApi() as api:
        row = api.add("node1")
        api.fail(faults.commit_and_never_answer(), method="PUT")
        ...                                     # openstacksdk, or the agent, talks to api.auth_url
        assert api.count("PUT") == 1 and row.disabled

`python3 -m ocf_agents.testing.compute_api --host node1` serves one from the command line.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Callable

from ocf_agents.testing.compute import faults
from ocf_agents.testing.compute.capacity import Capacity
from ocf_agents.testing.compute.exchange import Request, RequestLog
from ocf_agents.testing.compute.faults import Fault, FaultTable, Rule
from ocf_agents.testing.compute.keystone import Account, Endpoint, KeystoneApi
from ocf_agents.testing.compute.nova import MAXIMUM, NovaApi
from ocf_agents.testing.compute.server import Listener
from ocf_agents.testing.compute.services import (
    COMPUTE,
    REPORT_INTERVAL,
    RPC_RESPONSE_TIMEOUT,
    SERVICE_DOWN_TIME,
    ServiceRow,
    Services,
)

__all__ = ["Account", "Capacity", "ComputeApi", "Fault", "Region", "Request", "Rule", "ServiceRow", "faults"]


class Region:
    """One region's Nova: its listener, its answers and its rows."""

    def __init__(self, name: str, listener: Listener, nova: NovaApi) -> None:
        self.name, self.listener, self.nova = name, listener, nova

    @property
    def services(self) -> Services:
        return self.nova.services

    @property
    def url(self) -> str:
        """The endpoint as the catalog shows it."""
        return f"{self.listener.origin}/v2.1"


class ComputeApi:
    """Keystone and one Nova per region, each on a port of its own, in threads of this process.

    `rpc_timeout`, `down_time`, `report_interval` are Nova's own, in seconds. `tls` makes all of it
    HTTPS. `prefix` puts Keystone under a path (`/identity`). `capacity` is what each of them can do at a
    time. The first region's parts are at hand as `services`, `nova` and `compute`.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        regions: Sequence[str] = ("RegionOne",),
        account: Account | None = None,
        tls: ssl.SSLContext | None = None,
        prefix: str = "",
        host: str = "127.0.0.1",
        maximum: tuple[int, int] = MAXIMUM,
        rpc_timeout: float = RPC_RESPONSE_TIMEOUT,
        down_time: float = SERVICE_DOWN_TIME,
        report_interval: float = REPORT_INTERVAL,
        capacity: Capacity | None = None,
    ) -> None:
        self.log = RequestLog()
        self.faults = FaultTable()
        self.account = account or Account()
        self.keystone = KeystoneApi(self.account)
        self.keystone.prefix = prefix
        self._listen = {
            "log": self.log,
            "faults": self.faults,
            "host": host,
            "tls": tls,
            "capacity": capacity,
        }
        self.identity = Listener("identity", self.keystone.answer, port=port, **self._listen)  # type: ignore[arg-type]
        self.regions = {
            name: self._region(
                name,
                maximum,
                Services(rpc_timeout=rpc_timeout, down_time=down_time, report_interval=report_interval),
            )
            for name in regions
        }
        self._first = self.regions[next(iter(regions))]
        self._stopping = threading.Event()

    def _region(self, name: str, maximum: tuple[int, int], services: Services) -> Region:
        nova = NovaApi(services, self.keystone.check, maximum=maximum)
        listener = Listener("compute", nova.answer, **self._listen)  # type: ignore[arg-type]
        nova.wait = lambda seconds: wait_or_abort(listener.closing, seconds)
        return Region(name, listener, nova)

    # Life

    def __enter__(self) -> ComputeApi:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Listen everywhere and write the catalog."""
        self.identity.start()
        self.keystone.origin = self.identity.origin
        self.keystone.endpoints = [
            Endpoint("identity", "keystone", name, self.auth_url) for name in self.regions
        ]
        for region in self.regions.values():
            region.listener.start()
            region.nova.origin = region.listener.origin
        self.keystone.endpoints += self.endpoints()

    def endpoints(self) -> list[Endpoint]:
        """Where the catalog says that each region's Nova is."""
        return [Endpoint("compute", "nova", region.name, region.url) for region in self.regions.values()]

    def close(self) -> None:
        """Stop listening; nothing that waits is applied any more."""
        self._stopping.set()
        self.identity.close()
        for region in self.regions.values():
            region.listener.close()

    def follow(
        self, row: ServiceRow, is_alive: Callable[[], bool], *, first_report: float = 5.0, each: float = 0.1
    ) -> None:
        """Let the row's process live and die with what `is_alive` says, looked at `each` so many seconds."""
        threading.Thread(target=self._follow, args=(row, is_alive, first_report, each), daemon=True).start()

    def _follow(
        self, row: ServiceRow, is_alive: Callable[[], bool], first_report: float, each: float
    ) -> None:
        while not self._stopping.wait(each):
            alive = is_alive()
            if alive and not row.alive:
                self.services.start(row, first_report=first_report)
            elif not alive and row.alive:
                self.services.stop(row)

    # Where and who

    @property
    def auth_url(self) -> str:
        """Keystone's URL, with its version."""
        return self.keystone.url

    @property
    def url(self) -> str:
        """The same, for short."""
        return self.auth_url

    @property
    def compute(self) -> Listener:
        """The first region's listener."""
        return self._first.listener

    @property
    def nova(self) -> NovaApi:
        """The first region's Nova."""
        return self._first.nova

    @property
    def services(self) -> Services:
        """The first region's rows and their life."""
        return self._first.services

    @property
    def rows(self) -> list[ServiceRow]:
        """The first region's rows."""
        return self.services.rows

    def add(
        self,
        host: str,
        binary: str = COMPUTE,
        *,
        region: str | None = None,
        disabled: bool = False,
        reason: str | None = None,
        alive: bool = True,
        up: bool = True,
        forced_down: bool = False,
    ) -> ServiceRow:
        """Register a service, in the first region or the named one; the rest is as in `Services.add`."""
        services = self.regions[region].services if region else self.services
        return services.add(
            host, binary, disabled=disabled, reason=reason, alive=alive, up=up, forced_down=forced_down
        )

    def row(self, host: str, binary: str = COMPUTE) -> ServiceRow:
        """The row of this service; KeyError if there is none."""
        found = self.services.find(host, binary)
        if found is None:
            raise KeyError(host)
        return found

    def credentials(self) -> dict[str, str]:
        """The agent's parameters for this cloud."""
        return {
            "auth_url": self.auth_url,
            "username": self.account.username,
            "password": self.account.password,
            "project_name": self.account.project,
        }

    # Faults and requests

    def fail(
        self,
        fault: Fault,
        *,
        method: str | None = None,
        path: str = "",
        service: str | None = None,
        times: int | None = 1,
        skip: int = 0,
    ) -> Rule:
        """Treat the next matching requests so; the arguments are those of `FaultTable.add`."""
        return self.faults.add(fault, method=method, path=path, service=service, times=times, skip=skip)

    def heal(self) -> None:
        """No faults any more."""
        self.faults.clear()

    @property
    def requests(self) -> list[Request]:
        """All requests since the start or the last `forget`."""
        return self.log.select()

    def count(self, method: str | None = None, path: str | None = None) -> int:
        """How many requests came, with this method and this text in the path."""
        return len(self.log.select(method, path))

    def forget(self) -> None:
        """Empty the log of requests."""
        self.log.clear()

    def wait_for(self, condition: Callable[[], bool], timeout: float = 5.0) -> bool:
        """Wait until the condition holds, looked at with each request, answer and change."""
        return self.log.wait_for(condition, timeout)


def wait_or_abort(closing: threading.Event, seconds: float) -> None:
    """Wait; ConnectionAbortedError when the server stops meanwhile."""
    if seconds > 0 and closing.wait(seconds):
        raise ConnectionAbortedError("the server stops")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve from the command line until interrupted, and tell each request."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="python3 -m ocf_agents.testing.compute_api", description=main.__doc__
    )
    parser.add_argument("--port", type=int, default=0, help="Keystone's port (default: any)")
    parser.add_argument(
        "--host", action="append", default=[], help="a compute host that has a row; may be repeated"
    )
    options = parser.parse_args(arguments)
    with ComputeApi(port=options.port) as api:
        for host in options.host:
            api.add(host)
        for name, value in api.credentials().items():
            print(f"{name}={value}", flush=True)
        tell_requests(api)
    return 0


def tell_requests(api: ComputeApi) -> None:
    """Print each request with its answer, until interrupted."""
    told: set[int] = set()
    try:
        while True:
            api.wait_for(lambda: any(one.t1 and id(one) not in told for one in api.requests), timeout=3600.0)
            for request in api.requests:
                if request.t1 and id(request) not in told:
                    told.add(id(request))
                    print(request, flush=True)
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    raise SystemExit(main())
