# SPDX-License-Identifier: Apache-2.0
"""The guard's history of a resource, both files of it."""

from __future__ import annotations

import json
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from ocf_agents.guard import names
from ocf_agents.guard.history import MAX_SIZE
from ocf_agents.guard.verdict import somebody_elses
from ocf_agents.operator.texts import clean
from ocf_agents.operator.trouble import NotFound, Unusable

KEYS = ("time", "action", "generation", "read", "decided", "why")
READINGS = ("none", "ours", "foreign", "enabled")
"""What a line has read; others are of a request, an answer, or the API's silence."""

LARGEST = 4 * MAX_SIZE
"""Bytes of one file that are read, from its end: the guard keeps them far smaller."""


def lines(directory: str, instance: str, most: int | None = None) -> list[dict[str, Any]]:
    """The last `most` decisions, the oldest first. Raises NotFound, Unusable."""
    path = os.path.join(directory, names.history(instance))
    texts = [*_texts(path + ".1"), *_texts(path)]
    if not texts and not os.path.exists(path):
        raise NotFound(f"there is no history of {clean(instance)}: {path} does not exist")
    found = (line for line in map(_decoded, texts) if line is not None)
    return list(deque(found, most))


def read_since(history: Iterable[dict[str, Any]], reason: str | None) -> str:
    """Since when the row is read as somebody else's for this reason (UTC); empty where nothing tells."""
    same, at = ("foreign", somebody_elses(reason)), ""
    for line in history:
        if line["read"] in READINGS:
            at = (at or line["time"]) if (line["read"], line["why"]) == same else ""
    return at


def _decoded(text: str) -> dict[str, Any] | None:
    """A line that is whole and is one of ours, made fit to be shown."""
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict) or not all(isinstance(line.get(key), (str, int)) for key in KEYS):
        return None
    return line if isinstance(line["time"], str) else None


def _texts(path: str) -> Iterator[str]:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror}") from None
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise Unusable(f"{path} is no regular file")
        data = os.pread(file, LARGEST, max(0, status.st_size - LARGEST))
    finally:
        os.close(file)
    yield from data.decode("utf-8", "replace").splitlines()
