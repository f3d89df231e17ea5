# SPDX-License-Identifier: Apache-2.0
"""Cases of kind 3: false alarms, blind spots, and the wrong process."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ocf_agents.service.proc import ProcTable
from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.message_bus import MessageBus
from ocf_agents.testing.node import Node, is_running, wait_for
from ocf_agents.testing.run import Result

from .place import WITHOUT_CLOUD, bring_up, codes, is_success, log_of, of_node, pid_file, rewrite_daemon

SLEEPER = "import time; time.sleep(60)"
FORKS = """\
for _ in range(2):
    if not __import__("os").fork():
        {birth}
        break
while True:"""


@pytest.fixture
def strangers() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that no agent started; all of them must outlive the test's actions."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def run_aside(argv: list[object]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, cwd="/")


def test_a_service_is_monitored_without_tools_connections_or_a_path(node: Node) -> None:
    """Cases 56, 57, 87, 100 and 180."""
    for path in ("/nonexistent", "", None):
        environment = {"PATH": path}
        assert node.pacemaker.probe(env_extra=environment).code == 7
        assert is_success(node.run("start", parameters=WITHOUT_CLOUD, env_extra=environment))
        result = node.run("monitor", env_extra=environment)
        assert (result.code, result.stdout, result.stderr) == (0, "", "")
        assert is_success(node.run("stop", parameters=WITHOUT_CLOUD, env_extra=environment))


@pytest.mark.parametrize("options", [[], ["-I"], ["-W", "ignore", "-X", "dev"]], ids=["bare", "-I", "more"])
def test_a_daemon_under_any_interpreter_is_found_by_its_command_line(
    node: Node, strangers: list[subprocess.Popen[bytes]], options: list[str]
) -> None:
    """Case 67."""
    interpreter = node.root / "python3.99"
    interpreter.symlink_to(sys.executable)
    daemon = run_aside([interpreter, *options, node.binary, f"--config-file={node.config}"])
    strangers.append(daemon)
    assert wait_for(lambda: node.pacemaker.probe().code == 0)
    assert codes(node) == (0, 0, 0)
    assert daemon.wait(5) == 0


def test_decoys_are_neither_taken_for_the_service_nor_signalled(
    node: Node, strangers: list[subprocess.Popen[bytes]]
) -> None:
    """Case 68."""
    config = f"--config-file={node.config}"
    namesake, other = node.root / "nova-compute2", node.root / "other" / "nova-compute"
    other.parent.mkdir()
    shutil.copy(node.binary, namesake)
    shutil.copy(node.binary, other)
    aside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", node.binary, config]
    for argv in (
        [sys.executable, "-c", SLEEPER, node.binary, config],
        ["/usr/bin/tail", "-f", node.binary],
        [namesake, config],
        [other, config],
        [node.binary, f"{config}.old"],
        aside,
    ):
        strangers.append(run_aside(argv))
    assert codes(node) == (7, 7, 0)
    bring_up(node)
    assert codes(node) == (0, 0, 0)
    assert [process.poll() for process in strangers] == [None] * 6


def test_a_pid_file_that_names_a_stranger_is_believed_in_nothing(
    node: Node, strangers: list[subprocess.Popen[bytes]]
) -> None:
    """Case 69: the bare number, and the whole truth but for the start time or the command line."""
    stranger = run_aside([sys.executable, "-c", SLEEPER])
    strangers.append(stranger)
    process = ProcTable().identify(stranger.pid)
    assert process is not None
    service = [sys.executable, "-IS", str(node.binary), f"--config-file={node.config}"]
    node.run_dir.mkdir()
    for text in (
        f"{stranger.pid}\n",
        record(process.pid, process.start, process.boot_id, service),
        record(process.pid, process.start - 1, process.boot_id, service),
        record(process.pid, process.start, process.boot_id, [sys.executable, "-c", SLEEPER]),
    ):
        pid_file(node).write_text(text)
        assert codes(node) == (7, 7, 0)
        pid_file(node).write_text(text)
        bring_up(node)
        assert codes(node) == (0, 0, 0)
        assert stranger.poll() is None


def record(pid: int, start: int, boot: str, argv: list[str]) -> str:
    facts = [str(pid), f"start={start}", f"boot={boot}", f"uid={os.geteuid()}", "run=1"]
    return "\n".join([*facts, *(f"arg={word}" for word in argv)]) + "\n"


@pytest.mark.parametrize(
    "content", [b"", b"123 456\n", b"12\n34\n", b"\0\0\0\0", b"9" * 30, b"started\n\xff\xfe"], ids=repr
)
def test_junk_in_the_pid_file_neither_hides_the_daemon_nor_kills_anybody(node: Node, content: bytes) -> None:
    """Cases 70, 71 and 73; -1, 0 and 1 are tried in a PID namespace of their own, see the unit tests."""
    node.run_dir.mkdir()
    pid_file(node).write_bytes(content)
    assert codes(node) == (7, 7, 0)
    pid_file(node).write_bytes(content)
    pid = bring_up(node)
    assert pid_file(node).read_text().splitlines()[0] == str(pid)
    pid_file(node).write_bytes(content)
    assert bring_up(node) == pid
    pid_file(node).write_bytes(content)
    assert codes(node) == (0, 0, 0)
    assert not is_running(pid)


def test_a_lost_pid_file_and_a_lost_run_directory_lose_nothing(node: Node) -> None:
    """Case 72."""
    pid = bring_up(node)
    pid_file(node).unlink()
    assert bring_up(node) == pid
    shutil.rmtree(node.run_dir)
    assert codes(node) == (0, 0, 0)
    assert not is_running(pid)
    assert bring_up(node) != pid


def test_a_node_without_the_software_says_so_to_a_start_only(node: Node, cloud: ComputeApi) -> None:
    """Cases 73, 75, 76 and 77: leftovers are no service, and a probe asks nobody."""
    node.run_dir.mkdir()
    node.state_dir.mkdir(mode=0o700)
    for name in ("nova-compute.lock", "nova-compute.open", "nova-compute.json"):
        (node.state_dir / name).write_text("{}")
    pid_file(node).write_text("4000000\n")
    node.binary.unlink()
    nothing = {"user": "no-such-user-here", "config": ""}
    probe = node.pacemaker.probe(parameters=nothing)
    assert (probe.code, probe.stdout, probe.stderr) == (7, "", "")
    started = node.run("start", parameters={**WITHOUT_CLOUD, **nothing})
    assert started.code == 5
    assert started.reason
    assert is_success(node.run("stop", parameters={**WITHOUT_CLOUD, **nothing}))
    assert cloud.requests == []


def test_a_stopped_daemon_is_failed_with_or_without_its_pid_file(node: Node) -> None:
    """Case 80."""
    for is_lost in (False, True):
        pid = bring_up(node)
        os.kill(pid, signal.SIGSTOP)
        if is_lost:
            pid_file(node).unlink()
        monitor = node.run("monitor")
        assert monitor.code == 1
        assert "stopped" in (monitor.reason or "")
        assert node.run("start", parameters=WITHOUT_CLOUD).code == 1
        assert is_success(node.run("stop", parameters=WITHOUT_CLOUD))
        assert not is_running(pid)


def test_a_zombie_is_not_a_running_daemon(node: Node, strangers: list[subprocess.Popen[bytes]]) -> None:
    """Case 80."""
    child = run_aside([node.binary, f"--config-file={node.config}"])
    strangers.append(child)
    assert wait_for(lambda: node.pacemaker.probe().code == 0)
    assert bring_up(node) == child.pid
    os.kill(child.pid, signal.SIGKILL)
    assert wait_for(lambda: not is_running(child.pid))
    assert node.run("monitor").code in (1, 7)
    assert is_success(node.run("stop", parameters=WITHOUT_CLOUD))
    assert bring_up(node) != child.pid


def test_a_daemon_that_the_cloud_calls_down_runs_at_level_0(running: tuple[Node, ComputeApi]) -> None:
    """Cases 79 and 160."""
    node, cloud = running
    cloud.row("cmp-7").forced_down = True
    assert node.run("monitor").code == 0
    cloud.row("cmp-7").forced_down = False


@pytest.mark.parametrize(
    "birth",
    ["pass", '__import__("os").setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN)'],
    ids=["plain", "deaf and in a session of its own"],
)
def test_workers_do_not_stand_for_their_parent_and_end_with_the_stop(node: Node, birth: str) -> None:
    """Cases 84 and 85."""
    rewrite_daemon(node, "while True:", FORKS.format(birth=birth))
    parent = bring_up(node)
    workers = [pid for pid in of_node(node) if pid != parent]
    assert len(workers) == 2
    os.kill(parent, signal.SIGKILL)
    assert wait_for(lambda: not is_running(parent))
    monitor = node.run("monitor")
    assert (monitor.code, "workers" in (monitor.reason or "")) == (1, True)
    assert node.run("start", parameters=WITHOUT_CLOUD).code == 1
    assert is_success(node.run("stop", parameters=WITHOUT_CLOUD, timeout=6))
    assert [pid for pid in workers if is_running(pid)] == []


def test_the_run_directory_of_a_reboot_is_made_anew(node: Node) -> None:
    """Case 103."""
    parameters = {"pid": node.root / "own" / "compute.pid"}
    for directory, given in ((node.run_dir, {}), (node.root / "own", parameters)):
        assert is_success(node.run("start", parameters={**WITHOUT_CLOUD, **given}))
        assert directory.stat().st_mode & 0o777 == 0o755
        assert is_success(node.run("stop", parameters={**WITHOUT_CLOUD, **given}))
        shutil.rmtree(directory)


def tell_the_bus(node: Node, url: str) -> None:
    node.config.write_text(f"[DEFAULT]\nhost = {node.host}\n" + (f"transport_url = {url}\n" if url else ""))


def ask_the_bus(node: Node) -> Result:
    """A monitor at level 10 that judges at once."""
    impatient = {"bus_grace": "0", "bus_misses": "1", "bus_timeout": "1s"}
    return node.run("monitor", level=10, parameters=impatient)


@pytest.mark.parametrize(
    "url",
    ["", "fake://", "kafka://h:1", "rabbit://h:0", "rabbit://h:65536", "rabbit://h:abc", "rabbit://[::1"],
)
def test_a_bus_that_is_not_told_or_told_wrong_fails_nothing_and_is_said_once(node: Node, url: str) -> None:
    """Cases 59 and 61."""
    bring_up(node)
    tell_the_bus(node, url)
    assert [ask_the_bus(node).code for _ in range(3)] == [0, 0, 0]
    assert log_of(node).count("the message bus is not asked") == 1
    assert is_success(node.run("stop", parameters=WITHOUT_CLOUD))


def test_the_bus_is_found_over_ipv6_behind_a_broker_that_is_down(node: Node) -> None:
    """Cases 60 and 63."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        down = closed.getsockname()[1]
    with MessageBus(host="::1") as bus:
        bring_up(node)
        tell_the_bus(node, f"rabbit://a:b@127.0.0.1:{down},guest:guest@[::1]:{bus.port}/")
        assert is_success(ask_the_bus(node))
        assert bus.keys == ["nova/compute.cmp-7"]


def test_a_connection_that_the_bus_has_closed_is_none(node: Node) -> None:
    """Cases 62 and 81: of the process itself, to the bus's port, established. CLOSE_WAIT is not."""
    with MessageBus(does="silent") as bus, socket.create_server(("127.0.0.2", bus.port)) as peer:
        rewrite_daemon(
            node,
            "while True:",
            f"import socket\nline = socket.create_connection({peer.getsockname()})\nwhile True:",
        )
        bring_up(node)
        tell_the_bus(node, bus.url)
        line, _ = peer.accept()
        connected = ask_the_bus(node)
        line.close()
        closed = ask_the_bus(node)
    assert (connected.code, closed.code) == (1, 1)
    assert "no connection to the message bus" not in (connected.reason or "")
    assert "no connection to the message bus" in (closed.reason or "")
