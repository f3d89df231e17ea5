# SPDX-License-Identifier: Apache-2.0
"""The row as the guard sees it, and the port through which it is read and written.

A row is the service record in the cloud's API. The guard knows no cloud: whoever implements
`Rows` turns the cloud's record into a `Row` and the cloud's answers into an `Answer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

APPLIED = "applied"
REFUSED = "refused"
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Row:
    """One service record, read completely.

    `reason` is None when the cloud has none (Nova: null), which differs from an empty text.
    `up` is None where the cloud does not say. `beat` is opaque and moves with each report of
    the service (Nova: `updated_at`, which moves with any write as well).
    """

    id: str
    disabled: bool
    reason: str | None = None
    up: bool | None = None
    forced_down: bool = False
    beat: str = ""


@dataclass(frozen=True)
class Answer:
    """What became of one write request.

    `applied`: the cloud said so (2xx). `refused`: it definitely did not happen and will not
    (4xx but 408; a refused connection). `unknown`: it may have happened, and may still happen,
    once or twice (timeout, reset, 5xx, half an answer). `retry_after` is in seconds.
    `permanent` says that waiting cannot heal it (401, 403, a wrong CA).
    """

    outcome: str
    text: str = ""
    retry_after: float | None = None
    permanent: bool = False


class Unreadable(Exception):
    """The row could not be read: its state is unknown, which is neither absent nor enabled.

    `text` is one clear line without a secret; `retry_after` is in seconds.
    """

    def __init__(self, text: str, *, permanent: bool = False, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.permanent = permanent
        self.retry_after = retry_after


class Rows(Protocol):
    """The cloud's API for one row. One call of a write sends one request, or none."""

    def read(self) -> Row | None:
        """The row; None when the cloud knows no such row. Raises Unreadable."""

    def disable(self, row_id: str, reason: str) -> Answer:
        """Disable the row with this reason."""

    def enable(self, row_id: str) -> Answer:
        """Enable the row."""

    def busy(self) -> bool:
        """True while a write that was given up may still be sent by this process."""
