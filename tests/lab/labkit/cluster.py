# SPDX-License-Identifier: Apache-2.0
"""A Pacemaker cluster on nodes of the lab: corosync and pacemakerd on each, no fencing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from labkit.errors import wait_for
from labkit.journal import Journal
from labkit.node import Folder, Node
from labkit.service import Service

LOG = "/var/log/pacemaker/pacemaker.log"
HACLUSTER = {"user": "hacluster", "group": "haclient"}
# What tmpfiles.d makes below /run for a cluster node.
FOLDERS = (Folder("/run/crm", 0o750, **HACLUSTER), Folder("/run/resource-agents", 0o1755))

COROSYNC = """\
totem {{
  version: 2
  cluster_name: lab
  transport: udpu
  token: 1000
}}
nodelist {{
{nodes}}}
quorum {{
  provider: corosync_votequorum
}}
logging {{
  to_logfile: yes
  logfile: /var/log/corosync/corosync.log
  to_syslog: no
  to_stderr: no
  timestamp: hires
}}
"""

CIB = """\
<cib crm_feature_set="3.16.1" validate-with="pacemaker-3.9" epoch="1" num_updates="0" admin_epoch="0">
  <configuration>
    <crm_config>
      <cluster_property_set id="cib-bootstrap-options">
        <nvpair id="no-fencing" name="stonith-enabled" value="false"/>
        <nvpair id="no-quorum" name="no-quorum-policy" value="ignore"/>
        <nvpair id="quick-election" name="dc-deadtime" value="1s"/>
        <nvpair id="quick-recheck" name="cluster-recheck-interval" value="5s"/>
      </cluster_property_set>
    </crm_config>
    <nodes/>
    <resources/>
    <constraints/>
  </configuration>
  <status/>
</cib>
"""


class Cluster:
    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = list(nodes)

    # up and down

    def up(self) -> None:
        """Start what is down; returns when all nodes are online."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(self.start, self.nodes))

    def start(self, node: Node) -> None:
        """Boot a node and its cluster daemons; returns when it is online."""
        if not node.is_up:
            self._prepare(node)
            node.start()
        _corosync(node).start()
        _pacemakerd(node).start()
        wait_for(f"{node.name} to be online", lambda: node.name in self.online(), 60)

    def shut_down(self, node: Node) -> None:
        """An orderly shutdown: Pacemaker stops the node's resources first."""
        _pacemakerd(node).stop()
        _corosync(node).stop()
        node.kill()

    def online(self) -> set[str]:
        """The names of the nodes that are members now, as the first living node sees it."""
        path = "//node_state[@join='member' and @crmd='online']"
        return {state.get("uname", "") for state in self.query(path)}

    def _prepare(self, node: Node) -> None:
        nodes = "".join(
            f"  node {{\n    name: {n.name}\n    nodeid: {i}\n    ring0_addr: {n.address}\n  }}\n"
            for i, n in enumerate(self.nodes, 1)
        )
        node.write("/etc/corosync/corosync.conf", COROSYNC.format(nodes=nodes))
        node.folder("/var/lib/corosync", fresh=True)
        cib = "/var/lib/pacemaker/cib"
        if not node.folder(cib, fresh=True).joinpath("cib.xml").exists():
            node.write(f"{cib}/cib.xml", CIB, mode=0o600, **HACLUSTER)

    # asking

    @property
    def speaker(self) -> Node:
        """The first node that is up."""
        return next(node for node in self.nodes if node.is_up)

    def run(self, *argv: str, text: str = "") -> str:
        """A command on some living node; its output. `text` is its input."""
        return self.speaker.run(*argv, text=text).stdout

    def query(self, path: str) -> list[ET.Element]:
        """The CIB's elements of that XPath; none if there are none, or no cluster answers."""
        done = self.speaker.run("cibadmin", "--query", f"--xpath={path}", check=False)
        if done.returncode != 0 or not done.stdout.strip():
            return []
        found = ET.fromstring(done.stdout)
        return list(found) if found.tag == "xpath-query" else [found]

    def journal(self, node: Node) -> Journal:
        """What the cluster does on the node."""
        return Journal(node.disk(LOG))

    def configure(self, text: str) -> None:
        """Commands of crmsh's configure level, one a line."""
        for line in text.strip().splitlines():
            self.run("crm", "--force", "configure", *line.split())

    def wait(self, seconds: int = 60) -> None:
        """Until it has nothing left to do."""
        command = ("crm_resource", "--wait", f"--timeout={seconds}s")
        self.speaker.run(*command, timeout=seconds + 60)

    def remove(self, resource: str) -> None:
        """Stop a resource, and take it out of the configuration."""
        words = ["--meta", "--set-parameter=target-role", "--parameter-value=Stopped"]
        self.run("crm_resource", f"--resource={resource}", *words)
        self.wait()
        self.run("crm", "--force", "configure", "delete", resource)

    def set(self, name: str, value: str | None) -> None:
        """A property of the whole cluster; None: as it is by default."""
        change = "--delete" if value is None else f"--update={value}"
        self.run("crm_attribute", f"--name={name}", change)


def _corosync(node: Node) -> Service:
    def answers() -> bool:
        return node.run("corosync-cmapctl", "-g", "totem.version", check=False).returncode == 0

    return Service(node, "corosync", ["/usr/sbin/corosync", "-f"], is_ready=answers)


def _pacemakerd(node: Node) -> Service:
    environ = {"PCMK_logfile": LOG}
    return Service(node, "pacemakerd", ["/usr/sbin/pacemakerd"], environ)
