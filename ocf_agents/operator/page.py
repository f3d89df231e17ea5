# SPDX-License-Identifier: Apache-2.0
"""What a command has to say, before anybody decides how it looks: titled facts, tables, and their JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

GOOD = "good"
ODD = "odd"
BAD = "bad"
PLAIN = ""


class Fact(NamedTuple):
    """One line: a label, a text, and how it is (GOOD, ODD, BAD, PLAIN)."""

    label: str
    text: str
    tone: str = PLAIN


@dataclass(frozen=True)
class Section:
    """A title and its facts."""

    title: str
    facts: Sequence[Fact]


@dataclass(frozen=True)
class Table:
    """Rows of texts below a head. The last column is wrapped where the terminal is narrow."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
