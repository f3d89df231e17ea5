# SPDX-License-Identifier: Apache-2.0
"""What came of each story, as a table for people."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from labkit.journal import Action
from labkit.tap import Request

COLUMNS = (
    ("story", 34),
    ("actions (exit code, time)", 40),
    ("requests of the agent", 34),
    ("row at the end", 34),
)


@dataclass
class Entry:
    """One story. `notes` are what the story itself found worth telling."""

    title: str
    outcome: str = "did not end"
    actions: list[Action] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    row: str = ""
    notes: list[str] = field(default_factory=list)

    def cells(self) -> tuple[str, str, str, str]:
        told = "\n".join([f"{self.title}: {self.outcome}", *(f"- {note}" for note in self.notes)])
        return told, shorten(map(str, self.actions)), asked(self.requests), self.row


def shorten(lines: Iterable[str], longest: int = 12) -> str:
    """The lines; of too many, the first and the last ones."""
    every = list(lines)
    if len(every) > longest:
        half = longest // 2
        every = [*every[:half], f"... {len(every) - 2 * half} more ...", *every[-half:]]
    return "\n".join(every)


def asked(requests: list[Request]) -> str:
    """How many requests, and each write with its time."""
    counts = Counter(f"{r.method} {r.service}" for r in requests if r.method != "PUT")
    reads = [f"{count} {what}" for what, count in sorted(counts.items())]
    writes = [
        f"PUT {'under way' if r.seconds is None else f'{r.status} {r.seconds:.2f} s'}"
        for r in requests
        if r.method == "PUT"
    ]
    return "\n".join([f"{len(requests)} in all", *reads, shorten(writes)]) if requests else "none"


def table(entries: Iterable[Entry]) -> str:
    """All entries under one head."""
    rule = "-+-".join("-" * width for _, width in COLUMNS)
    head = " | ".join(name.ljust(width) for name, width in COLUMNS)
    return "\n".join([head, rule, *(f"{_lines(entry.cells())}\n{rule}" for entry in entries)])


def _lines(cells: Iterable[str]) -> str:
    columns = [_wrap(cell, width) for cell, (_, width) in zip(cells, COLUMNS)]
    height = max(len(column) for column in columns)
    rows = zip(*(column + [""] * (height - len(column)) for column in columns))
    return "\n".join(
        " | ".join(text.ljust(width) for text, (_, width) in zip(row, COLUMNS)).rstrip() for row in rows
    )


def _wrap(cell: str, width: int) -> list[str]:
    return [part for line in cell.splitlines() for part in textwrap.wrap(line, width) or [""]]
