# SPDX-License-Identifier: Apache-2.0
"""Stop and start while the API is slow, silent, wrong or gone."""

from __future__ import annotations

import fcntl
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ocf_agents.testing.compute import faults
from ocf_agents.testing.compute.faults import Fault
from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node, wait_for

from .test_recovery import quiet, succeeded

SILENT = {
    "refuses everything": faults.reset(),
    "never answers": faults.never_apply(),
    "answers 503": faults.status(503, retry_after="1"),
    "answers 403": faults.status(403),
    "answers HTML": faults.not_json(applied=False),
}


@pytest.mark.parametrize("fault", SILENT.values(), ids=SILENT)
def test_no_fault_of_the_api_makes_a_stop_fail_or_wait_longer_than_the_head_start(
    node: Node, cloud: ComputeApi, fault: Fault
) -> None:
    node.run("start")
    assert quiet(node)
    cloud.fail(fault, times=None)
    result = node.run("stop", parameters={"head_start": "1s"})
    assert result.code == 0
    assert result.seconds < 10.0
    assert not node.is_alive()


def test_an_api_that_was_dead_during_stop_finds_the_host_enabled_after_start(
    node: Node, cloud: ComputeApi
) -> None:
    node.run("start")
    cloud.fail(faults.reset(), times=None)
    assert succeeded(node.run("stop", parameters={"head_start": "0"}))
    cloud.heal()
    assert succeeded(node.run("start"))
    row = cloud.row("cmp-7")
    assert row.may_be_chosen
    assert not wait_for(lambda: row.disabled, 4), "the stop's helper was ended"


def test_an_api_that_is_dead_during_stop_is_told_when_it_comes_back(node: Node, cloud: ComputeApi) -> None:
    node.run("start")
    cloud.fail(faults.reset(), times=None)
    assert succeeded(node.run("stop", parameters={"head_start": "0"}))
    row = cloud.row("cmp-7")
    assert not row.disabled
    cloud.heal()
    assert wait_for(lambda: row.disabled, 10)


def test_start_fails_while_our_disable_is_in_effect_and_the_api_is_dead_and_heals_later(
    node: Node, cloud: ComputeApi
) -> None:
    node.run("start")
    node.run("stop")
    assert quiet(node)
    cloud.fail(faults.reset(), times=None)
    failed = node.run("start", timeout=8)
    assert failed.code == 1
    assert not failed.timed_out
    assert "disabled by us when last read" in (failed.reason or "")
    assert succeeded(node.run("stop", parameters={"head_start": "0"}))
    cloud.heal()
    assert succeeded(node.run("start"))
    assert cloud.row("cmp-7").may_be_chosen


@pytest.mark.parametrize("fault", [faults.status(401), faults.reset()], ids=["refused", "dead"])
def test_with_enable_on_start_false_a_start_does_not_fail_for_want_of_the_api(
    node: Node, cloud: ComputeApi, fault: Fault
) -> None:
    """The guide's way to run it now, whatever the row says; without the parameter such a start fails."""
    node.run("start")
    node.run("stop")
    assert quiet(node)
    cloud.fail(fault, times=None)
    assert node.run("start", timeout=8).code == 1
    result = node.run("start", timeout=8, parameters={"enable_on_start": "false"})
    assert succeeded(result)
    assert not result.timed_out
    assert cloud.row("cmp-7").disabled, "it is enabled by hand"
    assert "without a look at the row, and enable_on_start is false" in node.log.read_text()
    cloud.heal()


def test_start_succeeds_with_a_warning_while_nothing_of_ours_is_in_effect_and_the_api_is_dead(
    node: Node,
    cloud: ComputeApi,
) -> None:
    cloud.fail(faults.reset(), times=None)
    result = node.run("start", timeout=8)
    assert succeeded(result)
    assert "WARNING" in node.log.read_text()
    assert node.helpers(), "somebody looks again when the API is back"
    cloud.heal()
    assert quiet(node, 30)


def test_a_disable_that_nova_answers_late_neither_delays_the_stop_nor_stays(
    node: Node, cloud: ComputeApi
) -> None:
    """The compute was killed: Nova's RPC to it blocks, though the row is already saved."""
    node.run("start")
    node.crash()
    cloud.fail(faults.answer_late(30.0), method="PUT")
    began = time.monotonic()
    assert succeeded(node.run("stop"))
    assert time.monotonic() - began < 2.0
    row = cloud.row("cmp-7")
    assert wait_for(lambda: row.disabled, 10)
    assert succeeded(node.run("start"))
    assert row.may_be_chosen
    assert quiet(node, 30)
    assert row.may_be_chosen


def test_a_disable_that_is_applied_after_the_enable_is_undone(node: Node, cloud: ComputeApi) -> None:
    """Kept in a queue for 12 s, longer than the start takes: the helper that start leaves sees it land."""
    node.run("start", parameters={"hold": "1s"})
    assert quiet(node, 30)
    cloud.fail(faults.commit_late(12.0), method="PUT")
    assert succeeded(node.run("stop", parameters={"hold": "14s", "head_start": "500ms"}))
    assert cloud.wait_for(lambda: cloud.count("PUT") == 1, 10), "the helper has sent it"
    assert succeeded(node.run("start", parameters={"hold": "14s"}))
    row = cloud.row("cmp-7")
    assert not row.disabled
    assert wait_for(lambda: row.disabled, 15), "the late disable has landed"
    assert wait_for(lambda: not row.disabled, 15), "and is undone"
    assert quiet(node, 40)
    assert row.may_be_chosen


def test_nothing_is_enabled_for_a_service_that_died_while_the_cloud_was_waited_for(
    node: Node, cloud: ComputeApi
) -> None:
    node.run("start")
    node.run("stop")
    assert quiet(node)
    row = cloud.row("cmp-7")
    program = node.binary.read_text()
    assert "time.sleep(0.2)" in program
    node.binary.write_text(program.replace("time.sleep(0.2)", "time.sleep(1.5); sys.exit(3)"))
    row.seen = None
    failed = node.run("start", timeout=20)
    assert failed.code == 1
    assert row.disabled


def test_what_is_under_way_is_finished_though_the_parameters_want_nothing_any_more(
    node: Node, cloud: ComputeApi
) -> None:
    node.run("start", parameters={"hold": "1s"})
    assert quiet(node)
    cloud.fail(faults.commit_late(3.0), method="PUT")
    assert succeeded(node.run("stop", parameters={"hold": "6s", "head_start": "500ms"}))
    assert cloud.wait_for(lambda: cloud.count("PUT") == 1, 10), "the helper has sent it"
    nothing = {"disable_on_stop": "false", "enable_on_start": "false", "hold": "6s"}
    assert succeeded(node.run("start", parameters=nothing))
    assert node.helpers(), "somebody watches the disable that may still land"
    assert quiet(node, 40)
    assert node.run("stop", parameters=nothing).code == 0


def without(module: str, node: Node) -> dict[str, str]:
    """An agent whose interpreter lacks a library, as after a package was removed."""
    broken = node.root / "broken"
    broken.mkdir(exist_ok=True)
    path = broken / "nova-compute"
    program = Path(node.pacemaker.agent_path).read_text()
    path.write_text(program.replace("import runpy\n", f"import runpy, sys\nsys.modules[{module!r}] = None\n"))
    path.chmod(0o755)
    return {"agent_path": str(path)}


@pytest.mark.parametrize("module", ["filelock", "openstack"])
def test_a_missing_library_fails_a_start_with_its_name_and_no_stop(node: Node, module: str) -> None:
    node.run("start")
    broken = replace(node.pacemaker, **without(module, node))
    assert broken.run("stop").code == 0
    assert not node.is_alive()
    failed = broken.run("start")
    assert failed.code == 5
    assert module in (failed.reason or "")
    assert not node.is_alive()


def test_a_configuration_that_blocks_its_reader_holds_up_no_stop(node: Node) -> None:
    node.run("start")
    node.config.unlink()
    os.mkfifo(node.config)
    for path in node.state_dir.iterdir():
        path.unlink()
    assert node.run("stop", timeout=20).code == 0
    assert not node.is_alive()


@pytest.mark.parametrize("timeout", [4, 6, 20])
def test_a_lock_that_is_held_for_ever_holds_up_no_stop_past_its_timeout(node: Node, timeout: float) -> None:
    node.run("start")
    with open(node.state_dir / "nova-compute.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = node.run("stop", timeout=timeout)
    assert result.code == 0
    assert not node.is_alive()


def test_a_helper_that_can_never_work_is_no_news_for_monitors(node: Node, cloud: ComputeApi) -> None:
    cloud.fail(faults.reset(), times=None)
    assert succeeded(node.run("start", timeout=8))
    node.end_helpers()
    before = node.log.read_text()
    for _ in range(10):
        assert node.run("monitor", parameters={"cacert": "relative"}).code == 0
    assert quiet(node)
    assert node.log.read_text() == before
