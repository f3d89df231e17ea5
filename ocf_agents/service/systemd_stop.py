# SPDX-License-Identifier: Apache-2.0
"""Stopping a unit: loaded by a stop only.

systemd is asked first, whatever is known of the unit, since it may be about to restart it. What is
left then is ended as a process is that the agent started itself. Nothing of this needs systemd.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ocf_agents.ocf.errors import GenericError

from . import drop_in
from .process_stop import term_budget
from .supervisor import GONE, ZOMBIE
from .systemctl import Failed, NoAnswer
from .unit import unit_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ocf_agents.ocf.deadline import Deadline

    from .proc import ProcessId
    from .systemd import SystemdSupervisor

RECHECK_SECONDS = 2.0


def stop(supervisor: SystemdSupervisor, deadline: Deadline, on_note: Callable[[str], None]) -> None:
    """See SystemdSupervisor.stop."""
    main = supervisor.status(patience=0).process
    is_down = _stop_unit(supervisor, deadline, on_note)
    supervisor.processes.stop(deadline, on_note)
    _end_main(supervisor, main)
    if not is_down:
        _stop_what_comes_back(supervisor, deadline, on_note)
    _tidy(supervisor, on_note)


def _stop_unit(supervisor: SystemdSupervisor, deadline: Deadline, on_note: Callable[[str], None]) -> bool:
    """Have systemd stop it, in all the time but what SIGKILL needs; True when it says that it did.

    A systemd that does not even say how the unit is gets none of the time that the service needs.
    """
    systemctl = supervisor.systemctl()
    try:
        systemctl.show(supervisor.unit)
        systemctl.stop(supervisor.unit, term_budget(deadline.remaining()))
    except (NoAnswer, Failed) as problem:
        if _is_down(supervisor):
            return True
        on_note(f"{supervisor.unit} is not stopped by systemd: {problem}")
        return False
    return True


def _is_down(supervisor: SystemdSupervisor) -> bool:
    try:
        return supervisor.systemctl().show(supervisor.unit).is_down
    except NoAnswer:
        return False


def _end_main(supervisor: SystemdSupervisor, main: ProcessId | None) -> None:
    """A main process that does not look like the service is known by systemd alone."""
    table = supervisor.processes.table
    if main is None or not table.is_alive(main) or unit_of(main.pid) != supervisor.unit:
        return
    if not table.end(main, 0):
        raise GenericError(f"{supervisor.unit} survives SIGKILL: pid {main.pid}")


def _stop_what_comes_back(
    supervisor: SystemdSupervisor, deadline: Deadline, on_note: Callable[[str], None]
) -> None:
    """Without systemd's word a restart may be under way: looked at again (case 147)."""
    time.sleep(min(RECHECK_SECONDS, deadline.remaining() / 2))
    if supervisor.processes.status().state in (GONE, ZOMBIE):
        return
    _stop_unit(supervisor, deadline, on_note)
    supervisor.processes.stop(deadline, on_note)


def _tidy(supervisor: SystemdSupervisor, on_note: Callable[[str], None]) -> None:
    """The unit is its owner's again. The service is stopped: nothing here can make that untrue."""
    path = supervisor.units.drop_in(supervisor.unit)
    systemctl = supervisor.systemctl()
    try:
        if drop_in.remove(path):
            systemctl.reload()
        # What was just killed systemd may not have noticed yet.
        state = supervisor.settled(min(RECHECK_SECONDS, supervisor.deadline.remaining() / 2))
        if state.active == "failed":
            systemctl.forget_failure(supervisor.unit)
    except (NoAnswer, Failed) as problem:
        on_note(f"{supervisor.unit}: the cluster's drop-in may still be in effect: {problem}")
    except OSError as error:
        on_note(f"{path} stays: {error.strerror}")
