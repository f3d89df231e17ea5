# SPDX-License-Identifier: Apache-2.0
"""Which of the two supervisors an action gets: what `supervisor` and `unit` mean on this host."""

from __future__ import annotations

from pathlib import Path

import pytest

from ocf_agents.actions.guarded import GuardedService
from ocf_agents.agents.nova_compute import AGENT, SERVICE
from ocf_agents.ocf.agent import Call
from ocf_agents.ocf.errors import BadParameter
from ocf_agents.service.process import ProcessSupervisor
from ocf_agents.service.systemd import SystemdSupervisor
from tests.fake_systemd import FakeSystemd

DEBIAN, RDO = "nova-compute.service", "openstack-nova-compute.service"


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSystemd:
    systemd = FakeSystemd(tmp_path)
    monkeypatch.setattr(GuardedService, "units", systemd.units)
    return systemd


def unit(*, is_lenient: bool = False, **parameters: str) -> str | None:
    """The unit that the parameters choose; None for a process."""
    environ = {f"OCF_RESKEY_{name}": value for name, value in parameters.items()}
    call = Call(AGENT, next(known for known in AGENT.actions if known.name == "stop"), environ)
    supervisor = SERVICE.supervisor(call, is_lenient=is_lenient)
    if isinstance(supervisor, SystemdSupervisor):
        return supervisor.unit
    assert isinstance(supervisor, ProcessSupervisor)
    return None


def test_auto_takes_the_unit_that_there_is(systemd: FakeSystemd) -> None:
    assert unit() is None
    systemd.add(RDO)
    assert unit() == RDO
    systemd.add(DEBIAN)
    assert unit() == DEBIAN
    assert unit(supervisor="process") is None
    systemd.hide()
    assert unit() is None
    assert unit(unit="x") is None, "systemd does not run here"
    assert unit(supervisor="systemd") == DEBIAN, "and yet it is what was asked for: the start will say so"


def test_auto_leaves_a_masked_unit_alone(systemd: FakeSystemd) -> None:
    """Case 137."""
    systemd.add(DEBIAN)
    systemd.mask(DEBIAN)
    assert unit() is None
    assert unit(supervisor="systemd") == DEBIAN
    assert unit(unit="nova-compute") == DEBIAN


def test_a_unit_that_is_named_is_wanted(systemd: FakeSystemd) -> None:
    """Case 148: under each of its names, there or not."""
    systemd.add(DEBIAN)
    for given in ("x", " x ", "x.service"):
        assert unit(unit=given) == "x.service"
    assert unit(unit="x@1") == "x@1.service"
    assert unit(unit="") == DEBIAN


def test_bad_values_fail_a_start_and_no_stop(systemd: FakeSystemd) -> None:
    """Case 148."""
    systemd.add(DEBIAN)
    with pytest.raises(BadParameter, match="parameter unit"):
        unit(unit="x@")
    assert unit(unit="x@", is_lenient=True) == DEBIAN
    assert unit(supervisor="magic", is_lenient=True) == DEBIAN


def test_a_units_arguments_are_its_own(systemd: FakeSystemd) -> None:
    systemd.add(DEBIAN)
    call = Call(AGENT, AGENT.actions[0], {"OCF_RESKEY_config": "/etc/nova/nova.conf", "OCF_RESKEY_host": "a"})
    supervisor = SERVICE.supervisor(call, is_lenient=False)
    assert isinstance(supervisor, SystemdSupervisor)
    command = supervisor.processes.command
    assert command.matches(["/usr/bin/python3", "/usr/bin/nova-compute", "--whatever"])
    assert supervisor.environment == {"OS_DEFAULT__HOST": "a"}
