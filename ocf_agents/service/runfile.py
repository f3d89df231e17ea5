# SPDX-License-Identifier: Apache-2.0
"""Small files of root's in directories that others may write to: nothing planted is followed or believed."""

from __future__ import annotations

import os

LONGEST = 1 << 18
REGULAR_FILE = 0o100000
FORMAT_MASK = 0o170000
WRITABLE_BY_OTHERS = 0o022


def read(path: str) -> bytes | None:
    """The content, if it can only be root's or ours. Never waits (a FIFO), never follows a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        return os.read(descriptor, min(status.st_size, LONGEST)) if _is_trusted(status) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def replace(path: str, data: bytes, mode: int, *, is_synced: bool) -> None:
    """Write the file atomically. The directory must exist. Raises OSError.

    For one writer at a time. What it was killed at is replaced by the next one, not left beside.
    """
    temporary = _beside(path)
    _unlink(temporary)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600)
    try:
        try:
            _write_all(descriptor, data)
            os.fchmod(descriptor, mode)
            if is_synced:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, path)
    except OSError:
        _unlink(temporary)
        raise


def remove(path: str) -> None:
    """Remove the file; whatever prevents that does no harm, since it proves nothing any more."""
    _unlink(path)
    tidy(path)


def tidy(path: str) -> None:
    """Remove what a writer was killed at; for whoever may write now."""
    _unlink(_beside(path))


def is_regular(mode: int) -> bool:
    """Whether a file's mode says that it is a plain file."""
    return mode & FORMAT_MASK == REGULAR_FILE


def _beside(path: str) -> str:
    return f"{path}.ocf-agents.tmp"


def _is_trusted(status: os.stat_result) -> bool:
    """A second name (hard link) would let others choose which of root's files is read."""
    return (
        is_regular(status.st_mode)
        and status.st_uid in (0, os.geteuid())
        and not status.st_mode & WRITABLE_BY_OTHERS
        and status.st_nlink == 1
    )


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _unlink(path: str) -> None:
    try:  # noqa: SIM105 (contextlib is too heavy for a module that monitors load)
        os.unlink(path)
    except OSError:
        pass
