# SPDX-License-Identifier: Apache-2.0
"""Real connections of real processes, and one table as large as a busy host's."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.service.proc import ProcTable
from ocf_agents.service.sockets import owns_connection_to

ME = [os.getpid()]


@pytest.fixture(params=[(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")], ids=["IPv4", "IPv6"])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    family, address = request.param
    with socket.socket(family) as listener:
        listener.bind((address, 0))
        listener.listen()
        yield listener


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def test_an_established_connection_of_the_process_itself_is_found(listener: socket.socket) -> None:
    port = port_of(listener)
    assert owns_connection_to(ProcTable(), ME, [port]) is False, "listening is no connection"
    with socket.create_connection(listener.getsockname()[:2]):
        assert owns_connection_to(ProcTable(), ME, [9, port]) is True
        assert owns_connection_to(ProcTable(), ME, [9]) is False
    assert owns_connection_to(ProcTable(), ME, [port]) is False


def test_an_ipv4_peer_on_an_ipv6_socket_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_INET6) as client:
        client.connect(("::ffff:127.0.0.1", port_of(listener)))
        assert owns_connection_to(ProcTable(), ME, [port_of(listener)]) is True


def test_the_local_port_does_not_count(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()[:2]):
        accepted, _ = listener.accept()
        local = accepted.getsockname()[1]
        script = "import time\nprint('up', flush=True)\ntime.sleep(60)"
        command = [sys.executable, "-c", script]
        child = subprocess.Popen(command, pass_fds=[accepted.fileno()], stdout=subprocess.PIPE)
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"up\n"
            assert owns_connection_to(ProcTable(), [child.pid], [local]) is False
        finally:
            child.kill()
            child.wait()
            child.stdout.close()
            accepted.close()


def test_another_processs_connection_does_not_count(listener: socket.socket) -> None:
    child = subprocess.Popen(["sleep", "60"])
    try:
        with socket.create_connection(listener.getsockname()[:2]):
            assert owns_connection_to(ProcTable(), [child.pid], [port_of(listener)]) is False
            assert owns_connection_to(ProcTable(), [child.pid, *ME], [port_of(listener)]) is True
    finally:
        child.kill()
        child.wait()


def test_a_connection_that_is_not_established_does_not_count() -> None:
    """A listener whose backlog is full leaves the next one half open."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        clients = [socket.socket() for _ in range(4)]
        for client in clients:
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        port = port_of(listener)
        half_open = next(client for client in clients if state_of(client, port) == "02")
        for client in clients:
            if client is not half_open:
                client.close()
        assert owns_connection_to(ProcTable(), ME, [port]) is False
        half_open.close()


def state_of(client: socket.socket, port: int) -> str:
    local = f":{client.getsockname()[1]:04X}"
    for line in Path("/proc/self/net/tcp").read_text().splitlines():
        fields = line.split()
        if fields[1].endswith(local) and fields[2].endswith(f":{port:04X}"):
            return fields[3]
    return ""


def test_a_process_that_has_gone_cannot_be_told() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert owns_connection_to(ProcTable(), [child.pid], [5672]) is None
    assert owns_connection_to(ProcTable(), [], [5672]) is None


def test_among_very_many_sockets_and_descriptors_the_last_one_is_found(tmp_path: Path) -> None:
    queues = b"00000000:00000000 00:00000000 00000000"
    line = b"%4d: 0100007F:%04X 0100007F:1629 01 " + queues + b"  1 0 %d 1 0 20 4 30 10 -1\n"
    process = tmp_path / "100"
    (process / "net").mkdir(parents=True)
    (process / "fd").mkdir()
    rows = b"".join(line % (n, n % 65536, n) for n in range(50_000))
    ours = (line % (50_000, 0x1629, 50_000)).replace(b":1629 01 ", b":1628 01 ")
    (process / "net" / "tcp").write_bytes(b"  sl  local_address rem_address   st\n" + rows + ours)
    (process / "net" / "tcp6").write_bytes(b"  sl  local_address\n")
    for number in range(64_000):
        (process / "fd" / str(number)).symlink_to(f"socket:[{number if number < 63_999 else 50_000}]")
    (process / "fd" / "50000").unlink()
    table = ProcTable(str(tmp_path))
    assert owns_connection_to(table, [100], [0x1628]) is True
    assert owns_connection_to(table, [100], [0x1630]) is False
