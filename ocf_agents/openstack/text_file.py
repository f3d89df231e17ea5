# SPDX-License-Identifier: Apache-2.0
"""Configuration files, which a typing error may point at a pipe, a device or a directory."""

from __future__ import annotations

import errno
import os
import stat

LARGEST = 1 << 20


def read_text(path: str) -> str:
    """The UTF-8 text of a regular file of at most 1 MiB. Raises OSError or UnicodeDecodeError."""
    return read_bytes(path).decode("utf-8")


def read_bytes(path: str, largest: int = LARGEST) -> bytes:
    """What a regular file holds. Raises OSError, also where it is none or holds more than `largest` bytes."""
    check_regular(path, os.stat(path))  # before it is opened: opening a device may already do something
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        check_regular(path, os.fstat(descriptor))
        content = file.read(largest + 1) or b""
    if len(content) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest >> 20} MiB", path)
    return content


def check_regular(path: str, status: os.stat_result) -> None:
    """Refuse everything that a read may block on, or that has no end."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", path)
