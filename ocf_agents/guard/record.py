# SPDX-License-Identifier: Apache-2.0
"""The record: what is wanted of the row, and which requests are not settled.

Values only; `store` puts them on disk. Times are CLOCK_BOOTTIME with the boot's id, because a
wall clock jumps and an unsettled request is counted in seconds that have really passed.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Callable, NamedTuple, TypeVar

VERSION = 1
DISABLED = "disabled"
ENABLED = "enabled"
DISABLE = "disable"
ENABLE = "enable"
OURS = "ours"
FOREIGN = "foreign"
UNKNOWN = "unknown"

OVERDUE_AFTER = 30.0
"""Seconds beyond its deadline for a helper to see the answer of its last request and to leave."""

_T = TypeVar("_T")


class Unusable(Exception):
    """The text is no record of this version; it proves nothing."""


class Process(NamedTuple):
    """One process, proven: a pid alone is recycled (case 69). `start` is in clock ticks since boot."""

    pid: int
    start: int
    boot_id: str


class Instant(NamedTuple):
    """A moment: seconds of CLOCK_BOOTTIME in one boot."""

    boot_id: str
    seconds: float

    def after(self, earlier: Instant) -> float | None:
        """Seconds from `earlier` to this moment; None when they are of different boots."""
        return self.seconds - earlier.seconds if self.boot_id == earlier.boot_id else None


@dataclass(frozen=True)
class Attempt:
    """One write request that may still land.

    `client` is the process that sends it; `let_go` when that client let go of it (its answer,
    its timeout, or its end proven), from which `hold` is counted. A presumed attempt stands for a
    request that a lost record, or another node, may have sent: it has neither token nor row id.
    """

    token: str
    kind: str
    row_id: str | None
    sent: Instant
    client: Process | None = None
    let_go: Instant | None = None

    @property
    def is_presumed(self) -> bool:
        return not self.token


class Known(NamedTuple):
    """The row as last read or definitely answered: a status, and in which generation.

    `is_final` says that the verdict on it was to leave it as it is.
    """

    status: str
    generation: int
    is_final: bool = False


NOTHING_KNOWN = Known(UNKNOWN, 0)


class Foreign(NamedTuple):
    """A foreign reason that was read while a disable of ours was unsettled (None is a reason too)."""

    reason: str | None
    at: str


class Helper(NamedTuple):
    """The process that works on the record, for which generation, and until when it may.

    `until` is in seconds of CLOCK_BOOTTIME, in the boot of `process`.
    """

    process: Process
    generation: int
    until: float

    def is_overdue(self, now: Instant) -> bool:
        """Whether it should have ended long ago: it is stopped, or hangs, and does not do what it should."""
        late = now.after(Instant(self.process.boot_id, self.until))
        return late is None or late > OVERDUE_AFTER


@dataclass(frozen=True)
class Record:
    """What this host knows of one resource's row. Generation 0 is an empty record."""

    version: int
    resource: str
    machine_id: str
    host: str
    row_id: str | None = None
    want: str = ENABLED
    generation: int = 0
    attempts: tuple[Attempt, ...] = ()
    known: Known = NOTHING_KNOWN
    foreign: Foreign | None = None
    reconciler: Helper | None = None
    stopped: Instant | None = None

    @classmethod
    def empty(cls, resource: str, machine_id: str, host: str) -> Record:
        """What an absent or unusable record amounts to."""
        return cls(VERSION, resource, machine_id, host)

    @property
    def is_empty(self) -> bool:
        return self.generation == 0

    @property
    def has_unsettled_disable(self) -> bool:
        """Whether a disable may still come into effect, presumed ones included."""
        return any(attempt.kind == DISABLE for attempt in self.attempts)

    @property
    def has_sent_disable(self) -> bool:
        """Whether a disable that was really sent is not settled."""
        return any(attempt.kind == DISABLE and not attempt.is_presumed for attempt in self.attempts)

    @property
    def may_be_ours(self) -> bool:
        """Whether a disable of ours is in effect as last seen, or may come into effect."""
        return self.known.status == OURS or self.has_sent_disable

    @property
    def is_quiet(self) -> bool:
        """Whether a running service owes nothing: this generation has read the row and leaves it."""
        is_read = self.known.generation == self.generation and self.known.is_final
        return self.want == ENABLED and is_read and not self.attempts

    def without(self, token: str) -> Record:
        return replace(self, attempts=tuple(a for a in self.attempts if a.token != token))


def encode(record: Record) -> str:
    """The record as JSON, indented for a person's eyes."""
    return json.dumps(_plain(record), indent=2) + "\n"


def decode(text: str) -> Record:
    """The record that `encode` wrote. Raises Unusable for anything else, never something else."""
    try:
        return _record(_Fields(json.loads(text)))
    except (ValueError, OverflowError, RecursionError) as error:
        raise Unusable(str(error)[:120]) from None


def _plain(value: object) -> object:
    """Dataclasses and named tuples as dictionaries, for JSON that explains itself."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: _plain(item) for name, item in zip(value._fields, value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


class _Fields:
    """Reads typed fields out of decoded JSON; a wrong type is Unusable."""

    def __init__(self, data: object) -> None:
        if not isinstance(data, dict):
            raise Unusable("not an object")
        self.data = data

    def get(self, key: str, kind: type[_T]) -> _T:
        value = self.data.get(key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise Unusable(f"{key} is not {kind.__name__}")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise Unusable(f"{key} is out of range")
        return value

    def seconds(self, key: str) -> float:
        value = self.data.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise Unusable(f"{key} is not a number of seconds")
        return float(value)

    def text_or_none(self, key: str) -> str | None:
        return None if self.data.get(key) is None else self.get(key, str)

    def one_of(self, key: str, *values: str) -> str:
        value = self.get(key, str)
        if value not in values:
            raise Unusable(f"{key} is {value[:40]!r}")
        return value

    def part(self, key: str, read: Callable[[_Fields], _T]) -> _T:
        return read(_Fields(self.data.get(key)))

    def part_or_none(self, key: str, read: Callable[[_Fields], _T]) -> _T | None:
        return None if self.data.get(key) is None else self.part(key, read)


def _record(data: _Fields) -> Record:
    if data.get("version", int) != VERSION:
        raise Unusable(f"version is {data.data['version']}, not {VERSION}")
    if data.get("generation", int) < 1:
        raise Unusable("generation is below 1")
    return Record(
        version=VERSION,
        resource=data.get("resource", str),
        machine_id=data.get("machine_id", str),
        host=data.get("host", str),
        row_id=data.text_or_none("row_id"),
        want=data.one_of("want", DISABLED, ENABLED),
        generation=data.get("generation", int),
        attempts=tuple(_attempt(_Fields(item)) for item in data.get("attempts", list)),
        known=data.part("known", _known),
        foreign=data.part_or_none("foreign", _foreign),
        reconciler=data.part_or_none("reconciler", _helper),
        stopped=data.part_or_none("stopped", _instant),
    )


def _attempt(data: _Fields) -> Attempt:
    return Attempt(
        token=data.get("token", str),
        kind=data.one_of("kind", DISABLE, ENABLE),
        row_id=data.text_or_none("row_id"),
        sent=data.part("sent", _instant),
        client=data.part_or_none("client", _process),
        let_go=data.part_or_none("let_go", _instant),
    )


def _known(data: _Fields) -> Known:
    status = data.one_of("status", OURS, FOREIGN, ENABLED, UNKNOWN)
    return Known(status, data.get("generation", int), data.get("is_final", bool))


def _foreign(data: _Fields) -> Foreign:
    return Foreign(data.text_or_none("reason"), data.get("at", str))


def _helper(data: _Fields) -> Helper:
    return Helper(data.part("process", _process), data.get("generation", int), data.seconds("until"))


def _process(data: _Fields) -> Process:
    return Process(data.get("pid", int), data.get("start", int), data.get("boot_id", str))


def _instant(data: _Fields) -> Instant:
    return Instant(data.get("boot_id", str), data.seconds("seconds"))
