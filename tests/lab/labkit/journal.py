# SPDX-License-Identifier: Apache-2.0
"""What Pacemaker did with a resource on a node, from its own log: every action, with milliseconds.

The CIB keeps the last action of each kind only, so that a recovery's stop is gone once its start is there.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

STAMP = r"^(?P<stamp>\w{3} \d\d \d\d:\d\d:\d\d)\.(?P<ms>\d{3}) \S+ pacemaker-(?:execd|remoted|controld) .*"
BEGUN = re.compile(STAMP + r"executing - rsc:(?P<resource>\S+) action:(?P<action>\S+) call_id:(?P<call>\d+)")
RESULT = re.compile(
    STAMP + r"Result of (?P<action>\S+) operation for (?P<resource>\S+) on \S+: (?P<text>.*?) \|"
    r".* call=(?P<call>\d+) key=\S*_(?P<interval>\d+)(?: rc=(?P<code>\d+))?$"
)
TOLD = re.compile(r"^\S+\((?P<resource>[^)]+)\)\[\d+\]:\s+\d{4}/\d\d/\d\d_\d\d:\d\d:\d\d (?P<line>.*)$")
IN_PARENTHESES = re.compile(r"\((.*)\)$")


@dataclass(frozen=True)
class Action:
    """One action and its result. `code` is None if Pacemaker has none from the agent (timed out, cancelled).

    `begin` and `end` are epoch seconds; a recurring monitor's begin is not logged and equals its end, and its
    result is logged when it changes. `interval` is in milliseconds.
    """

    resource: str
    call: int
    name: str
    text: str
    code: int | None
    begin: float
    end: float
    interval: int = 0

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    @property
    def reason(self) -> str:
        """The exit reason that Pacemaker took from the agent, or ''."""
        found = IN_PARENTHESES.search(self.text)
        return found.group(1) if found else ""

    def __str__(self) -> str:
        words = f"{self.name} {'-' if self.code is None else self.code}"
        words += f" {self.seconds:.2f} s" if self.name in ("start", "stop") else ""
        return f"{words} ({self.reason})" if self.reason else words


class Journal:
    """Reads a node's pacemaker.log, also while the node is off.

    A remote node begins its actions in a log of its own (`executor`), and their results are in that of the
    cluster node that speaks to it.
    """

    def __init__(self, log: Path, executor: Path | None = None) -> None:
        self.log = log
        self.executor = executor or log

    def mark(self) -> int:
        """Where the log ends now."""
        return self.log.stat().st_size if self.log.exists() else 0

    def end_of(self, action: Action) -> int:
        """Where the log stood once the action's result was in it."""
        with open(self.log, "rb") as log:
            for line in iter(log.readline, b""):
                result = RESULT.match(line.decode("utf-8", "replace").rstrip())
                if result and _action(result).end == action.end and int(result["call"]) == action.call:
                    break
            return log.tell()

    def told(self, resource: str, since: int = 0) -> list[str]:
        """The lines that the agent of a resource wrote into the cluster's log: `LEVEL: text`."""
        lines = _lines(self.log, since)
        return [match["line"] for match in map(TOLD.match, lines) if match and match["resource"] == resource]

    def actions(self, resource: str, since: int = 0) -> list[Action]:
        """The finished actions of a resource that were logged after `since`, cancelled monitors left out."""
        lines = _lines(self.log, since)
        if self.executor != self.log:
            begun = [line for line in _lines(self.executor) if BEGUN.match(line)]
            ended = [line for line in lines if RESULT.match(line)]
            lines = sorted([*begun, *ended], key=_when)
        return [
            action for action in parse(lines) if action.resource == resource and action.text != "Cancelled"
        ]


def _lines(log: Path, since: int = 0) -> list[str]:
    if not log.exists():
        return []
    with open(log, "rb") as file:
        file.seek(since)
        return file.read().decode("utf-8", "replace").splitlines()


def _when(line: str) -> float:
    match = BEGUN.match(line) or RESULT.match(line)
    return _epoch(match) if match else 0.0


def parse(lines: list[str]) -> list[Action]:
    """The actions that are both begun and finished in these lines, and the results of recurring ones."""
    begun: dict[tuple[str, str], float] = {}
    found = []
    for line in lines:
        begin, result = BEGUN.match(line), RESULT.match(line)
        if begin:
            begun[begin["resource"], begin["call"]] = _epoch(begin)
        elif result:
            action = _action(result)
            found.append(replace(action, begin=begun.pop((action.resource, str(action.call)), action.end)))
    return found


def _action(result: re.Match[str]) -> Action:
    end = _epoch(result)
    code = None if result["code"] is None else int(result["code"])
    who, what = (result["resource"], int(result["call"])), (result["action"], result["text"])
    return Action(*who, *what, code, end, end, int(result["interval"]))


def _epoch(match: re.Match[str]) -> float:
    """Pacemaker writes local time without a year."""
    parsed = time.strptime(f"{time.localtime().tm_year} {match['stamp']}", "%Y %b %d %H:%M:%S")
    return time.mktime(parsed) + int(match["ms"]) / 1000
