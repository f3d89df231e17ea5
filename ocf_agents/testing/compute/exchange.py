# SPDX-License-Identifier: Apache-2.0
"""What goes over the wire: one request, one response, and the log of all of them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable
from urllib.parse import parse_qs, urlsplit

LOOK_EACH = 0.02


@dataclass
class Request:
    """One request as the server saw it.

    `t0` and `t1` are seconds of the monotonic clock: when it was read, and when the last byte of the
    answer was handed to the kernel (None while there is none). `status` is None for as long as no
    answer was sent, for ever if none is. `body` is the decoded JSON (None: none, not JSON, or a
    token request, whose secrets are not kept). `service` names the listener: `identity` or `compute`.
    """

    service: str
    method: str
    target: str
    headers: Mapping[str, str]
    body: Any = None
    t0: float = 0.0
    t1: float | None = None
    status: int | None = None
    applied: int = 0

    @property
    def path(self) -> str:
        """The path without the query."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        """The query; of a repeated key the last value."""
        pairs = parse_qs(urlsplit(self.target).query, keep_blank_values=True)
        return {key: values[-1] for key, values in pairs.items()}

    @property
    def is_write(self) -> bool:
        """True when the request asks to change a row."""
        return self.method == "PUT"

    def __str__(self) -> str:
        took = "" if self.t1 is None else f" in {self.t1 - self.t0:.3f} s"
        return f"{self.method} {self.target} -> {self.status or 'no answer'}{took}"


@dataclass(frozen=True)
class Response:
    """One answer: a status, headers besides the usual ones, a body (a JSON value, or bytes as they are)."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def encode(self, *, server: str = "embedded") -> bytes:
        """The whole answer as bytes, with a length."""
        payload = self.payload()
        kind = "application/json" if not isinstance(self.body, bytes) else "text/html; charset=UTF-8"
        headers = {
            "Server": server,
            "Content-Type": kind,
            **self.headers,
            "Content-Length": str(len(payload)),
        }
        head = f"HTTP/1.1 {self.status} {reason_phrase(self.status)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return head.encode("latin-1") + b"\r\n" + payload

    def payload(self) -> bytes:
        """The body as bytes."""
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else json.dumps(self.body).encode()


def reason_phrase(status: int) -> str:
    """The standard phrase of a status code, or a plain word for an unknown one."""
    from http import HTTPStatus

    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Status"


class RequestLog:
    """All requests, in the order in which they came; safe to use from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._requests: list[Request] = []

    def add(self, request: Request) -> None:
        """Note a request that has been read."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()

    def answering(self, request: Request, status: int | None) -> None:
        """Note what is going to be sent; None takes it back."""
        with self._changed:
            request.status = status

    def answered(self, request: Request) -> None:
        """Note that the answer has been sent."""
        with self._changed:
            request.t1 = time.monotonic()
            self._changed.notify_all()

    def touch(self) -> None:
        """Wake those who wait: something changed that they may look at."""
        with self._changed:
            self._changed.notify_all()

    def clear(self) -> None:
        """Forget all requests."""
        with self._changed:
            self._requests.clear()

    def select(self, method: str | None = None, path: str | None = None) -> list[Request]:
        """The requests with this method and with this text in their path."""
        with self._changed:
            return [
                request
                for request in self._requests
                if (method is None or request.method == method) and (path is None or path in request.path)
            ]

    def wait_for(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait until the condition holds; False after `timeout` seconds. It may look at anything: rows
        change without a request too, so it is looked at every few milliseconds."""
        end = time.monotonic() + timeout
        while not condition():
            left = end - time.monotonic()
            if left <= 0:
                return False
            with self._changed:
                self._changed.wait(min(left, LOOK_EACH))
        return True
