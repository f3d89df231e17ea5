# SPDX-License-Identifier: Apache-2.0
"""validate-all at OCF_CHECK_LEVEL 10: what only this host can tell. Reads, and changes nothing."""

from __future__ import annotations

import os
import stat
import sys

from ocf_agents.agents.guarded import GuardedService
from ocf_agents.agents.wiring import require_library
from ocf_agents.ocf.agent import Call
from ocf_agents.ocf.errors import BadArguments
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
        require_library(sys.executable)
        _check_cloud(call)
        service.check_cloud_host(call)


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
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise BadArguments(f"parameter {name}: {path}: {error.strerror}") from None
    is_usable = stat.S_ISREG(os.fstat(file).st_mode)
    os.close(file)
    if not is_usable:
        raise BadArguments(f"parameter {name}: {path} is not a file")
