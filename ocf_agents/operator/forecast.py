# SPDX-License-Identifier: Apache-2.0
"""What the guard would do with the row as it is: now, at the next start, at the next stop. Dry, and pure.

The guard's own functions decide (`reading.consider`) on copies of the record, so that what is told here
cannot differ from what is done.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ocf_agents.guard import attempts, reading, verdict
from ocf_agents.guard.reading import Decision
from ocf_agents.guard.record import DISABLED, ENABLED, Record
from ocf_agents.guard.verdict import Verdict
from ocf_agents.operator.look import Look, around
from ocf_agents.operator.texts import clean

ACTS = {
    reading.TO_SEND: "sends {}",
    reading.TO_WAIT: "waits and looks again",
    reading.TO_WAIT_FOR_UP: "waits until Nova sees the service up, then enables",
    reading.TO_WATCH: "leaves the row, and watches for what may still land",
    reading.DONE: "leaves the row",
}


class Forecast(NamedTuple):
    """One decision: when it would be made, what it is, in words.

    `outcome`: how the action itself ends, where that tells more than the decision.
    """

    when: str
    decision: Decision
    outcome: str = ""

    @property
    def text(self) -> str:
        return self.outcome or f"{act(self.decision)}: {self.decision.verdict.why}"

    @property
    def is_odd(self) -> bool:
        return bool(self.outcome) or self.decision.verdict.is_warning


def forecasts(look: Look, record: Record) -> list[Forecast]:
    """For the present generation, the next start, and the next stop."""
    found = [] if record.is_empty else [Forecast("now", _considered(look, record))]
    return [*found, next_start(look, record), next_stop(look, record)]


def next_start(look: Look, record: Record) -> Forecast:
    """What a start would do once its service runs."""
    if look.next_host:
        why = (
            f"that start is for host {clean(look.next_host)}, not for {clean(look.target.host)}, the record's"
        )
        left = Verdict(verdict.LEAVE, why, is_warning=True)
        return Forecast("next start", Decision(reading.DONE, left, look.seen.status(look.policy)))
    outcome = _unread(look, record) if look.seen.trouble else ""
    return Forecast("next start", _considered(look, as_wanted(look, record, ENABLED)), outcome)


def _unread(look: Look, record: Record) -> str:
    """What a start does while the row cannot be read; see `Guard._conclude`.

    What waiting cannot heal (401, 403) ends it at once, the rest with its time; it ends in the same way.
    """
    if look.policy.enable_on_start and record.may_be_ours:
        return "fails as long as the row cannot be read: a disable of the agent's is, or may be, in effect"
    return "succeeds with a warning: none of the agent's disables is known, and a helper looks again"


def next_stop(look: Look, record: Record) -> Forecast:
    return Forecast("next stop", _considered(look, as_wanted(look, record, DISABLED)))


def as_wanted(look: Look, record: Record, want: str) -> Record:
    """The record as a new action would write it; see `Guard._next`, which does it for real."""
    is_lost = record.is_empty
    changed = replace(record, generation=record.generation + 1, want=want, stopped=None)
    if is_lost or (want == ENABLED and look.policy.moves):
        changed = attempts.presume(changed, look.now)
    return changed


def act(decision: Decision) -> str:
    """What it does, as a verb."""
    kind = decision.attempt.kind if decision.attempt else ""
    return ACTS[decision.do].format(f"a request to {kind} it")


def _considered(look: Look, record: Record) -> Decision:
    return reading.consider(record, look.seen, around(look), look.policy)[1]
