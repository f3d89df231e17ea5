# SPDX-License-Identifier: Apache-2.0
"""The reconcile step: (state, event) -> (state, effect), for stop's helper, start and all others.

Pure. `reconciler` carries the effects out: it reads the row, takes the lock, sends, sleeps. A
simulation can do the same with a clock, a disk and a cloud of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Union

from ocf_agents.guard import attempts
from ocf_agents.guard.reading import DONE, TO_SEND, TO_WAIT_FOR_UP, TO_WATCH, Decision, Seen, Trouble
from ocf_agents.guard.record import UNKNOWN, Attempt, Instant, Record
from ocf_agents.guard.row import APPLIED, REFUSED, Answer, Row
from ocf_agents.guard.verdict import NONE, Policy

POLL_FOR_UP = 2.0
"""Seconds between two reads while start waits for the row to be up."""

BACKOFF = 1.0
"""Seconds at the base of the exponential backoff."""

# Events


class Begun(NamedTuple):
    now: Instant


class Woken(NamedTuple):
    now: Instant


class Looked(NamedTuple):
    seen: Seen


class Considered(NamedTuple):
    record: Record
    decision: Decision
    now: Instant


class Answered(NamedTuple):
    attempt: Attempt
    answer: Answer
    took: float


class Settled(NamedTuple):
    record: Record
    answer: Answer
    now: Instant


class Overtaken(NamedTuple):
    """The generation is no longer ours: another action has taken over."""


class Died(NamedTuple):
    """The service that the row should be enabled for does not run any more."""


class Blocked(NamedTuple):
    """The record could not be locked, read or written; nothing was sent."""

    text: str
    now: Instant


Event = Union[Begun, Woken, Looked, Considered, Answered, Settled, Overtaken, Died, Blocked]

# Effects


class Look(NamedTuple):
    """Read the row."""


class Consider(NamedTuple):
    """In one locked section: take in what was seen, decide, put an attempt on disk."""

    seen: Seen
    may_enable: bool


class Send(NamedTuple):
    """Send the one request of an attempt that is on disk."""

    attempt: Attempt


class Settle(NamedTuple):
    """In one locked section: take in an answer."""

    attempt: Attempt
    answer: Answer
    took: float


class Pause(NamedTuple):
    """Sleep `floor` seconds and a random part of `spread` more, without the lock."""

    floor: float
    spread: float


class Finish(NamedTuple):
    """Leave. `status` is the row as last seen by this reconciler, `ending` one of the constants below."""

    ending: str
    status: str
    decision: Decision | None = None
    text: str = ""


Effect = Union[Look, Consider, Send, Settle, Pause, Finish]

AS_WANTED = "as wanted"
TOO_LATE = "too late"
HOPELESS = "hopeless"
OVERTAKEN = "overtaken"
DIED = "died"
BLOCKED = "blocked"


@dataclass(frozen=True)
class State:
    """One reconciler's own memory. Deadlines are CLOCK_BOOTTIME seconds of the present boot.

    `hurry`: from then on a row of ours is enabled although it is not up. `last_look`: from then on
    an unread row is given up. `seasoned_at`: from then on no report of a predecessor is still
    believed by the cloud, so that any `up` speaks of the present process; before it, only an `up`
    whose beat has moved since our first look does.
    """

    policy: Policy
    is_foreground: bool
    hurry: float
    last_look: float
    seasoned_at: float
    first_beat: str | None = None
    failures: int = 0
    status: str = UNKNOWN
    text: str = ""
    trouble: Trouble | None = None
    caveat: str = ""

    def can_be_chosen(self, row: Row | None, now: Instant) -> bool:
        """Whether an enable sent now makes the host eligible: its compute answers RPC (the Placement trait).

        A row that fencing forced down never becomes up; a start that runs out of time does not wait.
        """
        if row is None or row.forced_down or now.seconds >= self.hurry:
            return True
        return bool(row.up) and (now.seconds >= self.seasoned_at or row.beat != self.first_beat)


def step(state: State, event: Event) -> tuple[State, Effect]:
    """One step. Raises TypeError for an event that does not exist."""
    if isinstance(event, (Begun, Woken)):
        return state, Look()
    if isinstance(event, Looked):
        return _after_look(state, event.seen)
    if isinstance(event, Considered):
        return _after_decision(state, event)
    if isinstance(event, Answered):
        return state, Settle(event.attempt, event.answer, event.took)
    if isinstance(event, Settled):
        return _after_answer(state, event)
    if isinstance(event, (Overtaken, Died)):
        return state, Finish(OVERTAKEN if isinstance(event, Overtaken) else DIED, state.status)
    if isinstance(event, Blocked):
        return _retry(replace(state, text=event.text), event.now, BLOCKED)
    raise TypeError(f"no such event: {event!r}")


def _after_look(state: State, seen: Seen) -> tuple[State, Effect]:
    row = seen.row
    if row is not None and state.first_beat is None:
        state = replace(state, first_beat=row.beat)
    state = replace(state, trouble=seen.trouble, caveat=_caveat(state, row, seen.sent))
    return state, Consider(seen, state.can_be_chosen(row, seen.sent))


def _caveat(state: State, row: Row | None, now: Instant) -> str:
    """What an operator should know of a host that is enabled and still may get no instance."""
    if row is None or not state.is_foreground:
        return ""
    if row.forced_down:
        return "the row is forced down, which is left to whoever fenced the host"
    return (
        "enabled before the cloud saw it up"
        if row.disabled and not row.up and now.seconds >= state.hurry
        else ""
    )


def _after_decision(state: State, event: Considered) -> tuple[State, Effect]:
    decision, now = event.decision, event.now
    state = replace(state, status=decision.status, text=decision.verdict.why)
    if decision.do == TO_SEND and decision.attempt:
        return state, Send(decision.attempt)
    if decision.do == DONE or (decision.do == TO_WATCH and state.is_foreground):
        return state, Finish(AS_WANTED, decision.status, decision, state.caveat)
    if decision.do == TO_WATCH:
        return _watch(state, event.record, now)
    if decision.do == TO_WAIT_FOR_UP:
        return _wait_for_up(state, now)
    if state.trouble:
        return _after_trouble(state, state.trouble, now)
    if decision.status == NONE and state.is_foreground:
        return _pause(state, now, Pause(POLL_FOR_UP, 0.0))
    return _retry(state, now)


def _wait_for_up(state: State, now: Instant) -> tuple[State, Effect]:
    """Poll until the row is up; when the time is over, one more look enables it as it is."""
    if now.seconds >= state.last_look:
        return state, Look()
    return _pause(replace(state, failures=0), now, Pause(POLL_FOR_UP, 0.0))


def _after_trouble(state: State, trouble: Trouble, now: Instant) -> tuple[State, Effect]:
    state = replace(state, text=trouble.text)
    if trouble.is_permanent and state.is_foreground:
        return state, Finish(HOPELESS, state.status, text=trouble.text)
    return _retry(state, now, wait=trouble.retry_after)


def _after_answer(state: State, event: Settled) -> tuple[State, Effect]:
    answer, record = event.answer, event.record
    if answer.outcome == APPLIED and record.known.is_final:
        state = replace(state, status=record.known.status, failures=0)
        if not record.attempts or state.is_foreground:
            return state, Finish(AS_WANTED, state.status, text=state.caveat)
        return _watch(state, record, event.now)
    state = replace(state, text=answer.text)
    if answer.permanent and answer.outcome == REFUSED and state.is_foreground:
        return state, Finish(HOPELESS, state.status, text=answer.text)
    return _retry(state, event.now, wait=answer.retry_after)


def _watch(state: State, record: Record, now: Instant) -> tuple[State, Effect]:
    """The row is as wanted, but a request may still land: look again and again, and once `hold` is over."""
    state = replace(state, failures=state.failures + 1)
    backoff = _backoff(state)
    due = attempts.next_settlement(record, now, state.policy)
    if due is not None and due < backoff:
        return _pause(state, now, Pause(due + 0.1, 0.0))
    return _pause(state, now, Pause(backoff / 2, backoff / 2))


def _retry(
    state: State, now: Instant, ending: str = TOO_LATE, wait: float | None = None
) -> tuple[State, Effect]:
    state = replace(state, failures=state.failures + 1)
    return _pause(state, now, Pause(wait or 0.0, _backoff(state)), ending)


def _pause(state: State, now: Instant, pause: Pause, ending: str = TOO_LATE) -> tuple[State, Effect]:
    """Sleep, but never past the last moment at which a look is of use."""
    left = state.last_look - now.seconds
    if left <= 0:
        return state, Finish(ending, state.status, text=state.text)
    if pause.floor + pause.spread >= left:  # not a part of what is left each time: that is a burst of looks
        return state, Pause(left, 0.0)
    return state, pause


def _backoff(state: State) -> float:
    cap = 5.0 if state.is_foreground else 60.0
    return float(min(cap, BACKOFF * 2 ** min(state.failures, 10)))
