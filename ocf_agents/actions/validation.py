# SPDX-License-Identifier: Apache-2.0
"""validate-all at OCF_CHECK_LEVEL 10: what only this host and the cloud can tell. Changes nothing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from ocf_agents.actions import advice
from ocf_agents.actions.guarded import GuardedService
from ocf_agents.actions.wiring import Wiring, require_library
from ocf_agents.guard.row import Unreadable
from ocf_agents.guard.store import StoreError
from ocf_agents.ocf.agent import Call
from ocf_agents.ocf.errors import BadArguments
from ocf_agents.ocf.patience import Impatient, wait_for
from ocf_agents.openstack import near
from ocf_agents.openstack.cloud import Cloud, CloudSettings
from ocf_agents.openstack.failure import Failure
from ocf_agents.openstack.rows import Census, ComputeRows
from ocf_agents.openstack.text_file import read_bytes
from ocf_agents.service.process_start import find_account
from ocf_agents.service.systemctl import NoAnswer, Systemctl, UnitState

SPARE = 2.0
"""Seconds of the action's time for all but the question to the cloud."""


def check_host(service: GuardedService, call: Call) -> None:
    """Raises NotInstalled, PermissionDenied or BadArguments with the first thing that would stop a start.

    What would not stop it and yet ends badly is a warning in the log.
    """
    values = call.values
    service.supervisor(call, is_lenient=False).require_installed()
    unit = service.unit(call)
    if unit is None:
        find_account(service.command(call))
    if values["config"]:
        _check_readable("config", values["config"])
    _advise(service, call, unit)
    if values["disable_on_stop"] or values["enable_on_start"]:
        require_library(sys.executable)
        _check_cloud(call)
        host = service.cloud_host(call)
        _check_records(service, call)
        _try_cloud(service, call, host)
    if find_spec("amqp") is None:
        call.log.info(f"monitors at level 10 ask nobody: install python3-amqp for {sys.executable}")


def _advise(service: GuardedService, call: Call, unit: str | None) -> None:
    """Warns of what the unit and Nova's configuration say."""
    units = service.units
    found = unit or (units.find(service.unit_names) if units.is_booted() else None)
    state = _state_of(service, call, found) if found else None
    stop = next(action.timeout for action in service.actions() if action.name == "stop")
    kills_after = state.stop_seconds if unit and state else None
    lines = advice.of_unit(found, state) if found and state else []
    lines += advice.of_configuration(
        service.arguments(call.values), service.home(call), stop, unit or "", kills_after
    )
    for line in lines:
        call.log.warning(line)


def _state_of(service: GuardedService, call: Call, unit: str) -> UnitState | None:
    try:
        return Systemctl(call.deadline, service.units.programs).show(unit)
    except NoAnswer as silence:
        call.log.warning(f"systemd does not answer: {silence}")
        return None


def _check_records(service: GuardedService, call: Call) -> None:
    """The directory of records, and who can read the secret, as a start would see them."""
    try:
        Wiring(service, call).check()
    except StoreError as error:
        raise BadArguments(f"parameter state_dir: {error.text}") from None


def _check_cloud(call: Call) -> None:
    """The cloud's configuration is read as a request would read it; nothing is sent."""
    settings = CloudSettings.from_values(call.values)
    strays = settings.file.strays() if settings.file else []
    for line in strays:
        call.log.warning(line)
    cloud = Cloud(settings, call.values["api_timeout"])
    try:
        cloud.open()
    except Failure as failure:
        # the slips first, for they may be the cause and a reason is cut
        raise BadArguments("; ".join([*strays, cloud.redact(failure.text)])) from None


def _try_cloud(service: GuardedService, call: Call, host: str) -> None:
    """Logs in and looks for the row. What only time can heal is no fault of the parameters: a warning."""
    settings, seconds = CloudSettings.from_values(call.values), call.deadline.remaining() - SPARE
    rows = ComputeRows(settings, host, service.row, min(call.values["api_timeout"], max(1.0, seconds)))
    try:
        census = wait_for(rows.read_all, seconds)
    except Unreadable as error:
        if error.permanent:
            raise BadArguments(error.text) from None
        call.log.warning(f"the cloud cannot be asked now, so the credentials were not tried: {error.text}")
        return
    except Impatient:
        call.log.warning("the cloud did not answer in time, so the credentials were not tried")
        return
    if census.own is None:
        call.log.warning(missing(host, census))
    elif census.own.forced_down:
        call.log.warning(f"host {host} is forced down in Nova: it gets no instances until that is taken back")


def missing(host: str, census: Census) -> str:
    """What a name without a row may mean: a first start has none yet; the match is exact."""
    alike = near.misses(host, census.others)
    if alike:
        return f"Nova has no row for host {host}, but for {', '.join(alike[:3])}: set the parameter host"
    return f"Nova has no row for host {host}: right before its first start, else set the parameter host"


def _check_readable(name: str, path: str) -> None:
    try:
        read_bytes(path)
    except OSError as error:
        raise BadArguments(f"parameter {name}: {path}: {error.strerror}") from None
