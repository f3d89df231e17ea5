# SPDX-License-Identifier: Apache-2.0
"""The answer to "why is this host disabled?": a look, in words and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ocf_agents.guard.reading import TO_WAIT
from ocf_agents.guard.record import DISABLED, ENABLED, Attempt, Record
from ocf_agents.operator import author, forecast
from ocf_agents.operator.author import Author
from ocf_agents.operator.finding import Hostless
from ocf_agents.operator.look import Look, Service
from ocf_agents.operator.page import BAD, GOOD, ODD, PLAIN, Fact, Section
from ocf_agents.operator.texts import clean, lasting, since
from ocf_agents.service.supervisor import FAILED, GONE, RUNNING


def section(look: Look, first_read: str = "") -> Section:
    """`first_read`: since when the history has had the row as it is now (UTC), where that is known."""
    target = look.target
    name = f"{clean(target.name)} on " if target.resource else ""
    return Section(f"{name}{clean(target.host)}", [fact for fact in _facts(look, first_read) if fact.text])


def as_json(look: Look, first_read: str = "") -> dict[str, Any]:
    """The same for programs. Times are UTC or seconds; what is not known is null."""
    who = author_of(look)
    return {
        "resource": look.resource,
        "host": look.target.host,
        "source": look.target.resource.source if look.target.resource else None,
        "service": _service_json(look.service),
        "row": row_json(look),
        "disabled_by": None if who is None else _author_json(who, first_read),
        "record": record_json(look),
        "next_start": _next_start_json(look),
    }


def hostless_section(lost: Hostless) -> Section:
    """One whose host cannot be found out."""
    return Section(clean(lost.resource.name), [Fact("host", clean(lost.text), BAD)])


def hostless_json(lost: Hostless) -> dict[str, Any]:
    """The same for programs: the keys of all others, and the trouble."""
    unknown = dict.fromkeys(("host", "service", "row", "disabled_by", "record", "next_start"))
    return {
        **unknown,
        "resource": lost.resource.name,
        "source": lost.resource.source,
        "trouble": lost.text,
    }


def author_of(look: Look) -> Author | None:
    """Who disabled the row; None when it could not be read, or is not there."""
    if look.row is None:
        return None
    return author.of_row(look.row, look.resource, look.target.host, look.record)


def row_text(look: Look) -> str:
    """The row in a few words."""
    row, trouble = look.row, look.seen.trouble
    if trouble:
        return f"cannot be read: {clean(trouble.text)}"
    if row is None:
        alike = f", but for {clean(', '.join(look.alike))}" if look.alike else ""
        return f"the cloud has none for host {clean(look.target.host)}{alike}"
    up = {True: "up", False: "down", None: "not known to be up"}[row.up]
    forced = ", forced down (by fencing, or by hand)" if row.forced_down else ""
    return f"{'disabled' if row.disabled else 'enabled'}, {up}{forced}"


def attempt_text(attempt: Attempt, look: Look) -> str:
    """One unsettled request, and when a reading can settle it."""
    if attempt.is_presumed:
        what = f"a {attempt.kind} that a lost record, or another node, may have sent"
    else:
        age = look.now.after(attempt.sent)
        sent = f"sent {lasting(age)} ago" if age is not None else "sent before this host was booted"
        what = f"{attempt.kind} {clean(attempt.token)}, {sent}"
    passed = look.now.after(attempt.let_go) if attempt.let_go else None
    if attempt.let_go is None:
        return f"{what}, its sender still waits for the answer"
    if passed is None or passed <= look.policy.hold:
        left = look.policy.hold - (passed or 0.0)
        return f"{what}, may land for {lasting(left)} more"
    return f"{what}, settled by the next reading"


def _facts(look: Look, first_read: str) -> Iterator[Fact]:
    if look.service is not None:
        yield _service_fact(look.service)
    yield Fact("row", row_text(look), _row_tone(look))
    who = author_of(look)
    if who is not None and who.kind != author.NOBODY:
        seen = f", read so since {since(first_read)}" if first_read and not who.at else ""
        yield Fact("disabled by", f"{who.text}{who.when}{seen}", ODD)
    yield from _record_facts(look)
    yield _next_start_fact(look)


def _service_fact(service: Service) -> Fact:
    if service.state == RUNNING:
        age = f", for {lasting(service.seconds)}" if service.seconds is not None else ""
        return Fact("service", f"running, pid {service.pid}{age}", GOOD)
    if service.state == GONE:
        return Fact("service", "not running", ODD)
    return Fact("service", FAILED.get(service.state, f"not known: {clean(service.text)}"), BAD)


def _row_tone(look: Look) -> str:
    if look.row is None:
        return BAD
    return GOOD if not look.row.disabled and look.row.up else ODD


def _record_facts(look: Look) -> Iterator[Fact]:
    memory = look.memory
    if memory is None:
        yield Fact("record", f"on {clean(look.target.host)} itself; run this there for what only it knows")
        return
    if memory.record is None:
        yield Fact("record", f"cannot be read: {clean(memory.text)}", BAD)
        return
    for note in memory.notes:
        yield Fact("record", clean(note), BAD)
    record = look.record
    if record is None:
        yield Fact(
            "record", "none: this resource has neither started nor stopped here, or its record was lost"
        )
        return
    yield Fact("record", f"wants the row {record.want}, generation {record.generation}")
    yield Fact("helper", _helper_text(look, record), GOOD if memory.is_helped else PLAIN)
    for attempt in record.attempts:
        yield Fact("unsettled", attempt_text(attempt, look), ODD)
    if not record.attempts:
        yield Fact("unsettled", "no request")


def _helper_text(look: Look, record: Record) -> str:
    helper = record.reconciler
    if look.memory and look.memory.is_helped and helper:
        left = helper.until - look.now.seconds
        return f"at work, pid {helper.process.pid}, for {lasting(max(0.0, left))} more at most"
    is_owed = record.want == ENABLED and not record.is_quiet
    if is_owed and look.service and look.service.is_running:
        return "none at work; the next monitor sends one"
    if is_given_up(look):
        return "none at work, and the row is still enabled: disable it in Nova if that matters"
    return "none at work, none needed"


def is_given_up(look: Look) -> bool:
    """Whether the record wants a disable that nobody works on any more: the row is still enabled.

    A name that moves from node to node may be another node's by now, which its row then says: it is up.
    """
    record, row, policy = look.record, look.row, look.policy
    if record is None or record.want != DISABLED or row is None or row.disabled:
        return False
    is_elsewhere = policy.moves and bool(row.up)
    is_helped = look.memory is not None and look.memory.is_helped
    return policy.disable_on_stop and not is_helped and not is_elsewhere


def _next_start_fact(look: Look) -> Fact:
    record = look.record or (look.memory.record if look.memory else None)
    if record is None:
        return Fact("next start", _without_record(look))
    told = forecast.next_start(look, record)
    is_odd = told.is_odd or told.decision.do == TO_WAIT
    return Fact("next start", told.text, ODD if is_odd else PLAIN)


def _without_record(look: Look) -> str:
    """From the marker alone, which is all that another machine knows."""
    who = author_of(look)
    if who is None:
        return ""
    return {
        author.NOBODY: "leaves the row, it is enabled",
        author.AGENT: f"of resource {who.resource} on {who.host} enables it",
        author.NOVA: "leaves it; nova-compute enables it again when its libvirt answers",
        author.HELD: "leaves it disabled; ocf-agents release takes the hold away",
    }.get(who.kind, "leaves it disabled, in these words (unless the parameter enable_reasons lists them)")


def _service_json(service: Service | None) -> dict[str, Any] | None:
    if service is None:
        return None
    return {"state": service.state or None, "pid": service.pid, "seconds": service.seconds}


def row_json(look: Look) -> dict[str, Any]:
    """The row's part."""
    row, trouble = look.row, look.seen.trouble
    if row is None:
        return {
            "readable": trouble is None,
            "exists": False if trouble is None else None,
            "text": row_text(look),
        }
    return {
        "readable": True,
        "exists": True,
        "id": row.id,
        "disabled": row.disabled,
        "reason": row.reason,
        "up": row.up,
        "forced_down": row.forced_down,
    }


def _author_json(who: Author, first_read: str) -> dict[str, Any]:
    return {
        "kind": who.kind,
        "text": who.text,
        "at": who.at or None,
        "read_since": first_read or None,
        "resource": who.resource or None,
        "host": who.host or None,
        "words": who.words,
    }


def record_json(look: Look) -> dict[str, Any] | None:
    """The record's part; None for another machine's."""
    memory = look.memory
    if memory is None:
        return None
    record = look.record
    return {
        "readable": memory.record is not None,
        "exists": record is not None,
        "notes": [*memory.notes, *([memory.text] if memory.text else [])],
        "wants": record.want if record else None,
        "generation": record.generation if record else None,
        "helper": record.reconciler.process.pid
        if record and record.reconciler and memory.is_helped
        else None,
        "unsettled": [
            {"kind": one.kind, "token": one.token or None, "text": attempt_text(one, look)}
            for one in (record.attempts if record else ())
        ],
        "remembers": record.foreign.reason if record and record.foreign else None,
    }


def _next_start_json(look: Look) -> dict[str, Any]:
    fact = _next_start_fact(look)
    record = look.memory.record if look.memory else None
    does = forecast.next_start(look, record).decision.verdict.do if record else None
    return {"does": does, "text": fact.text}
