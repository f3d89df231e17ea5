# SPDX-License-Identifier: Apache-2.0
"""The private directory of a check. What a check left that was killed, the next one removes.

A lock in the directory is held by the check and by the keeper of its processes: who gets it knows that both
have ended. Only directories of our own user are looked at, and no link is ever followed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PREFIX = "ocf-check-"
LOCK = ".lock"


@dataclass(frozen=True)
class Workplace:
    """path: of the directory. lock: a descriptor; as long as anybody has it, the directory is in use."""

    path: Path
    lock: int


@contextmanager
def workplace() -> Iterator[Workplace]:
    """A new directory, which is gone afterwards; and those of dead checks are gone before."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            remove_if_dead(path)
    path = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Workplace(path, lock)
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def remove_if_dead(path: Path) -> None:
    """Remove a directory whose check has ended without doing so. Raises OSError if it cannot be known."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(directory).st_uid != os.geteuid():
            return
        lock = os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
        try:
            status = os.fstat(lock)
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)
    finally:
        os.close(directory)
