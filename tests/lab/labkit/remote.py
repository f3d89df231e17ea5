# SPDX-License-Identifier: Apache-2.0
"""Nodes that run resources without corosync: pacemaker_remoted, which a cluster node speaks to.

The package conflicts with Pacemaker itself, so that its files are unpacked beside it and not installed.
"""

from __future__ import annotations

import secrets

from labkit.cluster import LOG, Cluster
from labkit.errors import wait_for
from labkit.journal import Journal
from labkit.node import Node
from labkit.service import Service
from labkit.systemd import PACEMAKER, TARGET, SystemdNode

PACKAGE = "pacemaker-remote"
PORT = 3121
KEY = "/etc/pacemaker/authkey"
UNIT = "pacemaker_remote.service"
WANTED = f"[Unit]\nWants=lab-network.service {UNIT}\n"


class RemoteNode(Node):
    """`join` makes it a part of a cluster; `start` boots it with its daemon, as a power switch does."""

    def start(self) -> None:
        super().start()
        self.daemon.start()

    @property
    def daemon(self) -> Service:
        environ = {"PCMK_logfile": LOG}
        return Service(
            self, "pacemaker-remoted", [self.program], environ, is_ready=lambda: self.listens(PORT)
        )

    @property
    def program(self) -> str:
        return str(self.layout.unpacked / "usr" / "sbin" / "pacemaker-remoted")

    def join(self, cluster: Cluster) -> None:
        """Boot it and make it a node of the cluster; the first cluster node speaks to it."""
        self._share_key(cluster)
        self.start()
        speaker = cluster.nodes[0].name
        params = f"server={self.address} reconnect_interval=3s"
        cluster.configure(
            f"""
            primitive {self.name} ocf:pacemaker:remote params {params} op monitor interval=3s timeout=6s
            location {self.name}-by-{speaker} {self.name} rule -inf: #uname ne {speaker}
            """
        )
        self.wait_until_online(cluster)

    def set_connection(self, cluster: Cluster, role: str) -> None:
        """Started or Stopped: what connects it; what runs on the node is stopped first."""
        words = ["--meta", "--set-parameter=target-role", f"--parameter-value={role}"]
        cluster.run("crm_resource", f"--resource={self.name}", *words)

    def leave(self, cluster: Cluster) -> None:
        """The cluster forgets it."""
        cluster.remove(self.name)
        cluster.run("crm_node", "--force", f"--remove={self.name}")
        self.kill()

    def wait_until_online(self, cluster: Cluster, timeout: float = 60) -> None:
        wait_for(f"{self.name} to be online", lambda: self.is_online(cluster), timeout)

    def is_online(self, cluster: Cluster) -> bool:
        return bool(cluster.query(f"//node_state[@uname='{self.name}' and @in_ccm='true']"))

    def journal(self, cluster: Cluster) -> Journal:
        """What the cluster does on it."""
        return Journal(cluster.nodes[0].disk(LOG), executor=self.disk(LOG))

    def _share_key(self, cluster: Cluster) -> None:
        """The one that the cluster has, if it has one: its daemons keep a key for a minute."""
        known = cluster.nodes[0].disk(KEY)  # /etc below it is the whole machine's
        key = known.read_text(encoding="ascii") if known.exists() else secrets.token_hex(128)
        self.write(KEY, key, mode=0o640, group="haclient")
        for node in cluster.nodes:
            script = f"umask 027; cat >{KEY}; chgrp haclient {KEY}"
            node.run("sh", "-c", script, text=key)


class SystemdRemoteNode(RemoteNode, SystemdNode):
    """A remote node that systemd boots: its daemon is the package's unit."""

    def start(self) -> None:
        shipped = self.layout.unpacked / "lib" / "systemd" / "system" / UNIT
        text, installed = shipped.read_text(encoding="utf-8"), "/usr/sbin/pacemaker-remoted"
        self.add_unit(UNIT, text.replace(installed, self.program))
        self.add_unit(f"{TARGET}.d/remote.conf", WANTED)
        self.write("/etc/default/pacemaker", PACEMAKER)
        SystemdNode.start(self)
        wait_for(f"{UNIT} of {self.name}", lambda: self.listens(PORT), 30)
