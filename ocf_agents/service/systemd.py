# SPDX-License-Identifier: Apache-2.0
"""A service that systemd runs, as a unit; the agent starts, stops and watches it.

A monitor asks nobody as long as files tell: the pid file says which process the unit's present run
has, the process itself and systemd's own note of that run say that it still is so. That is one file
more than a process of the agent's own costs. systemd is asked where they do not agree. Where it does
not answer, the process decides (case 140).

What runs beside the unit, started by hand or by this agent as a process of its own, counts as the
service too: it is found, and a stop ends it.
"""

from __future__ import annotations

import os
import time

from . import pidfile
from .pidfile import Record
from .process import ProcessSupervisor, status_of
from .supervisor import GONE, UNIT_FAILED, ZOMBIE, Status
from .unit import Units, is_of_another, unit_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ocf_agents.ocf.deadline import Deadline

    from .command import Command
    from .proc import ProcessId, Stat
    from .systemctl import Systemctl, UnitState

SETTLE_SECONDS = 1.0
BETWEEN_SECONDS = 10.0
BETWEEN_SHARE = 0.25
POLL_SECONDS = 0.2


class UnitProcesses(ProcessSupervisor):
    """The service's processes, in its unit or beside it, but in no other service's unit.

    Their command line is the unit's affair: whatever runs the binary as the user is taken.
    """

    __slots__ = ("unit",)

    def __init__(self, unit: str, command: Command, pid_path: str, *, run_dir: str, instance: str) -> None:
        super().__init__(command, pid_path, run_dir=run_dir, instance=instance)
        self.unit = unit

    def is_contradicted(self, pid: int) -> bool:
        """True also in the unit of another service."""
        return super().is_contradicted(pid) or is_of_another(pid, self.unit)

    def is_own_helper(self, info: Stat) -> bool:
        """True in our unit's control group."""
        return unit_of(info.pid) == self.unit


class SystemdSupervisor:
    """Finds, starts and stops one unit.

    unit: its full name. processes: what of it runs. deadline: the action's, which bounds each question
    to systemd. units: where systemd's files and systemctl are.
    """

    __slots__ = ("deadline", "processes", "unit", "units")

    def __init__(
        self,
        unit: str,
        processes: UnitProcesses,
        deadline: Deadline,
        *,
        units: Units | None = None,
    ) -> None:
        self.unit = unit
        self.processes = processes
        self.deadline = deadline
        self.units = Units() if units is None else units

    @property
    def name(self) -> str:
        """The unit's name."""
        return self.unit

    @property
    def environment(self) -> dict[str, str]:
        """What the service gets besides what its unit says."""
        return self.processes.command.environment

    def process(self) -> ProcessId | None:
        """The main process while there is one."""
        status = self.status()
        return None if status.state in (GONE, ZOMBIE) else status.process

    def status(self, patience: float = BETWEEN_SECONDS) -> Status:
        """How the unit and what runs beside it are. With a good pid file this costs five small reads.

        Otherwise the pid file is made good, so that the next monitor need not ask systemd. A unit that is
        on its way up or down is waited for, `patience` seconds or a quarter of the time at most.
        """
        run_id = self.units.run_id(self.unit)
        if run_id is not None:
            return self._recorded(run_id) or self._asked(patience)
        if not self.units.tells_runs():
            return self._asked(patience)
        beside = self._beside()
        return beside if beside.state == GONE else self._asked(patience)

    def require_installed(self) -> None:
        """Raises NotInstalled or BadArguments when systemd cannot start the unit."""
        if self.units.find([self.unit]) is None:
            from .systemd_start import require_loaded

            require_loaded(self)

    def start(self, deadline: Deadline, settle: float = SETTLE_SECONDS) -> ProcessId:
        """Start the unit unless the service runs, with the cluster's drop-in; return its main process.

        Raises NotInstalled (missing, masked), BadArguments (a broken unit), GenericError.
        """
        from .systemd_start import start

        return start(self, deadline, settle)

    def stop(self, deadline: Deadline, on_note: Callable[[str], None] = lambda text: None) -> None:
        """Stop the unit, end what outlives that inside the deadline, and take the drop-in away.

        Guests live on, also in the unit's control group (case 139). Raises GenericError when something
        of the service still runs.
        """
        from .systemd_stop import stop

        stop(self, deadline, on_note)

    def systemctl(self) -> Systemctl:
        """The way to systemd."""
        from .systemctl import Systemctl

        return Systemctl(self.deadline, self.units.programs)

    def settled(self, seconds: float) -> UnitState:
        """What systemd says, once the unit is neither on its way up nor down; as it is after `seconds`.

        Raises systemctl.NoAnswer.
        """
        systemctl = self.systemctl()
        end = time.monotonic() + seconds
        state = systemctl.show(self.unit)
        while state.is_between and time.monotonic() < end:
            time.sleep(min(POLL_SECONDS, max(0.0, end - time.monotonic())))
            state = systemctl.show(self.unit)
        return state

    def main(self, state: UnitState) -> Status | None:
        """The unit's main process, and note it; None when systemd knows of none."""
        table = self.processes.table
        stat = table.stat(state.main_pid) if state.main_pid else None
        process = table.identify(state.main_pid) if stat is not None else None
        if stat is None or process is None or process.start != stat.start:
            return None
        self._note(process, state.run_id)
        return status_of(process, stat.state)

    def _recorded(self, run_id: str) -> Status | None:
        """The recorded process, if it is of this run of the unit and lives."""
        record = self.processes.record()
        if record is None or record.run_id.rpartition("/")[2] != run_id:
            return None
        stat = self.processes.recorded(record)
        return None if stat is None or stat.is_dead() else status_of(record.process, stat.state)

    def _asked(self, patience: float) -> Status:
        from .systemctl import NoAnswer

        try:
            state = self.settled(min(patience, self.deadline.remaining() * BETWEEN_SHARE))
        except NoAnswer:
            return self.processes.status()
        main = None if state.is_down else self.main(state)
        if main is not None:
            return main
        beside = self._beside()
        if state.active == "failed" and beside.state != GONE:
            return Status(UNIT_FAILED, beside.process)
        return beside

    def _beside(self) -> Status:
        """What runs without the unit. Who only waits to be reaped belonged to a run that has ended."""
        status = self.processes.status()
        return Status(GONE, None) if status.state == ZOMBIE else status

    def _note(self, process: ProcessId, run_id: str) -> None:
        """A pid file that cannot be written costs the next monitor a question, and nothing else."""
        processes = self.processes
        info = processes.table.info(process.pid)
        if info is None or info.start != process.start or not info.argv or not run_id:
            return
        uid = os.geteuid() if info.uid is None else info.uid
        run = f"{processes.instance}/{processes.pid_path}/{run_id}"
        try:
            if pidfile.is_replaceable(processes.pid_path):
                pidfile.write(processes.pid_path, Record(process, uid, run, info.argv))
        except OSError:
            pass
