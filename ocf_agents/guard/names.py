# SPDX-License-Identifier: Apache-2.0
"""The names of the guard's files. Loaded by every monitor: imports nothing.

An instance's name becomes a file name that no other instance shares: letters, digits, `_`, `-`
and inner dots stay, every other byte is written %XX (`name:0` is `name%3A0`).
"""

from __future__ import annotations

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")
_MAX_LENGTH = 180


def stem(instance: str) -> str:
    """The file name's stem for an instance. A name too long for a file ends in a digest instead."""
    raw = instance.encode("utf-8", "surrogateescape")
    text = "".join(chr(c) if c in _PLAIN else f"%{c:02X}" for c in raw)
    if text.startswith("."):
        text = "%2E" + text[1:]
    return text if 0 < len(text) <= _MAX_LENGTH else _shortened(text, raw)


def record(instance: str) -> str:
    return stem(instance) + ".json"


def lock(instance: str) -> str:
    return stem(instance) + ".lock"


def flag(instance: str) -> str:
    """Exists while a monitor of a running service may have to look at the record."""
    return stem(instance) + ".open"


def history(instance: str) -> str:
    return stem(instance) + ".history.jsonl"


def _shortened(text: str, raw: bytes) -> str:
    import hashlib

    return f"{text[: _MAX_LENGTH - 65]}~{hashlib.sha256(raw).hexdigest()}"
