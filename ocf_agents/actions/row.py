# SPDX-License-Identifier: Apache-2.0
"""What a monitor at level 20 makes of a service: does the cloud's control plane believe it up?

Loaded at that level only. Reads, and never writes. A row is down when its last report is older than Nova's
service_down_time (60 s). That is this service's own fault only where it is alone in it: a
nova-conductor that stands still takes all rows of its cell down, and a restart of all of them would not
help. So a service fails for a row that stays as it was while nearly all others go on, and for nothing else.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from ocf_agents.actions import bus
from ocf_agents.actions.health import DEGRADED, DOWN, UNKNOWN, UP, Health, tell_change
from ocf_agents.guard.row import Row, Unreadable
from ocf_agents.ocf.errors import OcfError
from ocf_agents.ocf.patience import Impatient, wait_for
from ocf_agents.openstack import nova_conf, reporting
from ocf_agents.openstack.cloud import CloudSettings
from ocf_agents.openstack.rows import Census, ComputeRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ocf_agents.actions.guarded import GuardedService
    from ocf_agents.ocf.agent import Call
    from ocf_agents.service.notes import Notes
    from ocf_agents.service.proc import ProcessId, ProcTable

SUBJECT = "row"
AGAIN = "is up in the cloud again"
SPARE = 1.0
"""Seconds of the action's time for all but the request."""
REPORTS = 3
"""So many reports must be missing, whatever the monitor's interval and Nova's own (case 155)."""
TOGETHER = 60.0
"""Seconds between the last reports of two services that one cause has silenced."""

REPORTED = "reported"
SILENT = "silent"
SHARED = "shared"
FORCED = "forced down"
AWAY = "away"
UNTOLD = "untold"


class Seen(NamedTuple):
    """What one look came to.

    outcome: REPORTED (up); SILENT (down); SHARED (down, and others with it); FORCED (somebody said so);
    AWAY (the API gives no good answer); UNTOLD (it cannot be asked, or has no row).
    beat: when the row last moved, as Nova writes it.
    """

    outcome: str
    text: str = ""
    beat: str = ""


class Misses(NamedTuple):
    """What is remembered of a row that is not up.

    silent: looks in a row that found it down with the last report `beat`, since `since`; moved: how often
    it was down with a new report; away: looks in a row without a good answer; is_shared: others were
    down with it. Until `calm_until` it is not judged. Seconds, monotonic.
    """

    beat: str = ""
    silent: int = 0
    since: float = 0.0
    moved: int = 0
    away: int = 0
    is_shared: bool = False
    calm_until: float = 0.0


class Limits(NamedTuple):
    """`misses` in a row are enough if they span `silence`; `grace`, `silence` and `timeout` in seconds."""

    misses: int
    grace: float
    silence: float
    timeout: float


def judge(before: Misses, seen: Seen, now: float, limits: Limits) -> tuple[Misses, Health]:
    """One more look. Pure."""
    rested = Misses(calm_until=before.calm_until)
    if seen.outcome == REPORTED:
        return rested, Health(UP)
    if seen.outcome == UNTOLD:
        return rested, Health(UNKNOWN, seen.text)
    if seen.outcome == FORCED:
        return rested, Health(DEGRADED, seen.text)
    if seen.outcome == SHARED:
        return Misses(is_shared=True, calm_until=now + limits.grace), Health(DEGRADED, seen.text)
    if seen.outcome == AWAY:
        after = rested._replace(away=before.away + 1, is_shared=before.is_shared)
        return after, Health(_unless(after.away >= limits.misses or after.is_shared), seen.text)
    if now < before.calm_until:
        after = rested._replace(is_shared=before.is_shared)
        return after, Health(_unless(after.is_shared), seen.text)
    return _judge_silence(before, seen, now, limits)


def _judge_silence(before: Misses, seen: Seen, now: float, limits: Limits) -> tuple[Misses, Health]:
    """A row that is written meanwhile has a living reporter, or a person at work: counting begins anew."""
    is_same = before.silent > 0 and before.beat == seen.beat
    after = before._replace(
        beat=seen.beat,
        silent=before.silent + 1 if is_same else 1,
        since=before.since if is_same else now,
        moved=before.moved + (before.silent > 0 and not is_same),
        away=0,
    )
    if is_same and may_be_enough(before, now, limits):
        return after, Health(DOWN, seen.text)
    if after.moved >= limits.misses:
        text = f"{seen.text}, yet it reports: compare the clocks, report_interval and service_down_time"
        return after, Health(DEGRADED, text)
    return after, Health(_unless(after.is_shared), seen.text)


def may_be_enough(before: Misses, now: float, limits: Limits) -> bool:
    """Whether one more look that finds the row as it was makes the service fail."""
    is_judged = now >= before.calm_until and before.silent > 0
    return is_judged and before.silent + 1 >= limits.misses and now - before.since >= limits.silence


def _unless(is_known: bool) -> str:
    return DEGRADED if is_known else UNKNOWN


def see(own: Row | None, host: str) -> Seen:
    """One row by itself. Pure."""
    if own is None:
        return Seen(UNTOLD, f"Nova has no row for host {host}")
    if own.forced_down:
        return Seen(FORCED, f"forced down in Nova: once no evacuation needs it, un-force host {host}")
    if own.up is None:
        return Seen(AWAY, f"Nova does not say whether host {host} is up")
    if own.up:
        return Seen(REPORTED)
    return Seen(SILENT, f"Nova calls host {host} down, last report {own.beat or 'never'}", as_word(own.beat))


def see_among(census: Census, host: str) -> Seen:
    """One row among all. Pure."""
    seen = see(census.own, host)
    reason = shared_fault(seen.beat, census.others) if seen.outcome == SILENT else None
    return Seen(SHARED, f"{reason}: see to nova-conductor and the message bus", seen.beat) if reason else seen


def shared_fault(beat: str, others: Mapping[str, Row | None]) -> str | None:
    """Why a silence may not be this service's own fault; None when it is alone in it. Pure.

    Not counted are others that may be switched off: disabled and down, or forced down.
    """
    expected = [row for row in others.values() if row is None or row.up or not _may_be_off(row)]
    down = [row for row in expected if row is None or not row.up]
    if 2 * (len(down) + 1) >= len(expected) + 1:
        return f"Nova calls {len(down) + 1} of {len(expected) + 1} computes down"
    together = sum(1 for row in down if row and _is_near(row.beat, beat))
    return f"Nova calls {together + 1} computes down that fell silent together" if together else None


def _may_be_off(row: Row) -> bool:
    return row.disabled or row.forced_down


def _is_near(one: str, other: str) -> bool:
    try:
        times = [datetime.fromisoformat(text.rstrip("Z")) for text in (one, other)]
        return abs((times[0] - times[1]).total_seconds()) <= TOGETHER
    except (ValueError, TypeError):
        return False


def look(service: GuardedService, call: Call, notes: Notes, table: ProcTable, process: ProcessId) -> Health:
    """Reads once, and judges what it says with the looks before."""
    get = call.values.lenient
    if table.age(process) < get("row_grace"):
        return Health(UNKNOWN, "it has just been started")
    if bus.remembered(
        notes, process
    ).away:  # who cannot reach the bus cannot report, and a restart helps none
        notes.put(SUBJECT, [])
        return Health(UNKNOWN, "the message bus is away")
    timeout = min(get("api_timeout"), call.deadline.remaining() - SPARE)
    if timeout <= 0:
        return Health(UNKNOWN, "there is no time to look")
    before, now = remembered(notes, process), time.monotonic()
    limits = Limits(get("row_misses"), get("row_grace"), 0.0, timeout)
    try:
        limits = limits._replace(silence=_silence(service, call))
        seen = _see(service, call, limits, is_among_all=may_be_enough(before, now, limits))
    except (OcfError, nova_conf.BadConfiguration) as error:
        seen = Seen(UNTOLD, str(error))
    _tell_untold(call, notes, seen)
    misses, health = judge(before, seen, now, limits)
    notes.put(SUBJECT, [[str(process.pid), str(process.start), *as_words(misses)]])
    return health


def _silence(service: GuardedService, call: Call) -> float:
    """Seconds of silence that are no accident. Raises OcfError or BadConfiguration."""
    options = nova_conf.options_of_section("DEFAULT", service.arguments(call.values), service.home(call))
    interval = reporting.from_options(options).interval
    if interval <= 0:
        raise nova_conf.BadConfiguration("report_interval is 0: nova-compute never reports")
    return float(REPORTS * interval)


def _see(service: GuardedService, call: Call, limits: Limits, *, is_among_all: bool) -> Seen:
    """One request. All rows are asked for only where this look may be the last. Raises OcfError."""
    settings, host = CloudSettings.from_values(call.values), service.cloud_host(call)
    rows = ComputeRows(settings, host, service.row, limits.timeout)

    def ask() -> Seen:
        return see_among(rows.read_all(), host) if is_among_all else see(rows.read(), host)

    try:
        return wait_for(ask, call.deadline.remaining() - SPARE)
    except Unreadable as error:
        return Seen(UNTOLD if error.permanent else AWAY, error.text)
    except Impatient:
        return Seen(AWAY, "the API did not answer in the time of this monitor")


def _tell_untold(call: Call, notes: Notes, seen: Seen) -> None:
    """A row that cannot be read fails nothing, but somebody should know that nobody looks."""
    health = Health(UNKNOWN if seen.outcome == AWAY else UP)
    if seen.outcome == UNTOLD:
        health = Health(DEGRADED, f"the row in the cloud tells nothing: {seen.text}")
    tell_change(call.log, notes, "look", health, "the row in the cloud is read again")


def as_word(beat: str) -> str:
    """What the API calls a time is its own affair; in the notes it has no blanks."""
    return "".join(beat.encode("ascii", "replace").decode().split())[:64] or "-"


def as_words(misses: Misses) -> list[str]:
    """As words for the notes."""
    return [misses.beat or "-", *(repr(+value) for value in misses[1:])]


def remembered(notes: Notes, process: ProcessId) -> Misses:
    """What is remembered of this very process; its predecessor's misses are not its own."""
    for words in notes.get(SUBJECT):
        try:
            pid, start, beat, silent, since, moved, away, is_shared, calm_until = words
            if (int(pid), int(start)) == (process.pid, process.start):
                counts = int(silent), float(since), int(moved), int(away), bool(int(is_shared))
                return Misses(beat, *counts, float(calm_until))
        except ValueError:
            break
    return Misses()
