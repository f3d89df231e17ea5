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
        line = f"setsid {' '.join([BINARY, *words])} >&- 2>&- <&- &"
        before = self.pids()
        self.node.run("setpriv", "--reuid=daemon", "--clear-groups", "sh", "-c", line)
        wait_for("the daemon", lambda: self.pids() != before, 10)

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

    @property
    def reloaded(self) -> str:
        """When systemd has read its units for the last time."""
        return self.node.run("systemctl", "show", "--property=UnitsLoadFinishTimestampMonotonic").stdout

    def clean(self) -> None:
        self.node.run("systemctl", "stop", "nova-compute*", "openstack-*", check=False, timeout=200)
        for pid in [*self.pids(), *self.pids("/usr/bin/qemu-system-x86_64")]:
            self.kill(signal.SIGKILL, pid)
        ours = f"{UNITS}/*nova-compute* {UNITS}/pacemaker.service"
        self.node.run("sh", "-c", f"rm -rf {ours} /run/systemd/system/* /run/resource-agents/*")
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


def test_the_drop_in_is_written_once_and_world_readable(host: Host) -> None:
    """Cases 145 and 149: not a second reload for the same content."""
    host.unit()
    host.start()
    drop_in = host.node.path(DROP_IN)
    assert drop_in.stat().st_mode & 0o7777 == 0o644
    assert drop_in.parent.stat().st_mode & 0o7777 == 0o755
    assert host.state("Restart") == "no"
    assert "pacemaker.service" in host.state("Before")
    written = drop_in.stat()
    [pid] = host.pids()
    reloaded = host.reloaded
    host.kill(signal.SIGKILL, pid)
    wait_for("systemd to see it", lambda: host.state() == "failed", 10)
    host.start()
    assert drop_in.stat().st_mtime_ns == written.st_mtime_ns
    assert host.reloaded == reloaded
    host.stop()
    assert not drop_in.parent.exists()


def test_host_reaches_the_daemon(host: Host) -> None:
    """The parameter host, by the drop-in; whatever is in it, it is no directive."""
    host.unit()
    name = 'a"b%n\\ c\nExecStartPre=/bin/false'
    host.start(host=name)
    [pid] = host.pids()
    environ = host.node.path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert f"OS_DEFAULT__HOST={name}".encode() in environ
    host.stop(host=name)


def test_guests_in_the_units_group_live_on(host: Host) -> None:
    """Case 139: at a stop that ends well, and at one that kills."""
    for words in (["--guest", "--worker"], ["--guest", "--worker", "--deaf"]):
        host.unit(*words)
        host.start()
        wait_for("the guest", lambda: host.pids("/usr/bin/qemu-system-x86_64"), 10)
        [guest] = host.pids("/usr/bin/qemu-system-x86_64")
        assert UNIT in host.node.path(f"/proc/{guest}/cgroup").read_text()
        result = host.run("stop", timeout=8)
        assert result.code == 0, result
        assert host.pids() == []
        assert host.pids("/usr/bin/qemu-system-x86_64") == [guest]
        assert host.state() == "inactive"
        assert result.seconds < 8
        host.kill(signal.SIGKILL, guest)


def test_a_deaf_daemon_is_killed_inside_the_deadline(host: Host) -> None:
    """Case 141: deactivating for longer than there is time."""
    host.unit("--deaf", service="TimeoutStopSec=infinity")
    host.start()
    result = host.run("stop", timeout=6)
    assert result.code == 0, result
    assert host.pids() == []
    assert 1 < result.seconds < 6
    assert "is not stopped by systemd" in result.said
    assert host.state() == "inactive"
    assert host.monitor() == 7


def test_a_start_waits_until_the_unit_is_active(host: Host) -> None:
    """Case 141."""
    host.unit("--ready=4", service="Type=notify\nTimeoutStartSec=0")
    result = host.start()
    assert result.seconds > 4
    assert host.state() == "active"
    host.stop()
    host.unit("--ready=60", service="Type=notify\nTimeoutStartSec=0")
    result = host.run("start", timeout=6)
    assert result.code == 1
    assert result.seconds < 6
    host.stop()
    assert host.state() == "inactive"


def test_a_monitor_waits_out_what_is_between(host: Host) -> None:
    """Case 141: somebody restarts the unit by hand; then the monitor asks nobody again."""
    host.unit("--ready=2", service="Type=notify")
    host.start()
    [pid] = host.pids()
    host.node.systemctl("restart", "--no-block", UNIT)
    wait_for("the restart", lambda: host.state() == "activating", 10)
    assert host.monitor() == 0
    assert host.state() == "active"
    assert host.pids() != [pid]
    program = host.node.path("/run/lab/systemctl")
    program.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    program.chmod(0o755)
    host.node.run("mount", "--bind", "/run/lab/systemctl", "/usr/bin/systemctl")
    try:
        assert host.monitor() == 0
    finally:
        host.node.run("umount", "/usr/bin/systemctl")
    host.stop()


def test_a_service_that_dies_at_once_fails_the_start(host: Host) -> None:
    for words, service in (
        (["--dies=0"], ""),
        (["--dies=0.4"], "Restart=always"),
        (["--dies=0"], "Type=notify"),
    ):
        host.unit(*words, service=service)
        result = host.run("start")
        assert result.code == 1, result
        assert "(exit-code)" in result.said, result
        assert host.monitor() == 7
        host.stop()


def test_a_failed_unit_with_a_live_process_has_failed(host: Host) -> None:
    """Case 141: its workers outlived it; a stop ends them."""
    host.unit("--worker")
    host.start()
    host.kill(signal.SIGKILL, int(host.state("MainPID")))
    wait_for("systemd to see it", lambda: host.state() == "failed", 10)
    assert len(host.pids()) == 1
    result = host.run("monitor")
    assert result.code == 1
    assert "failed" in result.said
    assert host.run("start").code == 1
    host.stop()
    assert host.monitor() == 7


def test_a_daemon_beside_an_inactive_unit(host: Host) -> None:
    """Somebody started it by hand: found, not doubled, stopped."""
    host.unit()
    host.by_hand()
    assert host.monitor(CRM_meta_interval="") == 0
    assert host.monitor() == 0
    host.start()
    assert len(host.pids()) == 1
    assert host.state() == "inactive"
    host.stop()
    host.start()
    assert host.state() == "active"
    host.by_hand()
    host.stop()


def test_another_units_daemon_is_left_alone(host: Host) -> None:
    host.unit(name="ironic-nova-compute.service")
    host.unit()
    host.node.systemctl("start", "ironic-nova-compute")
    assert host.monitor() == 7
    host.start()
    assert len(host.pids()) == 2
    assert host.run("stop").code == 0
    assert host.pids() == [int(host.state("MainPID", "ironic-nova-compute"))]
    host.node.systemctl("stop", "ironic-nova-compute")


def test_masked_missing_and_broken_units(host: Host) -> None:
    """Case 137: 5 and why; auto takes a masked unit for one that is not to be used."""
    assert host.run("start", supervisor="systemd").code == 5
    assert host.monitor(supervisor="systemd") == 7
    assert host.run("stop", supervisor="systemd").code == 0
    host.node.systemctl("mask", UNIT)
    result = host.run("start", supervisor="systemd")
    assert result.code == 5
    assert "masked" in result.said
    assert host.run("start", unit="nova-compute").code == 5
    assert host.run("stop", supervisor="systemd").code == 0
    assert host.run("start", log="/run/lab/out").code == 0, "by a process"
    assert len(host.pids()) == 1
    assert host.state() == "inactive"
    host.run("stop")
    host.node.systemctl("unmask", UNIT)
    host.put(f"{UNITS}/{UNIT}", "[Service]\nUser=daemon\n")
    host.node.systemctl("daemon-reload")
    assert host.run("start").code == 2


def test_masked_while_it_runs(host: Host) -> None:
    """Case 137: it is the service still, and it is stopped."""
    for supervisor in ("systemd", "auto"):
        host.unit(service="Restart=always")
        host.start(supervisor=supervisor)
        host.node.systemctl("mask", "--runtime", UNIT)
        assert host.monitor(supervisor=supervisor) == 0
        assert host.run("stop", supervisor=supervisor).code == 0
        time.sleep(0.5)
        assert host.pids() == []
        host.node.systemctl("unmask", "--runtime", UNIT)
        host.clean()


@pytest.mark.parametrize("given", ["nova-compute", "nova-compute.service", " nova-compute "])
def test_names_of_one_unit(host: Host, given: str) -> None:
    """Case 148."""
    host.unit(service="Restart=always")
    host.start(unit=given)
    assert host.state("Restart") == "no"
    host.stop(unit=given)


def test_an_instance_of_a_template(host: Host) -> None:
    """Case 148."""
    host.unit(name="nova-compute@.service")
    host.start(unit="nova-compute@1")
    assert host.state("ActiveState", "nova-compute@1.service") == "active"
    assert host.state("Restart", "nova-compute@1.service") == "no"
    assert host.monitor(unit="nova-compute@1") == 0
    assert host.run("start", unit="nova-compute@").code == 6
    host.stop(unit="nova-compute@1")


def test_an_alias(host: Host) -> None:
    host.unit(name="openstack-nova-compute.service", install="[Install]\nAlias=nova-compute.service")
    host.node.systemctl("enable", "openstack-nova-compute")
    host.start()
    assert host.monitor() == 0
    assert host.state("ActiveState", "openstack-nova-compute.service") == "active"
    assert host.state("Restart", "openstack-nova-compute.service") == "no"
    result = host.run("stop")
    assert result.code == 0
    assert host.pids() == []


def test_systemd_executes_itself_anew(host: Host) -> None:
    """Case 140: a daemon-reexec under way costs nothing."""
    host.unit()
    for _ in range(3):
        host.node.run("systemctl", "daemon-reexec", "--no-block", check=False)
        host.start()
        host.node.run("systemctl", "daemon-reexec", "--no-block", check=False)
        assert host.monitor() == 0
        host.node.path("/run/resource-agents/nova-compute-compute.pid").unlink()
        assert host.monitor() == 0
        host.node.run("systemctl", "daemon-reexec", "--no-block", check=False)
        host.stop()


def test_without_systemd_the_process_decides(host: Host) -> None:
    """Cases 140 and 144: no bus at all, and then no systemctl."""
    for hidden in (["/run/systemd/private", "/run/dbus/system_bus_socket"], ["/usr/bin/systemctl"]):
        host.unit(service="Restart=always\nRestartSec=1")
        host.start()
        host.node.path("/run/resource-agents/nova-compute-compute.pid").unlink()
        for path in hidden:
            host.node.run("mount", "--bind", "/dev/null", path)
        try:
            assert host.monitor() == 0
            assert host.run("start").code == 0
            result = host.run("stop", timeout=30)
            assert result.code == 0, result
            assert host.pids() == []
            assert host.monitor() == 7
            assert host.run("start", timeout=10).code == 1
        finally:
            host.node.run("umount", *hidden)
        host.clean()


def test_stopped_by_systemd_before_the_cluster_asks(host: Host) -> None:
    """Case 142."""
    host.unit("--slow=2")
    host.start()
    host.node.systemctl("stop", UNIT)
    assert host.monitor() == 7
    host.stop()
    host.start()
    host.node.systemctl("stop", "--no-block", UNIT)
    host.stop()


def test_a_daemon_stopped_by_a_signal(host: Host) -> None:
    host.unit()
    host.start()
    host.kill(signal.SIGSTOP, *host.pids())
    assert host.monitor() == 1
    assert host.run("start").code == 1
    assert host.stop().seconds < 10


def test_what_validation_tells(host: Host) -> None:
    """Cases 136 and 147: enabled at boot, restarted by systemd; in each mode."""
    host.unit(service="Restart=on-failure", install="[Install]\nWantedBy=lab.target")
    host.node.systemctl("enable", UNIT)
    for supervisor in ("systemd", "process"):
        result = host.run("validate-all", supervisor=supervisor, OCF_CHECK_LEVEL="10")
        assert result.code == 0, result
        assert f"systemctl disable {UNIT}" in result.said
        assert "Restart=on-failure" in result.said
    host.node.systemctl("disable", UNIT)
    host.unit(service="TimeoutStopSec=100")
    said = host.run("validate-all", supervisor="systemd", OCF_CHECK_LEVEL="10").said
    assert "TimeoutStopSec=100, not more than the 180 s of recent Nova" in said, "case 25"
    host.unit(service="TimeoutStopSec=240")
    assert host.run("validate-all", OCF_CHECK_LEVEL="10").said == ""


def test_a_stop_by_a_cluster_that_is_stopping_itself(host: Host) -> None:
    """Case 142: the unit is ordered before the cluster: a plain stop would wait for the cluster's end."""
    host.unit()
    host.start()
    given = {
        "OCF_ROOT": "/usr/lib/ocf",
        "OCF_RESOURCE_INSTANCE": "compute",
        "OCF_RESKEY_CRM_meta_timeout": "20000",
        "OCF_RESKEY_binary": BINARY,
        "OCF_RESKEY_user": "daemon",
    }
    words = " ".join(f"{name}={value}" for name, value in given.items())
    agent = CHECKOUT / "heartbeat" / "nova-compute"
    host.put(
        f"{UNITS}/pacemaker.service",
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n"
        f"ExecStop=/usr/bin/env {words} {agent} stop\nTimeoutStopSec=60\n",
    )
    host.node.systemctl("daemon-reload")
    host.node.systemctl("start", "pacemaker")
    begin = time.monotonic()
    host.node.systemctl("stop", "pacemaker")
    assert time.monotonic() - begin < 10
    assert host.state("Result", "pacemaker.service") == "success"
    assert host.pids() == []
    assert host.state() == "inactive"
