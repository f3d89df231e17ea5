# SPDX-License-Identifier: Apache-2.0
"""What the tests of the public cases share: a node, and short words for what is looked at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ocf_agents.guard import marker
from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node, all_pids, command_line, is_running, kill, wait_for
from ocf_agents.testing.run import Result

AGENT = Path(__file__).parents[2] / "heartbeat" / "nova-compute"
WITHOUT_CLOUD = {"disable_on_stop": "false", "enable_on_start": "false"}
"""Parameters with which start and stop mind the process only."""


def make_node(root: Path, cloud: ComputeApi, first_report: float = 0.1) -> Node:
    """A node whose row lives and dies with its daemon."""
    node = Node(root, AGENT, cloud.credentials(), "cmp-7", hold="2s", api_timeout="3s")
    cloud.follow(cloud.add("cmp-7", alive=False), node.is_alive, first_report=first_report)
    return node


def clean_up(node: Node) -> None:
    """Leave no process behind, known to the test or not."""
    node.clean_up()
    for pid in of_node(node):
        kill(pid)


def of_node(node: Node) -> list[int]:
    """The living processes whose command line names something of the node's directory."""
    root = os.fsencode(node.root)
    named = [pid for pid in all_pids() if any(root in word for word in command_line(pid))]
    return [pid for pid in named if pid != os.getpid() and is_running(pid)]


def bring_up(node: Node, **parameters: object) -> int:
    """Start the daemon without a request to the cloud; its pid."""
    result = node.run("start", parameters={**WITHOUT_CLOUD, **parameters})
    assert result.code == 0, result
    assert node.pid is not None
    return node.pid


def is_success(result: Result) -> bool:
    assert result.code == 0, result
    return True


def is_quiet(node: Node) -> bool:
    """Wait until no helper works any more."""
    return wait_for(lambda: not node.helpers(), 20)


def pid_file(node: Node) -> Path:
    return node.run_dir / "nova-compute-nova-compute.pid"


def codes(node: Node, **parameters: object) -> tuple[int, int, int]:
    """What a probe, a monitor and a stop say, one after the other."""
    given = {**WITHOUT_CLOUD, **parameters}
    probe = node.pacemaker.probe(parameters=given)
    return probe.code, node.run("monitor", parameters=given).code, node.run("stop", parameters=given).code


def told(seconds: float) -> dict[str, str]:
    """The environment that tells an action of this timeout; the test itself is more patient."""
    return {"OCF_RESKEY_CRM_meta_timeout": str(int(seconds * 1000))}


def begin_agent_with(node: Node, code: str) -> None:
    """Run this code in the agent's interpreter before the agent."""
    path = Path(node.pacemaker.agent_path)
    path.write_text(path.read_text().replace("import runpy\n", f"{code}import runpy\n"))


def our_marker(resource: str = "nova-compute", host: str = "cmp-7") -> str:
    return str(marker.make(resource, host, "2026-01-01T00:00:00Z", "0" * 16))


def writes(cloud: ComputeApi) -> list[Any]:
    """The bodies of all writes, in order."""
    return [request.body for request in cloud.requests if request.method == "PUT"]


def log_of(node: Node) -> str:
    return node.log.read_text() if node.log.exists() else ""


def rewrite_daemon(node: Node, old: str, new: str) -> None:
    """Make another daemon of the node's."""
    program = node.binary.read_text()
    assert old in program
    node.binary.write_text(program.replace(old, new))
