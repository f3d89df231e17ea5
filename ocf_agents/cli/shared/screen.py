# SPDX-License-Identifier: Apache-2.0
"""How answers look: plain and unwrapped in a pipe; wrapped, and with sparing colour, on a terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from ocf_agents.operator.page import BAD, GOOD, ODD, Fact, Section, Table

COLOURS = {GOOD: "green", ODD: "yellow", BAD: "red"}
NARROWEST = 40
LEAST_COLUMN = 24
INDENT = 2
FRAMES = "|/-\\"
SPINS_AFTER = 0.3
EACH = 0.15


def say(text: str = "") -> None:
    """One line."""
    click.echo(text)


def say_note(text: str) -> None:
    """Something to know besides."""
    head = "note: "
    for number, line in enumerate(fold(text, len(head))):
        say(paint((head if number == 0 else " " * len(head)) + line, ODD))


def say_json(value: Any) -> None:  # noqa: ANN401 (whatever JSON can say)
    """One JSON document, for people's eyes as well; other scripts' letters are escaped."""
    click.echo(json.dumps(value, indent=2))


def say_sections(sections: Sequence[Section]) -> None:
    """All of them, with one blank line between."""
    for number, section in enumerate(sections):
        if number:
            say()
        say(paint(section.title, "", bold=True))
        width = max((len(fact.label) for fact in section.facts), default=0) + INDENT
        for fact in section.facts:
            _say_fact(fact, width)


def say_table(table: Table) -> None:
    """Columns as wide as their longest text. Where the terminal is too narrow, the last one goes below."""
    every = [list(table.head), *[list(row) for row in table.rows]]
    widths = [max(len(row[column]) for row in every) for column in range(len(table.head) - 1)]
    width = columns()
    indent = sum(widths) + 2 * len(widths)
    is_narrow = width is not None and width - indent < LEAST_COLUMN
    for number, row in enumerate(every):
        head = "  ".join([*(text.ljust(size) for text, size in zip(row, widths)), ""])
        if is_narrow:
            head = "  ".join(row[:-1])
        lines = fold(row[-1], 2 * INDENT if is_narrow else indent)
        first = [] if is_narrow else [lines.pop(0)]
        say(paint("".join([head, *first]).rstrip(), "", bold=number == 0))
        for line in lines:
            say(" " * (2 * INDENT if is_narrow else indent) + line)


def fold(text: str, indent: int) -> list[str]:
    """The text in lines that fit beside an indent; one line where nobody sees a terminal."""
    width = columns()
    if width is None or not text:
        return [text]
    room = max(width - indent, NARROWEST // 2)
    return textwrap.wrap(text, room, break_on_hyphens=False) or [text]


def columns() -> int | None:
    """The terminal's width; None in a pipe."""
    return max(shutil.get_terminal_size().columns, NARROWEST) if sys.stdout.isatty() else None


def paint(text: str, tone: str, *, bold: bool = False) -> str:
    """The text in its colour, where there is a terminal and nobody objects (NO_COLOR)."""
    if (
        not (tone or bold)
        or not sys.stdout.isatty()
        or os.environ.get("NO_COLOR")
        or os.environ.get("TERM") == "dumb"
    ):
        return text
    return click.style(text, fg=COLOURS.get(tone), bold=bold or None)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Says on a terminal's standard error what is waited for, once that takes a moment."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    is_over = threading.Event()
    spinner = threading.Thread(target=_spin, args=(what, is_over), daemon=True)
    spinner.start()
    try:
        yield
    finally:
        is_over.set()
        spinner.join()


def _spin(what: str, is_over: threading.Event) -> None:
    if is_over.wait(SPINS_AFTER):
        return
    number = 0
    while not is_over.wait(EACH):
        sys.stderr.write(f"\r{FRAMES[number % len(FRAMES)]} {what} ")
        sys.stderr.flush()
        number += 1
    sys.stderr.write("\r\033[K")
    sys.stderr.flush()


def _say_fact(fact: Fact, width: int) -> None:
    head = " " * INDENT + fact.label.ljust(width)
    lines = fold(fact.text, len(head))
    say(head + paint(lines[0], fact.tone))
    for line in lines[1:]:
        say(" " * len(head) + paint(line, fact.tone))
