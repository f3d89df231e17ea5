# SPDX-License-Identifier: Apache-2.0
"""Setting a hold and taking it away: bounded, and verified by reading back.

What can go wrong beside the guard, and what is done about it:

- A disable of the guard's own is not settled, and falls on the hold later. Our marker would stand there then,
  and the next start would take it for its own. So the hold is put into the record's memory (`foreign`), under
  its lock, as the guard itself does when it reads a person's reason at such a time: what falls on it is left.
- An enable of the guard's is not settled, and undoes the hold later. Nothing can be written against that:
  it is told, and the exit code says that it is in doubt.
- The guard acts between our reading and our write. No client can close that window (README, Limits). The row
  is read again afterwards, so that what happened in it is told.
- A release ends the memory of the hold too, as the guard does when it reads an enabled row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ocf_agents.actions.host import HostClock
from ocf_agents.guard.history import History
from ocf_agents.guard.record import ENABLE, Foreign, Record
from ocf_agents.guard.row import REFUSED as WAS_REFUSED
from ocf_agents.guard.row import UNKNOWN, Answer, Row, Rows, Unreadable
from ocf_agents.guard.store import StoreError
from ocf_agents.operator import author, hold
from ocf_agents.operator.finding import Target
from ocf_agents.operator.hold import Hold, Step
from ocf_agents.operator.look import memory_of
from ocf_agents.operator.texts import clean, lasting, quoted
from ocf_agents.operator.trouble import (
    INTERRUPTED,
    BadInput,
    InDoubt,
    NotFound,
    Refused,
    Trouble,
    Unusable,
)

LOCK_WAIT = 5.0
LEAST_LOCK_WAIT = 1.0
BETWEEN_LOOKS = 0.5
HOLD, RELEASE = "hold", "release"
BY_HAND = "-"
"""What the history has in the place of a reading, where a person decided."""


@dataclass(frozen=True)
class Outcome:
    """What was done, and what else an operator should know."""

    did: str
    notes: tuple[str, ...] = ()
    hold: Hold | None = None
    is_in_doubt: bool = False


@dataclass
class Desk:
    """One operation on one row: its port, its target, and until when (`time.monotonic`)."""

    target: Target
    rows: Rows
    end: float
    is_forced: bool = False

    @classmethod
    def of(cls, target: Target, seconds: float, *, is_forced: bool) -> Desk:
        """`seconds` bound the whole. Raises BadInput without credentials."""
        rows = target.via.rows(target.host)
        rows.timeout = min(rows.timeout, max(1.0, seconds / 4))
        return cls(target, rows, time.monotonic() + seconds, is_forced)

    @property
    def resource(self) -> str | None:
        return self.target.resource.name if self.target.resource else None

    def row(self) -> Row:
        """The row now. Raises Unusable, NotFound."""
        try:
            found = self.rows.read()
        except Unreadable as error:
            raise Unusable(f"the row cannot be read: {error.text}") from None
        if found is None:
            binary = self.target.via.service.row
            where = "; ocf-agents doctor looks for one like it" if self.target.resource else ""
            raise NotFound(f"the cloud has no {binary} on host {clean(self.target.host)}{where}")
        return found

    def record(self) -> Record | None:
        """The record; None on another machine. Raises Unusable unless forced."""
        if self.target.resource is None:
            return None
        memory = memory_of(self.target.resource, self.target.host)
        if memory.record is None and not self.is_forced:
            raise Unusable(f"the record cannot be read, so what is under way is not known: {memory.text}")
        return memory.record

    def require(self, step: Step) -> None:
        """Raises Refused for what may not be, or not without being forced."""
        if step.do == hold.REFUSE and not (self.is_forced and step.is_forcible):
            way = "; --force does it all the same" if step.is_forcible else ""
            raise Refused(f"not done: {step.text}{way}")

    def confirm(self, answer: Answer, is_as_wanted: Callable[[Row], bool]) -> Row:
        """The row once it is as wanted. Raises Unusable for a refusal, InDoubt when the time is over."""
        if answer.outcome == WAS_REFUSED:
            raise Unusable(f"the cloud refused it, nothing has changed: {answer.text}")
        said = "" if answer.outcome != UNKNOWN else f"the request was not answered ({answer.text}); "
        while True:
            seen = self._seen()
            if isinstance(seen, Row) and is_as_wanted(seen):
                return seen
            if time.monotonic() + BETWEEN_LOOKS >= self.end:
                raise InDoubt(f"{said}{self._now(seen)}: look again with ocf-agents status")
            time.sleep(BETWEEN_LOOKS)

    def remember(self, change: Callable[[Record], Record | None]) -> str:
        """Changes the record's memory under its lock; why it could not, or nothing."""
        resource = self.target.resource
        if resource is None:
            return ""
        wait = min(LOCK_WAIT, max(LEAST_LOCK_WAIT, self.end - time.monotonic()))
        try:
            resource.store(self.target.host, lambda text: None).update(change, wait)
        except StoreError as error:
            return error.text
        return ""

    def write_down(self, action: str, record: Record | None, answer: Answer, why: str) -> None:
        """One line beside the guard's own decisions. Best effort, as theirs; nothing on another machine."""
        resource = self.target.resource
        if resource is None:
            return
        generation = record.generation if record else 0
        request = f"{'disable' if action == HOLD else 'enable'} {answer.outcome}"
        History(resource.state_dir, resource.name).add(action, generation, BY_HAND, request, why)

    def _seen(self) -> Row | Unreadable | None:
        try:
            return self.rows.read()
        except Unreadable as error:
            return error

    def _now(self, seen: Row | Unreadable | None) -> str:
        if isinstance(seen, Row):
            who = author.of_row(seen, self.resource, self.target.host)
            return f"the row is now {f'disabled by {who.text}' if seen.disabled else 'enabled'}"
        return "the row is gone" if seen is None else f"the row cannot be read now: {seen.text}"


def set_hold(desk: Desk, words: str, by: str) -> Outcome:
    """Disables the row in an operator's words, so that it stays so until a release.

    Raises BadInput (words), Refused (somebody else's), NotFound, Unusable, InDoubt.
    """
    clock = HostClock()
    wanted = hold.make(by, clock.utc(), words)
    _require_kept(desk, wanted)
    record = desk.record()
    row = desk.row()  # last, so that as little time as can be lies before the write
    step = hold.to_hold(row, wanted, desk.resource, desk.target.host, record)
    if step.do == hold.NOTHING:
        return Outcome(step.text, hold=hold.parse(row.reason))
    desk.require(step)
    before = (f"before, it was disabled with {quoted(row.reason)}",) if step.do == hold.REFUSE else ()
    with writing():
        answer = desk.rows.disable(row.id, str(wanted))
        desk.write_down(HOLD, record, answer, f"held by {wanted.by}: {wanted.words}")
        desk.confirm(answer, lambda seen: seen.disabled and seen.reason == str(wanted))
        with _looking_again():
            # An action may have begun meanwhile, and sent something before it could read the hold.
            now = desk.record()
            told, is_exposed = _after_hold(desk, [record, now], wanted, clock)
            notes = [*before, *_unanswered(answer), *told]
            _require_still(desk, wanted)
    return Outcome(
        f"{clean(desk.target.host)} is disabled, and held by {wanted.by}: {clean(wanted.words)}",
        tuple(notes),
        wanted,
        is_in_doubt=is_exposed,
    )


def release(desk: Desk, by: str) -> Outcome:
    """Enables a row that a hold disabled; `by` says who does. Raises Refused, NotFound, Unusable, InDoubt."""
    record = desk.record()
    row = desk.row()
    binary = desk.target.via.service.row
    step = hold.to_release(row, desk.resource, desk.target.host, record, binary)
    if step.do == hold.NOTHING:
        return Outcome(step.text)
    desk.require(step)
    covered = hold.overlaid(row, desk.resource, desk.target.host, record)
    held = hold.parse(covered.reason if covered else row.reason)
    whose = held.by if held else "nobody"
    with writing():
        answer = desk.rows.enable(row.id)
        desk.write_down(RELEASE, record, answer, f"released by {by}, was held by {whose}")
        desk.confirm(answer, lambda seen: not seen.disabled)
        notes = [*_unanswered(answer), *([step.text] if step.do == hold.REFUSE else [])]
        if record and record.foreign and hold.parse(record.foreign.reason):
            trouble = desk.remember(_forgotten)
            notes += [f"the record still remembers the hold ({trouble})"] if trouble else []
    if record and record.has_unsettled_disable:
        notes.append("a disable of the agent's may still land; beside a running service it is undone")
    return Outcome(
        f"{clean(desk.target.host)} is enabled; the hold of {whose} is over",
        tuple(notes),
        held,
    )


@contextmanager
def writing() -> Iterator[None]:
    """Around a write and all that follows: who interrupts it is told that it may have been done."""
    try:
        yield
    except KeyboardInterrupt:
        text = "interrupted; what was asked for may have been done: look again with ocf-agents status"
        raise Trouble(text, INTERRUPTED) from None


@contextmanager
def _looking_again() -> Iterator[None]:
    """A look that fails after the hold was set does not say that nothing was done. Raises InDoubt."""
    try:
        yield
    except (NotFound, Unusable) as error:
        raise InDoubt(f"the hold was set, and then {error.text}: see ocf-agents status") from None


def _require_kept(desk: Desk, wanted: Hold) -> None:
    policy = desk.target.via.policy(desk.target.host)
    if hold.would_be_undone(wanted, policy):
        raise BadInput(
            f"enable_reasons lists how a hold begins ({hold.PREFIX.strip()}), so the next start would undo"
            " it: take that out first"
        )


def _require_still(desk: Desk, wanted: Hold) -> None:
    """One more look, after the record was asked. Raises InDoubt where the hold has been undone since."""
    row = desk.row()
    if not row.disabled:
        raise InDoubt(
            "the host was disabled, and has been enabled since: hold it again, and see ocf-agents status"
        )
    if row.reason != str(wanted):
        who = author.of_row(row, desk.resource, desk.target.host, desk.record())
        if who.kind not in (author.OVERLAID, author.HELD):
            raise InDoubt(f"the hold was set, and has been replaced since: {who.text}")


def _after_hold(
    desk: Desk, seen: Sequence[Record | None], wanted: Hold, clock: HostClock
) -> tuple[list[str], bool]:
    """What to know besides, and whether a request that is known of may still undo the hold."""
    if desk.target.resource is None:
        note = "the record on the host itself was not looked at: requests of the agent may be under way there"
        return [note], False
    records = [one for one in seen if one is not None]
    if not records:
        return ["the record could not be read: requests of the agent may be under way"], False
    notes = []
    is_exposed = any(_may_be_enabled(one) for one in records)
    if any(one.has_unsettled_disable for one in records):
        trouble = desk.remember(lambda record: _remembered(record, str(wanted), clock.utc()))
        if trouble:
            is_exposed = True  # the next start would take what falls on it for its own
            notes.append(f"a disable of the agent's may fall on it, which could not be noted: {trouble}")
        else:
            notes.append(
                "a disable of the agent's is not settled; should it land, its text stands in the row, and the"
                " host is left disabled all the same"
            )
    if any(_may_be_enabled(one) for one in records):
        hold_for = lasting(desk.target.via.policy(desk.target.host).hold)
        notes.append(
            f"an enable of the agent's is not settled: it may undo the hold within {hold_for};"
            " look again with ocf-agents status"
        )
    return notes, is_exposed


def _unanswered(answer: Answer) -> list[str]:
    """A request without an answer may come twice, however the row is now."""
    return (
        ["the request was not answered, but the row is as it should be"] if answer.outcome == UNKNOWN else []
    )


def _may_be_enabled(record: Record | None) -> bool:
    return record is not None and any(one.kind == ENABLE for one in record.attempts)


def _remembered(record: Record, reason: str, at: str) -> Record | None:
    """As the guard's own reading would leave it: only beside a disable that is not settled."""
    return replace(record, foreign=Foreign(reason, at)) if record.has_unsettled_disable else None


def _forgotten(record: Record) -> Record | None:
    is_hold = record.foreign is not None and hold.parse(record.foreign.reason) is not None
    return replace(record, foreign=None) if is_hold else None
