# SPDX-License-Identifier: Apache-2.0
"""The life of a request that may still land: written down, let go, settled, void.

Only time after its client let go settles a request without a definite answer: a frozen client
may send long after it wrote the attempt, so `hold` is never counted from the record.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Callable

from ocf_agents.guard.record import DISABLE, Attempt, Instant, Process, Record
from ocf_agents.guard.verdict import Policy

DEFINITE_WITHIN = 30.0
"""Seconds within which an answer is definite; a slower one may be a proxy's second try."""


def presume(record: Record, now: Instant) -> Record:
    """The record with one disable that a lost record, or another node, may have sent and let go just now."""
    others = tuple(a for a in record.attempts if not a.is_presumed)
    return replace(record, attempts=(*others, Attempt("", DISABLE, None, now, let_go=now)))


def let_go(record: Record, now: Instant, is_alive: Callable[[Process], bool]) -> Record:
    """Starts the clock of each attempt whose client is gone, and again in each new boot."""

    def look(attempt: Attempt) -> Attempt:
        if attempt.let_go and attempt.let_go.boot_id == now.boot_id:
            return attempt
        if attempt.let_go is None and attempt.client and is_alive(attempt.client):
            return attempt
        return replace(attempt, let_go=now)

    return replace(record, attempts=tuple(look(attempt) for attempt in record.attempts))


def settle(record: Record, row_id: str | None, sent: Instant, hold: float) -> Record:
    """Drops what a successful read sent at `sent` settles: let go over `hold` before, or of another row."""

    def is_open(attempt: Attempt) -> bool:
        if attempt.row_id is not None and row_id is not None and attempt.row_id != row_id:
            return False
        waited = sent.after(attempt.let_go) if attempt.let_go else None
        return waited is None or waited <= hold

    return replace(record, attempts=tuple(a for a in record.attempts if is_open(a)))


def is_paced(record: Record, kind: str, now: Instant, policy: Policy) -> bool:
    """Whether another request of this kind would come too soon: one at a time keeps trace 7 small."""
    return any(
        _is_recent(a, now, policy.api_timeout)
        for a in record.attempts
        if a.kind == kind and not a.is_presumed
    )


def next_settlement(record: Record, now: Instant, policy: Policy) -> float | None:
    """Seconds until a read can settle the next attempt; None when no clock runs."""
    waits = [
        policy.hold - waited
        for waited in (now.after(a.let_go) for a in record.attempts if a.let_go)
        if waited is not None
    ]
    return max(0.0, min(waits)) if waits else None


def _is_recent(attempt: Attempt, now: Instant, api_timeout: float) -> bool:
    age = now.after(attempt.sent)
    return age is not None and age <= api_timeout
