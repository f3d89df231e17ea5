# SPDX-License-Identifier: Apache-2.0
"""What a recurring monitor makes of a service that is there: is it alive as well?

Loaded by every monitor. Three answers: up, down, and unknown, which restarts nothing.
"""

from __future__ import annotations

import os
import time

from ocf_agents.guard import names
from ocf_agents.ocf.errors import Degraded, GenericError
from ocf_agents.service import progress
from ocf_agents.service.notes import Notes
from ocf_agents.service.proc import ProcTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ocf_agents.ocf.agent import Call
    from ocf_agents.service.proc import ProcessId
    from ocf_agents.service.supervisor import Status

UP = "up"
DOWN = "down"
UNKNOWN = "unknown"


def check(call: Call, name: str, status: Status) -> None:
    """Level 0 of a running service. Raises GenericError when it hangs, Degraded while it is traced."""
    if status.process is None:
        return
    table = ProcTable()
    notes = Notes(_notes_path(call, name), table.boot_id())
    health, text = look_at_progress(notes, table, status.process, call.values.lenient("hang_timeout"))
    _tell_change(call, notes, "progress", health, text, f"{name} makes progress again")
    notes.save()
    if health == DOWN:
        raise GenericError(text)
    if status.is_traced:
        raise Degraded(f"{name} is held by a debugger (process {status.process.pid})")


def look_at_progress(notes: Notes, table: ProcTable, process: ProcessId, timeout: float) -> tuple[str, str]:
    """Takes one sample, and judges it with the ones before: the health, and why it is down."""
    now = time.monotonic()
    samples = progress.measure(table, process)
    before = progress.parse(notes.get("progress"), table.boot_id())
    tracks = progress.follow(before, samples, now)
    notes.put("progress", [track.words() for track in tracks])
    still = progress.hung(tracks, samples, now, timeout)
    if still:
        pids = ", ".join(str(each.pid) for each in still)
        return DOWN, f"it hangs: process {pids} has done nothing for {timeout:g} s"
    return (UP if progress.has_moved(before, samples) else UNKNOWN), ""


def _tell_change(call: Call, notes: Notes, subject: str, health: str, text: str, recovered: str) -> None:
    """One line for each change of state, and none for the same again; unknown is no state."""
    if health == UNKNOWN:
        return
    known = [words[1] for words in notes.get("health") if words[:1] == [subject] and len(words) == 2]
    others = [words for words in notes.get("health") if words[:1] != [subject]]
    notes.put("health", [*others, [subject, health]])
    if health == DOWN and known != [DOWN]:
        call.log.warning(text)
    elif health == UP and known == [DOWN]:
        call.log.info(recovered)


def _notes_path(call: Call, name: str) -> str:
    environment = call.environment
    return os.path.join(environment.run_dir, f"{name}-{names.stem(environment.instance)}.notes")
