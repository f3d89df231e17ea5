# SPDX-License-Identifier: Apache-2.0
"""Cases of kind 7: liveness, clocks, coordination."""

from __future__ import annotations

import datetime
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node, is_running, wait_for

from .place import (
    WITHOUT_CLOUD,
    begin_agent_with,
    bring_up,
    clean_up,
    is_quiet,
    is_success,
    log_of,
    make_node,
    of_node,
    our_marker,
    rewrite_daemon,
    told,
)


def test_no_clock_of_novas_is_compared_with_ours(
    node: Node, cloud: ComputeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cases 152 and 157."""
    row = cloud.row("cmp-7")
    row.disabled, row.reason = True, our_marker()
    show = cloud.services.show

    def show_another_time(shown: Any, **more: Any) -> dict[str, Any]:
        record = show(shown, **more)
        if shown.updated:
            record["updated_at"] = (shown.updated + datetime.timedelta(days=-365)).isoformat()
        return record

    monkeypatch.setattr(cloud.services, "show", show_another_time)
    result = node.run("start", timeout=60)
    assert is_success(result)
    assert result.seconds < 40, "it did not wait for its deadline"
    assert row.may_be_chosen


def test_a_row_that_changes_and_is_down_is_no_sign_of_life(tmp_path: Path) -> None:
    """Case 151: start waits for the state until it must hurry, and says so."""
    with ComputeApi() as cloud:
        node = make_node(tmp_path, cloud, first_report=600)
        row = cloud.row("cmp-7")
        cloud.services.set_status(row, True, our_marker())
        row.seen = None
        try:
            assert is_success(node.run("start", env_extra=told(12)))
            assert not row.disabled
            assert "enabled before the cloud saw it up" in log_of(node)
        finally:
            clean_up(node)


@pytest.mark.parametrize("step", [-3600, 3600])
def test_a_clock_that_steps_in_the_middle_of_a_stop_costs_no_time(node: Node, step: int) -> None:
    """Case 153: a daemon that must be killed, so that all of the stop's waits are seen."""
    rewrite_daemon(node, "lambda number, frame: sys.exit(0)", "signal.SIG_IGN")
    pid = bring_up(node)
    jump = f"lambda: then() + ({step} if since() - begun > 0.5 else 0)"
    begin_agent_with(
        node, f"import time\nthen, since = time.time, time.monotonic\nbegun = since()\ntime.time = {jump}\n"
    )
    result = node.run("stop", timeout=30, env_extra=told(6))
    assert is_success(result)
    assert 1.0 < result.seconds < 6.0
    assert not is_running(pid)


def test_a_worker_that_dies_leaves_a_service_that_runs(node: Node) -> None:
    """Case 158: the main process and the other workers live."""
    rewrite_daemon(
        node,
        "while True:",
        "for _ in range(4):\n    if not __import__('os').fork():\n        break\nwhile True:",
    )
    parent = bring_up(node)
    assert wait_for(lambda: len(of_node(node)) == 5)
    worker = next(pid for pid in of_node(node) if pid != parent)
    os.kill(worker, signal.SIGKILL)
    assert wait_for(lambda: not is_running(worker))
    assert is_success(node.run("monitor"))
    assert is_success(node.run("stop", parameters=WITHOUT_CLOUD))
    assert of_node(node) == []


def test_start_waits_until_the_cloud_sees_the_service(tmp_path: Path) -> None:
    """Case 156."""
    with ComputeApi() as cloud:
        node = make_node(tmp_path, cloud, first_report=1.5)
        row = cloud.row("cmp-7")
        row.seen, row.disabled, row.reason = None, True, our_marker()
        try:
            result = node.run("start")
            assert is_success(result)
            assert result.seconds > 1.5
            assert row.may_be_chosen
        finally:
            clean_up(node)


def test_only_the_own_row_is_ever_written_and_nothing_else_is_asked(node: Node, cloud: ComputeApi) -> None:
    """Cases 165 and 167."""
    others = [cloud.add("cmp-8"), cloud.add("cmp-7", "nova-conductor"), cloud.add("CMP-7")]
    bring_up(node)
    assert is_success(node.run("stop"))
    assert wait_for(lambda: cloud.row("cmp-7").disabled, 20)
    assert is_quiet(node)
    assert is_success(node.run("start"))
    assert [row.host for row in others if row.disabled] == []
    own = f"/v2.1/os-services/{cloud.row('cmp-7').id}"
    asked = {(one.method, one.path) for one in cloud.requests if one.service == "compute"}
    assert {path for method, path in asked if method == "PUT"} == {own}
    assert {path.rstrip("/") for method, path in asked if method == "GET"} <= {
        "",
        "/v2.1",
        "/v2.1/os-services",
    }


def test_a_service_that_takes_its_time_to_leave_gets_it(node: Node) -> None:
    """Case 169: 1.5 s here, for 8 s are only longer."""
    leave = (
        "lambda number, frame: (__import__('time').sleep(1.5), open(sys.argv[0] + '.left', 'w'), sys.exit(0))"
    )
    rewrite_daemon(node, "lambda number, frame: sys.exit(0)", leave)
    bring_up(node)
    assert is_success(node.run("stop", parameters=WITHOUT_CLOUD))
    assert Path(f"{node.binary}.left").exists()
