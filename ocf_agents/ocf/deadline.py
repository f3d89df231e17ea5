# SPDX-License-Identifier: Apache-2.0
"""How long an action may still take. Every inner wait is derived from one of these."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SHORTEST = 1.0
LEAST_MARGIN = 0.5
MARGIN_SHARE = 0.05
MOST_MARGIN = 5.0


class Deadline:
    """A moment `seconds` from now on a clock that no one can set (case 153)."""

    __slots__ = ("_clock", "_end")

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end - self._clock())

    def expired(self) -> bool:
        """True when nothing is left."""
        return self.remaining() <= 0.0

    def bound(self, seconds: float) -> float:
        """`seconds`, or what is left if that is less."""
        return min(seconds, self.remaining())


def usable_seconds(timeout: float) -> float:
    """What an action may use of its timeout (seconds), so that it ends with a reason of its own.

    Pacemaker kills the whole process group without a warning when the timeout ends. The margin is
    5 %, at least 0.5 s and at most 5 s; at least one second stays whatever the timeout (case 97).
    """
    margin = min(MOST_MARGIN, max(LEAST_MARGIN, timeout * MARGIN_SHARE))
    return max(SHORTEST, timeout - margin)
