# SPDX-License-Identifier: Apache-2.0
"""Nova's service record as the guard's row.

One call is one request: several versions of openstacksdk send a timed-out write twice unless
each request says that they must not. A call ends within its timeout, whatever
the name server, the network or the API do.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable, TypeVar
from urllib.parse import quote

from ocf_agents.guard.row import APPLIED, REFUSED, UNKNOWN, Answer, Row, Unreadable
from ocf_agents.openstack.cloud import Cloud, CloudSettings, Compute
from ocf_agents.openstack.errand import Errand, Overrun
from ocf_agents.openstack.failure import Failure, Redactor, explain
from ocf_agents.openstack.parameters import LONGEST_CALL
from ocf_agents.openstack.reply import Reply, read_reply

COMPUTE = "nova-compute"
UUID_IDS = (2, 53)  # from here on the id is a uuid and in the path
STUB_ROWS = (2, 69)  # from here on a row whose cell is down is shown as UNKNOWN, not left out
LOADING = 5.0
GRACE = 0.25  # the library's own timeout gets the first word
UNAUTHORIZED = 401
ROW_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
"""A uuid, or anything as harmless in a URL."""

REQUEST_TIMEOUT = 408
T = TypeVar("T")


class ComputeRows:
    """The row of one service on one host, read and written through openstacksdk.

    `timeout` seconds, at most a minute, bound each call, with everything that it takes but the loading
    of openstacksdk, which a busy machine may take `LOADING` seconds for. Not for use by several threads.
    """

    def __init__(
        self, settings: CloudSettings, host: str, binary: str = COMPUTE, timeout: float = 10.0
    ) -> None:
        self.settings, self.host, self.binary = settings, host, binary
        self.timeout = min(timeout, float(LONGEST_CALL))
        self._cloud: Cloud | None = None
        self._redact = Redactor([settings.password or ""])
        self._left: list[Errand[Any]] = []

    def read(self) -> Row | None:
        """The row; None when Nova knows no such service. The match is exact. Raises Unreadable."""
        return self._read({"binary": self.binary, "host": self.host}, self._row)

    def read_all(self) -> Census:
        """The row among all of its kind, in one request. Raises Unreadable.

        Nova gives no pages of it: some 400 bytes for each host.
        """
        return self._read({"binary": self.binary}, self._census)

    def _read(self, query: Mapping[str, str], parse: Callable[[Reply], T]) -> T:
        try:
            reply = self._request(Order("GET", "/os-services", {"params": query}))
            if not reply.is_success:
                raise reply.failure()
            return parse(reply)
        except Failure as failure:
            text = self._redact(failure.text)
            raise Unreadable(text, permanent=failure.permanent, retry_after=failure.retry_after) from None

    def disable(self, row_id: str, reason: str) -> Answer:
        """Disable the row, with a reason of 1 to 255 characters (Nova's rule)."""
        return self._write(row_id, {"status": "disabled", "disabled_reason": reason})

    def enable(self, row_id: str) -> Answer:
        """Enable the row; Nova clears the reason."""
        return self._write(row_id, {"status": "enabled"})

    def busy(self) -> bool:
        """True while a write that was given up may still be sent by this process."""
        self._left = [errand for errand in self._left if errand.may_still_send]
        return bool(self._left)

    def _write(self, row_id: str, body: dict[str, str]) -> Answer:
        order = Order("PUT", "/os-services", {"json": body}, f"/{quote(row_id, safe='')}")
        try:
            reply = self._request(order)
            answer = judge(reply, body)
        except Failure as failure:
            outcome = UNKNOWN if failure.reached else REFUSED
            answer = Answer(outcome, failure.text, failure.retry_after, failure.permanent)
        text = f"{self._redact(answer.text)}, row {row_id}"  # last, for it is long and tells people little
        return Answer(answer.outcome, text, answer.retry_after, answer.permanent)

    def _row(self, reply: Reply) -> Row | None:
        services = services_in(reply)
        found = [one for one in services if (one.get("binary"), one.get("host")) == (self.binary, self.host)]
        if len(found) > 1:
            ids = ", ".join(str(one.get("id")) for one in found)
            raise Failure(
                f"delete the wrong one of Nova's {len(found)} rows of {self.binary} on {self.host} ({ids})"
            )
        return as_row(found[0], reply.doing) if found else None

    def _census(self, reply: Reply) -> Census:
        of_its_kind = [one for one in services_in(reply) if one.get("binary") == self.binary]
        others = {str(one.get("host")): as_row_if_known(one, reply.doing) for one in of_its_kind}
        others.pop(self.host, None)
        return Census(self._row(reply), others)

    def _request(self, order: Order) -> Reply:
        """One request, bounded. Raises Failure."""
        cloud = self._cloud = self._cloud or Cloud(self.settings, self.timeout)
        try:
            if not cloud.is_open:
                self._run(Errand(lambda errand: prepare(errand, cloud)), max(self.timeout, LOADING), order)
            deadline = time.monotonic() + self.timeout
            errand: Errand[Reply] = Errand(lambda errand: carry(errand, cloud, order, deadline))
            return self._run(errand, self.timeout, order)
        except Failure as failure:
            if failure.permanent:  # read what may be mended meanwhile
                self._cloud = None
            raise
        finally:
            self._redact = cloud.redact

    def _run(self, errand: Errand[T], seconds: float, order: Order) -> T:
        """What the errand brings within `seconds`. Raises Failure."""
        try:
            return errand.run(seconds + GRACE)
        except Overrun as overrun:
            self._cloud = None  # its thread may still hold it
            self._left += [errand] * order.is_write
            raise Failure(f"{overrun.doing}: no answer within {seconds:g} s", reached=overrun.sent) from None
        except Failure:
            raise
        except Exception as error:  # a fault of ours must not be worse than an API that is down
            raise Failure(f"{errand.doing}: {type(error).__name__}", reached=errand.is_sent) from None


@dataclass(frozen=True)
class Census:
    """The row (None: Nova has none), and those of all other hosts (None: its cell does not answer)."""

    own: Row | None
    others: Mapping[str, Row | None]


@dataclass(frozen=True)
class Order:
    """One request to Nova; `options` are openstacksdk's. `name` ends the path, and is left out in texts."""

    method: str
    path: str
    options: Mapping[str, Any]
    name: str = ""

    @property
    def is_write(self) -> bool:
        return self.method != "GET"


def prepare(errand: Errand[None], cloud: Cloud) -> None:
    """Load openstacksdk and read the cloud's configuration; no request is sent. Raises Failure."""
    errand.doing = "reading the cloud's configuration"
    try:
        cloud.open()
    except Exception as error:
        raise explain(error, errand.doing, sent=False) from None


def carry(errand: Errand[Reply], cloud: Cloud, order: Order, deadline: float) -> Reply:
    """Log in, find Nova, pass the gate, send, read. Whatever goes wrong becomes a Failure."""
    try:
        errand.doing = f"logging in at {cloud.auth_url}"
        cloud.login()
        errand.doing = "finding the compute service"
        compute = cloud.compute()
        errand.doing = f"{order.method} {compute.url}{order.path}"
        cloud.hang_up()
        errand.gate()
        reply = send(errand, compute, order, deadline)
        if reply.status == UNAUTHORIZED:
            cloud.forget_token()
            if not order.is_write:
                asking, errand.doing = errand.doing, f"logging in at {cloud.auth_url}"
                cloud.login()
                errand.doing = asking
                reply = send(errand, compute, order, deadline)
        return reply
    except Exception as error:
        raise explain(error, errand.doing, sent=errand.is_sent) from None
    finally:
        cloud.hang_up()


def send(errand: Errand[Any], compute: Compute, order: Order, deadline: float) -> Reply:
    """Exactly one request and its answer; no retry, no redirect and no new token is left to the libraries."""
    left = deadline - time.monotonic()
    if left <= 0:  # openstacksdk bears with a Nova that does not tell its version, for as long as that took
        raise Failure(f"{compute.url}: no answer in time")
    response = compute.adapter.request(
        order.path + order.name,
        order.method,
        endpoint_override=compute.url,
        microversion=microversion(compute.newest),
        connect_retries=0,
        status_code_retries=0,
        redirect=False,
        raise_exc=False,
        stream=True,
        allow_reauth=False,
        timeout=left,
        **order.options,
    )
    errand.answered_on(response.raw)
    return read_reply(response, errand.doing)


def microversion(newest: tuple[int, int] | None) -> str:
    """The first that shows rows of unreachable cells, else the first with uuids, which Nova may refuse."""
    major, minor = STUB_ROWS if newest is not None and newest >= STUB_ROWS else UUID_IDS
    return f"{major}.{minor}"


def judge(reply: Reply, wanted: Mapping[str, str]) -> Answer:
    """What an answer to a write says of it. A success must show the row as it was asked for: a proxy's
    page or half a body proves nothing. Raises Failure for such."""
    if reply.is_success:
        shown = reply.json().get("service")
        if not isinstance(shown, dict) or any(shown.get(name) != value for name, value in wanted.items()):
            raise Failure(f"{reply.doing}: answered {reply.status}, but shows another row", reached=True)
        return Answer(APPLIED, reply.text())
    failure = reply.failure()
    definite = 400 <= reply.status < 500 and reply.status != REQUEST_TIMEOUT
    # 401 for a write: the token has ended since the read before it; the next read tells.
    permanent = failure.permanent and reply.status != UNAUTHORIZED
    return Answer(REFUSED if definite else UNKNOWN, failure.text, failure.retry_after, permanent)


def services_in(reply: Reply) -> list[Mapping[str, Any]]:
    """The records of a listing. Raises Failure for what is none."""
    services = reply.json().get("services")
    if not isinstance(services, list) or not all(isinstance(one, dict) for one in services):
        raise Failure(f"{reply.doing}: answered {reply.status} without a list of services")
    return services


def as_row_if_known(service: Mapping[str, Any], doing: str) -> Row | None:
    """Nova's record as the guard's, or None where Nova does not know it now."""
    try:
        return as_row(service, doing)
    except Failure:
        return None


def as_row(service: Mapping[str, Any], doing: str) -> Row:
    """Nova's record as the guard's. Raises Failure for one that does not say all it must (case 53)."""
    status, row_id = service.get("status"), service.get("id")
    if status not in ("enabled", "disabled") or not isinstance(row_id, str) or not ROW_ID.fullmatch(row_id):
        raise Failure(f"{doing}: Nova does not know the row's state now (status {status})")
    reason = service.get("disabled_reason")
    return Row(
        id=row_id,
        disabled=status == "disabled",
        reason=reason if isinstance(reason, str) else None,
        up={"up": True, "down": False}.get(str(service.get("state"))),
        forced_down=service.get("forced_down") is True,
        beat=str(service.get("updated_at") or ""),
    )
