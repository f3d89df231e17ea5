# SPDX-License-Identifier: Apache-2.0
"""The spellings in which a secret is as good as plain text. Pure."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

SHORTEST = 6
"""Characters; what is shorter is in other text by chance."""


def spellings(secret: str) -> dict[str, str]:
    """Each spelling of a secret, with what it is called. Those that are too short to be told are left out."""
    data = secret.encode("utf-8", "surrogateescape")
    found = {secret: "as it is"}
    for text in (quote(data, safe=""), quote(data), quote_plus(data)):
        found.setdefault(text, "with its characters quoted as in a URL")
    found.setdefault(json.dumps(secret)[1:-1], "as in JSON")
    for text in (data.hex(), data.hex().upper()):
        found.setdefault(text, "in hexadecimal digits")
    for offset in range(3):
        for text in middles(data, offset):
            found.setdefault(text, "in base64")
    return {text: name for text, name in found.items() if len(text) >= SHORTEST}


def middles(data: bytes, offset: int) -> tuple[str, str]:
    """What base64 makes of these bytes after `offset` others, whatever comes before and after them."""
    first, last = -(-offset * 8 // 6), (offset + len(data)) * 8 // 6
    standard = base64.b64encode(b"\0" * offset + data).decode()[first:last]
    return standard, standard.translate(str.maketrans("+/", "-_"))
