# SPDX-License-Identifier: Apache-2.0
"""The nodes' power switch, and the fence device with which the cluster turns it.

The switch is a thread of the stories' process and listens on a socket of the file system, which all nodes
share; `fence_lab.py` is the fence agent that asks it. A node that was turned off comes back by itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from typing import NamedTuple

from labkit.cluster import Cluster
from labkit.node import Node

FENCE_AGENT = "fence_lab"
DEVICE = "power"


class Fencing(NamedTuple):
    """The cluster has turned off a node at `at` (epoch seconds)."""

    node: str
    at: float


@dataclass
class PowerSwitch:
    """`nodes` are what it turns off; `boot` has the last word on how one comes back."""

    path: Path
    nodes: Sequence[Node]
    cluster: Cluster
    fenced: list[Fencing] = field(default_factory=list)

    def answer(self, action: str, name: str) -> int:
        """The exit code of the fence agent."""
        node = next((node for node in self.nodes if node.name == name), None)
        if action in ("monitor", "metadata"):
            return 0
        if node is None:
            return 1
        if action == "status":
            return 0 if node.is_up else 2
        if action in ("off", "reboot"):
            self.fenced.append(Fencing(name, time.time()))
            node.kill()
        if action in ("on", "reboot"):
            threading.Thread(target=self._boot, args=(node,), daemon=True).start()
        return 0

    def _boot(self, node: Node) -> None:
        if node in self.cluster.nodes:
            self.cluster.start(node)
        else:
            node.start()


class _Handler(StreamRequestHandler):
    def handle(self) -> None:
        action, name = self.rfile.readline().decode().split()
        code = self.server.switch.answer(action, name)  # type: ignore[attr-defined]
        with suppress(OSError):
            self.wfile.write(f"{code}\n".encode())


@contextmanager
def fencing(switch: PowerSwitch) -> Iterator[PowerSwitch]:
    """The cluster may, and will, turn off the nodes of the switch while this lasts."""
    switch.path.unlink(missing_ok=True)
    server = ThreadingUnixStreamServer(str(switch.path), _Handler)
    server.switch = switch  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    cluster, names = switch.cluster, ",".join(node.name for node in switch.nodes)
    params = f"socket={switch.path} pcmk_host_list={names} pcmk_host_check=static-list"
    cluster.configure(f"primitive {DEVICE} stonith:{FENCE_AGENT} params {params}")
    cluster.set("stonith-enabled", "true")
    cluster.wait()
    try:
        yield switch
    finally:
        cluster.set("stonith-enabled", "false")
        cluster.remove(DEVICE)
        server.shutdown()
        server.server_close()
        switch.path.unlink(missing_ok=True)
