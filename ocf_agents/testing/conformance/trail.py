# SPDX-License-Identifier: Apache-2.0
"""The files in which an agent remembers the number of its process; and what if that is another's by now."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from .rule import NotApplicable
from .runner import Process
from .subject import Subject

RUN = Path("/run")
DEPTH = 3
PID_FILE = re.compile(r"pid|state", re.I)
LONGEST = 4096
"""Bytes; a longer file is nobody's pid file."""


class Trail:
    """Files, each with what was in it while the resource ran."""

    def __init__(self, texts: Mapping[Path, bytes], pids: Iterable[int]) -> None:
        self.texts, self.pids = dict(texts), list(pids)

    @classmethod
    def of(cls, subject: Subject, processes: Sequence[Process], written: Iterable[Path] = ()) -> Trail:
        """What leads to these processes of the running resource. Raises NotApplicable if nothing does.

        written: files that its start has written, wherever they are.
        """
        pids = [one.pid for one in processes]
        ours = {path: text for path in own(subject) if (text := read(path)) and names(text, pids)}
        places = [*elsewhere(subject), *(path for path in written if path not in subject.places.logs)]
        others = {path: text for path in places if (text := read(path)) and is_plain(text, pids)}
        if not ours and not others:
            raise NotApplicable("no file is seen that holds the number of the resource's process")
        return cls({**others, **ours}, pids)

    def lead_to(self, pid: int) -> None:
        """Put this number in the place of the resource's, in all of them."""
        for path, text in self.texts.items():
            changed = text
            for old in self.pids:
                changed = pattern(old).sub(str(pid).encode(), changed)
            write(path, changed)


def own(subject: Subject) -> Iterator[Path]:
    """The files in the check's own directories, and those of parameters that are called so."""
    yield from (Path(name) for name, _, _ in subject.places.files())
    yield from (Path(value) for name, value in values(subject) if PID_FILE.search(name))


def elsewhere(subject: Subject) -> Iterator[Path]:
    """Files that may be something else: those of other parameters, and what lies below /run."""
    yield from (Path(value) for name, value in values(subject) if not PID_FILE.search(name))
    if os.geteuid() == 0:
        yield from below(RUN, DEPTH)


def values(subject: Subject) -> Iterator[tuple[str, str]]:
    """The parameters that are absolute paths, given or by default."""
    defaults = {one.name: one.default or "" for one in subject.document.parameters}
    return ((name, value) for name, value in {**defaults, **subject.parameters}.items() if value[:1] == "/")


def below(directory: Path, depth: int) -> Iterator[Path]:
    """The files of a directory that only root may write to, and of those in it. Links are not followed."""
    with suppress(OSError):
        for entry in sorted(os.scandir(directory), key=lambda one: one.name):
            if entry.is_dir(follow_symlinks=False) and depth > 1:
                yield from below(Path(entry.path), depth - 1)
            elif entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


def read(path: Path) -> bytes:
    """A short regular file that may be written to, which is no link; what is none is empty."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        is_short = stat.S_ISREG(status.st_mode) and status.st_size <= LONGEST
        return file.read(LONGEST) if is_short else b""


def write(path: Path, text: bytes) -> None:
    """In place, or anew where the file has gone with its process."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
    with open(descriptor, "wb") as file:
        file.write(text)


def pattern(pid: int) -> re.Pattern[bytes]:
    """The number, as a word of its own."""
    return re.compile(rb"(?<![\w.-])%d(?![\w.-])" % pid)


def names(text: bytes, pids: Sequence[int]) -> bool:
    return any(pattern(pid).search(text) for pid in pids)


def is_plain(text: bytes, pids: Sequence[int]) -> bool:
    """True of a pid file as everybody writes it: the number, and nothing else on its line."""
    first = text.partition(b"\n")[0].strip()
    return first in [str(pid).encode() for pid in pids]
