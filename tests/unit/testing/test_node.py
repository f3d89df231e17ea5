# SPDX-License-Identifier: Apache-2.0
"""A compute host in a directory: what it runs is found, and ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.testing.node import RESOURCE, Node, command_line, is_running, kill, wait_for

AGENT = Path(__file__).parents[3] / "heartbeat" / "nova-compute"
NO_CLOUD = {"auth_url": "http://127.0.0.1:9/v3", "username": "u", "password": "p", "project_name": "p"}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path, AGENT, NO_CLOUD, disable_on_stop="false", enable_on_start="false")
    yield node
    node.clean_up()


def test_a_started_daemon_is_alive_until_it_crashes(node: Node) -> None:
    assert node.run("start").code == 0
    assert node.is_alive()
    assert node.run("monitor").code == 0
    node.crash()
    assert not node.is_alive()
    assert node.run("monitor").code != 0


def test_a_crash_of_what_does_not_run_is_an_error_of_the_test(node: Node) -> None:
    with pytest.raises(RuntimeError):
        node.crash()


def test_a_pid_file_that_names_a_stranger_is_not_the_daemon(node: Node) -> None:
    node.run_dir.mkdir()
    (node.run_dir / f"{RESOURCE}-{RESOURCE}.pid").write_text(f"{os.getpid()}\n")
    assert node.pid == os.getpid()
    assert not node.is_alive()


@pytest.mark.parametrize("text", ["", "x\n"])
def test_a_pid_file_without_a_number_names_nobody(node: Node, text: str) -> None:
    node.run_dir.mkdir()
    (node.run_dir / f"{RESOURCE}-{RESOURCE}.pid").write_text(text)
    assert node.pid is None


def test_helpers_are_found_by_their_node(node: Node, tmp_path: Path) -> None:
    script = tmp_path / "actions" / "helper.py"
    script.parent.mkdir()
    script.write_text("import time\ntime.sleep(60)\n")
    children = [
        subprocess.Popen([sys.executable, str(script)], env={"OCF_RESKEY_state_dir": str(directory)})
        for directory in (node.state_dir, tmp_path / "another")
    ]
    try:
        assert wait_for(lambda: node.helpers() == [children[0].pid])
        node.end_helpers()
        assert not is_running(children[0].pid)
        assert is_running(children[1].pid)
    finally:
        for child in children:
            kill(child.pid)
            child.wait()


def test_a_process_that_has_gone_has_no_command_line() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    assert command_line(child.pid) == []
    assert not is_running(child.pid)
    kill(child.pid)


def test_waiting_ends_with_the_time() -> None:
    assert wait_for(lambda: True, 0.0)
    assert not wait_for(lambda: False, 0.1)
