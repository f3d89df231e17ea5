# SPDX-License-Identifier: Apache-2.0
"""What an agent asks of whatever runs its service, and what it is told."""

from __future__ import annotations

from ocf_agents.ocf.errors import GenericError, NotRunning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from ocf_agents.ocf.deadline import Deadline

    from .proc import ProcessId

RUNNING = "running"
STOPPED = "stopped"
ZOMBIE = "zombie"
ORPHANS = "orphans"
UNIT_FAILED = "unit failed"
GONE = "gone"

FAILED = {
    STOPPED: "the process is stopped (state T), it does no work",
    ZOMBIE: "the process has died and was not yet reaped",
    ORPHANS: "the main process has died, workers of it still run",
    UNIT_FAILED: "systemd calls the unit failed, and a process of it still runs",
}


class Status:
    """How the service is.

    state: RUNNING; STOPPED (by a signal: it exists and does nothing); ZOMBIE (it died and nobody has
    fetched its result); ORPHANS (its workers run without it); UNIT_FAILED (systemd has given it up, yet
    it runs); GONE (nothing of it runs).
    process: the one that the state is about, None when GONE. is_traced: a debugger holds it.
    """

    __slots__ = ("is_traced", "process", "state")

    def __init__(self, state: str, process: ProcessId | None, is_traced: bool = False) -> None:
        self.state = state
        self.process = process
        self.is_traced = is_traced

    def require_running(self, name: str) -> None:
        """What a monitor says of it: raises NotRunning, or GenericError for what is neither up nor down."""
        if self.state == GONE:
            raise NotRunning(f"{name} is not running")
        if self.state != RUNNING:
            raise GenericError(FAILED[self.state])

    def __repr__(self) -> str:
        return f"Status({self.state}, {self.process!r})"


if TYPE_CHECKING:

    class Supervisor(Protocol):
        """Runs one service on this host."""

        @property
        def name(self) -> str:
            """The service's name for messages."""

        def status(self, patience: float = ...) -> Status:
            """How the service is now; changes nothing.

            Where it is on its way up or down by another's hand, what it becomes within `patience` seconds.
            """

        def process(self) -> ProcessId | None:
            """The service's main process while it runs."""

        def require_installed(self) -> None:
            """Raises NotInstalled, PermissionDenied or BadArguments when what it runs is not here."""

        def start(self, deadline: Deadline, settle: float = ...) -> ProcessId:
            """Start it unless it runs; return once it has lived for `settle` seconds. Raises OcfError."""

        def stop(self, deadline: Deadline, on_note: Callable[[str], None] = ...) -> None:
            """Stop it; return only when nothing of it runs. Raises GenericError."""
