# SPDX-License-Identifier: Apache-2.0
"""Starting a unit: loaded by a start only."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from ocf_agents.ocf.errors import BadArguments, GenericError, NotInstalled

from . import drop_in
from .process_start import make_directory
from .supervisor import GONE, RUNNING, STOPPED, ZOMBIE
from .systemctl import Failed, NoAnswer

if TYPE_CHECKING:
    from ocf_agents.ocf.deadline import Deadline

    from .proc import ProcessId
    from .supervisor import Status
    from .systemctl import UnitState
    from .systemd import SystemdSupervisor

SETTLE_SHARE = 0.5


def start(supervisor: SystemdSupervisor, deadline: Deadline, settle: float) -> ProcessId:
    """See SystemdSupervisor.start."""
    _make_run_directory(supervisor)
    state = _state(supervisor, deadline.remaining())
    if state is None:
        return _running_without_systemd(supervisor)
    if not state.is_up:
        _require_good(supervisor.unit, state)
    _place(supervisor, state)
    running = _running(supervisor)
    if running is not None:
        return running
    _launch(supervisor, deadline)
    return _settle(supervisor, deadline, settle)


def require_loaded(supervisor: SystemdSupervisor) -> None:
    """Raises NotInstalled or BadArguments when systemd has no such unit to start."""
    state = _state(supervisor, 0)
    if state is not None and not state.is_up:
        _require_good(supervisor.unit, state)


def _require_good(unit: str, state: UnitState) -> None:
    """A unit that is masked, missing or broken here may be good on another node (case 137)."""
    if state.load == "masked":
        raise NotInstalled(f"{unit} is masked: systemctl unmask {unit}, and keep it disabled")
    if state.load == "not-found":
        raise NotInstalled(f"{unit} does not exist on this node: install it or set the parameter unit")
    if state.load != "loaded":
        raise BadArguments(f"{unit} cannot be loaded ({state.load}): systemctl status {unit} says why")


def _state(supervisor: SystemdSupervisor, seconds: float) -> UnitState | None:
    try:
        return supervisor.settled(seconds)
    except NoAnswer:
        return None


def _running_without_systemd(supervisor: SystemdSupervisor) -> ProcessId:
    """Without systemd nothing can be started, but what runs is running (case 140)."""
    status = supervisor.processes.status()
    if status.state == RUNNING and status.process is not None:
        return status.process
    raise GenericError(f"systemd does not answer: {supervisor.unit} cannot be started")


def _running(supervisor: SystemdSupervisor) -> ProcessId | None:
    """The main process that runs already; None when there is none."""
    status = supervisor.status()
    if status.state in (GONE, ZOMBIE) or status.process is None:
        return None
    if status.state == RUNNING:
        return status.process
    raise GenericError(f"{_shown(supervisor, status)}: stop it first")


def _shown(supervisor: SystemdSupervisor, status: Status) -> str:
    pid = status.process.pid if status.process else 0
    if status.state == STOPPED:
        return f"{supervisor.unit} (pid {pid}) is stopped by a signal"
    return f"processes of an earlier {supervisor.unit} still run (pid {pid})"


def _place(supervisor: SystemdSupervisor, state: UnitState) -> None:
    """The drop-in; systemd reads all its files again only when something has changed (case 145)."""
    path = supervisor.units.drop_in(supervisor.unit)
    try:
        is_new = drop_in.place(path, drop_in.content(supervisor.environment))
    except OSError as error:
        raise GenericError(f"cannot write {path}: {error.strerror}") from None
    if is_new or state.is_changed_on_disk:
        try:
            supervisor.systemctl().reload()
        except (NoAnswer, Failed) as problem:
            raise GenericError(f"systemd does not read {path}: {problem}") from None


def _launch(supervisor: SystemdSupervisor, deadline: Deadline) -> None:
    """Ask for the start. An answer that got lost is no failure yet: the state will tell."""
    try:
        supervisor.systemctl().start(supervisor.unit)
    except Failed as failure:
        state = _state(supervisor, 0)
        why = f" ({state.result})" if state and state.active == "failed" else ""
        raise GenericError(f"{supervisor.unit} did not start{why}: {failure}") from None
    except NoAnswer as silence:
        if deadline.expired():
            raise GenericError(f"{supervisor.unit} did not start in time: {silence}") from None


def _settle(supervisor: SystemdSupervisor, deadline: Deadline, settle: float) -> ProcessId:
    """The main process, once the unit is up and it has lived long enough (case 141)."""
    table = supervisor.processes.table
    first = _up(supervisor, deadline).process
    age = table.age(first) if first else 0.0
    time.sleep(min(max(0.0, settle - age), deadline.remaining() * SETTLE_SHARE))
    last = _up(supervisor, deadline)
    if first is None or last.process != first or last.state == ZOMBIE:
        raise GenericError(f"{supervisor.unit}: its main process died right after its start")
    return first


def _up(supervisor: SystemdSupervisor, deadline: Deadline) -> Status:
    state = _state(supervisor, deadline.remaining() * SETTLE_SHARE)
    if state is None:
        return supervisor.processes.status()
    if not state.is_up:
        raise GenericError(f"{supervisor.unit} is {state.active} after its start ({state.result})")
    return supervisor.main(state) or supervisor.processes.status()


def _make_run_directory(supervisor: SystemdSupervisor) -> None:
    """Where the pid file goes, if it is the cluster's own directory; without it monitors are dearer."""
    folder = os.path.dirname(supervisor.processes.pid_path)
    if folder != supervisor.processes.run_dir.rstrip("/"):
        return
    try:
        made = make_directory(folder, 0o755, None)
    except OSError:
        return
    if made is not None:
        os.close(made)
