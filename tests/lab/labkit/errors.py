# SPDX-License-Identifier: Apache-2.0
"""What can go wrong in the lab."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class LabError(Exception):
    """The lab cannot do what was asked; the text says why and what to do."""


class Overdue(LabError):
    """Something did not come about in time."""


def wait_for(what: str, look: Callable[[], T | None], timeout: float, every: float = 0.05) -> T:
    """Return the first true answer of `look`; `Overdue` after `timeout` seconds."""
    end = time.monotonic() + timeout
    while True:
        answer = look()
        if answer:
            return answer
        if time.monotonic() >= end:
            raise Overdue(f"{what}: not within {timeout:g} s")
        time.sleep(every)
