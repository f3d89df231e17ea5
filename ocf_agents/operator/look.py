# SPDX-License-Identifier: Apache-2.0
"""One look at a target: its service, its row, its record. Sends no write, and leaves the guard's files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ocf_agents.actions.host import HostClock, HostProcesses, as_process
from ocf_agents.guard.reading import Seen, Situation, Trouble
from ocf_agents.guard.reconciler import is_at_work
from ocf_agents.guard.record import Instant, Record
from ocf_agents.guard.row import Row, Rows, Unreadable
from ocf_agents.guard.store import StoreError
from ocf_agents.guard.verdict import Policy
from ocf_agents.ocf.errors import OcfError
from ocf_agents.ocf.patience import Impatient, wait_for
from ocf_agents.openstack import near
from ocf_agents.operator.finding import Target
from ocf_agents.operator.resource import LOOKING, Resource
from ocf_agents.operator.trouble import DONE, NOT_FOUND, UNUSABLE, BadInput, Unusable
from ocf_agents.service.supervisor import RUNNING

DRY_TOKEN = "0" * 16


@dataclass(frozen=True)
class Service:
    """What runs: `state` as the supervisor names it, or empty with the trouble in `text`."""

    state: str
    pid: int | None = None
    seconds: float | None = None
    text: str = ""

    @property
    def is_running(self) -> bool:
        return self.state == RUNNING


@dataclass(frozen=True)
class Memory:
    """The record as it is on disk, whether its helper is at work, and what was odd about it.

    `record` is None where it could not be read; `text` then says why.
    """

    record: Record | None
    is_helped: bool = False
    text: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Look:
    """All of it. `service` and `memory` are None for another machine's host. `now` is this boot's time.

    `alike`: where there is no row, the hosts that have one under nearly the same name. `next_host`: the host
    that the next start is for, where it is not this one (the record's).
    """

    target: Target
    policy: Policy
    seen: Seen
    now: Instant
    service: Service | None = None
    memory: Memory | None = None
    alike: tuple[str, ...] = ()
    next_host: str = ""

    @property
    def row(self) -> Row | None:
        return self.seen.row

    @property
    def record(self) -> Record | None:
        """The record if it could be read and there is one."""
        found = self.memory.record if self.memory else None
        return None if found is None or found.is_empty else found

    @property
    def resource(self) -> str | None:
        return self.target.resource.name if self.target.resource else None


def look(target: Target) -> Look:
    """The present state of a target. Raises BadInput where the cloud's parameters say nothing usable."""
    clock = HostClock()
    resource = target.resource
    seen = read(target, clock)
    return Look(
        target,
        (resource or target.via).policy(target.host),
        seen,
        clock.now(),
        service_of(resource) if resource else None,
        memory_of(resource, target.host) if resource else None,
        alike(target) if seen.result is None else (),
        other_host(resource, target.host) if resource else "",
    )


def other_host(resource: Resource, host: str) -> str:
    """The next start's host where it is another; empty too where no cluster tells the parameters."""
    if resource.configured is None and "host" not in resource.parameters:
        return ""
    try:
        found = resource.next_host()
    except Unusable:
        return ""
    return "" if found == host else found


def alike(target: Target) -> tuple[str, ...]:
    """The hosts of the cloud whose names are nearly the target's; none where they cannot be read."""
    try:
        return tuple(near.misses(target.host, target.via.rows(target.host).read_all().others))
    except (Unreadable, BadInput):
        return ()


def read(target: Target, clock: HostClock, rows: Rows | None = None) -> Seen:
    """The row now, or why it could not be read."""
    sent, at = clock.now(), clock.utc()
    try:
        rows = rows or target.via.rows(target.host)
        return Seen(rows.read(), sent, at)
    except Unreadable as error:
        return Seen(Trouble(error.text, error.permanent, error.retry_after), sent, at)
    except BadInput as error:
        if target.resource is None:
            raise
        return Seen(Trouble(error.text, True), sent, at)


def service_of(resource: Resource) -> Service:
    """How the service is, as a monitor sees it."""
    call = resource.call()
    try:
        status = wait_for(lambda: resource.service.supervisor(call, is_lenient=True).status(), LOOKING)
    except Impatient:
        return Service("", text=f"no answer within {LOOKING} s")
    except (OcfError, OSError) as error:
        return Service("", text=str(error))
    if status.process is None:
        return Service(status.state)
    born = HostProcesses().born(as_process(status.process))
    return Service(status.state, status.process.pid, max(0.0, HostClock().now().seconds - born))


def memory_of(resource: Resource, host: str) -> Memory:
    """The record as a monitor would read it, without a lock."""
    notes: list[str] = []
    try:
        record = wait_for(resource.store(host, notes.append).load, LOOKING)
    except Impatient:
        return Memory(None, text=f"{resource.state_dir} does not answer")
    except StoreError as error:
        return Memory(None, text=error.text)
    return Memory(record, is_at_work(record, HostProcesses(), HostClock().now()), "", tuple(notes))


def around(look: Look) -> Situation:
    """What stands around a look, for a decision that is not carried out."""
    processes = HostProcesses()
    row = look.row
    may_enable = row is None or row.forced_down or bool(row.up)
    return Situation(look.now, processes.me(), DRY_TOKEN, processes.is_alive, False, may_enable)


def code_of(looks: Sequence[Look]) -> int:
    """The exit code of having looked: something could not be read, or there is no row at all."""
    if any(one.seen.trouble or (one.memory and one.memory.record is None) for one in looks):
        return UNUSABLE
    return DONE if any(one.row for one in looks) else NOT_FOUND
