# SPDX-License-Identifier: Apache-2.0
"""What an API may do to a request besides answering it.

A fault is plain data: what happens before the request is applied, how often it is applied, what
happens then, and what is sent. The functions below build the usual ones.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Callable

from ocf_agents.testing.compute.exchange import Request, Response

FOREVER = 86400.0


@dataclass(frozen=True)
class Fault:
    """One way to treat a request.

    `before` seconds pass before it is applied, `applies` times, `between` seconds apart; `after`
    seconds pass before it is answered. All of it goes on when the client has gone.

    `send` is how the answer goes out: `whole`, `half` (the body stops half-way and the connection
    is closed), `drip` (one byte of the body each `pace` seconds), `drip-head` (of the whole answer),
    `reset` (a TCP RST instead), `close` (an orderly close instead). `answer` replaces the answer that
    the service would give; `rewrite` changes it; `late` applications follow the answer.
    """

    before: float = 0.0
    applies: int = 1
    between: float = 0.0
    after: float = 0.0
    send: str = "whole"
    pace: float = 1.0
    answer: Response | None = None
    rewrite: Callable[[Response], Response] | None = None
    late: int = 0

    @property
    def sends_all(self) -> bool:
        """True when the whole answer goes out, however slowly."""
        return self.send in ("whole", "drip", "drip-head")


def answer_late(seconds: float) -> Fault:
    """Applied at once, answered after `seconds`."""
    return Fault(after=seconds)


def commit_and_never_answer() -> Fault:
    """Applied at once, never answered."""
    return Fault(after=FOREVER)


def commit_late(seconds: float) -> Fault:
    """Kept for `seconds` and applied then, whether or not the client still waits."""
    return Fault(before=seconds)


def never_apply() -> Fault:
    """A silent peer: takes the request, does nothing, says nothing."""
    return Fault(applies=0, after=FOREVER)


def apply_twice(seconds: float = 0.0) -> Fault:
    """Applied and answered, and applied again `seconds` later, as by a proxy that repeats."""
    return Fault(between=seconds, late=1)


def reset(*, applied: bool = False) -> Fault:
    """The connection is reset (RST) instead of an answer."""
    return Fault(applies=int(applied), send="reset")


def close(*, applied: bool = False) -> Fault:
    """The connection is closed without an answer."""
    return Fault(applies=int(applied), send="close")


def status(code: int, *, applied: bool = False, retry_after: str | None = None, body: object = None) -> Fault:
    """A status code, with a body as Nova would send it, or as a proxy does (502: HTML)."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    if body is None and code == 502:
        body = b"<html><head><title>502 Bad Gateway</title></head>\n<body>proxy</body></html>\n"
    if body is None and code not in (204, 304):
        body = {"error": {"code": code, "message": f"Fault {code}."}}
    return Fault(applies=int(applied), answer=Response(code, body, headers))


def redirect(location: str, code: int = 301) -> Fault:
    """Sent elsewhere."""
    return Fault(applies=0, answer=Response(code, b"", {"Location": location}))


def not_json(*, applied: bool = True, code: int = 200) -> Fault:
    """An answer whose body is no JSON."""
    return Fault(applies=int(applied), answer=Response(code, b"<html>It works!</html>"))


def empty(*, applied: bool = True, code: int = 200) -> Fault:
    """An answer without a body."""
    return Fault(applies=int(applied), answer=Response(code, b""))


def wrong_json(value: object, *, applied: bool = True, code: int = 200) -> Fault:
    """JSON, and not what was asked for."""
    body = b"null" if value is None else value
    return Fault(applies=int(applied), answer=Response(code, body))


def huge(size: int = 10 << 20) -> Fault:
    """The right answer, with blanks behind it that make it `size` bytes longer."""
    return Fault(rewrite=lambda answer: replace(answer, body=answer.payload() + b" " * size))


def and_then(work: Callable[[], object]) -> Fault:
    """Applied and answered; `work` is done between the two, as when a token ends just then."""

    def rewrite(answer: Response) -> Response:
        work()
        return answer

    return Fault(rewrite=rewrite)


def half_a_body(*, applied: bool = True) -> Fault:
    """The answer breaks off in the middle."""
    return Fault(applies=int(applied), send="half")


def drip(pace: float = 1.0, *, head: bool = False) -> Fault:
    """The answer comes one byte each `pace` seconds; with `head` its status line does already."""
    return Fault(send="drip-head" if head else "drip", pace=pace)


def stub_row() -> Fault:
    """A listing as from a cell that cannot be reached (Nova from microversion 2.69 on)."""
    return Fault(rewrite=lambda answer: _with_services(answer, [_stub(one) for one in _services(answer)]))


def two_rows() -> Fault:
    """A listing with the same service twice, under two ids."""
    return Fault(
        rewrite=lambda answer: _with_services(answer, [*_services(answer), *map(_twin, _services(answer))])
    )


def listing(services: list[dict[str, Any]]) -> Fault:
    """A listing made up by the caller."""
    return Fault(answer=Response(200, {"services": services}))


def _services(answer: Response) -> list[dict[str, Any]]:
    return (
        list(answer.body["services"]) if isinstance(answer.body, dict) and "services" in answer.body else []
    )


def _with_services(answer: Response, services: list[dict[str, Any]]) -> Response:
    return Response(answer.status, {"services": services}, answer.headers)


def _stub(service: Mapping[str, Any]) -> dict[str, Any]:
    return {"binary": service["binary"], "host": service["host"], "status": "UNKNOWN"}


def _twin(service: Mapping[str, Any]) -> dict[str, Any]:
    return {**service, "id": "ffffffff" + str(service["id"])[8:]}


@dataclass
class Rule:
    """A fault for the next `times` requests that match (None: for all of them)."""

    fault: Fault
    method: str | None
    path: str
    service: str | None
    times: int | None
    skip: int = 0
    used: list[Request] = field(default_factory=list)

    def wants(self, request: Request) -> bool:
        """True when this rule speaks of such a request."""
        return (
            (self.method is None or self.method == request.method)
            and (self.service is None or self.service == request.service)
            and re.search(self.path, request.target) is not None
        )

    @property
    def is_spent(self) -> bool:
        return self.times is not None and len(self.used) >= self.times


class FaultTable:
    """The rules in force; the first that wants a request gets it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Rule] = []

    def add(
        self,
        fault: Fault,
        *,
        method: str | None = None,
        path: str = "",
        service: str | None = None,
        times: int | None = 1,
        skip: int = 0,
    ) -> Rule:
        """Treat the next `times` requests so (None: all), after `skip` that go through.

        `path` is a regular expression searched in path and query; `service` is `identity` or `compute`.
        """
        rule = Rule(fault, method, path, service, times, skip)
        with self._lock:
            self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """No faults any more; what is under way goes on."""
        with self._lock:
            self._rules.clear()

    def take(self, request: Request) -> Fault:
        """The fault for this request; a plain one when no rule wants it."""
        with self._lock:
            for rule in self._rules:
                if rule.is_spent or not rule.wants(request):
                    continue
                if rule.skip > 0:
                    rule.skip -= 1
                    continue
                rule.used.append(request)
                return rule.fault
        return Fault()
