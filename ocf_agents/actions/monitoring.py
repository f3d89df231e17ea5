# SPDX-License-Identifier: Apache-2.0
"""What a recurring monitor makes of a service that is there: is it alive as well?

Loaded by every monitor. Level 0 looks at /proc, level 10 asks over the message bus as well, level 20
reads the row in the cloud too. What one finds down is not looked at by the next.
"""

from __future__ import annotations

import os
import time

from ocf_agents.actions.health import DEGRADED, DOWN, UNKNOWN, UP, Health, tell_change
from ocf_agents.guard import names
from ocf_agents.service import progress
from ocf_agents.service.notes import Notes
from ocf_agents.service.proc import ProcTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from ocf_agents.actions.guarded import GuardedService
    from ocf_agents.ocf.agent import Call
    from ocf_agents.service.proc import ProcessId
    from ocf_agents.service.supervisor import Status

    class Level(Protocol):
        """A module that looks further than /proc. `AGAIN`: what is said when all is well again."""

        SUBJECT: str
        AGAIN: str

        def look(
            self, service: GuardedService, call: Call, notes: Notes, table: ProcTable, process: ProcessId, /
        ) -> Health: ...


def check(service: GuardedService, call: Call, status: Status) -> None:
    """All that this level looks at. Raises GenericError for what is down, Degraded for what is not well."""
    process = status.process
    if process is None:
        return
    name, table = service.agent, ProcTable()
    notes = Notes(_notes_path(call, name), table.boot_id())
    found = [look_at_progress(notes, table, process, call.values.lenient("hang_timeout"))]
    tell_change(call.log, notes, "progress", found[0], f"{name} makes progress again")
    if status.is_traced:
        found.append(Health(DEGRADED, f"{name} is held by a debugger (process {process.pid})"))
    elif call.environment.check_level >= 10 and found[0].status != DOWN:
        from ocf_agents.actions import bus

        found.append(_ask(bus, service, call, notes, table, process))
        if call.environment.check_level >= 20 and found[1].status != DOWN:
            from ocf_agents.actions import row

            found.append(_ask(row, service, call, notes, table, process))
    notes.save()
    for health in sorted(found, key=lambda health: health.status != DOWN):
        health.require()


def look_at_progress(notes: Notes, table: ProcTable, process: ProcessId, timeout: float) -> Health:
    """Takes one sample, and judges it with the ones before."""
    now = time.monotonic()
    samples = progress.measure(table, process)
    before = progress.parse(notes.get("progress"), table.boot_id())
    tracks = progress.follow(before, samples, now)
    notes.put("progress", [track.words() for track in tracks])
    still = progress.hung(tracks, now, timeout)
    if still:
        pids = ", ".join(str(each.pid) for each in still)
        return Health(DOWN, f"it hangs: process {pids} has done nothing for {timeout:g} s")
    return Health(UP if progress.has_moved(before, samples) else UNKNOWN)


def _ask(
    level: Level, service: GuardedService, call: Call, notes: Notes, table: ProcTable, process: ProcessId
) -> Health:
    health = level.look(service, call, notes, table, process)
    tell_change(call.log, notes, level.SUBJECT, health, f"{service.agent} {level.AGAIN}")
    return health


def _notes_path(call: Call, name: str) -> str:
    environment = call.environment
    return os.path.join(environment.run_dir, f"{name}-{names.stem(environment.instance)}.notes")
