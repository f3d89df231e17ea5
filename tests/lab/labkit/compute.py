# SPDX-License-Identifier: Apache-2.0
"""nova-compute on the nodes of the lab: what the node needs for it, and one that is started by hand.

In the stories the agents start it; the lab itself starts one only for tests that need a row, no Pacemaker.
"""

from __future__ import annotations

import os
from pathlib import Path

from labkit.node import Node
from labkit.service import Service
from labkit.settings import Settings
from labkit.venv import Venv

CONFIG = "/etc/nova/nova.conf"
CLOUDS = "/etc/openstack/clouds.yaml"
USER, UID = "nova", 64060


def provide(node: Node, settings: Settings) -> None:
    """Put the configuration of Nova and the agents' credentials on the node's disk, and a user `nova`."""
    _add_user(node)
    node.write(CONFIG, settings.nova_compute(node.name, node.address), mode=0o640, group=UID)
    node.write(CLOUDS, settings.clouds(), mode=0o600)
    for folder in ("/var/lib/nova", "/var/log/nova"):
        os.chown(node.folder(folder), UID, UID)


def _add_user(node: Node) -> None:
    for path, line in (
        ("/etc/passwd", f"{USER}:x:{UID}:{UID}::/var/lib/nova:/bin/false"),
        ("/etc/group", f"{USER}:x:{UID}:"),
    ):
        others = [
            entry
            for entry in Path(path).read_text(encoding="utf-8").splitlines()
            if not entry.startswith(f"{USER}:")
        ]
        node.write(path, "\n".join([*others, line, ""]))


def by_hand(node: Node, venv: Venv, settings: Settings, host: str) -> Service:
    """A nova-compute of another host name that the lab starts itself on `node`; not waited for."""
    state = node.home / f"compute-{host}"
    state.mkdir(exist_ok=True)
    config = state / "nova.conf"
    config.write_text(settings.nova_compute(host, node.address, str(state)), encoding="utf-8")
    return Service(node, f"nova-compute-{host}", [venv.bin("nova-compute"), "--config-file", str(config)])
