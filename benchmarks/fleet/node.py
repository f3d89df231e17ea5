# SPDX-License-Identifier: Apache-2.0
"""One host: its actions as `actions.guarded` does them, its service, and Pacemaker after a failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Callable

from benchmarks.fleet.client import CloudRows
from benchmarks.fleet.cloud import Cloud
from benchmarks.fleet.kernel import Proc, Simulation
from benchmarks.fleet.ports import (
    SharedRecord,
    Silence,
    SimulatedClock,
    SimulatedDisk,
    SimulatedProcesses,
    SimulatedSpawner,
)
from ocf_agents.guard import marker
from ocf_agents.guard.guard import Guard
from ocf_agents.guard.ports import Errand
from ocf_agents.guard.record import DISABLED, ENABLED, OURS, Known, Process, Record
from ocf_agents.guard.verdict import Policy

RESOURCE = "nova-compute"
TIMEOUT = 240.0
"""Seconds that Pacemaker gives a start; the agent keeps a few for itself."""

MARGIN = 2.0
RPC_READY = 8.0
FIRST_REPORT = 5.0
"""Seconds from the birth of nova-compute until it answers RPC, and from there until its row is up."""


@dataclass
class Account:
    """What a host has cost, and how its starts went."""

    requests: int = 0
    failed_starts: int = 0


@dataclass
class Node:
    """One host. `stop` and `start` are what its cluster calls."""

    simulation: Simulation
    cloud: Cloud
    name: str
    service: Process | None = None
    account: Account = field(default_factory=Account)

    def __post_init__(self) -> None:
        self.policy = Policy(RESOURCE, self.name)
        self.row = self.cloud.add(self.name)
        self.service = self.simulation.new_process()._replace(start=0)
        empty = Record.empty(RESOURCE, "machine", self.name)
        known = Known(ENABLED, 7, is_final=True)
        self.shared = SharedRecord(replace(empty, row_id=self.row.id, generation=7, known=known))

    def is_right(self, action: str) -> bool:
        """Whether the row is as this action wants it: disabled by our marker, or the host may be chosen."""
        if action == "start":
            return self.row.may_be_chosen
        found = marker.parse(self.row.reason) if self.row.disabled else None
        return bool(found and found.belongs_to(RESOURCE, self.name))

    def has_stopped(self, seconds: float) -> None:
        """As a stop leaves it that ended so long ago and found the API well."""
        self.crash()
        self.row.disabled, self.row.trait = True, True
        self.row.reason = str(marker.make(RESOURCE, self.name, "2026-11-30T00:00:00Z", "0" * 16))
        self.row.seen = self.simulation.now - seconds
        known = Known(OURS, 7, is_final=True)
        self.shared.record = replace(self.shared.record, want=DISABLED, known=known)

    def crash(self) -> None:
        """The service is killed; the cloud believes in it for a while."""
        self.service = None
        self.cloud.services.stop(self.row)

    def call(self, actions: Sequence[str]) -> None:
        """Let the cluster call these actions, each when the one before has ended."""
        if actions:
            self.simulation.spawn(lambda proc: self._act(proc, actions))

    def _act(self, proc: Proc, actions: Sequence[str]) -> None:
        if actions[0] == "stop":
            self._stop(proc)
            self.call(actions[1:])
        elif self._start(proc):
            self.call(actions[1:])
        else:
            self.account.failed_starts += 1
            self.call(["stop", "start", *actions[1:]])

    def _stop(self, proc: Proc) -> None:
        guard = self._guard(proc)
        stopping = guard.stopping(is_alive=self.service is not None, seconds=TIMEOUT / 3)
        if self.service:
            proc.sleep(1.0)
            self.crash()
        guard.stopped(stopping, TIMEOUT / 3)

    def _start(self, proc: Proc) -> bool:
        end = self.simulation.now + TIMEOUT - MARGIN
        guard = self._guard(proc)
        starting = guard.starting(TIMEOUT / 3, TIMEOUT)
        proc.sleep(1.0)
        self.service = service = self.simulation.new_process()
        self.simulation.at(self.simulation.now + RPC_READY, lambda: self._answer(service))
        return guard.started(starting, service, end - self.simulation.now).is_success

    def _answer(self, service: Process) -> None:
        """The service answers RPC from now on, if it still lives."""
        if self.service == service:
            self.cloud.services.start(self.row, first_report=FIRST_REPORT)

    def _guard(self, proc: Proc) -> Guard:
        def live(helper: Proc, errand: Errand, on_word: Callable[[], None]) -> object:
            return self._guard(helper).run_errand(errand, on_word)

        return Guard(
            policy=self.policy,
            disk=SimulatedDisk(proc, self.shared),
            clock=SimulatedClock(proc),
            processes=SimulatedProcesses(proc, lambda process: process == self.service),
            spawner=SimulatedSpawner(proc, live),
            reporter=Silence(),
            connect=lambda seconds: CloudRows(proc, self.cloud, self.row, seconds, self._count),
        )

    def _count(self) -> None:
        self.account.requests += 1
