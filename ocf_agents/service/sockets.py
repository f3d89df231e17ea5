# SPDX-License-Identifier: Apache-2.0
"""Which established TCP connections a process itself owns, and whether one goes to a certain port.

From /proc alone: the sockets' table of the process's own network namespace, and its descriptors. A
port in the table proves nothing about the process, and a port's digits in a local address nothing
about the peer: inode, remote port and state must all be right (IPv4, IPv6, TLS or not).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from .proc import ProcTable

ESTABLISHED = b"01"
INODE_FIELD = 9
BLOCK = 1 << 20


def owns_connection_to(table: ProcTable, pids: Collection[int], ports: Collection[int]) -> bool | None:
    """Whether one of the processes has an established connection to one of these remote ports.

    None when that cannot be told: the process has gone, or may not be looked into. Tables of 50,000 sockets
    and 64,000 descriptors are looked through once.
    """
    answers = [_owns(table, pid, ports) for pid in pids]
    if True in answers:
        return True
    return None if None in answers or not answers else False


def _owns(table: ProcTable, pid: int, ports: Collection[int]) -> bool | None:
    tables = [_read(table.path(pid, f"net/{name}")) for name in ("tcp", "tcp6")]
    if tables[0] is None:
        return None
    inodes = {inode for data in tables if data for inode in _inodes_to(data, ports)}
    return _holds_one_of(table.path(pid, "fd"), inodes)


def _inodes_to(data: bytes, ports: Collection[int]) -> set[str]:
    """The inodes of established connections to these ports.

    A remote port is followed by the state; a local one by the remote address, which is longer.
    """
    found = set()
    for port in ports:
        mark = b":%04X %s " % (port, ESTABLISHED)
        place = data.find(mark)
        while place >= 0:
            line = data[data.rfind(b"\n", 0, place) + 1 : data.find(b"\n", place)]
            found.add(line.split()[INODE_FIELD].decode("ascii"))
            place = data.find(mark, place + len(mark))
    return found


def _holds_one_of(directory: str, inodes: Collection[str]) -> bool | None:
    names = {f"socket:[{inode}]" for inode in inodes}
    try:
        descriptors = os.listdir(directory)
    except OSError:
        return None
    return bool(names) and any(_target(directory, name) in names for name in descriptors)


def _target(directory: str, name: str) -> str:
    try:
        return os.readlink(f"{directory}/{name}")
    except OSError:
        return ""


def _read(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    parts = []
    try:
        while data := os.read(descriptor, BLOCK):
            parts.append(data)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return b"".join(parts)
