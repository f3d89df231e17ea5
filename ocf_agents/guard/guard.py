# SPDX-License-Identifier: Apache-2.0
"""What each action asks of the guard: stop, start, monitor, reload, and the helper that outlives them.

No action waits for the cloud's API but start. Stop writes its intent, sends a helper and goes on.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Callable, NamedTuple

from ocf_agents.guard import attempts
from ocf_agents.guard.ports import Clock, Disk, Errand, Processes, Reporter, Spawned, Spawner
from ocf_agents.guard.reconciler import TAKE_OVER_GRACE, Reconciler, is_at_work, take_over
from ocf_agents.guard.record import (
    DISABLED,
    ENABLED,
    FOREIGN,
    OURS,
    UNKNOWN,
    Helper,
    Process,
    Record,
)
from ocf_agents.guard.row import Rows
from ocf_agents.guard.step import AS_WANTED, BLOCKED, DIED, OVERTAKEN, TOO_LATE, Finish, State
from ocf_agents.guard.store import LockBusy, StoreError
from ocf_agents.guard.verdict import NONE, Policy

STOP_LOCK_WAIT = 2.0
START_LOCK_WAIT = 10.0
FOREGROUND_LOCK_WAIT = 1.0
SEASONED_AFTER = 90.0
"""Seconds: the cloud believes a dead service up for service_down_time (Nova: 60 s) after its last report."""

BRIEFLY = 3
"""How many `api_timeout` a start waits for an API that it cannot read, if nothing of ours is known."""

HURRY_AFTER = 120.0
"""Seconds for which a helper waits for the row to be up before it enables it all the same."""


GIVEN_UP = {
    DISABLED: "the host may still be enabled",
    ENABLED: "a disable of ours may be in effect, or may still come",
}


class Starting(NamedTuple):
    """The generation that a start works for, and the reconciler that was on record before it."""

    generation: int
    predecessors: tuple[Process, ...]


class Stopping(NamedTuple):
    """What stop has to finish once the service is gone."""

    generation: int | None
    helper: Spawned | None


UNANNOUNCED = Stopping(None, None)
"""A stop that could not say that it comes."""


class Conclusion(NamedTuple):
    """How a start ends: whether it succeeded, one line for people, and whether that is a warning."""

    is_success: bool
    text: str
    is_warning: bool = False


@dataclass(frozen=True)
class Guard:
    """One resource's guard.

    `disable_deadline` and `head_start` are in seconds. `connect` makes the row's port; it is told
    how many seconds a call may take.
    """

    policy: Policy
    disk: Disk
    clock: Clock
    processes: Processes
    spawner: Spawner
    reporter: Reporter
    connect: Callable[[float], Rows]
    disable_deadline: float = 3600.0
    head_start: float = 3.0

    # stop

    def stopping(self, *, is_alive: bool, seconds: float) -> Stopping:
        """Writes the intent, sends the helper, waits for its word beside a living service. Never fails.

        It takes about `seconds` at most.
        """
        end = self.clock.now().seconds + seconds
        errand, generation = self._intend_stop(min(STOP_LOCK_WAIT, seconds / 2))
        helper = self._send(errand) if errand else None
        if helper and is_alive:
            helper.wait_for_word(min(self.head_start, end - self.clock.now().seconds))
        return Stopping(generation, helper)

    def stopped(self, stopping: Stopping, seconds: float) -> None:
        """Notes that the service is gone. A row that moves gets nothing more from this node. Never fails.

        The lock is waited for `seconds` at most.
        """
        wait = min(STOP_LOCK_WAIT, seconds)
        try:
            if stopping.generation is not None:  # without the lock at the begin, it is not waited for again
                self.disk.update(lambda r: self._note_stopped(r, stopping.generation), wait)
        except StoreError as error:
            self.reporter.warning(f"the end of this stop is not on record: {error.text}")
        if self.policy.moves:
            self.processes.end(self._workers(stopping), 0.0)

    def _workers(self, stopping: Stopping) -> list[Process]:
        """Who may send for this node: the helper of this stop, and whoever is on record."""
        found = [stopping.helper.process] if stopping.helper and stopping.helper.process else []
        try:
            recorded = self.disk.load().reconciler
        except StoreError:
            recorded = None
        return [*found, recorded.process] if recorded else found

    def _intend_stop(self, wait: float) -> tuple[Errand | None, int | None]:
        is_taken: list[bool] = []

        def change(record: Record) -> Record:
            is_taken[:] = [record.want == DISABLED and self._has_helper(record)]
            return replace(record, stopped=None) if is_taken[0] else self._next(record, DISABLED)

        try:
            record = self.disk.update(change, wait)
        except LockBusy as error:
            return self._intend_unlocked(error.text), None
        except StoreError as error:
            self.reporter.warning(f"the row stays as it is, for the intent cannot be recorded: {error.text}")
            return None, None
        if is_taken[0] or not (self.policy.disable_on_stop or record.attempts):
            return None, record.generation
        return Errand(DISABLED, record.generation, self.disable_deadline), record.generation

    def _intend_unlocked(self, why: str) -> Errand | None:
        """The helper writes the intent when it gets the lock, if the generation that we read still stands."""
        self.reporter.warning(f"{why}; the helper goes on with it")
        try:
            generation = self.disk.load().generation
        except StoreError:
            return None
        return Errand(DISABLED, generation, self.disable_deadline, expected=generation)

    def _note_stopped(self, record: Record, generation: int | None) -> Record | None:
        if record.generation != generation or record.want != DISABLED:
            return None
        return replace(record, stopped=self.clock.now())

    # start

    def starting(self, seconds: float, lasts: float) -> Starting:
        """Writes the intent to enable, within `seconds`, and registers this process. Raises StoreError.

        The whole start `lasts` so many seconds at most.
        """
        until = self.clock.now().seconds + lasts
        before: list[Process] = []

        def change(record: Record) -> Record:
            before[:] = [record.reconciler.process] if record.reconciler else []
            record = self._next(record, ENABLED)
            return replace(record, reconciler=Helper(self.processes.me(), record.generation, until))

        generation = self.disk.update(change, min(START_LOCK_WAIT, seconds)).generation
        return Starting(generation, tuple(before))

    def started(self, starting: Starting, service: Process, seconds: float) -> Conclusion:
        """Makes the host eligible again, in the foreground, within `seconds`.

        Nothing is enabled for a `service` that has died. Leaves a helper behind where something may
        still land.
        """
        conclusion = self._started(starting, service, seconds)
        outcome = "start succeeded" if conclusion.is_success else "start failed"
        self.reporter.decided(starting.generation, "-", outcome, conclusion.text)
        return conclusion

    def _started(self, starting: Starting, service: Process, seconds: float) -> Conclusion:
        margin = min(2 * self.policy.api_timeout + 2.0, seconds / 3)  # for a last look and a last request
        rows = self.connect(max(1.0, min(self.policy.api_timeout, margin / 2 - 0.5)))
        generation = starting.generation
        now = self.clock.now().seconds
        try:
            mine = Helper(self.processes.me(), generation, now + seconds)
            if not take_over(self.disk, self.clock, self.processes, mine, starting.predecessors):
                return Conclusion(False, "another action of this resource took over")
            last_look = now + seconds - margin
            state = self._state(service, hurry=last_look - margin / 2, last_look=last_look, foreground=True)
            state = replace(state, unread_until=now + BRIEFLY * self.policy.api_timeout)
            reconciler = self._reconciler(generation, service, rows)
            finish = replace(reconciler, lock_wait=FOREGROUND_LOCK_WAIT).run(state)
            conclusion = self._conclude(finish, self.disk.load())
        except StoreError as error:
            return Conclusion(False, f"the record cannot be used: {error.text}")
        if conclusion.is_success:
            self._leave_helper(generation, service)
        return conclusion

    def _conclude(self, finish: Finish, record: Record) -> Conclusion:
        if finish.ending == AS_WANTED:
            return _conclude_as_wanted(finish)
        if finish.ending == OVERTAKEN:
            return Conclusion(False, "another action of this resource took over")
        if finish.ending == DIED:
            return Conclusion(False, "the service died while the cloud was waited for; nothing was enabled")
        if finish.ending == BLOCKED:
            return Conclusion(False, f"the record cannot be used: {finish.text}")
        if self.policy.enable_on_start and OURS in (finish.status, record.known.status):
            return Conclusion(False, f"disabled by us when last read: {finish.text}")
        if FOREIGN in (finish.status, self._read_now(record)):
            return Conclusion(False, f"a disable that enable_reasons lists is still in effect: {finish.text}")
        if self.policy.enable_on_start and record.has_sent_disable:
            return Conclusion(False, f"a disable of ours may be in effect: {finish.text}")
        if finish.status == NONE:
            return Conclusion(True, f"the cloud has no row for host {self.policy.host!r} yet", True)
        known = "none of our disables is known" if self.policy.enable_on_start else "enable_on_start is false"
        return Conclusion(True, f"started without a look at the row, and {known}: {finish.text}", True)

    @staticmethod
    def _read_now(record: Record) -> str:
        """The row as read in the record's own generation."""
        return record.known.status if record.known.generation == record.generation else UNKNOWN

    def _leave_helper(self, generation: int, service: Process) -> None:
        """Hands the entry over to a helper, unless nothing may land any more and the row has been read."""
        try:
            if self.disk.load().is_quiet:
                return
        except StoreError:
            pass
        errand = self._watch(generation, service)
        helper = self._send(errand, is_held=True)
        if helper is None:
            return
        try:
            self.disk.update(lambda record: self._hand_over(record, errand, helper), STOP_LOCK_WAIT)
        except StoreError as error:
            self.reporter.warning(f"the helper registers by itself: {error.text}")
        helper.release()

    def _hand_over(self, record: Record, errand: Errand, helper: Spawned) -> Record | None:
        if record.generation != errand.generation or helper.process is None:
            return None
        until = self.clock.now().seconds + errand.deadline + self._last_calls
        return replace(record, reconciler=Helper(helper.process, errand.generation, until))

    @property
    def _last_calls(self) -> float:
        """Seconds that a helper may need after its deadline: for a read, and the write that it leads to."""
        return 2 * self.policy.api_timeout

    # monitor and reload

    def tend(self, service: Process) -> bool:
        """What a recurring monitor of a running service owes the record: a helper where none lives.

        True when one was sent. Never fails.

        A service that runs although no start of ours began it (younger than the end of our last
        stop) is adopted, as a start would take over.
        """
        try:
            record = self.disk.load()
        except StoreError:
            return False
        errand = None if record.is_empty else self._owed(record, service)
        return bool(errand and self._send(errand))

    def _owed(self, record: Record, service: Process) -> Errand | None:
        watch = self._watch(record.generation, service)
        if record.want == ENABLED:
            return None if record.is_quiet or self._has_helper(record) else watch
        return watch._replace(expected=record.generation) if self._is_younger(service, record) else None

    def refresh(self, service: Process | None) -> None:
        """Replaces a living helper by one with the present parameters (reload-agent). Never fails."""
        try:
            record = self.disk.load()
        except StoreError:
            return
        if record.reconciler and self._has_helper(record):
            self.processes.end([record.reconciler.process], TAKE_OVER_GRACE)
            errand = self._watch(record.generation, service) if service else None
            if record.want == DISABLED:
                errand = Errand(DISABLED, record.generation, self.disable_deadline)
            if errand:
                self._send(errand)

    def _is_younger(self, service: Process | None, record: Record) -> bool:
        if record.stopped is None or service is None:
            return False
        is_other_boot = record.stopped.boot_id != service.boot_id
        return is_other_boot or self.processes.born(service) > record.stopped.seconds

    def _watch(self, generation: int, service: Process) -> Errand:
        deadline = max(self.disable_deadline, 2 * self.policy.hold + HURRY_AFTER)
        return Errand(ENABLED, generation, deadline, service=service)

    # the helper's own work

    def run_errand(self, errand: Errand, on_word: Callable[[], None]) -> Finish | None:
        """The life of a helper; None when it is not (or no longer) needed."""
        end = self.clock.now().seconds + errand.deadline
        generation = self._registered(errand, end)
        if generation is None:
            return None
        now = self.clock.now().seconds
        state = self._state(errand.service, hurry=now + HURRY_AFTER, last_look=end, foreground=False)
        rows = self.connect(self.policy.api_timeout)
        finish = self._reconciler(generation, errand.service, rows, on_word).run(state)
        if finish.ending in (TOO_LATE, BLOCKED):
            text = f"gave up after {errand.deadline:.0f} s, {GIVEN_UP[errand.want]}: {finish.text}"
            self.reporter.decided(generation, finish.status, "given up", text)
            self.reporter.warning(text)
        return finish

    def _registered(self, errand: Errand, end: float) -> int | None:
        while True:
            try:
                generation = errand.generation if errand.expected is None else self._intend_late(errand)
                errand = errand._replace(generation=generation or 0, expected=None)
                if generation is None:
                    return None
                mine = Helper(self.processes.me(), generation, end + self._last_calls)
                is_ours = self._is_handed_over(mine)
                is_ours = is_ours or take_over(self.disk, self.clock, self.processes, mine)
                return generation if is_ours else None
            except StoreError:
                if errand.want == ENABLED or self.clock.now().seconds >= end:
                    return None  # for a running service the next monitor sends another one
                self.clock.pause(1.0, 4.0)

    def _is_handed_over(self, mine: Helper) -> bool:
        """Whether a start has entered us; it has ended whoever was before, and is on its own way out."""
        record = self.disk.load()
        entered = record.reconciler
        is_entered = entered is not None and entered[:2] == mine[:2]
        return record.generation == mine.generation and is_entered

    def _intend_late(self, errand: Errand) -> int | None:
        """Writes an intent that its action could not, or should not, write itself."""

        def change(record: Record) -> Record | None:
            if record.generation != errand.expected:
                return None
            if errand.want == ENABLED and not self._is_younger(errand.service, record):
                return None
            return self._next(record, errand.want)

        before = errand.expected
        self._end_overdue()
        record = self.disk.update(change, START_LOCK_WAIT)
        return record.generation if record.generation != before and record.want == errand.want else None

    def _end_overdue(self) -> None:
        """One that was stopped may hold the lock, for ever."""
        helper = self.disk.load().reconciler
        if helper and helper.is_overdue(self.clock.now()):
            self.processes.end([helper.process], TAKE_OVER_GRACE)

    # shared

    def _next(self, record: Record, want: str) -> Record:
        """The record of a new action. One that was lost counts as a disable that may still be under way."""
        is_lost = record.is_empty
        generation = 1000 * secrets.randbelow(1_000_000) if is_lost else record.generation
        record = replace(record, generation=generation + 1, want=want, stopped=None)
        if is_lost or (want == ENABLED and self.policy.moves):
            record = attempts.presume(record, self.clock.now())
        return record

    def _has_helper(self, record: Record) -> bool:
        return is_at_work(record, self.processes, self.clock.now())

    def _send(self, errand: Errand, *, is_held: bool = False) -> Spawned | None:
        try:
            return self.spawner.spawn(errand, is_held=is_held)
        except OSError as error:
            self.reporter.warning(f"no helper could be started: {error}")
            return None

    def _state(self, service: Process | None, *, hurry: float, last_look: float, foreground: bool) -> State:
        born = self.processes.born(service) if service else 0.0
        return State(self.policy, foreground, hurry, last_look, seasoned_at=born + SEASONED_AFTER)

    def _reconciler(
        self, generation: int, service: Process | None, rows: Rows, on_word: Callable[[], None] = lambda: None
    ) -> Reconciler:
        return Reconciler(
            generation=generation,
            rows=rows,
            disk=self.disk,
            clock=self.clock,
            processes=self.processes,
            reporter=self.reporter,
            service=service,
            on_word=on_word,
        )


def _conclude_as_wanted(finish: Finish) -> Conclusion:
    judged = finish.decision.verdict if finish.decision else None
    is_warning = bool(finish.text or (judged and judged.is_warning))
    texts = [judged.why if judged else "the row was enabled", finish.text]
    return Conclusion(True, "; ".join(text for text in texts if text), is_warning)
