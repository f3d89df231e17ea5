# SPDX-License-Identifier: Apache-2.0
"""validate-all at OCF_CHECK_LEVEL 10: what only this host can tell. Reads, and changes nothing."""

from __future__ import annotations

import sys

from ocf_agents.actions.guarded import GuardedService
from ocf_agents.actions.wiring import require_library
from ocf_agents.ocf.agent import Call
from ocf_agents.ocf.errors import BadArguments
from ocf_agents.openstack.text_file import read_bytes
from ocf_agents.service.process_start import check_binary, find_account


def check_host(service: GuardedService, call: Call) -> None:
    """Raises NotInstalled, PermissionDenied or BadArguments with the first thing that would stop a start."""
    values = call.values
    check_binary(values["binary"])
    find_account(service.command(call))
    if values["config"]:
        _check_readable("config", values["config"])
    if values["disable_on_stop"] or values["enable_on_start"]:
        require_library(sys.executable)
        _check_cloud(call)
        service.cloud_host(call)


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
