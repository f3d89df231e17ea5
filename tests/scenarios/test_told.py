# SPDX-License-Identifier: Apache-2.0
"""What an operator finds in the log and in the history when something could not be done."""

from __future__ import annotations

import json
import time
from pathlib import Path

from ocf_agents.testing.compute import faults
from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node, wait_for

from .conftest import AGENT
from .test_recovery import quiet, succeeded


def history(node: Node) -> list[dict[str, object]]:
    lines = (node.state_dir / "nova-compute.history.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def warnings(node: Node, text: str) -> int:
    log = node.log.read_text() if node.log.exists() else ""
    return sum(text in line and "WARNING" in line for line in log.splitlines())


def test_a_stop_that_could_not_disable_says_why_and_that_it_gave_up(node: Node, cloud: ComputeApi) -> None:
    node.run("start")
    assert quiet(node)
    wrong = {"password": "rotated", "head_start": "0", "disable_deadline": "4s"}
    assert succeeded(node.run("stop", parameters=wrong))
    assert quiet(node, 30)
    assert not cloud.row("cmp-7").disabled
    assert warnings(node, "the row stays as it is until that is mended") == 1
    assert warnings(node, "gave up after 4 s, the host may still be enabled") == 1
    assert history(node)[-1]["decided"] == "given up"


def test_each_start_ends_in_the_history(node: Node, cloud: ComputeApi) -> None:
    node.run("start")
    assert history(node)[-1]["decided"] in ("start succeeded", "watch", "done")
    assert [line["decided"] for line in history(node)].count("start succeeded") == 1
    node.run("stop")
    assert quiet(node)
    cloud.fail(faults.reset(), times=None)
    assert node.run("start", timeout=8).code == 1
    assert [line["decided"] for line in history(node)].count("start failed") == 1


def test_a_start_waits_only_briefly_for_a_dead_api_where_nothing_of_ours_is_known(
    node: Node, cloud: ComputeApi
) -> None:
    """Case 44: the API may need what this cluster has yet to start."""
    cloud.fail(faults.reset(), times=None)
    began = time.monotonic()
    assert succeeded(node.run("start", timeout=240))
    assert time.monotonic() - began < 60
    assert node.helpers(), "somebody looks again when the API is back"


def test_a_helper_of_another_host_leaves_the_record_of_the_new_one_alone(
    node: Node, cloud: ComputeApi
) -> None:
    node.run("start")
    assert quiet(node)
    cloud.fail(faults.reset(), times=3)
    assert succeeded(node.run("stop", parameters={"head_start": "0"}))
    assert wait_for(lambda: cloud.count() > 0), "the helper is at work"
    cloud.add("cmp-8")
    node.config.write_text("[DEFAULT]\nhost = cmp-8\n")
    assert succeeded(node.run("start"))
    assert quiet(node, 30)
    assert len(list(node.state_dir.glob("*.bad-*"))) == 1, "the old host's record, set aside by the start"
    assert json.loads((node.state_dir / "nova-compute.json").read_text())["host"] == "cmp-8"


def test_a_row_that_moves_is_not_written_to_after_a_stop_that_ran_out_of_time_for_it(
    tmp_path: Path, cloud: ComputeApi
) -> None:
    node = Node(tmp_path, AGENT, cloud.credentials(), hold="2s", head_start="60s")
    node.pacemaker.parameters["host"] = "float-1"
    row = cloud.add("float-1", alive=False)
    cloud.follow(row, node.is_alive, first_report=0.3)
    try:
        assert succeeded(node.run("start"))
        assert quiet(node, 30)
        cloud.fail(faults.answer_late(8.0), method="GET", path="os-services")
        assert succeeded(node.run("stop", timeout=15.0))
        assert wait_for(lambda: not node.helpers(), 2)
        assert not wait_for(lambda: row.disabled, 9)
    finally:
        node.clean_up()
