# SPDX-License-Identifier: Apache-2.0
"""One call in a thread of its own, for which nobody waits longer than he wants to.

A peer that sends a byte a second defeats every timeout of the HTTP library. So the caller waits for a
while and then leaves; a gate before the request says whether it had been sent by then, and closes if
not.
"""

from __future__ import annotations

import os
import socket
import threading
from typing import Any, Callable, Generic, TypeVar

from ocf_agents.ocf.patience import Impatient, Task

T = TypeVar("T")


class GivenUp(Exception):
    """The caller has left; nothing may be sent any more."""


class Overrun(Exception):
    """The time is over. `doing`: at what; `sent`: the request may be on its way, else it never will be."""

    def __init__(self, doing: str, *, sent: bool) -> None:
        super().__init__(doing)
        self.doing, self.sent = doing, sent


class Errand(Generic[T]):
    """`work(errand)` in a thread; it says what it is `doing` and passes `gate` before it sends."""

    def __init__(self, work: Callable[[Errand[T]], T]) -> None:
        self.doing = ""
        self._work = work
        self._lock = threading.Lock()
        self._sent = self._given_up = self._has_ended = False
        self._line: socket.socket | None = None
        self._task: Task[T] | None = None

    def run(self, seconds: float) -> T:
        """Do the work and wait for it. Raises what it raises, or Overrun when the time is over."""
        task = self._task = Task(self._do)
        try:
            return task.result(seconds)
        except Impatient:
            if not self._give_up():
                raise Overrun(self.doing, sent=self._sent) from None
        return task.result(threading.TIMEOUT_MAX)

    @property
    def is_sent(self) -> bool:
        """True when the request has passed the gate."""
        return self._sent

    @property
    def may_still_send(self) -> bool:
        """True while a request that passed the gate is in the hands of a living thread."""
        return self._sent and self._task is not None and self._task.is_running

    def gate(self) -> None:
        """Called right before the request is sent. Raises GivenUp when nobody waits any more."""
        with self._lock:
            if self._given_up:
                raise GivenUp
            self._sent = True

    def answered_on(self, raw: Any) -> None:  # noqa: ANN401 - a response of urllib3
        """The head of the answer has come on this line; cut it when the caller leaves."""
        try:
            line = socket.socket(fileno=os.dup(raw.fileno()))
        except (OSError, ValueError, AttributeError):
            return
        with self._lock:
            self._close_line()
            self._line = line
            if self._given_up:
                self._cut()

    def _do(self) -> T:
        try:
            return self._work(self)
        finally:
            with self._lock:
                self._has_ended = True
                self._close_line()

    def _give_up(self) -> bool:
        """Close the gate and cut the line. True when the work has ended meanwhile."""
        with self._lock:
            self._given_up = not self._has_ended
            if self._given_up:
                self._cut()
            return self._has_ended

    def _cut(self) -> None:
        if self._line is not None:
            try:
                self._line.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def _close_line(self) -> None:
        if self._line is not None:
            self._line.close()
