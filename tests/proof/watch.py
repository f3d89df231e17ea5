# SPDX-License-Identifier: Apache-2.0
"""The guard's invariants, and the exemptions that its design names, each as narrow as it can be put.

The watch knows what no client can: who acted when, which disable fell on what. It trusts nothing
that the guard believes, with one exception: a reason counts as read when a reconciler has put the
result of that reading on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ocf_agents.guard import marker, names, store
from ocf_agents.guard.record import DISABLE, DISABLED, ENABLE, Record, Unusable
from ocf_agents.guard.step import AS_WANTED
from tests.proof.bounds import RESOURCE

if TYPE_CHECKING:
    from ocf_agents.guard.guard import Conclusion
    from ocf_agents.guard.step import Finish
    from tests.proof.cloud import Request
    from tests.proof.machine import Proc, World

RECORD = names.record(RESOURCE)

STALE_AFTER = 2.0
"""Seconds, beyond the API's timeout, that may go by between a reading and the write that it leads to."""

STOP_AT_MOST = 7.5
"""Seconds: the head start, twice the wait for the lock, and a little."""

WINDOW = "somebody acted between our read and our write"
LATE_WINDOW = "somebody acted between our read and a late commit"
UNREAD_REASON = "a late disable had replaced a reason that was never read"
ROW_SEVEN = "a late disable fell on a reason that had been read"
ENABLED_UNSEEN = "a late disable fell on a row that was changed unseen, with a reason remembered"
LOST_MEMORY = "the record was lost together with the memory of a reason"
EXEMPTIONS = (WINDOW, LATE_WINDOW, UNREAD_REASON, ROW_SEVEN, ENABLED_UNSEEN, LOST_MEMORY)
FOUND_IN = ("acts", "lost-acts", "lost-acts", "lost-acts", "lost-acts-two", "lost-memory")
"""The world in which each is met."""


class Violation(Exception):
    """An invariant does not hold. `rule` is its number."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule


class Watch:
    """What has happened, as one who sees everything notes it. `refused` are exemptions not granted."""

    refused: ClassVar[frozenset[str]] = frozenset()
    granted: ClassVar[dict[str, int]] = {}

    def __init__(self, world: World) -> None:
        self.world = world
        self.claim = ""  # the row's disable of ours lies on a foreign one: "read", "unread", "lost"
        self.fallen_on = 0.0  # the count of acts when it fell, and a half after an unseen enable of ours
        self.undone = -1  # the count of acts when a late enable of ours fell on a foreign disable
        self.noted: tuple[int, str] = (0, "enabled")  # the last reading on disk: count of acts, status
        self.remembered: tuple[int, str] | None = None
        self.has_warned = False
        self.disturbed = False
        self.is_adopted = False
        self.has_record = True
        self.lost_memory = -1  # the count of acts of a foreign reading that a lost record had

    def state(self) -> Any:
        noted = (self.noted, self.remembered)
        return (
            self.claim,
            self.fallen_on,
            self.undone,
            noted,
            self.has_warned,
            self.disturbed,
            self.is_adopted,
            self.has_record,
            self.lost_memory,
        )

    def exempt(self, name: str, rule: str, text: str) -> None:
        if name in self.refused:
            raise Violation(rule, f"{text} ({name})")
        self.granted[name] = self.granted.get(name, 0) + 1

    # what processes do

    def no_business(self, proc: Proc) -> None:
        """Invariants 4 and 7: neither a monitor nor a stop speaks to the API."""
        if proc.kind in ("monitor", "stop"):
            raise Violation("7" if proc.kind == "monitor" else "4", f"a {proc.kind} sends a request")

    def has_read(self, proc: Proc) -> None:
        cloud = self.world.cloud
        proc.reading = (cloud.acts, cloud.status, False, self.world.now)
        proc.last = cloud.status

    def has_applied(self, proc: Proc, kind: str) -> None:
        proc.last = "ours" if kind == DISABLE else "enabled"

    def has_written(self, proc: Proc) -> None:
        """A locked section has ended: what its process had read is on disk, if it is the one at work."""
        self.has_record = True
        if proc.reading is None or proc.reading[2]:
            return
        record = self.record()
        helper = record.reconciler if record else None
        if (
            not record
            or not helper
            or helper.process != proc.process
            or helper.generation != record.generation
        ):
            return
        acts, status, _, at = proc.reading
        proc.reading = (acts, status, True, at)
        if proc.locked_at - at > self.world.policy.api_timeout + STALE_AFTER:
            proc.reading = None  # too old to write on
        self.noted = (acts, status)
        if status == "foreign":
            self.remembered = (acts, status)
            if self.claim == "unread" and self.fallen_on == acts:
                self.claim = "read"
        elif status == "enabled":
            self.remembered = None

    def sends(self, proc: Proc, request: Request) -> None:
        """Invariant 5: the attempt is on disk, whatever a power loss would keep."""
        if request.kind == ENABLE and not proc.served:
            raise Violation("3", "an enable is sent for a service that did not run when the look began")
        if self.world.policy.moves and request.kind == DISABLE and self.world.newest == "stop":
            raise Violation("stop", "a disable is sent for a row that may be another node's by now")
        for files in self.world.disk.outcomes():
            record = self._decoded(files)
            if record is None or not self._has_attempt(record, proc, request):
                raise Violation("5", f"a {request.kind} is sent and is not safely on disk")

    def _has_attempt(self, record: Record, proc: Proc, request: Request) -> bool:
        found = marker.parse(request.reason)
        if record.row_id != request.row_id:
            return True  # void: it is for a row that is no more
        return any(
            (a.kind, a.row_id, a.client) == (request.kind, request.row_id, proc.process)
            and (found is None or found.token == a.token)
            for a in record.attempts
        )

    # what happens to the row

    def lands(self, request: Request) -> None:
        """Invariants 1 and 2, at the moment of the commit."""
        cloud = self.world.cloud
        status, kind = cloud.status, request.kind
        is_window = request.read_acts is not None and request.read_acts != cloud.acts
        window = WINDOW if request.client is not None else LATE_WINDOW
        rule = "1" if kind == ENABLE else "2"
        if status == "foreign" and not self._is_released(kind):
            if not is_window:
                raise Violation(rule, f"a {kind} of ours lands on a foreign disable")
            self.exempt(window, rule, f"a {kind} of ours lands on a foreign disable")
            if kind == ENABLE:
                self.undone = cloud.acts
        if kind == ENABLE and status == "ours" and self.claim:
            self._launders(is_window, window)
        if kind == DISABLE:
            self._falls(status)
        else:
            self.claim = ""

    def _falls(self, status: str) -> None:
        """A disable of ours takes effect. If it cannot be told from an older one, no new warning is due."""
        acts = self.world.cloud.acts
        is_read = self.noted == (acts, "foreign")
        if status == "foreign":
            is_lost = self.lost_memory == acts
            self.claim = "read" if is_read else "lost" if is_lost else "unread"
        elif status == "enabled":
            self.claim = ""
        else:
            return
        self.fallen_on = acts + 0.5 * (self.undone == acts)
        self.has_warned &= not is_read and self.remembered is not None

    def _is_released(self, kind: str) -> bool:
        row = self.world.cloud.row
        return kind == ENABLE and row is not None and self.world.policy.releases(row.reason)

    def _launders(self, is_window: bool, window: str) -> None:
        text = "an enable of ours undoes a foreign disable that a late disable of ours had replaced"
        if self.claim != "read":
            self.exempt(LOST_MEMORY if self.claim == "lost" else UNREAD_REASON, "1", text)
        elif is_window:
            self.exempt(window, "1", text)
        else:
            raise Violation("1", text)

    def others_act(self) -> None:
        self.claim = ""
        self.disturbed = True

    def record_lost(self) -> None:
        self.has_record = False
        if self.claim == "read":
            self.claim = "lost"
        if self.noted[1] == "foreign":
            self.lost_memory = self.noted[0]
        self.noted, self.remembered = (-1, "unread"), None

    def crashed(self, files: dict[str, bytes], writer: Proc | None) -> None:
        """A crash leaves the old record or the new one; `writer` was at work on it."""
        record = self._decoded(files)
        if record is None and self.has_record:
            raise Violation("6", "a crash leaves no usable record")
        if writer and writer.reading and record and record.foreign and not writer.reading[2]:
            acts, status = writer.reading[:2]
            if status == "foreign" and record.reconciler and record.reconciler.process == writer.process:
                self.noted = self.remembered = (acts, status)

    def warned(self) -> None:
        self.has_warned = True

    # what actions are

    def action_begins(self, name: str) -> None:
        self.disturbed = self.is_adopted = False

    def stop_ended(self, proc: Proc) -> None:
        """Invariant 4."""
        took = self.world.now - proc.begun
        if took > STOP_AT_MOST and not proc.was_frozen:
            raise Violation("4", f"a stop took {took:.1f} s")

    def start_ended(self, proc: Proc, conclusion: Conclusion) -> None:
        """Invariant 3, its first half: what a start has seen when it says that all is well."""
        world = self.world
        took = world.now - proc.begun
        if took > world.bounds.start_timeout and not proc.was_frozen:
            raise Violation("3", f"a start took {took:.1f} s")
        if not conclusion.is_success:
            return
        self.has_warned |= conclusion.is_warning
        record = self.record()
        if proc.last == "ours" and not (record and record.foreign):
            raise Violation("3", "a start succeeds that has last read our own disable")
        if proc.last == "unread" and record and record.known.status == "ours":
            raise Violation("3", "a start succeeds unread although our disable was known")
        if proc.last == "unread" and not conclusion.is_warning:
            raise Violation("3", "a start succeeds unread without a warning")

    def begun_by_hand(self) -> None:
        record = self.record()
        self.is_adopted = bool(record and record.want == DISABLED and record.stopped)

    def helper_ended(self, proc: Proc, finish: Finish | None) -> None:
        if finish is None or finish.ending != AS_WANTED:
            self.disturbed = True

    def at_rest(self) -> None:
        """Nothing can happen any more: is anything left behind?"""
        world = self.world
        status = world.cloud.status
        is_ours = world.service is not None and (
            world.newest == "start succeeded" or (world.newest == "by hand" and self.is_adopted)
        )
        if is_ours and status == "ours":
            self._left_behind()
        if (
            world.newest == "stop"
            and not self.disturbed
            and not self._was_disturbed()
            and status == "enabled"
        ):
            raise Violation("stop", "an undisturbed stop leaves the row enabled")

    def _was_disturbed(self) -> bool:
        hard = ("kills", "power", "freezes", "forever", "acts", "no_spawns", "unread", "deaths", "by_hand")
        return any(self.world.spent.get(name) for name in hard)

    def _left_behind(self) -> None:
        record = self.record()
        text = "our disable stays after a start that succeeded, and nobody watches"
        memory = record.foreign if record else None
        if memory is None:
            raise Violation("3", text)
        if not self.has_warned:
            raise Violation("3", "our disable is left on a person's reason without a word")
        if self.claim == "read":
            self.exempt(ROW_SEVEN, "3", text)
        elif self.remembered is not None and self.remembered[0] < self.fallen_on:
            self.exempt(ENABLED_UNSEEN, "3", text)
        else:
            raise Violation("3", text + " (a reason is remembered that is no more)")

    # the record, as it is on disk

    def record(self) -> Record | None:
        inode = self.world.disk.names.get(RECORD)
        return self._decoded({RECORD: inode.data}) if inode else None

    @staticmethod
    def _decoded(files: dict[str, bytes]) -> Record | None:
        try:
            return store.decode(files[RECORD].decode())
        except (KeyError, Unusable):
            return None
