# SPDX-License-Identifier: Apache-2.0
"""A manual page in the man(7) macros: a list of lines that groff and mandoc both read without a warning."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

WIDTH = 76
HEADER = '.\\" SPDX-License-Identifier: Apache-2.0\n'

DOCUMENTS = (
    "/usr/share/doc/ocf-agents/docs/guide.md, the operator's guide, and"
    " /usr/share/doc/ocf-agents/docs/operating.md, with the commands' answers and what to do about each exit"
    " reason (openSUSE: /usr/share/doc/packages/ocf-agents)."
)
"""What the packages have besides pages."""


def escaped(text: str) -> str:
    """Plain text for a text line: nothing in it is taken for a request or an escape."""
    text = text.replace("\\", "\\e")
    return "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text)


def literal(text: str) -> str:
    """Text that somebody copies: a hyphen stays a hyphen, a quote a quote."""
    text = escaped(text).replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha")
    return text.replace("~", "\\(ti")


def bold(text: str) -> str:
    return f"\\fB{literal(text)}\\fR"


def italic(text: str) -> str:
    return f"\\fI{literal(text)}\\fR"


class Page:
    """A page that grows line by line; `str(page)` is the file's text."""

    def __init__(self, name: str, section: int, date: str, source: str, manual: str) -> None:
        """`date`: year-month-day. `source`: the program and its version."""
        words = [f'"{literal(word)}"' for word in (name.upper(), str(section), source, manual)]
        self._lines = [" ".join([".TH", *words[:2], f'"{date}"', *words[2:]])]

    def __str__(self) -> str:
        return HEADER + "\n".join(self._lines) + "\n"

    def section(self, title: str) -> None:
        self._lines.append(f".SH {escaped(title)}")

    def subsection(self, title: str) -> None:
        self._lines.append(f'.SS "{literal(title)}"')

    def text(self, text: str) -> None:
        """Prose, broken into short lines."""
        self.marked(escaped(" ".join(text.split())))

    def marked(self, line: str) -> None:
        """A line that is roff already (`bold`, `italic`)."""
        wrapped = textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)
        self._lines += [f"\\&{part}" if part.startswith((".", "'")) else part for part in wrapped]

    def paragraph(self, text: str) -> None:
        self._part()
        self.text(text)

    def _part(self) -> None:
        """A paragraph's beginning; after a heading there is one."""
        if not self._lines[-1].startswith((".SH", ".SS")):
            self._lines.append(".PP")

    def entry(self, tag: str) -> None:
        """A tagged paragraph: `tag` is roff already; what follows is its text."""
        self._lines += [".TP", tag]

    def example(self, text: str) -> None:
        self._part()
        self._lines.append(".EX")
        lines = [literal(line) for line in text.rstrip("\n").split("\n")]
        self._lines += [f"\\&{line}" if line.startswith((".", "\\(aq")) else line for line in lines]
        self._lines.append(".EE")

    def see_also(self, pages: Iterable[str]) -> None:
        """`pages` are like `pcs(8)`."""
        self.section("SEE ALSO")
        names = [page.partition("(") for page in pages]
        self._lines.append(",\n".join(f".BR {literal(name)} ({number}" for name, _, number in names))
        self.paragraph(DOCUMENTS)
