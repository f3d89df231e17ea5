# SPDX-License-Identifier: Apache-2.0
"""What one look at the row changes in the record, and what it calls for. Pure.

`consider` is the locked half of a reconcile step: it takes in what was read, asks the verdict,
and puts the attempt on record before anything is sent (the guard's fifth invariant).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, NamedTuple

from ocf_agents.guard import attempts, verdict
from ocf_agents.guard.record import (
    DISABLE,
    DISABLED,
    ENABLE,
    ENABLED,
    OURS,
    UNKNOWN,
    Attempt,
    Foreign,
    Instant,
    Known,
    Process,
    Record,
)
from ocf_agents.guard.row import APPLIED, Answer, Row
from ocf_agents.guard.row import UNKNOWN as IN_DOUBT
from ocf_agents.guard.verdict import NONE, Policy, Verdict

TO_SEND = "send"
TO_WAIT = "wait"
TO_WAIT_FOR_UP = "wait for up"
TO_WATCH = "watch"
DONE = "done"

STALE_AFTER = 2.0
"""Seconds beyond the API's timeout: somebody may have acted since, so look again before a write."""


class Trouble(NamedTuple):
    """Why the row could not be read; see `row.Unreadable`."""

    text: str
    is_permanent: bool = False
    retry_after: float | None = None


@dataclass(frozen=True)
class Seen:
    """One look at the row: what came (a row, none, or the trouble), when it was sent, and UTC for people."""

    result: Row | Trouble | None
    sent: Instant
    at: str

    @property
    def row(self) -> Row | None:
        return None if isinstance(self.result, Trouble) else self.result

    @property
    def trouble(self) -> Trouble | None:
        return self.result if isinstance(self.result, Trouble) else None

    def is_stale(self, now: Instant, policy: Policy) -> bool:
        """Whether too much time has passed to write on the strength of it: we were frozen, or waited long."""
        age = now.after(self.sent)
        return age is None or age > policy.api_timeout + STALE_AFTER

    def status(self, policy: Policy) -> str:
        return UNKNOWN if self.trouble else verdict.status_of(self.row, policy)


@dataclass(frozen=True)
class Situation:
    """What stands around a look: the time, who lives, a fresh token, and whether an enable may go out yet.

    `is_busy`: a write that this process gave up may still be sent by it.
    """

    now: Instant
    me: Process
    token: str
    is_alive: Callable[[Process], bool]
    is_busy: bool
    may_enable: bool


class Decision(NamedTuple):
    """What to do now (`send`, `wait`, `wait for up`, `watch`, `done`), why, and the request if one is due."""

    do: str
    verdict: Verdict
    status: str
    attempt: Attempt | None = None


def consider(record: Record, seen: Seen, around: Situation, policy: Policy) -> tuple[Record, Decision]:
    """One look at the row, taken in: the record as it must be on disk before the decision is carried out."""
    record = _let_go(record, around)
    status = seen.status(policy)
    if status != UNKNOWN:
        record = _take_in(record, seen, status, policy)
    judged = verdict.judge(record.want, status, seen.row, record.foreign, policy)
    record, decision = _decide(record, status, judged, seen, around, policy)
    return _mark_known(record, decision), decision


def settle(
    record: Record, attempt: Attempt, answer: Answer, took: float, around: Situation, generation: int
) -> Record:
    """The record after an answer. Only a definite one removes the attempt; only a 2xx counts as a reading.

    A record that has left `generation` may lose this attempt, and nothing else changes in it.
    """
    is_definite = answer.outcome != IN_DOUBT and took <= attempts.DEFINITE_WITHIN
    is_mine = record.generation == generation
    if not is_definite:
        return _let_go(record, around) if is_mine else record
    record = record.without(attempt.token)
    if answer.outcome != APPLIED or not is_mine:
        return record
    status = OURS if attempt.kind == DISABLE else ENABLED
    is_wanted = (record.want == DISABLED) == (attempt.kind == DISABLE)
    return replace(record, known=Known(status, record.generation, is_wanted))


def _let_go(record: Record, around: Situation) -> Record:
    def holds(client: Process) -> bool:
        return around.is_busy if client == around.me else around.is_alive(client)

    return attempts.let_go(record, around.now, holds)


def _take_in(record: Record, seen: Seen, status: str, policy: Policy) -> Record:
    had_disable = record.has_unsettled_disable
    record = attempts.settle(record, seen.row.id if seen.row else None, seen.sent, policy.hold)
    if status == NONE:
        return replace(record, known=Known(UNKNOWN, record.generation))
    row_id = seen.row.id if seen.row else record.row_id
    return replace(
        record,
        row_id=row_id,
        known=Known(status, record.generation),
        foreign=_memory(record, seen, status, had_disable),
    )


def _memory(record: Record, seen: Seen, status: str, had_disable: bool) -> Foreign | None:
    """The foreign reason to remember: what our unsettled disable might still fall on."""
    if status == OURS:
        return record.foreign
    if status == ENABLED or not had_disable or seen.row is None:
        return None
    return Foreign(seen.row.reason, seen.at)


def _decide(
    record: Record, status: str, judged: Verdict, seen: Seen, around: Situation, policy: Policy
) -> tuple[Record, Decision]:
    row = seen.row
    if judged.do == verdict.RETRY:
        return record, Decision(TO_WAIT, judged, status)
    if judged.do == verdict.LEAVE or row is None:
        return record, Decision(TO_WATCH if record.attempts else DONE, judged, status)
    is_held_back = around.is_busy or attempts.is_paced(record, judged.do, around.now, policy)
    if is_held_back or seen.is_stale(around.now, policy):
        return record, Decision(TO_WAIT, judged, status)
    if judged.do == ENABLE and not around.may_enable:
        return record, Decision(TO_WAIT_FOR_UP, judged, status)
    attempt = Attempt(around.token, judged.do, row.id, around.now, around.me)
    return replace(record, attempts=(*record.attempts, attempt)), Decision(TO_SEND, judged, status, attempt)


def _mark_known(record: Record, decision: Decision) -> Record:
    if decision.status in (UNKNOWN, NONE):
        return record
    return replace(record, known=record.known._replace(is_final=decision.do in (TO_WATCH, DONE)))
