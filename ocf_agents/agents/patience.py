# SPDX-License-Identifier: Apache-2.0
"""Waiting for work no longer than one wants to, whatever the work waits for."""

from __future__ import annotations

import threading
from typing import Callable, TypeVar

T = TypeVar("T")


class Impatient(Exception):
    """The time is over; the work goes on in its thread, and ends with the process."""


def wait_for(work: Callable[[], T], seconds: float) -> T:
    """The result of `work`, or what it raises. Raises Impatient when it takes longer than `seconds`.

    A file on a dead disk, or in a dead network file system, can keep its reader for ever.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(0.0, seconds))
    if errors:
        raise errors[0]
    if not results:
        raise Impatient
    return results[0]
