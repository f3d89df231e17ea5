# SPDX-License-Identifier: Apache-2.0
"""The agent and a real systemd as PID 1, without a cluster and a cloud: what a unit can be like.

The service is a small daemon that does what its arguments say. Cases 136 to 149.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from labkit.errors import wait_for
from labkit.layout import Layout
from labkit.network import Network
from labkit.node import CHECKOUT, Folder, started
from labkit.systemd import UNITS, SystemdNode

NAME, ADDRESS = "unit1", "10.98.0.3"
BINARY = "/var/lib/units/nova-compute"
UNIT = "nova-compute.service"
DROP_IN = f"/run/systemd/system/{UNIT}.d/90-ocf-agents.conf"
DAEMON = """\
#!/usr/bin/python3 -IS
import os, signal, socket, sys, time
def child(argv):
    if os.fork() == 0:
        if argv:
            os.execv("/bin/sleep", argv)
        signal.pause()
        os._exit(0)
for word in sys.argv[1:]:
    name, _, value = word.partition("=")
    if name == "--guest":
        child(["/usr/bin/qemu-system-x86_64", "600"])
    elif name == "--worker":
        child([])
    elif name == "--deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif name == "--slow":
        signal.signal(signal.SIGTERM, lambda number, frame: (time.sleep(float(value)), os._exit(0)))
    elif name == "--ready":
        time.sleep(float(value))
        line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        line.connect(os.environ["NOTIFY_SOCKET"])
        line.send(b"READY=1")
    elif name == "--dies":
        time.sleep(float(value))
        sys.exit("it cannot be")
while True:
    signal.pause()
"""


@dataclass(frozen=True)
class Result:
    code: int
    said: str
    seconds: float


class Host:
    """The node, its service's unit, and the agent there."""

    def __init__(self, node: SystemdNode) -> None:
        self.node = node
        self.parameters: dict[str, str] = {}

    def unit(self, *words: str, service: str = "", install: str = "", name: str = UNIT) -> None:
        """The service's unit; the words are the daemon's."""
        text = f"[Service]\nUser=daemon\nExecStart={' '.join([BINARY, *words])}\n{service}\n{install}\n"
        self.put(f"{UNITS}/{name}", text)
        self.node.systemctl("daemon-reload")

    def put(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file in the running node."""
        target = self.node.path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        target.chmod(mode)

    def run(self, action: str, timeout: float = 40, **more: str) -> Result:
        environ = {
            "OCF_ROOT": "/usr/lib/ocf",
            "OCF_RESOURCE_INSTANCE": "compute",
            "OCF_RESKEY_CRM_meta_timeout": str(int(timeout * 1000)),
            "OCF_RESKEY_binary": BINARY,
            "OCF_RESKEY_user": "daemon",
            "OCF_RESKEY_disable_on_stop": "false",
            "OCF_RESKEY_enable_on_start": "false",
            **{f"OCF_RESKEY_{name}": value for name, value in self.parameters.items()},
            **{f"OCF_RESKEY_{name}": value for name, value in more.items() if name.islower()},
            **{name: value for name, value in more.items() if not name.islower()},
        }
        if action == "monitor":
            environ.setdefault("OCF_RESKEY_CRM_meta_interval", "10000")
        begin = time.monotonic()
        done = self.node.run(
            str(CHECKOUT / "heartbeat" / "nova-compute"), action, check=False, environ=environ
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Result(done.returncode, done.stderr, time.monotonic() - begin)

    def start(self, **more: str) -> Result:
        result = self.run("start", **more)
        assert result.code == 0, result
        return result

    def stop(self, **more: str) -> Result:
        result = self.run("stop", **more)
        assert result.code == 0, result
        assert self.pids() == []
        assert not self.node.path(DROP_IN).exists()
        return result

    def monitor(self, **more: str) -> int:
        return self.run("monitor", **more).code

    def by_hand(self, *words: str) -> None:
        """Somebody starts the daemon in a shell."""
        line = " ".join([BINARY, *words])
        self.node.run("setpriv", "--reuid=daemon", "--clear-groups", "sh", "-c", f"setsid {line} >&- 2>&- <&- &")
        wait_for("the daemon", lambda: self.pids(), 10)

    def pids(self, word: str = BINARY) -> list[int]:
        """The living processes with that word in their command line."""
        found = []
        for entry in self.node.path("/proc").iterdir():
            if entry.name.isdigit() and started(int(entry.name), entry.parent) is not None:
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if word.encode() in words and not words[0].endswith((b"/sh", b"/setsid")):
                    found.append(int(entry.name))
        return sorted(found)

    def kill(self, number: int, *pids: int) -> None:
        self.node.run("kill", f"-{number}", *map(str, pids))

    def state(self, name: str = "ActiveState", unit: str = UNIT) -> str:
        return self.node.show(unit, name)

    def clean(self) -> None:
        self.node.run("systemctl", "stop", "nova-compute*", "openstack-*", check=False, timeout=200)
        for pid in [*self.pids(), *self.pids("/usr/bin/qemu-system-x86_64")]:
            self.kill(signal.SIGKILL, pid)
        self.node.run(
            "sh", "-c", f"rm -rf {UNITS}/*nova-compute* /run/systemd/system/* /run/resource-agents/*"
        )
        self.node.systemctl("daemon-reload")
        self.node.systemctl("reset-failed")


@pytest.fixture(scope="module")
def node() -> Iterator[SystemdNode]:
    layout = Layout.of_environment()
    network = Network(f"{layout.prefix}u", {NAME: ADDRESS})
    network.up()
    node = SystemdNode(layout, network, NAME, [Folder("/run/resource-agents", 0o1755)])
    node.kill()
    node.write(BINARY, DAEMON, mode=0o755)
    node.start()
    yield node
    node.kill()
    network.down()


@pytest.fixture
def host(node: SystemdNode) -> Iterator[Host]:
    host = Host(node)
    host.clean()
    yield host
    host.clean()


def test_a_life(host: Host) -> None:
    """Probed, started twice, watched, crashed, stopped twice; systemd restarts nothing (case 147)."""
    host.unit(service="Restart=always\nRestartSec=0")
    assert host.monitor(CRM_meta_interval="") == 7
    host.start()
    assert host.state() == "active"
    [pid] = host.pids()
    assert host.state("MainPID") == str(pid)
    host.start()
    assert host.pids() == [pid]
    assert host.monitor() == 0
    host.kill(signal.SIGKILL, pid)
    wait_for("systemd to see it", lambda: host.state() == "failed", 10)
    assert host.monitor() == 7
    time.sleep(1)
    assert host.pids() == []
    host.stop()
    assert host.state() == "inactive"
    host.start()
    host.stop()
    host.stop()
    assert host.state() == "inactive"
    assert host.state("Restart") == "always", "the unit is its owner's again"
