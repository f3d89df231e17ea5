# SPDX-License-Identifier: Apache-2.0
"""validate-all at OCF_CHECK_LEVEL 10: what only this host can tell. Reads, and changes nothing."""

from __future__ import annotations

from ocf_agents.agents.guarded import GuardedService
from ocf_agents.ocf.agent import Call
from ocf_agents.ocf.errors import BadArguments, NotInstalled
from ocf_agents.service.process_start import check_binary, find_account


def check_host(service: GuardedService, call: Call) -> None:
    """Raises NotInstalled, PermissionDenied or BadArguments with the first thing that would stop a start."""
    values = call.values
    check_binary(values["binary"])
    find_account(service.command(call))
    for name in ("config", "cacert"):
        if values[name]:
            _check_readable(name, values[name])
    if values["cloud"]:
        _check_readable("clouds_file", values["clouds_file"])
    if values["disable_on_stop"] or values["enable_on_start"]:
        _check_library()
        service.check_cloud_host(call)


def _check_readable(name: str, path: str) -> None:
    try:
        with open(path, "rb"):
            return
    except OSError as error:
        raise BadArguments(f"parameter {name}: {path}: {error.strerror}") from None


def _check_library() -> None:
    from importlib.util import find_spec

    for module in ("openstack", "filelock"):
        if find_spec(module) is None:
            raise NotInstalled(
                f"the Python module {module} is missing: install it for the agent's interpreter"
            )
