# SPDX-License-Identifier: Apache-2.0
"""The verdict on the present record and row, dry: in words and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ocf_agents.guard.record import ENABLED, FOREIGN, OURS, UNKNOWN
from ocf_agents.guard.verdict import NONE
from ocf_agents.operator import forecast, status
from ocf_agents.operator.look import Look
from ocf_agents.operator.page import ODD, PLAIN, Fact, Section
from ocf_agents.operator.texts import clean, quoted

IN_WORDS = {
    OURS: "the reason is, exactly, a marker of this resource and this host",
    FOREIGN: "the reason is no marker of this resource and this host",
    ENABLED: "the row is enabled",
    NONE: "the cloud has no such row",
    UNKNOWN: "the row could not be read",
}


def section(look: Look) -> Section:
    """What goes in, and what comes out for now, the next start and the next stop."""
    title = f"{clean(look.target.name)} on {clean(look.target.host)}"
    return Section(title, list(_facts(look)))


def as_json(look: Look) -> dict[str, Any]:
    return {
        "resource": look.resource,
        "host": look.target.host,
        "status": look.seen.status(look.policy),
        "row": status.row_json(look),
        "record": status.record_json(look),
        "policy": _policy_json(look),
        "decisions": [
            {
                "when": one.when,
                "decided": one.decision.do,
                "verdict": one.decision.verdict.do,
                "why": one.outcome or one.decision.verdict.why,
                "is_warning": one.decision.verdict.is_warning,
            }
            for one in _forecasts(look)
        ],
    }


def _facts(look: Look) -> Iterator[Fact]:
    yield Fact("row", status.row_text(look))
    if look.row is not None and look.row.disabled:
        yield Fact("reason", quoted(look.row.reason))
    found = look.seen.status(look.policy)
    yield Fact("is", f"{found}: {IN_WORDS[found]}")
    record = look.record
    if look.memory is not None and look.memory.record is None:
        yield Fact("record", f"cannot be read: {clean(look.memory.text)}", ODD)
    elif record is None:
        yield Fact("record", "none: a disable that a lost one may have sent is taken to be under way")
    else:
        known = f"read last as {record.known.status} in generation {record.known.generation}"
        yield Fact("record", f"wants {record.want} in generation {record.generation}; {known}")
        if record.foreign:
            yield Fact("remembers", f"{quoted(record.foreign.reason)}, read {clean(record.foreign.at)}", ODD)
        for attempt in record.attempts:
            yield Fact("unsettled", status.attempt_text(attempt, look), ODD)
    for name, value in _said(look):
        yield Fact("parameter", f"{name}={value}", ODD)
    for one in _forecasts(look):
        yield Fact(one.when, one.text, ODD if one.is_odd else PLAIN)


def _forecasts(look: Look) -> list[forecast.Forecast]:
    record = look.memory.record if look.memory else None
    return forecast.forecasts(look, record) if record is not None else []


def _said(look: Look) -> Iterator[tuple[str, str]]:
    """The parameters that change a verdict, where they are not the default."""
    if not look.policy.disable_on_stop:
        yield "disable_on_stop", "false"
    if not look.policy.enable_on_start:
        yield "enable_on_start", "false"
    if look.policy.enable_reasons:
        yield "enable_reasons", clean(", ".join(look.policy.enable_reasons))
    if look.policy.moves:
        yield "host", f"{clean(look.target.host)} (a name that moves from node to node)"


def _policy_json(look: Look) -> dict[str, Any]:
    policy = look.policy
    return {
        "hold": policy.hold,
        "api_timeout": policy.api_timeout,
        "disable_on_stop": policy.disable_on_stop,
        "enable_on_start": policy.enable_on_start,
        "enable_reasons": list(policy.enable_reasons),
        "moves": policy.moves,
    }
