# SPDX-License-Identifier: Apache-2.0
"""The promotable agent of the authors' guide, as a clone on both nodes. No cloud is needed."""

from __future__ import annotations

import re
import signal
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pytest
from labkit.cluster import Cluster
from labkit.errors import wait_for
from labkit.node import Node, Process

FRESHNESS = {"node1": 10, "node2": 20}
CLONE = """
<clone id="ledgers">
  <meta_attributes id="ledgers-meta">
    <nvpair id="ledgers-promotable" name="promotable" value="true"/>
    <nvpair id="ledgers-max" name="promoted-max" value="1"/>
    <nvpair id="ledgers-notify" name="notify" value="true"/>
  </meta_attributes>
  <primitive id="ledger" class="ocf" provider="heartbeat" type="ledger">
    <instance_attributes id="ledger-parameters">
      <nvpair id="ledger-binary" name="binary" value="/bin/sleep"/>
      <nvpair id="ledger-arguments" name="arguments" value="4711"/>
    </instance_attributes>
    <operations>
      <op id="ledger-start" name="start" interval="0" timeout="60s"/>
      <op id="ledger-stop" name="stop" interval="0" timeout="60s"/>
      <op id="ledger-promoted" name="monitor" role="Promoted" interval="1s" timeout="20s"/>
      <op id="ledger-unpromoted" name="monitor" role="Unpromoted" interval="2s" timeout="20s"/>
    </operations>
  </primitive>
</clone>
"""


class Ledger:
    """The clone, and what is seen of it in this story."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.marks = {node.name: cluster.journal(node).mark() for node in cluster.nodes}

    def create(self) -> None:
        for node in self.cluster.nodes:
            script = f"mkdir -p /var/lib/ledger && echo {FRESHNESS[node.name]} >/var/lib/ledger/freshness"
            node.run("/bin/sh", "-c", script)
        self.cluster.run("cibadmin", "--create", "--scope=resources", "--xml-pipe", text=CLONE)

    def delete(self) -> None:
        role = ["--meta", "--set-parameter=target-role", "--parameter-value=Stopped"]
        self.cluster.run("crm_resource", "--resource=ledgers", *role)
        self.cluster.wait()
        self.cluster.run("cibadmin", "--delete", "--xml-text=<clone id='ledgers'/>")
        for node in self.cluster.nodes:
            node.run("rm", "-r", "/var/lib/ledger")

    @property
    def roles(self) -> dict[str, str]:
        """The role that Pacemaker knows on each node where it runs."""
        seen = ET.fromstring(self.cluster.run("crm_mon", "-1", "--output-as=xml"))
        found = seen.iterfind(".//resource[@id='ledger']")
        return {node.get("name", ""): one.get("role", "") for one in found for node in one.iterfind("node")}

    def wait_for_roles(self, **roles: str) -> None:
        wait_for(f"roles {roles}", lambda: self.roles == roles, 30)
        self.cluster.wait()

    @property
    def attributes(self) -> dict[str, str]:
        """Which role the agent says it has, by node."""
        text = self.cluster.run("attrd_updater", "--query", "--all", "--name=ledger-role")
        return dict(re.findall(r'host="(\w+)" value="(\w+)"', text))

    def score(self, node: Node) -> str:
        """The promotion score of the node; empty if there is none."""
        return node.run(
            "crm_attribute", "--promotion=ledger", "--query", "--quiet", check=False
        ).stdout.strip()

    def followed(self, node: Node) -> list[str]:
        """Whom the node's instance was told to follow, one after the other."""
        told = self.cluster.journal(node).told("ledger", self.marks[node.name])
        return [found[1] for line in told if (found := re.search(r"ledger follows (.*) now", line))]

    def process(self, node: Node) -> Process | None:
        """The daemon on a node, as the pid file has it."""
        words = node.run("cat", "/run/resource-agents/ledger-ledger.pid", check=False).stdout
        number = re.search(r"\d+", words)
        return Process.of(node, int(number[0])) if number else None


@pytest.fixture
def ledger(cluster: Cluster) -> Iterator[Ledger]:
    ledger = Ledger(cluster)
    ledger.create()
    yield ledger
    ledger.delete()


def test_the_guides_promotable_agent_in_a_cluster(ledger: Ledger, cluster: Cluster) -> None:
    """Promoted where the data are freshest; in standby the other one is; back again; killed and recovered."""
    node1, node2 = cluster.nodes
    ledger.wait_for_roles(node1="Unpromoted", node2="Promoted")
    assert {node.name: ledger.score(node) for node in cluster.nodes} == {"node1": "10", "node2": "20"}
    assert ledger.attributes == {"node1": "unpromoted", "node2": "promoted"}
    assert [ledger.followed(node) for node in cluster.nodes] == [["node2"], ["node2"]]

    cluster.run("crm_standby", "--node=node2", "--update=on")
    try:
        ledger.wait_for_roles(node1="Promoted")
        assert (ledger.score(node1), ledger.score(node2)) == ("10", "")
        assert ledger.attributes == {"node1": "promoted", "node2": "stopped"}
        assert ledger.followed(node1) == ["node2", "node1"]
    finally:
        cluster.run("crm_standby", "--node=node2", "--delete")
    ledger.wait_for_roles(node1="Unpromoted", node2="Promoted")
    assert ledger.followed(node1) == ["node2", "node1", "node2"]

    first = ledger.process(node2)
    assert first is not None
    first.signal(signal.SIGKILL)
    wait_for("a new ledger on node2", lambda: ledger.process(node2) not in (None, first), 30)
    ledger.wait_for_roles(node1="Unpromoted", node2="Promoted")
    assert ledger.attributes == {"node1": "unpromoted", "node2": "promoted"}
