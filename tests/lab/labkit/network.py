# SPDX-License-Identifier: Apache-2.0
"""One switch and the nodes' ports on it, all in network namespaces; the machine's own is not touched."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

from labkit.errors import LabError

NAMESPACES = Path("/run/netns")
CLONE_NEWNET = 0x40000000


class Network:
    """A bridge in a namespace of its own, and one veth pair for each node (`eth0` on the node's side)."""

    def __init__(self, prefix: str, addresses: dict[str, str]) -> None:
        self.prefix = prefix
        self.addresses = addresses

    def namespace(self, node: str) -> Path:
        return NAMESPACES / f"{self.prefix}-{node}"

    @property
    def switch(self) -> str:
        return f"{self.prefix}-switch"

    def up(self) -> None:
        """Make what is missing of it."""
        if not (NAMESPACES / self.switch).exists():
            _ip("netns", "add", self.switch)
            _ip("-n", self.switch, "link", "add", "br0", "type", "bridge")
            _ip("-n", self.switch, "link", "set", "br0", "up")
        for node, address in self.addresses.items():
            if not self.namespace(node).exists():
                self._connect(node, address)

    def _connect(self, node: str, address: str) -> None:
        name = self.namespace(node).name
        _ip("netns", "add", name)
        _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", self.switch, "link", "add", node, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("-n", self.switch, "link", "set", node, "master", "br0", "up")
        _ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        _ip("-n", name, "link", "set", "eth0", "up")

    def cut(self, node: str) -> None:
        """Pull the node's cable."""
        _ip("-n", self.switch, "link", "set", node, "down")

    def heal(self, node: str) -> None:
        """Plug the node's cable in again."""
        _ip("-n", self.switch, "link", "set", node, "up")

    def enter(self, node: str) -> None:
        """Move the calling thread, and what it starts from now on, into the node's network."""
        with open(self.namespace(node), "rb") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise LabError(f"cannot enter the network of {node}: {os.strerror(ctypes.get_errno())}")

    def down(self) -> None:
        for name in [self.namespace(node).name for node in self.addresses] + [self.switch]:
            if (NAMESPACES / name).exists():
                _ip("netns", "del", name)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"ip {' '.join(words)}: {done.stderr.strip()}")
