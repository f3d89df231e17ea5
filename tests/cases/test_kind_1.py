# SPDX-License-Identifier: Apache-2.0
"""Cases of kind 1: a disable that was overridden, lost, or left behind."""

from __future__ import annotations

import json
import shutil
import threading
from typing import Any

import pytest

from ocf_agents.guard import marker
from ocf_agents.testing.compute import faults
from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node, wait_for

from .place import WITHOUT_CLOUD, bring_up, is_quiet, is_success, log_of, our_marker, writes

NOT_OURS = {
    "case 1: an operator's": "RAM swap",
    "case 1: our marker and a word": our_marker() + " (checked)",
    "case 1: a format": "%s %n {0} ${x}",
    "case 4: another automaton's": "Masakari detected host failed.",
    "case 5: Nova's own": "AUTO: Connection to libvirt lost: 1",
    "case 5: Nova's prefix before our marker": "AUTO: " + our_marker(),
    "case 7: none": None,
    "case 7: an empty one": "",
    "case 9: a new host's": "New compute service disabled due to config option.",
    "case 11: a failed evacuation's": "instanceha evacuation FAILED: 2025-01-01",
    "case 13: of another host": our_marker(host="cmp-8"),
    "case 13: of another instance": our_marker(resource="nova-compute:1"),
}


@pytest.mark.parametrize("reason", NOT_OURS.values(), ids=NOT_OURS)
def test_start_leaves_a_disable_that_is_not_ours_and_says_whose_it_is(
    running: tuple[Node, ComputeApi], reason: str | None
) -> None:
    node, cloud = running
    row = cloud.row("cmp-7")
    assert is_quiet(node)
    cloud.forget()
    node.log.unlink(missing_ok=True)
    row.disabled, row.reason = True, reason
    assert is_success(node.run("start"))
    assert (row.disabled, row.reason, writes(cloud)) == (True, reason, [])
    assert ("no reason given" if reason is None else reason) in log_of(node)


@pytest.mark.parametrize("value", ["missing", 5, [our_marker()]], ids=["missing", "a number", "a list"])
def test_a_reason_that_is_no_text_is_somebody_elses(running: tuple[Node, ComputeApi], value: Any) -> None:
    """Case 7."""
    node, cloud = running
    row = cloud.row("cmp-7")
    assert is_quiet(node)
    row.disabled = True
    record = {**cloud.services.show(row), "disabled_reason": value}
    if value == "missing":
        del record["disabled_reason"]
    cloud.forget()
    cloud.fail(faults.listing([record]), path="os-services", times=None)
    try:
        assert is_success(node.run("start"))
        assert writes(cloud) == []
    finally:
        cloud.heal()


@pytest.mark.parametrize(
    ("reason", "listed", "is_released"),
    [
        ("Masakari detected host failed.", "something else, Masakari", True),
        ("RAM swap, as Masakari detected", "Masakari", False),
        ("RAM swap", " , ,", False),
        ("", ",", False),
        (None, "None", False),
    ],
)
def test_enable_reasons_releases_what_begins_so_and_nothing_else(
    running: tuple[Node, ComputeApi], reason: str | None, listed: str, is_released: bool
) -> None:
    """Cases 4 and 11."""
    node, cloud = running
    row = cloud.row("cmp-7")
    assert is_quiet(node)
    row.disabled, row.reason = True, reason
    assert is_success(node.run("start", parameters={"enable_reasons": listed}))
    assert row.disabled is not is_released
    assert is_released or row.reason == reason


def test_a_stale_reason_on_an_enabled_row_means_nothing(running: tuple[Node, ComputeApi]) -> None:
    """Case 8."""
    node, cloud = running
    row = cloud.row("cmp-7")
    assert is_quiet(node)
    cloud.forget()
    row.disabled, row.reason = False, our_marker()
    assert is_success(node.run("start"))
    assert (row.disabled, writes(cloud)) == (False, [])


def test_forced_down_is_neither_asked_for_nor_in_the_way(running: tuple[Node, ComputeApi]) -> None:
    """Cases 14 and 15: Nova would refuse to take it back."""
    node, cloud = running
    row = cloud.row("cmp-7")
    assert is_quiet(node)
    cloud.forget()
    row.disabled, row.reason, row.forced_down, row.blocked_by_evacuation = True, our_marker(), True, True
    try:
        assert is_success(node.run("start"))
        assert (row.disabled, row.forced_down) == (False, True)
        assert writes(cloud) == [{"status": "enabled"}]
        row.disabled, row.reason = True, "RAM swap"
        assert is_success(node.run("start"))
        assert (row.disabled, row.reason, row.forced_down) == (True, "RAM swap", True)
    finally:
        row.forced_down = False


def test_monitors_of_a_host_that_somebody_disabled_are_silent(running: tuple[Node, ComputeApi]) -> None:
    """Case 16: a false alarm about a healthy host is no reason to restart it."""
    node, cloud = running
    row = cloud.row("cmp-7")
    row.disabled, row.reason = False, None
    assert is_success(node.run("start"))
    assert is_quiet(node)
    row.disabled, row.reason = True, "Masakari detected host failed."
    cloud.forget()
    before = log_of(node), node.pid
    assert [node.run("monitor").code for _ in range(5)] == [0] * 5
    assert cloud.requests == []
    assert (log_of(node), node.pid) == before


def test_an_operators_disable_survives_stop_reboot_and_start(node: Node, cloud: ComputeApi) -> None:
    """Cases 2 and 17; an enable_reasons that lists the reason does not let a stop write over it either."""
    row = cloud.row("cmp-7")
    bring_up(node)
    row.disabled, row.reason = True, "RAM swap"
    assert is_success(node.run("stop", parameters={"enable_reasons": "RAM"}))
    assert is_quiet(node)
    shutil.rmtree(node.run_dir)
    assert is_success(node.run("start"))
    assert (row.disabled, row.reason, writes(cloud)) == (True, "RAM swap", [])


def test_a_disable_says_who_sent_it_with_the_token_that_is_on_record(node: Node, cloud: ComputeApi) -> None:
    """Case 3; the answer does not come, so the record still has the attempt."""
    bring_up(node)
    cloud.fail(faults.commit_and_never_answer(), method="PUT")
    assert is_success(node.run("stop", parameters={"head_start": "0", "api_timeout": "30s"}))
    assert wait_for(lambda: cloud.count("PUT") == 1, 20)
    (body,) = writes(cloud)
    reason = body["disabled_reason"]
    found = marker.parse(reason)
    assert found is not None
    assert found.belongs_to("nova-compute", "cmp-7")
    assert len(reason) <= 255
    record = json.loads((node.state_dir / "nova-compute.json").read_text())
    assert found.token in [attempt["token"] for attempt in record["attempts"]]


def test_an_enable_that_placement_has_not_heard_of_is_not_sent_again(
    node: Node, cloud: ComputeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 19: the trait stays, and a later task of Nova's takes it away."""
    row = cloud.row("cmp-7")
    row.disabled, row.reason = True, our_marker()
    save = cloud.services.set_status

    def save_without_the_trait(saved: Any, disabled: bool, reason: str | None) -> float:
        seconds, saved.trait = save(saved, disabled, reason), True
        return seconds

    monkeypatch.setattr(cloud.services, "set_status", save_without_the_trait)
    assert is_success(node.run("start"))
    assert is_quiet(node)
    assert (row.disabled, row.trait) == (False, True)
    assert writes(cloud) == [{"status": "enabled"}]


def test_a_power_cut_in_the_middle_of_a_disable_is_healed_by_the_next_start(
    node: Node, cloud: ComputeApi
) -> None:
    """Case 12."""
    bring_up(node)
    cloud.fail(faults.commit_and_never_answer(), method="PUT")
    assert is_success(node.run("stop", parameters={"head_start": "0", "api_timeout": "20s"}))
    assert wait_for(lambda: cloud.count("PUT") == 1, 20)
    node.end_helpers()
    assert is_success(node.run("start"))
    assert cloud.row("cmp-7").may_be_chosen


def test_a_row_that_registers_disabled_while_start_waits_is_left(node: Node, cloud: ComputeApi) -> None:
    """Case 9."""
    row = cloud.row("cmp-7")
    cloud.services.remove(row)
    row.disabled, row.reason = True, "New compute service disabled due to config option."
    timer = threading.Timer(1.0, cloud.rows.append, [row])
    timer.start()
    assert is_success(node.run("start", timeout=20))
    timer.join()
    assert (row.disabled, writes(cloud)) == (True, [])
    assert row.reason in log_of(node)


def test_a_stop_that_wants_nothing_of_the_cloud_sends_nothing(node: Node, cloud: ComputeApi) -> None:
    """Case 11: both policies off."""
    bring_up(node)
    assert is_success(node.run("stop", parameters=WITHOUT_CLOUD))
    assert (cloud.requests, node.helpers()) == ([], [])
