# SPDX-License-Identifier: Apache-2.0
"""The agent's own pid file: not a number to be trusted, but a proof to be checked.

    1234
    start=987654
    boot=0f6c...
    uid=162
    run=5c0e...
    arg=/usr/bin/python3
    arg=/usr/bin/nova-compute

The first line is the bare pid, for people and other tools. The rest says which process had it: a
pid alone may be another process's by now (cases 69 to 73). It is written by root and believed
only if root (or the user who reads it) owns it and nobody else can write it.
"""

from __future__ import annotations

import os

from . import runfile
from .proc import ProcessId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LOWEST_PID = 2
MOST_DIGITS = 18


class Record:
    """What a pid file says: the process, its user, its command line, and the id of its run.

    The run id is in the environment of the process and of all that it starts.
    """

    __slots__ = ("argv", "process", "run_id", "uid")

    def __init__(self, process: ProcessId, uid: int, run_id: str, argv: Sequence[str]) -> None:
        self.process = process
        self.uid = uid
        self.run_id = run_id
        self.argv = tuple(argv)


def read(path: str) -> Record | None:
    """The record, or None for anything else: missing, empty, foreign, torn, planted, or another's."""
    data = runfile.read(path)
    return None if data is None else _parse(data)


def write(path: str, record: Record) -> None:
    """Write the file atomically, mode 0644. The directory must exist. Raises OSError.

    For one writer at a time. What it was killed at is replaced by the next one, not left beside.
    """
    runfile.replace(path, _format(record), 0o644, is_synced=True)


def is_replaceable(path: str) -> bool:
    """True when nothing of value is there: no file, or something like a pid file.

    A mistyped parameter must not cost somebody else's file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        head = (
            os.read(descriptor, runfile.LONGEST) if runfile.is_regular(os.fstat(descriptor).st_mode) else b"x"
        )
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return _parse(head) is not None or not head.strip(b"-0123456789 \t\r\n\0")


def _format(record: Record) -> bytes:
    process = record.process
    lines = [
        str(process.pid),
        f"start={process.start}",
        f"boot={process.boot_id}",
        f"uid={record.uid}",
        f"run={_escape(record.run_id)}",
        *(f"arg={_escape(word)}" for word in record.argv),
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def _parse(data: bytes) -> Record | None:
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    facts: dict[str, str] = {}
    argv = []
    for line in lines[1:]:
        key, _, value = line.partition("=")
        if key == "arg":
            argv.append(_unescape(value))
        else:
            facts[key] = value
    pid, start, uid = _number(lines[0]), _number(facts.get("start")), _number(facts.get("uid"))
    boot = facts.get("boot")
    if pid is None or pid < LOWEST_PID or start is None or uid is None or not boot or not argv:
        return None
    return Record(ProcessId(pid, start, boot), uid, _unescape(facts.get("run", "")), argv)


def _number(text: str | None) -> int | None:
    if text is None or len(text) > MOST_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    return int(text)


def _escape(word: str) -> str:
    return word.replace("\\", "\\\\").replace("\n", "\\n")


def _unescape(text: str) -> str:
    return "\\".join(part.replace("\\n", "\n") for part in text.split("\\\\"))
