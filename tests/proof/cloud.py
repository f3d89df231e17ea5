# SPDX-License-Identifier: Apache-2.0
"""The row, the requests on their way to it, and the hands of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ocf_agents.guard import marker
from ocf_agents.guard.record import DISABLE, ENABLE
from ocf_agents.guard.row import APPLIED, REFUSED, UNKNOWN, Answer, Row, Unreadable

if TYPE_CHECKING:
    from tests.proof.machine import Proc, World

SLOW = 31.0
"""Seconds after which an answer is not definite any more."""

STUCK = 25.0
"""Seconds for which a process may go on to send a request that it has given up."""

OTHERS = {
    "disable": "RAM swap",
    "disable silently": None,
    "empty reason": "",
    "edit": "seen by Ann: ",
    "nova": "AUTO: Connection to libvirt lost",
    "tool": "evacuation tool",
    "neighbour": str(marker.make("another-resource", "c1", "2026-11-30T00:00:00Z", "0" * 16)),
}
FIRST_REPORT, REPORT_INTERVAL, BELIEVED_FOR = 13.0, 10.0, 60.0


class Request:
    """One write that was sent. `lands_left`: how often it may still take effect, until `deadline`."""

    def __init__(self, kind: str, row_id: str, reason: str | None, now: float, timeout: float) -> None:
        self.kind, self.row_id, self.reason, self.timeout = kind, row_id, reason, timeout
        self.client: Proc | None = None
        self.holder: Proc | None = None
        self.sent = now
        self.read_acts: int | None = 0
        self.lands_left = 1
        self.has_landed = self.is_missed = self.charged = self.is_definite = False
        self.answer: Answer | None = None
        self.deadline = float("inf")

    def state(self) -> Any:
        client = self.client.process.pid if self.client else 0
        landed = (self.has_landed, self.lands_left, self.deadline, self.charged, self.sent if client else 0)
        landed += (self.holder.process.pid if self.holder else 0,)
        return (self.kind, self.row_id, self.reason, self.read_acts, client, landed, self.answer is None)


class Cloud:
    """The API and its one row."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.row: Row | None = Row("row-1", disabled=False, forced_down=world.bounds.forced_down)
        self.is_ours = False
        self.acts = 0
        self.rows_made = 1
        self.requests: list[Request] = []

    def state(self) -> Any:
        return (self.row, self.is_ours, self.acts, tuple(r.state() for r in self.requests))

    @property
    def status(self) -> str:
        """What the row is, by who wrote it, whatever its text looks like."""
        if self.row is None:
            return "none"
        if not self.row.disabled:
            return "enabled"
        return "ours" if self.is_ours else "foreign"

    # what may happen to requests

    def add_options(self, options: list[Any]) -> bool:
        """What may happen to requests whose clients wait; whether one may take effect."""
        left = self.world.left
        is_seen = False
        for request in self.requests:
            if request.client is None or request.answer is not None:
                continue
            if not request.has_landed:
                options.append(("land", request))
                is_seen = True
                if left["refused"]:
                    options += [("refuse", request), ("forbid", request)]
            else:
                options.append(("answer", request))
            if left["lost"] or request.charged:
                options.append(("reset", request))
        return is_seen

    def misses(self, later: float) -> bool:
        """Whether a late request can take effect until then, and not afterwards."""
        return any(r.client is None and r.deadline < later for r in self.requests)

    def late(self) -> list[Request]:
        """Requests without a client that may take effect now."""
        left = self.world.left
        return [
            r
            for r in self.requests
            if r.client is None and (r.lands_left or (r.has_landed and not r.is_definite and left["repeats"]))
        ]

    def timers(self) -> list[float]:
        """Moments at which a slow answer may come."""
        if self.world.bounds.api_timeout <= SLOW:
            return []
        return [r.sent + SLOW for r in self.requests if r.client is not None and r.answer is None]

    def unanswered(self) -> int:
        return sum(r.client is not None and r.answer is None and not r.charged for r in self.requests)

    def charge(self) -> int:
        """Time passes while clients wait: their number, each counted once."""
        count = 0
        for request in self.requests:
            if request.client is not None and request.answer is None and not request.charged:
                request.charged = True
                count += 1
        return count

    def tidy(self) -> None:
        """Forgets requests that can do nothing more."""
        now = self.world.now
        repeats = self.world.left["repeats"]
        self.requests = [
            r
            for r in self.requests
            if r.client is not None
            or (now <= r.deadline and not r.is_definite and (r.lands_left or (r.has_landed and repeats)))
        ]

    def do(self, kind: str, request: Request) -> None:
        world = self.world
        if kind in ("land", "late"):
            self._land(request)
        elif kind == "answer":
            slow = world.now - request.sent > 30
            request.answer = Answer(REFUSED, "404") if request.is_missed else Answer(APPLIED)
            request.is_definite = not slow
        elif kind in ("refuse", "forbid"):
            world.spend("refused")
            is_final = kind == "forbid"
            request.answer = Answer(REFUSED, "403" if is_final else "409", permanent=is_final)
            request.lands_left = 0
            request.is_definite = world.now - request.sent <= 30
        else:
            world.spend("lost", int(not request.charged))
            request.answer = Answer(UNKNOWN, "502")
        if kind not in ("land", "late"):
            world.tell(f"the answer to the {request.kind}: {request.answer and request.answer.outcome}")

    def _land(self, request: Request) -> None:
        world = self.world
        if request.lands_left:
            request.lands_left -= 1
        else:
            world.spend("repeats")
        again = " again" if request.has_landed else ""
        request.has_landed = True
        row = self.row
        if row is None or row.id != request.row_id:
            request.is_missed = True
            world.tell(f"a {request.kind} finds no row")
            return
        world.tell(f"a {request.kind} lands{again} on a row that is {self.status}")
        world.watch.lands(request)
        self.is_ours = request.kind == DISABLE
        self.row = Row(row.id, request.kind == DISABLE, request.reason, forced_down=row.forced_down)
        world.is_idle = None
        self.tidy()

    def client_gone(self, proc: Proc) -> None:
        """Killed, or ended: from now on its request has `hold` left."""
        for request in self.requests:
            if request.client is proc:
                self.let_go(request)
            elif request.holder is proc:
                request.holder = None
                request.deadline = min(request.deadline, self.world.now + self.world.policy.hold)

    def let_go(self, request: Request) -> None:
        request.client = None
        request.deadline = self.world.now + self.world.policy.hold

    # what others do

    def can_act(self, act: str) -> bool:
        row = self.row
        if act in ("delete", "re-create disabled"):
            return row is not None
        if act == "re-create":
            return True
        if row is None:
            return False
        if act == "enable":
            return row.disabled
        if act == "edit":
            return row.disabled and not (row.reason or "").startswith("seen by Ann")
        if act == "tool":
            return self.status == "ours"
        return not (row.disabled and row.reason == OTHERS[act])

    def act(self, act: str) -> None:
        self.acts += 1
        row = self.row
        self.world.watch.others_act()
        self.is_ours = False
        self.world.is_idle = None
        self.world.tell(f"somebody else: {act}")
        if act in ("re-create", "re-create disabled"):
            self.rows_made += 1
            is_disabled = act != "re-create"
            self.row = Row(
                f"row-{self.rows_made}", is_disabled, "New compute service disabled" if is_disabled else None
            )
        elif act == "delete":
            self.row = None
        elif row is not None:
            is_disabled = act != "enable"
            reason = OTHERS.get(act)
            if act == "edit":
                reason = f"{reason}{row.reason}"
            self.row = Row(row.id, is_disabled, reason, forced_down=row.forced_down)

    # what a client sees

    def look(self) -> Row | None:
        row, world = self.row, self.world
        if row is None:
            return None
        if not world.bounds.is_real:
            beat = f"{world.now:.0f}" if world.service else "dead"
            return Row(row.id, row.disabled, row.reason, not row.forced_down, row.forced_down, beat)
        if world.service is None:
            return Row(row.id, row.disabled, row.reason, False, row.forced_down, "dead")
        age = world.now - world.service_born
        is_up = age >= FIRST_REPORT and not row.forced_down
        return Row(row.id, row.disabled, row.reason, is_up, row.forced_down, f"{age // REPORT_INTERVAL:.0f}")


class SimulatedRows:
    """The guard's port to the cloud, as one process has it."""

    def __init__(self, proc: Proc, timeout: float) -> None:
        self.proc, self.timeout = proc, timeout
        self.busy_until = 0.0

    def read(self) -> Row | None:
        proc = self.proc
        world = proc.world
        proc.served = world.service is not None
        proc.wait("read the row")
        world.watch.no_business(proc)
        if world.left["unread"]:
            number = world.chooser.inner(3)
            if number:
                world.spend("unread")
                world.tell(f"{world.name(proc)} cannot read the row")
                proc.saw(number)
                raise Unreadable("503" if number == 1 else "401", permanent=number == 2)
        row = world.cloud.look()
        proc.saw(row)
        world.watch.has_read(proc)
        return row

    def disable(self, row_id: str, reason: str) -> Answer:
        return self._write(DISABLE, row_id, reason)

    def enable(self, row_id: str) -> Answer:
        return self._write(ENABLE, row_id, None)

    def busy(self) -> bool:
        is_busy = self.proc.world.now < self.busy_until
        self.proc.saw(is_busy)
        return is_busy

    def _write(self, kind: str, row_id: str, reason: str | None) -> Answer:
        proc = self.proc
        world = proc.world
        proc.wait(f"send a {kind}")
        request = Request(kind, row_id, reason, world.now, self.timeout)
        request.client, request.read_acts = proc, proc.reading[0] if proc.reading else None
        world.watch.no_business(proc)
        world.watch.sends(proc, request)
        world.cloud.requests.append(request)
        proc.request = request
        proc.wait("wait", ready=lambda: request.answer is not None, timer=world.now + self.timeout)
        world.cloud.let_go(request)
        if request.answer is None and world.left["stuck"] and world.chooser.inner(2):
            world.spend("stuck")
            world.tell(f"{world.name(proc)} cannot take its {kind} back yet")
            self.busy_until = world.now + STUCK
            request.holder, request.deadline = proc, self.busy_until + world.policy.hold
        world.cloud.tidy()
        answer = request.answer or Answer(UNKNOWN, f"no answer within {self.timeout:g} s")
        proc.saw(answer.outcome)
        if answer.outcome == APPLIED:
            world.watch.has_applied(proc, kind)
        return answer
