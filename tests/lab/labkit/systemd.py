# SPDX-License-Identifier: Apache-2.0
"""A machine of the lab whose PID 1 is systemd, with this machine's own units of the cluster's daemons.

Its systemd reads units from /etc/systemd/system and from /run alone. What is put there: the few units that
any service depends on, corosync, pacemaker and dbus as Debian ships them, and one that takes the network down
at a shutdown, as late as any network does.
"""

from __future__ import annotations

from pathlib import Path

from labkit.cluster import Cluster
from labkit.compute import CONFIG
from labkit.errors import LabError, wait_for
from labkit.node import Node

SHIPPED = Path("/lib/systemd/system")
UNITS = "/etc/systemd/system"
CGROUPS = (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))
TARGET = "lab.target"
COPIED = (
    "basic.target",
    "corosync.service",
    "dbus.service",
    "dbus.socket",
    "exit.target",
    "network-online.target",
    "network.target",
    "pacemaker.service",
    "shutdown.target",
    "sysinit.target",
)
OWN = {
    TARGET: "[Unit]\nRequires=basic.target dbus.socket\nAfter=basic.target dbus.socket\nAllowIsolate=yes\n",
    # Without umount.target: the agents themselves are on a mount that is nobody's unit on a real machine.
    "systemd-exit.service": """\
[Unit]
DefaultDependencies=no
Requires=shutdown.target
After=shutdown.target
SuccessAction=exit-force
""",
    "lab-network.service": """\
[Unit]
Wants=network.target
Before=network.target network-online.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/sbin/ip link set eth0 up
ExecStop=/sbin/ip link set eth0 down
""",
}
CLUSTER = "[Unit]\nWants=lab-network.service pacemaker.service\n"
PACEMAKER = "PCMK_logfile=/var/log/pacemaker/pacemaker.log\n"


COMPUTE = "nova-compute.service"
COMPUTE_TEXT = """\
[Unit]
Description=OpenStack Compute
After=network.target
[Service]
Type=simple
User={user}
Restart=always
TimeoutStopSec=65
ExecStart={binary} --config-file={config}
StandardOutput=append:/var/log/nova/nova-compute.out
StandardError=inherit
[Install]
WantedBy=multi-user.target
"""
DROP_IN = f"/run/systemd/system/{COMPUTE}.d/90-ocf-agents.conf"


class SystemdNode(Node):
    """A node that systemd boots; its services are units."""

    systemd = (f"--unit={TARGET}", "--log-target=console", "--show-status=no")
    more_namespaces = ("--cgroup",)

    def _before_boot(self) -> list[str]:
        """systemd needs a control group of its own, and is the root of all below it."""
        group = self._group()
        group.mkdir(exist_ok=True)
        return ["/bin/sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(group)]

    def _group(self) -> Path:
        for root in CGROUPS:
            if (root / "cgroup.controllers").exists():
                return root / self.network.namespace(self.name).name
        raise LabError("no cgroup2 file system: systemd cannot be PID 1 of a node here")

    def start(self) -> None:
        """Boot; returns when systemd answers."""
        for name in COPIED:
            self.add_unit(name, (SHIPPED / name).read_text(encoding="utf-8"))
        for name, text in OWN.items():
            self.add_unit(name, text)
        super().start()
        wait_for(f"systemd of {self.name}", lambda: self.systemctl("list-jobs", check=False) == 0, 30)

    def add_unit(self, name: str, text: str) -> None:
        """Put a unit on its disk, while it is off."""
        self.folder(UNITS, fresh=True)
        self.write(f"{UNITS}/{name}", text)

    def add_compute(self, binary: str, user: str) -> None:
        """nova-compute's unit, much as packages have it."""
        self.add_unit(COMPUTE, COMPUTE_TEXT.format(user=user, binary=binary, config=CONFIG))

    def want_cluster(self) -> None:
        """Have Pacemaker started at boot."""
        self.add_unit(f"{TARGET}.d/cluster.conf", CLUSTER)

    def systemctl(self, *words: str, check: bool = True) -> int:
        """Run systemctl in it; the exit code."""
        return self.run("systemctl", "--no-pager", *words, check=check).returncode

    def show(self, unit: str, name: str) -> str:
        """A property of a unit."""
        return self.run("systemctl", "show", "--value", f"--property={name}", unit).stdout.strip()

    def shut_down(self, timeout: float = 120) -> None:
        """As `poweroff` does: systemd stops all units in their order, and ends."""
        self.systemctl("exit")
        wait_for(f"the shutdown of {self.name}", lambda: not self.is_up, timeout)


class SystemdCluster(Cluster):
    """A cluster on nodes that systemd boots: corosync and Pacemaker are units."""

    def start(self, node: Node) -> None:
        """Boot a node; returns when it is online."""
        assert isinstance(node, SystemdNode)
        if not node.is_up:
            self._prepare(node)
            node.write("/etc/default/pacemaker", PACEMAKER)
            node.want_cluster()
            node.start()
        wait_for(f"{node.name} to be online", lambda: node.name in self.online(), 60)

    def shut_down(self, node: Node) -> None:
        """An orderly shutdown of the host."""
        assert isinstance(node, SystemdNode)
        node.shut_down()
