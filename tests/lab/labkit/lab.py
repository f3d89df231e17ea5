# SPDX-License-Identifier: Apache-2.0
"""All of it together: one control node, two cluster nodes, one switch; other nodes for some stories."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from labkit import compute, packages, remote
from labkit.cluster import FOLDERS, Cluster
from labkit.control import Control
from labkit.errors import LabError, wait_for
from labkit.installed import InstalledNode
from labkit.layout import REPO, Layout, is_open
from labkit.network import Network
from labkit.node import CHECKOUT, OFFERED, Node
from labkit.power import FENCE_AGENT
from labkit.proxy import Proxy
from labkit.service import Service
from labkit.settings import KEYSTONE, NOVA
from labkit.systemd import SystemdCluster, SystemdNode
from labkit.venv import Venv

CONTROL, PROXY = "control", "proxy"
CONTRACT_HOST = "contract1"
EXAMPLE = "ledger"
EXAMPLE_TEXT = REPO / "ocf_agents" / "cli" / "templates" / "promotable.txt"
NODES, REMOTE, SYSTEMD = ("node1", "node2"), "remote1", "sysd1"
SYSTEMD_REMOTE, INSTALLED = "sysd2", "pkg1"
ADDRESSES = {
    CONTROL: "10.99.0.200",
    PROXY: "10.99.0.201",
    "node1": "10.99.0.1",
    "node2": "10.99.0.2",
    REMOTE: "10.99.0.21",
    SYSTEMD: "10.99.0.31",
    SYSTEMD_REMOTE: "10.99.0.32",
    INSTALLED: "10.99.0.41",
}


class Lab:
    """`interpreter` runs the agents; None: the one that their first line names."""

    def __init__(self, layout: Layout, interpreter: str | None = None) -> None:
        self.layout = layout
        self.interpreter = interpreter
        self.network = Network(layout.prefix, ADDRESSES)
        self.nova_venv = Venv(layout.cache, "nova")
        self.test_venv = Venv(layout.cache, "test")
        self.control = Control(Node(layout, self.network, CONTROL), self.nova_venv, ADDRESSES[PROXY])
        self.cluster = Cluster([Node(layout, self.network, name, FOLDERS) for name in NODES])
        # A node without corosync, brought up by the stories that are about it.
        self.remote = remote.RemoteNode(layout, self.network, REMOTE, FOLDERS)
        # The same under systemd.
        self.systemd_remote = remote.SystemdRemoteNode(layout, self.network, SYSTEMD_REMOTE, FOLDERS)
        # A cluster of its own, brought up by the stories that are about systemd.
        self.systemd_cluster = SystemdCluster([SystemdNode(layout, self.network, SYSTEMD, FOLDERS)])
        # Another one, brought up by the stories that are about packages.
        self.installed_cluster = Cluster([InstalledNode(layout, self.network, INSTALLED, FOLDERS)])

    @classmethod
    def of_environment(cls, environ: Mapping[str, str] = os.environ) -> Lab:
        """LAB_PYTHON: the interpreter of the agents."""
        return cls(Layout.of_environment(environ), environ.get("LAB_PYTHON") or None)

    @property
    def compute_user(self) -> str:
        """Who nova-compute runs as: nova, where it can reach its program."""
        return compute.USER if is_open(self.layout.cache) else "root"

    @property
    def nodes(self) -> list[Node]:
        """All machines of the lab."""
        others = [self.remote, self.systemd_remote]
        others += [*self.systemd_cluster.nodes, *self.installed_cluster.nodes]
        return [self.control.node, *self.cluster.nodes, *others]

    def node(self, name: str) -> Node:
        for node in self.nodes:
            if node.name == name:
                return node
        raise LabError(f"no node {name}: there are {', '.join(node.name for node in self.nodes)}")

    def proxy(self) -> Proxy:
        """A new proxy in front of the cloud, at its address on the switch; not started."""
        address = self.control.node.address
        upstreams = {"keystone": (address, KEYSTONE), "nova-api": (address, NOVA)}
        return Proxy(self.network, PROXY, upstreams, self.control.home / "log" / "network.jsonl")

    # up and down

    def install(self) -> None:
        """Packages and virtual environments."""
        log = self.layout.state / "apt.log"
        packages.install(log)
        packages.unpack(remote.PACKAGE, "pacemaker", self.layout.unpacked, log)
        with ThreadPoolExecutor() as pool:
            list(pool.map(Venv.build, (self.nova_venv, self.test_venv)))

    def up(self) -> None:
        """Bring up what is down. The calling thread is in the control node's network afterwards."""
        self.install()
        self.network.up()
        self.network.enter(CONTROL)
        self._offer_agents()
        self._offer_fencing()
        for node in self.cluster.nodes:
            if not node.is_up:
                compute.provide(node, self.control.settings)
        with ThreadPoolExecutor() as pool:
            cluster = pool.submit(self.cluster.up)
            self.control.up()
            cluster.result()
        self.control.wait_until_up()

    def down(self) -> None:
        """End every process of the lab; what is installed and what is on the disks stays."""
        for node in self.nodes:
            if node is not self.control.node:
                node.kill()
        self.control.down()
        self.network.down()

    def wipe(self) -> None:
        """Forget the disks of all nodes."""
        self.down()
        shutil.rmtree(self.layout.state / "nodes", ignore_errors=True)

    def _offer_agents(self) -> None:
        """Lay the checkout's agents over those of resource-agents in every node.

        The layer holds links only, and is never changed under a running node; what they lead to may change.
        """
        layer, offered = self.layout.layer / "heartbeat", self.layout.offered
        for folder in (layer, offered):
            folder.mkdir(parents=True, exist_ok=True)
        for name in (*os.listdir(REPO / "heartbeat"), EXAMPLE):
            if not (layer / name).is_symlink():
                (layer / name).symlink_to(OFFERED / name)
            fresh = offered / f".{name}"
            fresh.unlink(missing_ok=True)
            if name == EXAMPLE:
                self._make_example(fresh)
            else:
                self._make_agent(fresh, CHECKOUT / "heartbeat" / name)
            fresh.replace(offered / name)

    def _make_example(self, path: Path) -> None:
        """The promotable agent of the authors' guide, which finds the package in the checkout."""
        python = self.interpreter or "/usr/bin/python3"
        head = f"#!{python} -I\nimport sys\n\nsys.path.insert(0, {str(CHECKOUT)!r})\n"
        path.write_text(head + EXAMPLE_TEXT.read_text(encoding="utf-8"), encoding="utf-8")
        path.chmod(0o755)

    def _make_agent(self, path: Path, real: Path) -> None:
        if self.interpreter is None:
            path.symlink_to(real)
        else:
            path.write_text(f'#!/bin/sh\nexec {self.interpreter} -I {real} "$@"\n', encoding="utf-8")
            path.chmod(0o755)

    def _offer_fencing(self) -> None:
        """Lay the lab's fence agent over those of this machine."""
        self.layout.tools.mkdir(parents=True, exist_ok=True)
        link = self.layout.tools / FENCE_AGENT
        if not link.is_symlink():
            link.symlink_to(CHECKOUT / "tests" / "lab" / "labkit" / "fence_lab.py")

    # for tests without Pacemaker

    def contract_compute(self) -> Service:
        """A living nova-compute by hand; its row may be changed freely."""
        service = compute.by_hand(self.control.node, self.nova_venv, self.control.settings, CONTRACT_HOST)
        service.start()
        wait_for(f"{CONTRACT_HOST} to be up", lambda: self._is_up(CONTRACT_HOST), 90, every=0.5)
        self.control.discover_hosts()
        return service

    def _is_up(self, host: str) -> bool:
        row = self.control.cloud.row(host)
        return row is not None and row.is_up
