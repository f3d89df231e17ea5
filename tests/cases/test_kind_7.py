# SPDX-License-Identifier: Apache-2.0
"""Cases of kind 7: liveness, clocks, coordination."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node, wait_for

from .place import (
    WITHOUT_CLOUD,
    bring_up,
    clean_up,
    is_quiet,
    is_success,
    make_node,
    our_marker,
    rewrite_daemon,
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
