# SPDX-License-Identifier: Apache-2.0
"""Our agents keep all rules of our own checker: in a process, with the embedded compute API."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from ocf_agents.testing.compute_api import Account, ComputeApi
from ocf_agents.testing.conformance.engine import Report, check, choose
from ocf_agents.testing.conformance.rule import FAILED, Rule
from ocf_agents.testing.conformance.rules import GROUPS
from ocf_agents.testing.conformance.subject import Settings
from ocf_agents.testing.node import Node, all_pids, command_line, is_running

AGENTS = Path(__file__).parents[2] / "heartbeat"
NOVA_COMPUTE = AGENTS / "nova-compute"
HELPER = "/actions/helper.py"
WITHOUT_CLOUD = {"disable_on_stop": "false", "enable_on_start": "false"}
TIMEOUTS = {"stop": 20.0}
"""A stop of a frozen service takes nearly all of its time."""
NOT_HERE = ("metadata.as-nobody", "metadata.as-hacluster")
"""The agent is run by the interpreter of the tests, which may lie where no other user may go."""


def check_node(root: Path, rules: Sequence[Rule], parameters: dict[str, str]) -> Report:
    """Check the agent on a node of its own, whose row lives and dies with its daemon."""
    with ComputeApi(account=Account(password="a-canary-of-tests")) as cloud:
        node = Node(root, NOVA_COMPUTE, cloud.credentials(), hold="1s", api_timeout="3s")
        binary = os.fsencode(node.binary)

        def is_alive() -> bool:
            return any(binary in command_line(pid) and is_running(pid) for pid in all_pids())

        cloud.follow(cloud.add(node.host, alive=False), is_alive, first_report=0.1, each=0.3)
        given = {name: str(value) for name, value in node.pacemaker.parameters.items()}
        settings = Settings(
            Path(node.pacemaker.agent_path), {**given, **parameters}, timeouts=TIMEOUTS, helpers=[HELPER]
        )
        return check(settings, rules)


def complaints(report: Report) -> list[str]:
    failed = [f"{one.rule.id}: {one.text}" for one in report.results if one.state == FAILED]
    return failed + ([report.leftover] if report.leftover else [])


def test_there_is_no_agent_that_is_not_checked_here() -> None:
    assert [path.name for path in AGENTS.iterdir()] == [NOVA_COMPUTE.name]


def test_the_file_of_an_agent_keeps_all_rules() -> None:
    report = check(Settings(NOVA_COMPUTE), choose(["file"], strict=True))
    assert complaints(report) == []


@pytest.mark.parametrize("group", [group.name for group in GROUPS if group.name not in ("file", "privacy")])
def test_nova_compute_keeps_all_rules_about_the_process(group: str, tmp_path: Path) -> None:
    report = check_node(tmp_path, choose([group], NOT_HERE, strict=True), WITHOUT_CLOUD)
    assert complaints(report) == []
    assert report.count("passed") > 0


@pytest.mark.parametrize("group", ["lifecycle", "roles", "privacy"])
def test_nova_compute_keeps_the_rules_with_its_row_in_the_cloud(group: str, tmp_path: Path) -> None:
    report = check_node(tmp_path, choose([group], strict=True), {})
    assert complaints(report) == []
    assert report.count("passed") > 0
