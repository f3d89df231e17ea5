# SPDX-License-Identifier: Apache-2.0
"""Waiting for work no longer than one wants to, whatever the work waits for.

A file on a dead disk, or in a dead network file system, can keep its reader for ever; a name server
that does not answer defeats every timeout of an HTTP library.
"""

from __future__ import annotations

import threading
from typing import Callable, Generic, TypeVar

T = TypeVar("T")


class Impatient(Exception):
    """The time is over; the work goes on in its thread, and ends with the process."""


class Task(Generic[T]):
    """Work in a thread of its own, which begins at once."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._results: list[T] = []
        self._errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, name="task", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the work may still do something."""
        return self._thread.is_alive()

    def result(self, seconds: float) -> T:
        """What the work returns, or raises. Raises Impatient when that takes longer than `seconds`."""
        self._thread.join(min(max(0.0, seconds), threading.TIMEOUT_MAX))
        if self._errors:
            raise self._errors[0]
        if not self._results:
            raise Impatient
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as error:
            self._errors.append(error)


def wait_for(work: Callable[[], T], seconds: float) -> T:
    """The result of `work`, or what it raises. Raises Impatient when it takes longer than `seconds`."""
    return Task(work).result(seconds)
