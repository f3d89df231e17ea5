# SPDX-License-Identifier: Apache-2.0
"""The service records and their life, as Nova keeps them."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Callable

COMPUTE = "nova-compute"
RPC_SECONDS = 0.03
REPORT_INTERVAL = 10.0
SERVICE_DOWN_TIME = 60.0
RPC_RESPONSE_TIMEOUT = 60.0


@dataclass
class ServiceRow:
    """One row of the services table, and the process behind it.

    `alive` says whether the process answers RPC. `seen` is the time of its last report (seconds of
    the monotonic clock; None: never). `trait` is COMPUTE_STATUS_DISABLED in Placement, `queued` the
    value that an RPC to a dead process left in its queue. `blocked_by_evacuation` refuses to
    take forced_down back, as Nova does until the service has restarted.
    """

    host: str
    binary: str = COMPUTE
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    zone: str = "nova"
    disabled: bool = False
    reason: str | None = None
    forced_down: bool = False
    alive: bool = True
    serves_from: float = 0.0
    seen: float | None = None
    updated: datetime | None = None
    trait: bool = False
    queued: bool | None = None
    blocked_by_evacuation: bool = False

    @property
    def status(self) -> str:
        return "disabled" if self.disabled else "enabled"

    @property
    def may_be_chosen(self) -> bool:
        """True when the scheduler may put an instance here: enabled, and no trait against it."""
        return not self.disabled and not self.trait


class Services:
    """All rows of one cloud region; a lock keeps each change whole.

    Times: a process that serves reports each `report_interval`; a row is up for `down_time` after its last
    report; an RPC to a dead process blocks for `rpc_timeout`. All in seconds.
    """

    def __init__(
        self,
        *,
        rpc_timeout: float = RPC_RESPONSE_TIMEOUT,
        down_time: float = SERVICE_DOWN_TIME,
        report_interval: float = REPORT_INTERVAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rpc_timeout, self.down_time, self.report_interval = rpc_timeout, down_time, report_interval
        self.clock = clock
        self.lock = threading.RLock()
        self.rows: list[ServiceRow] = []

    def add(
        self,
        host: str,
        binary: str = COMPUTE,
        *,
        disabled: bool = False,
        reason: str | None = None,
        alive: bool = True,
        up: bool = True,
        forced_down: bool = False,
    ) -> ServiceRow:
        """Register a service. `alive`: its process answers; `up`: it reported just now."""
        row = ServiceRow(host, binary, disabled=disabled, reason=reason, alive=alive, forced_down=forced_down)
        row.trait = disabled and alive
        if up:
            self._mark(row, self.clock())
        with self.lock:
            self.rows.append(row)
        return row

    def find(self, host: str, binary: str = COMPUTE) -> ServiceRow | None:
        """The first row of this service; None if there is none."""
        with self.lock:
            return next((row for row in self.rows if (row.host, row.binary) == (host, binary)), None)

    def by_id(self, row_id: str) -> ServiceRow | None:
        """The row with this id; None if there is none."""
        with self.lock:
            return next((row for row in self.rows if row.id == row_id.lower()), None)

    def remove(self, row: ServiceRow) -> None:
        """Delete a row."""
        with self.lock:
            self.rows.remove(row)

    def recreate(self, row: ServiceRow) -> ServiceRow:
        """Delete a row, and let its process register again: enabled, under a new id."""
        self.remove(row)
        return self.add(row.host, row.binary, alive=row.alive)

    def report(self, row: ServiceRow) -> None:
        """The process reports: up from now on, and `updated_at` moves."""
        with self.lock:
            self._mark(row, self.clock())

    def start(self, row: ServiceRow, *, first_report: float = 5.0) -> None:
        """The process answers RPC now and reports for the first time after `first_report` seconds.

        It takes the trait from the row, then hears what its queue had kept for it.
        """
        with self.lock:
            self._catch_up(row)
            row.alive, row.serves_from = True, self.clock() + first_report
            row.trait = row.disabled if row.queued is None else row.queued
            row.queued, row.blocked_by_evacuation = None, False

    def stop(self, row: ServiceRow) -> None:
        """The process is gone; the row looks up for `down_time` more."""
        with self.lock:
            self._catch_up(row)
            row.alive = False

    def is_up(self, row: ServiceRow) -> bool:
        """Nova's belief: reported not too long ago, and not forced down."""
        with self.lock:
            self._catch_up(row)
            return not row.forced_down and row.seen is not None and self.clock() - row.seen <= self.down_time

    def set_status(self, row: ServiceRow, disabled: bool, reason: str | None) -> float:
        """Save the new status at once; the answer is how many seconds Nova's RPC to the compute blocks."""
        with self.lock:
            believed_up = self.is_up(row)
            row.disabled, row.reason = disabled, reason
            self._touch(row)
            if not believed_up:
                return 0.0
            if row.alive:
                row.trait = disabled
                return RPC_SECONDS
            row.queued = disabled
            return self.rpc_timeout

    def set_forced_down(self, row: ServiceRow, forced: bool) -> None:
        """Set forced_down and nothing else."""
        with self.lock:
            row.forced_down = forced
            self._touch(row)

    def show(
        self, row: ServiceRow, *, uuid_ids: bool = True, with_forced_down: bool = True
    ) -> dict[str, Any]:
        """The record as the API shows it."""
        with self.lock:
            updated = None if row.updated is None else row.updated.strftime("%Y-%m-%dT%H:%M:%S.%f")
            record: dict[str, Any] = {
                "binary": row.binary,
                "host": row.host,
                "id": row.id if uuid_ids else self.rows.index(row) + 1,
                "zone": row.zone if row.binary == COMPUTE else "internal",
                "status": row.status,
                "state": "up" if self.is_up(row) else "down",
                "updated_at": updated,
                "disabled_reason": row.reason,
            }
            if with_forced_down:
                record["forced_down"] = row.forced_down
            return record

    def _catch_up(self, row: ServiceRow) -> None:
        """Make the reports that a serving process has sent since the last look."""
        now = self.clock()
        if not row.alive or now < row.serves_from:
            return
        if row.seen is None or row.seen < row.serves_from:
            self._mark(row, row.serves_from or now)
        assert row.seen is not None
        missed = int((now - row.seen) // self.report_interval)
        if missed > 0:
            self._mark(row, row.seen + missed * self.report_interval)

    def _mark(self, row: ServiceRow, when: float) -> None:
        row.seen = when
        self._touch(row)

    def _touch(self, row: ServiceRow) -> None:
        row.updated = datetime.now(timezone.utc).replace(microsecond=0)  # all that Nova's database keeps
