# SPDX-License-Identifier: Apache-2.0
"""The marker that another name of this resource, or of this host, has left in the row.

A resource that was renamed in the cluster, or a host that was renamed in Nova's database, meets a marker that
is not its own: it leaves the host disabled, as the guard cannot know. An operator can: he says whose marker
it is, and the host is enabled (where the service runs), or the disable becomes this resource's own (where it
is stopped: the next start enables).
Nothing is taken over from a resource that the cluster still has: its own start does it. Its record alone,
which a renaming leaves behind, is no resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ocf_agents.actions.host import HostClock
from ocf_agents.guard import marker
from ocf_agents.guard.marker import Marker
from ocf_agents.guard.record import Record
from ocf_agents.guard.row import Row
from ocf_agents.operator.holding import Desk, Outcome, writing
from ocf_agents.operator.look import memory_of
from ocf_agents.operator.resource import Resource
from ocf_agents.operator.texts import since
from ocf_agents.operator.trouble import BadInput, Refused

ENABLE = "enable"
REMARK = "re-mark"


def found(row: Row, resource: str, host: str) -> Marker | None:
    """The marker that is not of this resource and this host; None for any other row."""
    there = marker.parse(row.reason) if row.disabled else None
    return there if there is not None and not there.belongs_to(resource, host) else None


def describe(there: Marker | None, row: Row) -> str:
    """What there is, in words."""
    if there is None:
        return "nothing to adopt: " + (
            "no marker of another name is in the row" if row.disabled else "it is enabled"
        )
    return f"disabled by resource {there.resource} on host {there.host}, since {since(there.at)}"


def still_here(others: Iterable[Resource], *, is_cluster_known: bool) -> list[str]:
    """Whose own start enables the host: those that the cluster has, and all where it does not tell."""
    return [one.name for one in others if one.configured is not None or not is_cluster_known]


def unsettled(others: Iterable[Resource]) -> list[str]:
    """Those with a request that may still land, or whose record cannot be read."""
    memories = {one.name: memory_of(one, one.recorded_host) for one in others}
    return [
        name
        for name, memory in memories.items()
        if memory.record is None or memory.record.attempts or memory.is_helped
    ]


def check(
    there: Marker, resource: str | None, host: str | None, present: Iterable[str], waiting: Iterable[str] = ()
) -> None:
    """Raises BadInput unless the marker's names are given, Refused if that resource is still `present`, or
    `waiting` for a request of its own: it would leave the same marker once more."""
    wanted = (marker.name(resource or ""), marker.name(host or there.host))
    if wanted != (there.resource, there.host):
        raise BadInput(
            f"say whose marker it is: --yes --from-resource {there.resource} --from-host {there.host}"
        )
    if there.resource in {marker.name(name) for name in present}:
        raise Refused(
            f"resource {there.resource} is still here: its own start enables the host; nothing was done"
        )
    if there.resource in {marker.name(name) for name in waiting}:
        raise Refused(
            f"a request of resource {there.resource} may still land: wait until ocf-agents status"
            f" {there.resource} lists none; nothing was done"
        )


def adopt(desk: Desk, there: Marker, row: Row, *, is_running: bool) -> Outcome:
    """Enables the row, or makes the marker this resource's own. Raises Unusable, InDoubt."""
    resource = desk.target.name
    desk.record()  # one that cannot be read stops it while nothing is done
    with writing():
        if is_running and row.up:
            desk.confirm(desk.rows.enable(row.id), lambda seen: not seen.disabled)
            return Outcome(f"{desk.target.host} is enabled", _forget(desk, there))
        clock = HostClock()
        mine = str(marker.make(resource, desk.target.host, clock.utc(), clock.token()))
        desk.confirm(desk.rows.disable(row.id, mine), lambda seen: seen.disabled and seen.reason == mine)
        return Outcome(
            f"the disable is now {resource}'s own: its next start enables the host", _forget(desk, there)
        )


def _forget(desk: Desk, there: Marker) -> tuple[str, ...]:
    """A record that remembers this marker as somebody else's would leave the row to them for ever."""
    trouble = desk.remember(_without(str(there))) if _remembers(desk, there) else ""
    return (f"the record still remembers it: {trouble}",) if trouble else ()


def _remembers(desk: Desk, there: Marker) -> bool:
    record = desk.record()
    return record is not None and record.foreign is not None and record.foreign.reason == str(there)


def _without(reason: str) -> Callable[[Record], Record | None]:
    def change(record: Record) -> Record | None:
        is_it = record.foreign is not None and record.foreign.reason == reason
        return replace(record, foreign=None) if is_it else None

    return change
