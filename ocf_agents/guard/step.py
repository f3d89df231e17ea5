# SPDX-License-Identifier: Apache-2.0
"""The reconcile step: (state, event) -> (state, effect), for stop's helper, start and all others.

Pure. `reconciler` carries the effects out: it reads the row, takes the lock, sends, sleeps. A
simulation can do the same with a clock, a disk and a cloud of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Union

from ocf_agents.guard import attempts
from ocf_agents.guard.reading import DONE, TO_SEND, TO_WAIT, TO_WAIT_FOR_UP, TO_WATCH, Decision, Seen, Trouble
from ocf_agents.guard.record import DISABLE, ENABLE, UNKNOWN, Attempt, Instant, Record
from ocf_agents.guard.row import APPLIED, REFUSED, Answer, Row
from ocf_agents.guard.verdict import NONE, Policy

POLL_FOR_UP = 2.0
SLOWEST_POLL = 10.0
"""Seconds between two reads, on average, while start waits for the row to be up: at first, and later."""

BACKOFF = 1.0
"""Seconds at the base of the exponential backoff."""

LONGEST_BACKOFF = 60.0
LONGEST_BACKOFF_FROM_SILENCE = 300.0
"""Seconds that a helper's backoff grows to, while the API answers (if only to refuse), and while it does not.

One that is silent may be busy with requests whose clients have long gone. A thousand helpers that ask it each
minute keep it so for ever (docs/scale).
"""

SHORTEST_CAP = 5.0
PART_OF_THE_REST = 1 / 4
"""A start's backoff grows to this part of the time that it has left, or to the shortest cap, in seconds."""

SHORTEST_REST = 2.0
"""Seconds before the end of a brief wait in which one more look is not worth it."""

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
    `unread_until`: so long a start waits for an API that cannot be read where nothing of ours is known
    (case 44).
    """

    policy: Policy
    is_foreground: bool
    hurry: float
    last_look: float
    seasoned_at: float
    unread_until: float = math.inf
    first_beat: str | None = None
    failures: int = 0
    polls: int = 0
    looked_at: float = 0.0
    is_unheard: bool = False
    is_last_look: bool = False
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
    state = replace(
        state, trouble=seen.trouble, caveat=_caveat(state, row, seen.sent), looked_at=seen.sent.seconds
    )
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
    state = _listen(state, now)
    text = state.text if _is_held_back(state, decision) else ""  # what went wrong with the request before
    state = replace(state, status=decision.status, text=text or decision.verdict.why)
    if decision.do == TO_SEND and decision.attempt:
        return state, Send(decision.attempt)
    if decision.do == DONE or (decision.do == TO_WATCH and state.is_foreground):
        return state, Finish(AS_WANTED, decision.status, decision, state.caveat)
    if decision.do == TO_WATCH:
        return _watch(state, event.record, now)
    if decision.do == TO_WAIT_FOR_UP:
        return _wait_for_up(state, now)
    if state.trouble:
        return _after_trouble(state, state.trouble, event.record, now)
    if decision.status == NONE and state.is_foreground:
        state, pause = _poll(state)
        return _pause(state, now, pause)
    return _retry(state, now)


def _listen(state: State, now: Instant) -> State:
    """Notes whether the API has let our time pass without a word."""
    return replace(state, is_unheard=now.seconds - state.looked_at >= state.policy.api_timeout)


def _is_held_back(state: State, decision: Decision) -> bool:
    """Whether a request is due, and one that was sent before must be waited for."""
    return decision.do == TO_WAIT and decision.verdict.do in (DISABLE, ENABLE) and not state.trouble


def _wait_for_up(state: State, now: Instant) -> tuple[State, Effect]:
    """Poll until the row is up; when the time is over, one more look enables it as it is."""
    left = state.last_look - now.seconds
    if left <= 0:
        return state, Look()
    state, pause = _poll(replace(state, failures=state.failures // 2))
    return state, pause if pause.floor + pause.spread < left else Pause(left / 2, left / 2)


def _poll(state: State) -> tuple[State, Pause]:
    """Less often each time, and never in step with others that started with us."""
    mean = min(SLOWEST_POLL, POLL_FOR_UP * 1.5**state.polls)
    return replace(state, polls=state.polls + 1), Pause(mean / 2, mean)


def _after_trouble(state: State, trouble: Trouble, record: Record, now: Instant) -> tuple[State, Effect]:
    state = replace(state, text=trouble.text)
    if trouble.is_permanent and state.is_foreground:
        return state, Finish(HOPELESS, state.status, text=trouble.text)
    if state.is_foreground and not record.may_be_ours:
        return _wait_briefly(state, trouble, now)
    return _retry(state, now, wait=trouble.retry_after)


def _wait_briefly(state: State, trouble: Trouble, now: Instant) -> tuple[State, Effect]:
    """There is nothing to undo that is known: the helper that a start leaves behind has the patience."""
    limit = min(state.last_look, state.unread_until)
    if limit - now.seconds <= SHORTEST_REST:
        return state, Finish(TOO_LATE, state.status, text=trouble.text)
    after, effect = _retry(replace(state, last_look=limit), now, wait=trouble.retry_after)
    return replace(after, last_look=state.last_look, is_last_look=state.is_last_look), effect


def _after_answer(state: State, event: Settled) -> tuple[State, Effect]:
    answer, record = event.answer, event.record
    state = _listen(state, event.now)
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
    backoff = min(LONGEST_BACKOFF, _backoff(state, now))
    due = attempts.next_settlement(record, now, state.policy)
    if due is not None and due < backoff:
        return _pause(state, now, Pause(due + 0.1, min(backoff, state.policy.hold / 10)))
    return _pause(state, now, Pause(backoff / 2, backoff / 2))


def _retry(
    state: State, now: Instant, ending: str = TOO_LATE, wait: float | None = None
) -> tuple[State, Effect]:
    """Exponential backoff with full jitter. Whoever was told to wait comes back within twice that time, not
    with all the others at its end."""
    state = replace(state, failures=state.failures + 1)
    floor = wait or 0.0
    return _pause(state, now, Pause(floor, max(floor, _backoff(state, now))), ending)


def _pause(state: State, now: Instant, pause: Pause, ending: str = TOO_LATE) -> tuple[State, Effect]:
    """Sleep, but never past the last moment at which a look is of use."""
    left = state.last_look - now.seconds
    if left <= 0 or state.is_last_look:
        return state, Finish(ending, state.status, text=state.text)
    if pause.floor + pause.spread < left:
        return state, pause
    # One last look, not one for each part of what is left: that is a burst. Nor at the end, where all are.
    floor = pause.floor if left / 2 <= pause.floor < left else left / 2
    return replace(state, is_last_look=True), Pause(floor, left - floor)


def _backoff(state: State, now: Instant) -> float:
    cap = LONGEST_BACKOFF_FROM_SILENCE if state.is_unheard else LONGEST_BACKOFF
    if state.is_foreground:
        cap = min(cap, max(SHORTEST_CAP, (state.last_look - now.seconds) * PART_OF_THE_REST))
    return float(min(cap, BACKOFF * 2 ** min(state.failures, 10)))
