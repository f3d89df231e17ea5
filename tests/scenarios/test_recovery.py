# SPDX-License-Identifier: Apache-2.0
"""What an operator sees of a compute host that Pacemaker stops, starts and recovers."""

from __future__ import annotations

import pytest

from ocf_agents.guard import marker
from ocf_agents.service.proc import ProcTable
from ocf_agents.testing.compute import faults
from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node, wait_for
from ocf_agents.testing.run import Result

# A busy machine may need longer than the default for the helper's birth.
PATIENT = {"head_start": "30s"}


def succeeded(result: Result) -> bool:
    assert result.code == 0, result
    return True


def quiet(node: Node, seconds: float = 20.0) -> bool:
    """Wait until no helper works any more."""
    return wait_for(lambda: not node.helpers(), seconds)


def recover(node: Node) -> None:
    """What Pacemaker does with a crashed resource."""
    node.crash()
    assert node.run("monitor").code in (1, 7), "unreaped or gone, never running"
    assert succeeded(node.run("stop"))
    assert succeeded(node.run("start"))


def test_stop_disables_the_host_in_our_words_and_start_enables_it(node: Node, cloud: ComputeApi) -> None:
    assert succeeded(node.run("start"))
    row = cloud.row("cmp-7")
    assert row.may_be_chosen

    assert succeeded(node.run("stop", parameters=PATIENT))
    found = marker.parse(row.reason)
    assert row.disabled
    assert found is not None
    assert found.belongs_to("nova-compute", "cmp-7")

    assert succeeded(node.run("start"))
    assert row.may_be_chosen
    assert node.is_alive()


def test_the_disable_of_a_planned_stop_goes_out_while_the_service_still_answers(
    node: Node, cloud: ComputeApi
) -> None:
    node.run("start")
    cloud.forget()
    assert succeeded(node.run("stop", parameters=PATIENT))
    (put,) = [request for request in cloud.requests if request.method == "PUT"]
    assert put.status == 200
    assert put.t1 - put.t0 < 1.0, "a dead compute would have kept Nova busy for a minute"
    assert cloud.row("cmp-7").trait, "the compute itself has set the Placement trait"


def test_twenty_monitors_send_no_request(node: Node, cloud: ComputeApi) -> None:
    node.run("start")
    assert quiet(node)
    cloud.forget()
    assert [node.run("monitor").code for _ in range(20)] == [0] * 20
    assert cloud.requests == []


@pytest.mark.parametrize("reason", ["RAM swap, see ticket 4711 (Zoë, 配置)", None, ""])
def test_what_an_operator_disabled_stays_disabled_through_a_crash_in_their_words(
    node: Node, cloud: ComputeApi, reason: str | None
) -> None:
    node.run("start")
    row = cloud.row("cmp-7")
    row.disabled, row.reason = True, reason
    recover(node)
    assert (row.disabled, row.reason) == (True, reason)
    assert node.is_alive()


def test_what_an_operator_disabled_while_ours_was_in_effect_stays_disabled(
    node: Node, cloud: ComputeApi
) -> None:
    node.run("start")
    node.run("stop")
    assert quiet(node)
    row = cloud.row("cmp-7")
    row.reason = "RAM swap"
    result = node.run("start")
    assert result.code == 0
    assert (row.disabled, row.reason) == (True, "RAM swap")
    assert "RAM swap" in node.log.read_text()


def test_what_an_operator_enabled_while_we_were_down_stays_enabled(node: Node, cloud: ComputeApi) -> None:
    node.run("start")
    node.run("stop")
    assert quiet(node)
    row = cloud.row("cmp-7")
    row.disabled, row.reason = False, None
    cloud.forget()
    assert succeeded(node.run("start"))
    assert not row.disabled
    assert cloud.count("PUT") == 0


def test_stop_and_start_at_once_end_enabled(node: Node, cloud: ComputeApi) -> None:
    node.run("start")
    row = cloud.row("cmp-7")
    for _ in range(3):
        assert succeeded(node.run("stop"))
        assert succeeded(node.run("start"))
        assert row.may_be_chosen


def test_start_and_stop_twice_are_no_news(node: Node, cloud: ComputeApi) -> None:
    assert succeeded(node.run("start"))
    pid = node.pid
    assert succeeded(node.run("start"))
    assert node.pid == pid
    assert succeeded(node.run("stop"))
    assert succeeded(node.run("stop"))
    assert quiet(node)
    assert cloud.row("cmp-7").disabled


def test_a_reboot_that_empties_run_keeps_the_record(node: Node, cloud: ComputeApi) -> None:
    node.run("start")
    node.run("stop")
    assert quiet(node)
    for path in node.run_dir.iterdir():
        path.unlink()
    node.run_dir.rmdir()
    assert succeeded(node.run("start"))
    assert cloud.row("cmp-7").may_be_chosen


def test_a_lost_record_is_healed_by_the_marker(node: Node, cloud: ComputeApi) -> None:
    node.run("start")
    node.run("stop")
    assert quiet(node)
    for path in node.state_dir.iterdir():
        path.unlink()
    assert succeeded(node.run("start"))
    assert cloud.row("cmp-7").may_be_chosen
    assert wait_for(lambda: node.helpers() == [], 20), "the look after hold has ended"


def test_a_marker_of_another_host_is_somebody_elses(node: Node, cloud: ComputeApi) -> None:
    row = cloud.row("cmp-7")
    foreign = str(marker.make("nova-compute", "cmp-8", "2026-01-01T00:00:00Z", "0" * 16))
    row.disabled, row.reason = True, foreign
    assert succeeded(node.run("start"))
    assert (row.disabled, row.reason) == (True, foreign)


def test_a_forced_down_host_is_enabled_and_stays_forced_down(node: Node, cloud: ComputeApi) -> None:
    node.run("start")
    node.run("stop")
    assert quiet(node)
    row = cloud.row("cmp-7")
    row.forced_down = True
    assert succeeded(node.run("start"))
    assert (row.disabled, row.forced_down) == (False, True)
    assert "forced down" in node.log.read_text()


def test_a_service_that_moves_is_started_under_its_own_name_and_nothing_is_sent_after_its_stop(
    node: Node,
    cloud: ComputeApi,
) -> None:
    row = cloud.add("ironic-1", alive=False)
    cloud.follow(row, node.is_alive, first_report=0.3)
    moving = {"host": "ironic-1"}
    assert succeeded(node.run("start", parameters=moving))
    assert node.pid is not None
    assert ProcTable().environ_value(node.pid, "OS_DEFAULT__HOST") == "ironic-1"
    cloud.fail(faults.never_apply(), times=None)
    assert succeeded(node.run("stop", parameters={**moving, "head_start": "500ms"}))
    assert node.helpers() == [], "the node that starts next must not meet it"


def test_a_stop_with_bad_arguments_and_no_pid_file_does_not_lie(node: Node) -> None:
    node.run("start")
    process = ProcTable().identify(node.pid or 0)
    assert process is not None
    (node.run_dir / "nova-compute-nova-compute.pid").unlink()
    result = node.run("stop", parameters={"additional_parameters": "--debug 'unclosed"})
    assert result.code == 0
    assert not ProcTable().is_alive(process)
