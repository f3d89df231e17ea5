# SPDX-License-Identifier: Apache-2.0
"""The only code that touches the row: carries out what `step` says, in the foreground or as a helper."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Callable

from ocf_agents.guard import marker, reading
from ocf_agents.guard.ports import Clock, Disk, Processes, Reporter
from ocf_agents.guard.reading import Decision, Seen, Situation, Trouble
from ocf_agents.guard.record import DISABLE, Helper, Instant, Known, Process, Record
from ocf_agents.guard.row import REFUSED, Rows, Unreadable
from ocf_agents.guard.step import (
    Answered,
    Begun,
    Blocked,
    Consider,
    Considered,
    Died,
    Event,
    Finish,
    Look,
    Looked,
    Overtaken,
    Pause,
    Send,
    Settle,
    Settled,
    State,
    Woken,
    step,
)
from ocf_agents.guard.store import StoreError

LOCK_WAIT = 5.0
"""Seconds to wait for the record's lock before a step is tried again."""

TAKE_OVER_GRACE = 1.5
"""Seconds that a reconciler of an older generation has to see the answer of what it has under way."""


@dataclass
class Reconciler:
    """Works for one generation.

    `service`: the process that the row is to be enabled for; None where a disable is wanted.
    `on_word` is called once: the first request is answered, or nothing is to be sent.
    """

    generation: int
    rows: Rows
    disk: Disk
    clock: Clock
    processes: Processes
    reporter: Reporter
    service: Process | None = None
    on_word: Callable[[], None] = lambda: None
    lock_wait: float = LOCK_WAIT
    _last: tuple[str, str] = ("", "")
    _has_spoken: bool = field(default=False)
    _warned: set[str] = field(default_factory=set)

    def run(self, state: State) -> Finish:
        """Steps until there is nothing left to do, another action took over, or the time is over."""
        event: Event = Begun(self.clock.now())
        while True:
            state, effect = step(state, event)
            if isinstance(effect, Finish):
                return effect
            event = self._carry_out(effect, state)

    def _carry_out(self, effect: Look | Consider | Send | Settle | Pause, state: State) -> Event:
        if isinstance(effect, Look):
            is_dead = self.service is not None and not self.processes.is_alive(self.service)
            return Died() if is_dead else Looked(self._look())
        if isinstance(effect, Consider):
            return self._consider(effect, state)
        if isinstance(effect, Send):
            return self._send(effect, state)
        if isinstance(effect, Settle):
            return self._settle(effect, state)
        self.clock.pause(effect.floor, effect.spread)
        return Woken(self.clock.now())

    def _look(self) -> Seen:
        sent, at = self.clock.now(), self.clock.utc()
        try:
            return Seen(self.rows.read(), sent, at)
        except Unreadable as error:
            return Seen(Trouble(error.text, error.permanent, error.retry_after), sent, at)

    def _consider(self, effect: Consider, state: State) -> Event:
        decisions: list[Decision] = []
        untold: list[Decision] = []

        def change(record: Record) -> Record | None:
            decisions.clear()
            if record.generation != self.generation:
                return None
            around = self._situation(may_enable=effect.may_enable)  # as it is when the lock is ours
            after, decision = reading.consider(record, effect.seen, around, state.policy)
            decisions.append(decision)
            is_news = decision.verdict.is_warning and not self._has_told(record, decision)
            untold[:] = [decision] if is_news and not state.is_foreground else []
            return _with_final(after, is_final=False) if untold else after

        try:
            record = self.disk.update(change, self.lock_wait)
            if decisions and untold:  # told first: whoever is killed in between leaves it to the next one
                self._tell(untold[0], effect.seen, may_warn=True)
                record = self._finalise(record)
        except StoreError as error:
            self._report("?", "blocked", error.text)
            return Blocked(error.text, self.clock.now())
        if not decisions:
            self._report("-", "overtaken", "another action has taken over")
            return Overtaken()
        self._tell(decisions[0], effect.seen, may_warn=False)
        if effect.seen.trouble and effect.seen.trouble.is_permanent and not state.is_foreground:
            self._warn_once(f"the row stays as it is until that is mended: {effect.seen.trouble.text}")
        return Considered(record, decisions[0], self.clock.now())

    def _finalise(self, considered: Record) -> Record:
        """Puts on disk that the verdict was told, if nobody has changed the record since."""

        def change(record: Record) -> Record | None:
            return _with_final(record, is_final=True) if record == considered else None

        return self.disk.update(change, self.lock_wait)

    def _send(self, effect: Send, state: State) -> Event:
        attempt = effect.attempt
        before = self.clock.now().seconds
        assert attempt.row_id is not None
        if attempt.kind == DISABLE:
            text = marker.make(state.policy.resource, state.policy.host, self.clock.utc(), attempt.token)
            answer = self.rows.disable(attempt.row_id, str(text))
        else:
            answer = self.rows.enable(attempt.row_id)
        return Answered(attempt, answer, self.clock.now().seconds - before)

    def _settle(self, effect: Settle, state: State) -> Event:
        def change(record: Record) -> Record:
            around = self._situation(may_enable=False)
            return reading.settle(record, effect.attempt, effect.answer, effect.took, around, self.generation)

        self._tell_answer(effect)
        if effect.answer.permanent and effect.answer.outcome == REFUSED and not state.is_foreground:
            self._warn_once(f"the row stays as it is until that is mended: {effect.answer.text}")
        try:
            record = self.disk.update(change, self.lock_wait)
        except StoreError as error:
            return Blocked(error.text, self.clock.now())
        if record.generation != self.generation:
            return Overtaken()
        return Settled(record, effect.answer, self.clock.now())

    def _situation(self, *, may_enable: bool) -> Situation:
        return Situation(
            now=self.clock.now(),
            me=self.processes.me(),
            token=self.clock.token(),
            is_alive=self.processes.is_alive,
            is_busy=self.rows.busy(),
            may_enable=may_enable,
        )

    def _has_told(self, record: Record, decision: Decision) -> bool:
        """Whether this generation has come to this verdict before, and told its warning."""
        return record.known == Known(decision.status, self.generation, is_final=True)

    def _tell(self, decision: Decision, seen: Seen, *, may_warn: bool) -> None:
        """In the foreground the start itself says what came out."""
        why = seen.trouble.text if seen.trouble else decision.verdict.why
        is_new = self._report(decision.status, decision.do, why)
        if is_new and may_warn and decision.verdict.is_warning:
            self.reporter.warning(why)
        if decision.do in (reading.DONE, reading.TO_WATCH) or (seen.trouble and seen.trouble.is_permanent):
            self._speak()

    def _tell_answer(self, effect: Settle) -> None:
        text = f"{effect.answer.outcome} after {effect.took:.2f} s"
        text += f": {effect.answer.text}" if effect.answer.text else ""
        self.reporter.decided(
            self.generation, "answer", f"{effect.attempt.kind} {effect.answer.outcome}", text
        )
        self.reporter.info(f"{effect.attempt.kind} sent: {text}")
        self._last = ("", "")
        if effect.answer.outcome != REFUSED or effect.answer.permanent:
            self._speak()  # else it is tried again at once, and better beside a living service

    def _report(self, status: str, decided: str, why: str) -> bool:
        """One line for each change: a poll that reads the same again says nothing."""
        if self._last == (status, decided):
            return False
        self._last = (status, decided)
        self.reporter.decided(self.generation, status, decided, why)
        return True

    def _warn_once(self, text: str) -> None:
        """A helper tries on, and should not be the only one to know why in vain."""
        if text not in self._warned:
            self._warned.add(text)
            self.reporter.warning(text)

    def _speak(self) -> None:
        if not self._has_spoken:
            self._has_spoken = True
            self.on_word()


def _with_final(record: Record, *, is_final: bool) -> Record:
    return replace(record, known=record.known._replace(is_final=is_final))


def take_over(
    disk: Disk, clock: Clock, processes: Processes, mine: Helper, also: tuple[Process, ...] = ()
) -> bool:
    """Ends whoever worked on the record before, then registers this process, as `mine`.

    The ones before get a moment to see the answer of what they have under way. False when the
    generation is no longer ours, or when another process is at work for it. Raises StoreError.
    """
    record = disk.load()
    if record.generation == mine.generation:
        processes.end(_predecessors(record, mine, clock.now(), also), TAKE_OVER_GRACE)

    def change(current: Record) -> Record | None:
        if current.generation != mine.generation:
            return None
        other = current.reconciler
        is_taken = other and other.process != mine.process and is_at_work(current, processes, clock.now())
        return None if is_taken else replace(current, reconciler=mine)

    return disk.update(change, LOCK_WAIT).reconciler == mine


def is_at_work(record: Record, processes: Processes, now: Instant) -> bool:
    """Whether a process works for the record's generation. One that is stopped for ever only lives."""
    helper = record.reconciler
    if helper is None or helper.generation != record.generation or helper.is_overdue(now):
        return False
    return processes.is_alive(helper.process)


def _predecessors(record: Record, mine: Helper, now: Instant, also: tuple[Process, ...]) -> list[Process]:
    """Who may still send but should not: the reconciler on record, and each attempt's client.

    One of our own generation may, until it is overdue.
    """
    helper = record.reconciler
    is_welcome = helper and helper.generation == mine.generation and not helper.is_overdue(now)
    spared = {mine.process, helper.process} if helper and is_welcome else {mine.process}
    found = [*also, *([helper.process] if helper else [])]
    found += [attempt.client for attempt in record.attempts if attempt.client and not attempt.let_go]
    return [process for process in dict.fromkeys(found) if process not in spared]
