# SPDX-License-Identifier: Apache-2.0
"""The text that the guard puts in disabled_reason, and how it is recognised again.

A marker names the resource, the Nova host, the UTC time and a token that is new for each
request. It is the second proof of who disabled a row, beside the record: it survives the loss
of the record's disk (case 13). It never begins with Nova's own prefix `AUTO: ` (case 5), is pure
ASCII (Nova answers 500 to four-byte characters) and has at most 255 characters (Nova's bound).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import quote

MAX_LENGTH = 255
_MAX_NAME = 80
_SHAPE = re.compile(
    r"ocf-agents disabled: resource=(?P<resource>[!-~]+) host=(?P<host>[!-~]+)"
    r" at=(?P<at>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z) token=(?P<token>[0-9a-f]{16})"
)


@dataclass(frozen=True)
class Marker:
    """A disable of ours. `resource` and `host` are as written in the text (see `name`)."""

    resource: str
    host: str
    at: str
    token: str

    def __str__(self) -> str:
        return (
            f"ocf-agents disabled: resource={self.resource} host={self.host} at={self.at} token={self.token}"
        )

    def belongs_to(self, resource: str, host: str) -> bool:
        """Whether this is the marker of exactly this resource and this Nova host."""
        return (self.resource, self.host) == (name(resource), name(host))


def name(text: str) -> str:
    """A resource's or host's name as a marker writes it: no blank, ASCII, at most 80 characters.

    A longer name keeps its head and ends in a digest, so that two long names stay apart.
    """
    quoted = quote(text, safe=":@+,!()[]", errors="surrogateescape").replace("~", "%7E")
    if len(quoted) <= _MAX_NAME:
        return quoted
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{quoted[: _MAX_NAME - 17]}~{digest}"


def make(resource: str, host: str, at: str, token: str) -> Marker:
    """The marker for one request. `at` is UTC like 2026-11-30T11:23:23Z, `token` 16 hex digits."""
    return Marker(name(resource), name(host), at, token)


def parse(reason: str | None) -> Marker | None:
    """The marker that a reason is, exactly; None for any other text, also one that contains a marker."""
    match = _SHAPE.fullmatch(reason) if reason else None
    return Marker(**match.groupdict()) if match else None
