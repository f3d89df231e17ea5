# SPDX-License-Identifier: Apache-2.0
"""One call in a thread of its own, for which nobody waits longer than he wants to.

A name server that does not answer and a peer that sends a byte a second defeat every timeout of the
HTTP library. So the caller waits for a while and then leaves; a gate before the request says
whether it had been sent by then, and closes if not.
"""

from __future__ import annotations

import os
import socket
import threading
from typing import Any, Callable, Generic, TypeVar

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
        self._sent = self._given_up = False
        self._line: socket.socket | None = None
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="api-call", daemon=True)

    def run(self, seconds: float) -> T:
        """Do the work and wait for it. Raises what it raises, or Overrun when the time is over."""
        self._thread.start()
        self._thread.join(min(seconds, threading.TIMEOUT_MAX))
        if self._thread.is_alive() and not self._give_up():
            raise Overrun(self.doing, sent=self._sent)
        if self._error is not None:
            raise self._error
        return self._result[0]

    @property
    def is_sent(self) -> bool:
        """True when the request has passed the gate."""
        return self._sent

    @property
    def may_still_send(self) -> bool:
        """True while a request that passed the gate is in the hands of a living thread."""
        return self._sent and self._thread.is_alive()

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

    def _give_up(self) -> bool:
        """Close the gate and cut the line. True when the work has ended meanwhile."""
        with self._lock:
            if self._result or self._error is not None:
                return True
            self._given_up = True
            self._cut()
            return False

    def _cut(self) -> None:
        if self._line is not None:
            try:
                self._line.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def _run(self) -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = self._work(self)
        except BaseException as problem:
            error = problem
        with self._lock:
            if error is None:
                self._result.append(result)  # type: ignore[arg-type]
            self._error = error
            self._close_line()

    def _close_line(self) -> None:
        if self._line is not None:
            self._line.close()
