# SPDX-License-Identifier: Apache-2.0
"""ocf-tester, the tool of resource-agents, on our agent as it is, under its own interpreter."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.testing.conformance.engine import check, choose
from ocf_agents.testing.conformance.rule import FAILED
from ocf_agents.testing.conformance.subject import Settings
from ocf_agents.testing.node import Node, wait_for

AGENT = Path(__file__).parents[2] / "heartbeat" / "nova-compute"
OCF_TESTER = shutil.which("ocf-tester", path="/usr/sbin:/usr/bin")
WITHOUT_CLOUD = {"disable_on_stop": "false", "enable_on_start": "false"}


@pytest.fixture
def node() -> Iterator[Node]:
    """A node in a directory that nobody may enter too: ocf-tester asks for the meta-data as that user."""
    with tempfile.TemporaryDirectory(prefix="ocf-tester-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        node = Node(directory, AGENT, WITHOUT_CLOUD)
        yield node
        node.clean_up()


@pytest.mark.skipif(OCF_TESTER is None, reason="ocf-tester is not installed")
def test_ocf_tester_is_content(node: Node) -> None:
    given = [f"-o{name}={value}" for name, value in node.pacemaker.parameters.items()]
    options = [word for one in given for word in ("-o", one[2:])]
    environ = {**os.environ, "HA_RSCTMP": str(node.run_dir), "HA_LOGFILE": str(node.log)}
    assert OCF_TESTER is not None
    command = [OCF_TESTER, "-n", "nova-compute", *options, str(AGENT)]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{AGENT} passed all tests" in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("* rc=")] == []
    assert wait_for(lambda: not node.is_alive())


def test_the_agent_as_it_is_keeps_the_rules_about_its_file_and_meta_data() -> None:
    report = check(Settings(AGENT), choose(harmless=True, strict=True))
    assert [f"{one.rule.id}: {one.text}" for one in report.results if one.state == FAILED] == []
