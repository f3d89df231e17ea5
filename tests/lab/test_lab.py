# SPDX-License-Identifier: Apache-2.0
"""The lab itself: what the stories rely on."""

from __future__ import annotations

from pathlib import Path

import pytest
from labkit import documents
from labkit.cloud import Cloud
from labkit.cluster import Cluster
from labkit.journal import Journal, parse
from labkit.lab import Lab
from labkit.node import BOOT_ID, Node
from labkit.tap import Tap

PAGE = """
    pcs node attribute cmp-1 hypervisor=true        # each of them
    pcs resource create nc ocf:heartbeat:nova-compute cloud=ha \\
        op start timeout=240s

Text.

```
pcs resource op add nc monitor interval=60s
pcs resource cleanup nc
pcs resource create nc ocf:heartbeat:nova-compute cloud=other
```

    primitive nc ocf:heartbeat:nova-compute params cloud=ha \\
        op start timeout=240s \\
        meta failure-timeout=120s
    op monitor interval=60s        # crmsh
"""


def test_a_node_has_a_name_an_identity_and_a_clock_of_its_own(node1: Node) -> None:
    assert node1.run("hostname").stdout.strip() == "node1"
    for path in ("/etc/machine-id", BOOT_ID):
        assert node1.path(path).read_text() != Path(path).read_text()
    uptime = float(node1.run("cat", "/proc/uptime").stdout.split()[0])
    assert uptime < float(Path("/proc/uptime").read_text().split()[0])


def test_what_a_node_writes_stays_on_the_node(lab: Lab, node1: Node) -> None:
    for path in ("/etc/lab-was-here", "/var/lib/lab-was-here", "/run/lab-was-here"):
        node1.run("touch", path)
        assert node1.path(path).exists()
        assert not Path(path).exists()
        assert not lab.node("node2").path(path).exists()
        node1.run("rm", path)


def test_the_agent_of_the_checkout_is_the_one_that_the_cluster_runs(cluster: Cluster) -> None:
    """Its metadata is asked for as user hacluster."""
    agent = "/usr/lib/ocf/resource.d/heartbeat/nova-compute"
    for node in cluster.nodes:
        shown = node.run(
            "setpriv", "--reuid=hacluster", "--regid=haclient", "--clear-groups", "--", agent, "meta-data"
        )
        assert '<resource-agent name="nova-compute"' in shown.stdout


def test_requests_are_written_down_with_who_asked(node1: Node, lab: Lab, tap: Tap) -> None:
    since = tap.now()
    url = f"{lab.control.settings.auth_url.removesuffix('/v3')}/v3"
    script = (
        "import sys; from urllib.request import *;"
        "urlopen(Request(sys.argv[1], None, {'User-Agent': sys.argv[2]}))"
    )
    node1.run("python3", "-c", script, url, "openstacksdk/0")
    [request] = tap.of_agent(node1.address, since)
    assert (request.service, request.method, request.path, request.status) == ("keystone", "GET", "/v3", 200)
    assert request.seconds is not None
    assert 0 < request.seconds < 5


def test_the_operator_sees_conductor_and_scheduler_up(cloud: Cloud) -> None:
    up = {row.binary for row in cloud.rows() if row.is_up}
    assert {"nova-conductor", "nova-scheduler"} <= up


def test_the_journal_joins_begin_and_result_of_an_action() -> None:
    begun = "pacemaker-execd [20] (log_execute) \tinfo: executing - rsc:d action:start call_id:6"
    ended = (
        "pacemaker-controld [23] (log_executor_event) \tnotice: Result of start operation for d on n: error"
        " (the API (nova) is away) | CIB update 11, graph action confirmed; call=6 key=d_start_0 rc=1"
    )
    [action] = parse([f"Nov 30 12:00:21.704 n {begun}", f"Nov 30 12:00:22.954 n {ended}"])
    assert (action.name, action.call, action.code, action.reason) == ("start", 6, 1, "the API (nova) is away")
    assert action.seconds == pytest.approx(1.25)


def test_a_remote_nodes_actions_begin_in_its_own_log(tmp_path: Path) -> None:
    """A call's number is used again once the node has booted: the last begin before the result counts."""
    ended = "pacemaker-controld [27] (log_executor_event) \tnotice: Result of start operation for d on r: ok"
    begun = "pacemaker-remoted [9] (log_execute) \tinfo: executing - rsc:d action:start call_id:7"
    result = f"{ended} | CIB update 68, graph action unconfirmed; call=7 key=d_start_0 rc=0"
    cluster, remote = tmp_path / "cluster.log", tmp_path / "remote.log"
    cluster.write_text(f"Nov 30 12:00:02.500 n {result}\nNov 30 12:05:03.000 n {result}\n", encoding="utf-8")
    remote.write_text(f"Nov 30 12:00:00.000 r {begun}\nNov 30 12:05:01.000 r {begun}\n", encoding="utf-8")
    actions = Journal(cluster, executor=remote).actions("d")
    assert [(action.name, action.code, action.seconds) for action in actions] == [
        ("start", 0, pytest.approx(2.5)),
        ("start", 0, pytest.approx(2.0)),
    ]


def test_configurations_are_taken_from_a_document_as_a_reader_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fences and indentation, comments, more lines of a primitive; what repairs is none."""
    monkeypatch.setattr(documents, "REPO", tmp_path)
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    pcs, other, crmsh = documents.configurations("page.md")
    assert (str(pcs), pcs.names, pcs.marks) == (
        "page.md-pcs",
        {"nc"},
        ["pcs node attribute cmp-1 hypervisor=true"],
    )
    assert pcs.commands == [
        "pcs resource create nc ocf:heartbeat:nova-compute cloud=ha \\\n    op start timeout=240s",
        "pcs resource op add nc monitor interval=60s",
    ]
    assert other.commands == ["pcs resource create nc ocf:heartbeat:nova-compute cloud=other"]
    assert crmsh.commands[0].split(" \\\n    ") == [
        "primitive nc ocf:heartbeat:nova-compute params cloud=ha",
        "op start timeout=240s",
        "op monitor interval=60s",
        "meta failure-timeout=120s",
    ]
    assert not other.is_part_of(pcs)
    fitted = pcs.fitted("node1", {"cloud": "lab", "binary": "/x"})
    assert fitted.marks == ["pcs node attribute node1 hypervisor=true"]
    assert "cloud=lab binary=/x \\" in fitted.commands[0]
