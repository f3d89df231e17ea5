# SPDX-License-Identifier: Apache-2.0
"""An HTTP answer, read to its end or not, and what it says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ocf_agents.openstack.failure import PERMANENT, Failure, advise, seconds_to_wait

LARGEST = 8 << 20


@dataclass(frozen=True)
class Reply:
    """One answer. `body` is None when it broke off or `is_too_large`. `doing` is method and URL."""

    doing: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = b""
    is_too_large: bool = False

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> dict[str, Any]:
        """The body as an object. Raises Failure when it is none."""
        if self.is_too_large:
            raise Failure(f"{self.doing}: the answer is larger than {LARGEST >> 20} MiB", reached=True)
        if self.body is None:
            raise Failure(f"{self.doing}: the answer broke off", reached=True)
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            what = "empty" if not self.body else "no JSON object"
            raise Failure(f"{self.doing}: answered {self.status}, but the body is {what}", reached=True)
        return value

    def failure(self) -> Failure:
        """This answer, which is no success, as a failure."""
        return Failure(
            self.text(),
            permanent=self.status in PERMANENT,
            retry_after=seconds_to_wait(self.headers),
            reached=True,
        )

    def text(self) -> str:
        """What was asked and answered, with the API's own words where there are some."""
        if 300 <= self.status < 400:
            return f"{self.doing}: answered {self.status}, sent to {self.headers.get('Location', 'nowhere')}"
        words = self._words()
        return advise(self.status, f"{self.doing}: answered {self.status}" + (f" ({words})" if words else ""))

    def _words(self) -> str:
        """The message in a body of Nova's or Keystone's form; nothing of any other."""
        try:
            value = json.loads(self.body or b"")
        except (ValueError, RecursionError):
            return ""
        inner = next(iter(value.values()), None) if isinstance(value, dict) else None
        message = inner.get("message") if isinstance(inner, dict) else None
        return message if isinstance(message, str) else ""


def read_reply(response: Any, doing: str) -> Reply:  # noqa: ANN401 - a response of requests
    """Read the body of a streamed response and close it."""
    pieces: list[bytes] = []
    complete, size = True, 0
    try:
        for piece in response.iter_content(65536):
            pieces.append(piece)
            size += len(piece)
            if size > LARGEST:
                complete = False
                break
    except Exception:  # whatever broke off the body, the status line has been read
        complete = False
    finally:
        response.close()
    body = b"".join(pieces)
    promised = response.headers.get("Content-Length", "")
    if promised.isdigit() and "Content-Encoding" not in response.headers and size < int(promised):
        complete = False  # urllib3 before 2 does not mind
    found = body if complete else None
    return Reply(doing, response.status_code, response.headers, found, is_too_large=size > LARGEST)
