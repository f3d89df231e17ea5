# SPDX-License-Identifier: Apache-2.0
"""The guard's port to the cloud: the requests that `openstack.rows` sends, in its order.

A fresh process asks Keystone for its version and for a token, Nova for its version, and then for
the row. A version that is not told is done without, and asked for again with the next call.
"""

from __future__ import annotations

from typing import Callable

from benchmarks.fleet.cloud import BUSY, OK, REFUSED, SILENT, Cloud, Reply, Server
from benchmarks.fleet.kernel import Proc
from ocf_agents.guard import row as port
from ocf_agents.guard.row import Answer, Row, Unreadable
from ocf_agents.testing.compute.services import ServiceRow

OUTCOMES = {OK: port.APPLIED, BUSY: port.UNKNOWN, SILENT: port.UNKNOWN, REFUSED: port.REFUSED}


class NotSent(Exception):
    """There was no way to the row; the reply says why."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.outcome)
        self.reply = reply


class CloudRows:
    """One process's session with the cloud. `tell` is called with each request."""

    def __init__(
        self, proc: Proc, cloud: Cloud, row: ServiceRow, timeout: float, tell: Callable[[], None]
    ) -> None:
        self._proc, self._cloud, self._row, self._timeout, self._tell = proc, cloud, row, timeout, tell
        self._knows_keystone = self._has_token = self._knows_nova = False

    def read(self) -> Row | None:
        found: list[Row] = []

        def work() -> float:
            found.append(self._show())
            return 0.0

        try:
            reply = self._request(work)
        except NotSent as error:
            reply = error.reply
        if reply.outcome != OK:
            raise Unreadable(reply.outcome, retry_after=reply.retry_after)
        return found[0]

    def disable(self, row_id: str, reason: str) -> Answer:
        return self._write(disabled=True, reason=reason)

    def enable(self, row_id: str) -> Answer:
        return self._write(disabled=False, reason=None)

    def busy(self) -> bool:
        return False

    def _write(self, *, disabled: bool, reason: str | None) -> Answer:
        try:
            reply = self._request(lambda: self._cloud.save(self._row, disabled=disabled, reason=reason))
        except NotSent as error:
            return Answer(port.REFUSED, error.reply.outcome, error.reply.retry_after)
        return Answer(OUTCOMES[reply.outcome], reply.outcome, reply.retry_after)

    def _show(self) -> Row:
        row, services = self._row, self._cloud.services
        is_up = services.is_up(row)
        return Row(row.id, row.disabled, row.reason, is_up, row.forced_down, str(row.seen))

    def _request(self, work: Callable[[], float]) -> Reply:
        end = self._proc.simulation.now + self._timeout
        self._log_in(end)
        if not self._knows_nova:
            self._knows_nova = self._ask(self._cloud.nova, end).outcome == OK
        return self._call(self._cloud.nova, work, end)

    def _log_in(self, end: float) -> None:
        keystone = self._cloud.keystone
        if not self._knows_keystone:
            self._knows_keystone = self._ask(keystone, end).outcome == OK
        if not self._has_token:
            reply = self._ask(keystone, end)
            self._has_token = reply.outcome == OK
            if reply.outcome != OK:
                raise NotSent(reply)

    def _ask(self, server: Server, end: float) -> Reply:
        """A request on the way to the row. If it eats up all the time, the session is given up with it."""
        reply = self._call(server, lambda: 0.0, end)
        if self._proc.simulation.now >= end:
            self._knows_keystone = self._has_token = self._knows_nova = False
            raise NotSent(reply)
        return reply

    def _call(self, server: Server, work: Callable[[], float], end: float) -> Reply:
        self._tell()
        return server.call(self._proc, work, end - self._proc.simulation.now)
