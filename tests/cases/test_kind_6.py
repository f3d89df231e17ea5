# SPDX-License-Identifier: Apache-2.0
"""Cases of kind 6: the service as a unit. Here systemd is a script; the lab has a real one."""

from __future__ import annotations

import configparser
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node, is_running, kill, wait_for
from tests.fake_systemd import FakeSystemd

from .place import (
    AGENT,
    WITHOUT_CLOUD,
    bring_up,
    is_quiet,
    is_success,
    log_of,
    of_node,
    our_marker,
    rewrite_daemon,
    writes,
)

UNIT = "nova-compute.service"
BY_SYSTEMD = {"supervisor": "systemd"}
ALONE = {**WITHOUT_CLOUD, **BY_SYSTEMD}
LOST = "Failed to connect to bus: Connection reset by peer"
SYSTEMD = """\
import sys
sys.path.insert(0, {package!r})
from ocf_agents.actions.guarded import GuardedService
from ocf_agents.service.unit import Units
GuardedService.units = Units({root!r}, ({program!r},))
import runpy
"""
GUEST = """\
import os
if os.fork() == 0:
    code = "import time; time.sleep(60)"
    os.execv(sys.executable, ["/usr/bin/qemu-system-x86_64", "-c", code, {mark!r}])
while True:
"""


@pytest.fixture
def systemd(node: Node) -> FakeSystemd:
    """The node's systemd, which has a unit of the service."""
    systemd = FakeSystemd(node.root)
    systemd.add(UNIT, str(node.binary), f"--config-file={node.config}")
    code = SYSTEMD.format(package=str(AGENT.parents[1]), root=str(systemd.root), program=str(systemd.program))
    path = Path(node.pacemaker.agent_path)
    path.write_text(path.read_text().replace("import runpy\n", code))
    return systemd


def start(node: Node, **parameters: object) -> int:
    """Start the unit; its main process."""
    result = node.run("start", parameters={**ALONE, **parameters})
    assert is_success(result)
    assert node.pid is not None
    return node.pid


def test_a_unit_that_is_enabled_is_warned_of(node: Node, systemd: FakeSystemd) -> None:
    """Cases 136 and 147: in both modes, with what to do; and nothing else is."""
    systemd.say(UNIT, ActiveState="inactive", MainPID="0", UnitFileState="enabled", Restart="always")
    for supervisor in ("process", "systemd"):
        node.log.unlink(missing_ok=True)
        given = {**WITHOUT_CLOUD, "supervisor": supervisor}
        assert is_success(node.run("validate-all", level=10, parameters=given))
        assert f"systemctl disable {UNIT}" in log_of(node)
        assert f"systemctl edit {UNIT}" in log_of(node)
        assert len(log_of(node).splitlines()) == 2
    node.log.unlink()
    systemd.say(UNIT, ActiveState="inactive", MainPID="0", UnitFileState="disabled", Restart="no")
    assert is_success(node.run("validate-all", level=10, parameters=ALONE))
    assert is_success(node.run("validate-all", parameters=ALONE))
    assert log_of(node) == ""


def test_a_unit_that_runs_is_no_reason_for_a_second_daemon(node: Node, systemd: FakeSystemd) -> None:
    """Case 136: the agent runs the service itself, and systemd has started the unit."""
    pid = start(node)
    (node.run_dir / "nova-compute-nova-compute.pid").unlink()
    assert node.pacemaker.probe(parameters=WITHOUT_CLOUD).code == 0
    assert bring_up(node) == pid
    assert len(of_node(node)) == 1


def test_a_masked_unit(node: Node, systemd: FakeSystemd) -> None:
    """Case 137: 5 and why by systemd; by a process of the agent's own it works, and `auto` is that."""
    systemd.mask(UNIT)
    result = node.run("start", parameters=ALONE)
    assert result.code == 5
    assert f"{UNIT} is masked: systemctl unmask" in (result.reason or "")
    assert node.pacemaker.probe(parameters=ALONE).code == 7
    assert is_success(node.run("stop", parameters=ALONE))
    assert is_running(bring_up(node))
    assert is_success(node.run("stop", parameters=WITHOUT_CLOUD))
    systemd.forget_calls()
    assert is_running(bring_up(node, supervisor="auto"))
    assert systemd.calls == []


def test_auto_is_systemd_where_it_has_the_unit(node: Node, systemd: FakeSystemd) -> None:
    given = {**WITHOUT_CLOUD, "supervisor": "auto"}
    assert is_running(start(node, supervisor="auto"))
    assert "start" in systemd.calls
    assert is_success(node.run("stop", parameters=given))
    systemd.forget_calls()
    systemd.hide()
    assert is_running(bring_up(node, supervisor="auto"))
    assert systemd.calls == []


def test_another_distributions_name(node: Node, systemd: FakeSystemd) -> None:
    (systemd.root / "etc/systemd/system" / UNIT).unlink()
    systemd.add("openstack-nova-compute.service", str(node.binary))
    assert is_running(start(node, supervisor="auto"))
    assert systemd.drop_in("openstack-nova-compute.service").exists()


@pytest.mark.parametrize("supervisor", ["process", "systemd"])
def test_guests_of_the_service_live_on(node: Node, systemd: FakeSystemd, supervisor: str) -> None:
    """Case 139."""
    mark = str(node.root)
    rewrite_daemon(node, "while True:\n", GUEST.format(mark=mark))
    pid = start(node, supervisor=supervisor)
    assert wait_for(lambda: len(of_node(node)) == 2)
    (guest,) = [other for other in of_node(node) if other != pid]
    assert is_success(node.run("stop", parameters={**WITHOUT_CLOUD, "supervisor": supervisor}))
    assert of_node(node) == [guest]
    kill(guest)


def test_a_bus_that_is_lost_once(node: Node, systemd: FakeSystemd) -> None:
    """Case 140: systemd executes itself anew."""
    systemd.answer(LOST)
    pid = start(node)
    assert systemd.calls[:2] == ["show", "show"]
    (node.run_dir / "nova-compute-nova-compute.pid").unlink()
    systemd.answer(LOST)
    assert is_success(node.run("monitor", parameters=ALONE))
    systemd.answer(LOST)
    assert is_success(node.run("stop", parameters=ALONE))
    assert not is_running(pid)


@pytest.mark.parametrize("answer", [LOST, "hang"])
def test_a_bus_that_is_lost_for_good(node: Node, systemd: FakeSystemd, answer: str) -> None:
    """Cases 140 and 144: the process decides, and a stop works, without API too."""
    pid = start(node)
    (node.run_dir / "nova-compute-nova-compute.pid").unlink()
    systemd.answer_always(answer)
    gone = {**BY_SYSTEMD, "auth_url": "http://127.0.0.1:9/v3"}
    assert node.pacemaker.probe(parameters=gone, timeout=8).code == 0
    assert is_success(node.run("monitor", parameters=gone, timeout=8))
    result = node.run("stop", parameters=gone, timeout=12)
    assert is_success(result)
    assert result.seconds < 12
    assert not is_running(pid)
    assert node.run("monitor", parameters=ALONE).code == 7
    result = node.run("start", parameters=ALONE, timeout=8)
    assert result.code == 1
    assert "systemd does not answer" in (result.reason or "")


def test_a_start_that_is_only_queued(node: Node, systemd: FakeSystemd) -> None:
    """Case 141: the unit is on its way down, then on its way up."""
    systemd.run_id(UNIT, "1")
    systemd.say_next(UNIT, *["ActiveState=deactivating MainPID=0"] * 3)
    assert is_running(start(node))
    systemd.say_next(UNIT, *["ActiveState=activating MainPID=0"] * 2)
    (node.run_dir / "nova-compute-nova-compute.pid").unlink()
    assert is_success(node.run("monitor", parameters=ALONE))


def test_a_failed_unit(node: Node, systemd: FakeSystemd) -> None:
    """Case 141: with a process of it alive it is a failure, without one it is not running."""
    pid = start(node)
    systemd.run_id(UNIT, None)
    systemd.say(UNIT, ActiveState="failed", MainPID="0", Result="timeout")
    result = node.run("monitor", parameters=ALONE)
    assert result.code == 1
    assert "failed" in (result.reason or "")
    kill(pid)
    assert node.run("monitor", parameters=ALONE).code == 7
    assert is_success(node.run("stop", parameters=ALONE))
    assert systemd.calls[-1] == "reset-failed"


def test_systemd_has_stopped_the_unit_before_the_cluster_asks(
    node: Node, systemd: FakeSystemd, cloud: ComputeApi
) -> None:
    """Case 142: at a shutdown of the host; the record and the row agree."""
    assert is_success(node.run("start", parameters=BY_SYSTEMD))
    assert cloud.row("cmp-7").may_be_chosen
    subprocess.run([str(systemd.program), "--x", "stop", UNIT], check=True)
    assert node.run("monitor", parameters=BY_SYSTEMD).code == 7
    assert is_success(node.run("stop", parameters=BY_SYSTEMD))
    assert is_quiet(node)
    assert cloud.row("cmp-7").disabled
    assert len(writes(cloud)) == 1
    assert is_success(node.run("start", parameters=BY_SYSTEMD))
    assert cloud.row("cmp-7").may_be_chosen


def test_the_cluster_comes_first_at_a_shutdown(node: Node, systemd: FakeSystemd) -> None:
    """Cases 143, 147 and 149: the unit is ordered, not restarted, and its owner's again after the stop."""
    start(node, host="cmp-8")
    path = systemd.drop_in(UNIT)
    said = configparser.ConfigParser(interpolation=None)
    said.read_string(path.read_text())
    assert {"pacemaker.service", "pacemaker_remote.service"} <= set(said["Unit"]["Before"].split())
    assert said["Service"]["Restart"] == "no"
    assert said["Service"]["Environment"] == '"OS_DEFAULT__HOST=cmp-8"'
    assert (path.stat().st_mode & 0o7777, path.parent.stat().st_mode & 0o7777) == (0o644, 0o755)
    assert systemd.calls.index("daemon-reload") < systemd.calls.index("start")
    assert is_success(node.run("stop", parameters={**ALONE, "host": "cmp-8"}))
    assert not path.parent.exists()


def test_starts_at_once_reload_nothing_that_is_unchanged(node: Node, systemd: FakeSystemd) -> None:
    """Case 145."""
    start(node)
    assert systemd.calls.count("daemon-reload") == 1
    systemd.forget_calls()
    codes: list[int] = []
    starts = [
        threading.Thread(target=lambda: codes.append(node.run("start", parameters=ALONE).code))
        for _ in range(6)
    ]
    for each in starts:
        each.start()
    for each in starts:
        each.join()
    assert codes == [0] * 6
    assert "daemon-reload" not in systemd.calls
    assert len(of_node(node)) == 1


def test_a_service_that_comes_back_is_stopped_again(node: Node, systemd: FakeSystemd) -> None:
    """Case 147: systemd refuses the stop, and restarts what was killed."""
    pid = start(node)
    systemd.answer("ok", "Failed to stop nova-compute.service: Access denied")
    with subprocess.Popen(
        [
            "/bin/sh",
            "-c",
            f'while kill -0 {pid} 2>/dev/null && [ "$(ps -o stat= {pid} | cut -c1)" != Z ];'
            f" do sleep 0.05; done; sleep 0.3; exec {node.binary}",
        ],
        start_new_session=True,
    ) as restarted:
        began = time.monotonic()
        assert is_success(node.run("stop", parameters=ALONE))
        assert time.monotonic() - began > 2
        assert restarted.wait(5) == 0
    assert of_node(node) == []


@pytest.mark.parametrize("given", ["nova-compute", "nova-compute.service", " nova-compute "])
def test_names_of_one_unit(node: Node, systemd: FakeSystemd, given: str) -> None:
    """Case 148."""
    assert is_running(start(node, unit=given))
    assert systemd.drop_in(UNIT).exists()
    assert is_success(node.run("stop", parameters={**ALONE, "unit": given}))
    assert not systemd.drop_in(UNIT).exists()


def test_a_name_that_is_none(node: Node, systemd: FakeSystemd) -> None:
    """Case 148: 6 and which parameter; a stop does with the default."""
    for given in ("nova-compute@", "nova compute", "nova-compute.socket"):
        result = node.run("start", parameters={**ALONE, "unit": given})
        assert result.code == 6
        assert "parameter unit" in (result.reason or "")
    start(node)
    assert is_success(node.run("stop", parameters={**ALONE, "unit": "nova-compute@"}))
    assert of_node(node) == []


def test_an_instance_of_a_template(node: Node, systemd: FakeSystemd) -> None:
    """Case 148."""
    systemd.add("x@.service")
    systemd.add("x@1.service", str(node.binary))
    (systemd.root / "etc/systemd/system/x@1.service").unlink()
    assert is_running(start(node, unit="x@1"))
    assert systemd.drop_in("x@1.service").exists()


def test_the_row_follows_the_unit(node: Node, systemd: FakeSystemd, cloud: ComputeApi) -> None:
    row = cloud.row("cmp-7")
    row.disabled, row.reason = True, our_marker()
    assert is_success(node.run("start", parameters=BY_SYSTEMD))
    assert row.may_be_chosen
    assert is_success(node.run("monitor", parameters=BY_SYSTEMD))
    assert is_success(node.run("stop", parameters=BY_SYSTEMD))
    assert row.disabled
    assert (row.reason or "").startswith("ocf-agents disabled: resource=nova-compute host=cmp-7")


def test_a_daemon_of_the_agents_own_is_taken_over(node: Node, systemd: FakeSystemd) -> None:
    """The parameter changes from process to systemd while it runs: nothing stops, nothing is doubled."""
    pid = bring_up(node)
    assert is_success(node.run("monitor", parameters=ALONE))
    assert start(node) == pid
    assert is_success(node.run("stop", parameters=ALONE))
    assert not is_running(pid)
    again = start(node)
    assert again == systemd.main_pid(UNIT)
    assert os.getsid(again) == again
