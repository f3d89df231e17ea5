# SPDX-License-Identifier: Apache-2.0
"""Texts of unknown origin as one bounded line: for exit reasons and for logs."""

from __future__ import annotations

# Pacemaker 2.1 keeps 128 bytes of an exit reason, its closing NUL included.
REASON_BYTES = 127
LOG_BYTES = 1000
MARK = b"..."


def one_line(text: str, limit: int) -> bytes:
    """`text` as UTF-8 without line breaks or control characters, at most `limit` bytes.

    The text is literal: nothing in it is a format (case 117). What cannot be encoded (case 121) and
    control characters are shown as escapes; a cut falls between words where that costs little.
    """
    printable = "".join(c if c.isprintable() or c == " " else _escape(c) for c in text[: limit * 2])
    line = b" ".join(printable.encode("utf-8", "backslashreplace").split())
    return line if len(line) <= limit and len(text) <= limit * 2 else _cut(line, limit)


def _escape(character: str) -> str:
    return " " if character.isspace() else ascii(character)[1:-1]


def _cut(line: bytes, limit: int) -> bytes:
    head = line[: limit - len(MARK)]
    space = head.rfind(b" ")
    if space >= len(head) - 20:
        head = head[:space]
    # A cut inside a character would leave half of it.
    return head.decode("utf-8", "ignore").encode("utf-8") + MARK
