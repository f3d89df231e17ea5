# SPDX-License-Identifier: Apache-2.0
"""What a process that has stopped at a system call is about to do: write a file, speak to a peer."""

from __future__ import annotations

import ctypes
import os
import socket
import struct

from ocf_agents.testing.conformance import ptrace

ENTRY = 1
AT_FDCWD = -100
LONGEST_PATH = 4096
NUMBERS = {
    # open, openat, openat2, creat, rename, renameat, renameat2, connect, sendto
    0xC000003E: (2, 257, 437, 85, 82, 264, 316, 42, 44),
    0xC00000B7: (None, 56, 437, None, None, 38, 276, 203, 206),
}
"""By the audit architecture of Linux: x86_64, aarch64."""
MACHINES = ("x86_64", "aarch64")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def deed(pid: int) -> dict[str, str] | None:
    """`{"file": path}` or `{"peer": address}` at the entry of a system call that is about one, else None.

    Raises OSError when the process is gone, struct.error when it gave nonsense to the kernel.
    """
    buffer = ctypes.create_string_buffer(88)
    ptrace.call(ptrace.INFO, pid, ctypes.addressof(buffer), len(buffer))
    operation, architecture = buffer.raw[0], struct.unpack_from("=I", buffer.raw, 4)[0]
    if operation != ENTRY or architecture not in NUMBERS:
        return None
    number, *words = struct.unpack_from("=7Q", buffer.raw, 24)
    open_, openat, openat2, creat, rename, renameat, renameat2, connect, sendto = NUMBERS[architecture]
    if number == openat and words[2] & WRITES:
        return {"file": path(pid, words[0], words[1])}
    if number == openat2 and struct.unpack("=Q", memory(pid, words[2], 8))[0] & WRITES:
        return {"file": path(pid, words[0], words[1])}
    if (number == open_ and words[1] & WRITES) or number == creat:
        return {"file": path(pid, AT_FDCWD, words[0])}
    if number == rename:
        return {"file": path(pid, AT_FDCWD, words[1])}
    if number in (renameat, renameat2):
        return {"file": path(pid, words[2], words[3])}
    if number == connect:
        return peer(memory(pid, words[1], min(words[2], 128)))
    if number == sendto and words[4]:
        return peer(memory(pid, words[4], min(words[5], 128)))
    return None


def memory(pid: int, address: int, size: int) -> bytes:
    """As many bytes of its memory as are there."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        file.seek(address)
        return file.read(size)


def path(pid: int, directory: int, address: int) -> str:
    """A path that it gave to the kernel, absolute."""
    text = b""
    while b"\0" not in text and len(text) < LONGEST_PATH:
        here = address + len(text)
        text += memory(pid, here, min(256, 4096 - here % 4096))
    name = os.fsdecode(text.partition(b"\0")[0])
    number = ctypes.c_int(directory & 0xFFFFFFFF).value
    if os.path.isabs(name):
        return name
    base = os.readlink(f"/proc/{pid}/cwd" if number == AT_FDCWD else f"/proc/{pid}/fd/{number}")
    return os.path.join(base, name)


def peer(data: bytes) -> dict[str, str] | None:
    """An address of the network; sockets of this host are no peer."""
    family = struct.unpack_from("=H", data)[0] if len(data) > 1 else 0
    if family == socket.AF_INET:
        return {"peer": f"{socket.inet_ntop(family, data[4:8])}:{struct.unpack_from('>H', data, 2)[0]}"}
    if family == socket.AF_INET6:
        return {"peer": f"[{socket.inet_ntop(family, data[8:24])}]:{struct.unpack_from('>H', data, 2)[0]}"}
    return None
