# SPDX-License-Identifier: Apache-2.0
"""What a monitor at level 10 makes of a service: does it answer over the message bus?

Loaded at that level only. A bus that cannot be reached from here says nothing about the service, and a
restart would not bring it back: that is degraded at most, and never failed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from ocf_agents.actions.health import DEGRADED, DOWN, UNKNOWN, UP, Health, tell_change
from ocf_agents.ocf.errors import OcfError
from ocf_agents.openstack import bus, nova_conf, transport
from ocf_agents.openstack.bus import Pong
from ocf_agents.service.sockets import owns_connection_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ocf_agents.actions.guarded import GuardedService
    from ocf_agents.ocf.agent import Call
    from ocf_agents.openstack.transport import Transport
    from ocf_agents.service.notes import Notes
    from ocf_agents.service.proc import ProcessId, ProcTable

SUBJECT = "bus"
AGAIN = "answers over the message bus again"
EXCHANGE = "nova"
SPARE = 1.0
"""Seconds of the action's time for all but the question."""


class Misses(NamedTuple):
    """What is remembered: questions without an answer in a row, and how often in a row the bus was away.

    Until `calm_until` (seconds, monotonic) the service is not judged, since the bus was away.
    """

    unanswered: int = 0
    away: int = 0
    calm_until: float = 0.0


class Limits(NamedTuple):
    """`misses` in a row are enough; `grace` and `timeout` in seconds."""

    timeout: float
    misses: int
    grace: float


def judge(before: Misses, pong: Pong, now: float, limits: Limits) -> tuple[Misses, Health]:
    """One more answer, or none. Pure."""
    if pong.outcome == bus.ANSWERED:
        return Misses(calm_until=before.calm_until), Health(UP)
    if pong.outcome == bus.UNASKED:
        return Misses(calm_until=before.calm_until), Health(UNKNOWN, pong.text)
    if pong.outcome == bus.UNREACHABLE:
        after = Misses(0, before.away + 1, now + limits.grace)
        return after, Health(DEGRADED if after.away >= limits.misses else UNKNOWN, pong.text)
    if now < before.calm_until:
        return Misses(calm_until=before.calm_until), Health(UNKNOWN, pong.text)
    after = Misses(before.unanswered + 1, 0, before.calm_until)
    return after, Health(DOWN if after.unanswered >= limits.misses else UNKNOWN, pong.text)


def look(service: GuardedService, call: Call, notes: Notes, table: ProcTable, process: ProcessId) -> Health:
    """Asks once, and judges the answer with the ones before."""
    get = call.values.lenient
    timeout = min(get("bus_timeout"), call.deadline.remaining() - bus.HEADROOM - SPARE)
    limits = Limits(timeout, get("bus_misses"), get("bus_grace"))
    if table.age(process) < limits.grace:
        return Health(UNKNOWN, "it has just been started")
    if timeout <= 0:
        return Health(UNKNOWN, "there is no time to ask")
    pong = _ask(service, call, table, process, limits.timeout)
    _tell_unasked(call, notes, pong)
    misses, health = judge(remembered(notes, process), pong, time.monotonic(), limits)
    who = [str(process.pid), str(process.start)]
    notes.put(SUBJECT, [[*who, str(misses.unanswered), str(misses.away), repr(misses.calm_until)]])
    return health


def _ask(service: GuardedService, call: Call, table: ProcTable, process: ProcessId, timeout: float) -> Pong:
    try:
        where, exchange = find(service.arguments(call.values), service.home(call))
        host = service.cloud_host(call)
    except (OcfError, nova_conf.BadConfiguration, transport.BadTransport) as error:
        return Pong(bus.UNASKED, str(error))
    pong = bus.ping(where, exchange, service.topic, host, timeout)
    is_lost = pong.outcome in (bus.SILENT, bus.NOBODY)
    return _with_connections(pong, table, process, where) if is_lost else pong


def _tell_unasked(call: Call, notes: Notes, pong: Pong) -> None:
    """A question that cannot be put fails nothing, but somebody should know that nothing is asked."""
    is_unasked = pong.outcome == bus.UNASKED
    health = Health(DEGRADED, f"the message bus is not asked: {pong.text}") if is_unasked else Health(UP)
    tell_change(call.log, notes, "question", health, "the message bus is asked again")


def find(arguments: Sequence[str], home: str | None) -> tuple[Transport, str]:
    """The service's own message bus, and the exchange. Raises BadConfiguration or BadTransport."""
    options = nova_conf.options_of_section("DEFAULT", arguments, home)
    if "transport_url" not in options:
        raise transport.BadTransport("Nova's configuration has no transport_url")
    url = nova_conf.resolve("transport_url", options)
    section = nova_conf.options_of_section("oslo_messaging_rabbit", arguments, home)
    return transport.parse(url, section), options.get("control_exchange", EXCHANGE)


def _with_connections(pong: Pong, table: ProcTable, process: ProcessId, where: Transport) -> Pong:
    """Says so where the process has no connection to the bus at all."""
    pids = [process.pid, *(table.children(process.pid) or [])]
    if owns_connection_to(table, pids, where.ports) is False:
        return Pong(pong.outcome, f"{pong.text}; it has no connection to the message bus")
    return pong


def remembered(notes: Notes, process: ProcessId) -> Misses:
    """What is remembered of this very process; its predecessor's misses are not its own."""
    for words in notes.get(SUBJECT):
        try:
            pid, start, unanswered, away, calm_until = words
            if (int(pid), int(start)) == (process.pid, process.start):
                return Misses(int(unanswered), int(away), float(calm_until))
        except ValueError:
            break
    return Misses()
