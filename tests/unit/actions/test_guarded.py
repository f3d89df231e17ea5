# SPDX-License-Identifier: Apache-2.0
"""What a call's parameters make of the service."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ocf_agents.agents.nova_compute import AGENT, SERVICE
from ocf_agents.ocf.agent import Call
from ocf_agents.ocf.errors import BadParameter
from ocf_agents.service.process import ProcessSupervisor


def call(action: str, **environ: str) -> Call:
    return Call(AGENT, next(known for known in AGENT.actions if known.name == action), environ)


def test_a_stop_knows_which_binary_is_a_guess() -> None:
    bad = call("stop", OCF_RESKEY_binary="not/absolute")
    command = SERVICE.command(bad, is_lenient=True)
    assert (command.binary, command.is_known) == ("/usr/bin/nova-compute", False)
    with pytest.raises(BadParameter):
        SERVICE.command(bad)
    good = call("stop", OCF_RESKEY_binary="/opt/nova-compute", OCF_RESKEY_log="bad")
    command = SERVICE.command(good, is_lenient=True)
    assert (command.binary, command.is_known) == ("/opt/nova-compute", True)


def test_the_supervisor_knows_its_instance(tmp_path: Path) -> None:
    supervisor = SERVICE.supervisor(
        call("stop", OCF_RESOURCE_INSTANCE="a/b:0", HA_RSCTMP=str(tmp_path)), is_lenient=True
    )
    assert isinstance(supervisor, ProcessSupervisor)
    assert supervisor.instance == "a%2Fb%3A0"
    assert supervisor.pid_path == os.path.join(tmp_path, "nova-compute-a%2Fb%3A0.pid")
    assert supervisor.is_own(supervisor.new_run_id())
