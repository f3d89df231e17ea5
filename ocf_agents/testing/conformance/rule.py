# SPDX-License-Identifier: Apache-2.0
"""A rule: one statement about agents, where it comes from, and a function that tries it on one.

The function returns when the agent keeps the rule. Otherwise it raises Failed, or NotApplicable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from .runner import Ran
    from .subject import Subject

PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not applicable"
CODES = {
    0: "success",
    1: "error",
    2: "bad arguments",
    3: "unimplemented",
    4: "no permission",
    5: "not installed",
    6: "not configured",
    7: "not running",
    8: "running promoted",
    9: "failed promoted",
    190: "degraded",
    191: "degraded promoted",
}
LONGEST_LINE = 300


class Failed(Exception):
    """The agent breaks the rule; the argument is one line: what was seen, what is expected."""


class NotApplicable(Exception):
    """The rule says nothing about this agent, here; the argument says why."""


@dataclass(frozen=True)
class Rule:
    """id: `group.name`. is_strict: good practice rather than a rule; asked for with `--strict` only.

    is_harmless: meta-data is all that it runs.
    """

    id: str
    statement: str
    source: str
    function: Callable[[Subject], None]
    is_strict: bool
    is_harmless: bool

    @property
    def group(self) -> str:
        return self.id.partition(".")[0]


@dataclass(frozen=True)
class Result:
    """What came of a rule. state: PASSED, FAILED or NOT_APPLICABLE; text: one line, empty if it passed."""

    rule: Rule
    state: str
    text: str
    seconds: float


class Group:
    """The rules of one module, in the order in which they are tried."""

    def __init__(self, name: str, *, is_harmless: bool = False) -> None:
        self.name, self.is_harmless = name, is_harmless
        self.rules: list[Rule] = []

    def rule(
        self, name: str, statement: str, source: str, *, strict: bool = False
    ) -> Callable[[Callable[[Subject], None]], Callable[[Subject], None]]:
        """Make a rule of a function."""

        def add(function: Callable[[Subject], None]) -> Callable[[Subject], None]:
            self.rules.append(
                Rule(f"{self.name}.{name}", statement, source, function, strict, self.is_harmless)
            )
            return function

        return add


MEANT_FOR_MONITORS = (190, 191)


def ended(ran: Ran) -> str:
    """How an action ended, in words."""
    if ran.timed_out:
        return f"did not end within {ran.seconds:.0f} s"
    if ran.code < 0:
        return f"was ended by signal {-ran.code}"
    return f"returned {named(ran.code)}"


def named(code: int) -> str:
    return f"{code} ({CODES[code]})" if code in CODES else str(code)


def expect(ran: Ran, what: str, codes: Sequence[int] = (0,)) -> None:
    """Raise Failed unless the action ended with one of these codes."""
    if ran.timed_out or ran.code not in codes:
        words = " or ".join(named(code) for code in codes)
        if ran.code in MEANT_FOR_MONITORS:
            words += f", {ran.code} being for monitors of what runs"
        raise Failed(f"{what} {ended(ran)}; expected: {words}{said(ran)}")


def said(ran: Ran) -> str:
    """The exit reason, or the last line on stderr, for the end of a message."""
    text = ran.reason or (ran.stderr.strip().splitlines() or [""])[-1]
    return f" [{one_line(text, 120)}]" if text else ""


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """Printable, on one line, cut."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    return line if len(line) <= longest else line[: longest - 3] + "..."
