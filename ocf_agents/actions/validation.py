# SPDX-License-Identifier: Apache-2.0
"""validate-all at OCF_CHECK_LEVEL 10: what only this host can tell. Reads, and changes nothing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from ocf_agents.actions.guarded import GuardedService
from ocf_agents.actions.wiring import Wiring, require_library
from ocf_agents.guard.store import StoreError
from ocf_agents.ocf.agent import Call
from ocf_agents.ocf.errors import BadArguments
from ocf_agents.openstack.text_file import read_bytes
from ocf_agents.service.process_start import find_account
from ocf_agents.service.systemctl import NoAnswer, Systemctl


def check_host(service: GuardedService, call: Call) -> None:
    """Raises NotInstalled, PermissionDenied or BadArguments with the first thing that would stop a start.

    What would not stop it and yet ends badly is a warning in the log.
    """
    values = call.values
    service.supervisor(call, is_lenient=False).require_installed()
    unit = service.unit(call)
    if unit is None:
        find_account(service.command(call))
    _warn_of_unit(service, call, unit)
    if values["config"]:
        _check_readable("config", values["config"])
    if values["disable_on_stop"] or values["enable_on_start"]:
        require_library(sys.executable)
        _check_cloud(call)
        service.cloud_host(call)
        _check_records(service, call)
    if find_spec("amqp") is None:
        call.log.info(f"monitors at level 10 ask nobody: install python3-amqp for {sys.executable}")


def _warn_of_unit(service: GuardedService, call: Call, unit: str | None) -> None:
    """systemd and the cluster must not start the same service in turn (cases 136, 147)."""
    units = service.units
    found = unit or (units.find(service.unit_names) if units.is_booted() else None)
    if found is None:
        return
    try:
        state = Systemctl(call.deadline, units.programs).show(found)
    except NoAnswer as silence:
        call.log.warning(f"systemd does not answer: {silence}")
        return
    if state.is_at_boot:
        call.log.warning(f"{found} starts at boot, before the cluster can tell: systemctl disable {found}")
    if state.restart not in ("", "no"):
        call.log.warning(
            f"{found} has Restart={state.restart}: when the cluster does not run it, systemd restarts it;"
            f" systemctl edit {found}: [Service] Restart=no"
        )


def _check_records(service: GuardedService, call: Call) -> None:
    """The directory of records, and who can read the secret, as a start would see them."""
    try:
        Wiring(service, call).check()
    except StoreError as error:
        raise BadArguments(f"parameter state_dir: {error.text}") from None


def _check_cloud(call: Call) -> None:
    """The cloud's configuration is read as a request would read it; nothing is sent."""
    from ocf_agents.openstack.cloud import Cloud, CloudSettings
    from ocf_agents.openstack.failure import Failure

    cloud = Cloud(CloudSettings.from_values(call.values), call.values["api_timeout"])
    try:
        cloud.open()
    except Failure as failure:
        raise BadArguments(cloud.redact(failure.text)) from None


def _check_readable(name: str, path: str) -> None:
    try:
        read_bytes(path)
    except OSError as error:
        raise BadArguments(f"parameter {name}: {path}: {error.strerror}") from None
