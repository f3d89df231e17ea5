# SPDX-License-Identifier: Apache-2.0
"""Runs a command, and tells of each program that begins below it, however short its life.

A program of its own: `python3 -I tracer.py DESCRIPTOR WHAT COMMAND...`. For each program a JSON line with its
arguments is written to the descriptor, the command's own first. Where WHAT is `deeds`, and not `programs`,
there is also a line `{"file": path}` for each file that is opened to be written or gets its name, and a line
`{"peer": address}` for each address of the network that is spoken to. Where the system does not allow that
(ptrace), or this machine is of an architecture whose system calls are not known, the line is `null` and the
command runs untraced. It ends as the command does; whoever lives on is let go.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))  # this package, and not another installation of it
from ocf_agents.testing.conformance import ptrace, syscall

del sys.path[0]

CANNOT_RUN = 127
LAST_SECONDS = 0.05
"""How long after the command's end a program that it put into the background may take to begin."""
POLL_SECONDS = 0.002


def main() -> None:
    report, has_deeds, command = int(sys.argv[1]), sys.argv[2] == "deeds", sys.argv[3:]
    os.set_inheritable(report, False)
    gate, opener = os.pipe()
    child = os.fork()
    if not child:
        os.close(opener)
        os.read(gate, 1)
        become(command)
    try:
        if has_deeds and os.uname().machine not in syscall.MACHINES:
            raise OSError
        ptrace.call(ptrace.SEIZE, child, ptrace.PROGRAMS | (ptrace.GOOD if has_deeds else 0))
    except OSError:
        os.write(report, b"null\n")
    os.close(opener)
    end_as(follow(child, report, has_deeds))


def become(command: list[str]) -> None:
    """The command, with the signals that Python has changed as they were. Never returns."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(command[0], command)  # noqa: S606 (no shell is what is wanted)
    except OSError as error:
        os.write(2, f"{error}\n".encode())
    os._exit(CANNOT_RUN)


def follow(child: int, report: int, has_deeds: bool) -> int:
    """Let all of them run, until the child has ended; its status. What it put aside gets a moment."""
    how = ptrace.STEP if has_deeds else ptrace.CONT
    result, end = None, None
    while end is None or time.monotonic() < end:
        try:
            pid, status = os.waitpid(-1, ptrace.WALL | (0 if end is None else os.WNOHANG))
        except ChildProcessError:
            break
        if not pid:
            time.sleep(POLL_SECONDS)
        elif os.WIFSTOPPED(status):
            note(pid, status, report)
            ptrace.go_on_as_meant(pid, status, how)
        elif pid == child:
            result, end = status, time.monotonic() + LAST_SECONDS
    assert result is not None
    return result


def note(pid: int, status: int, report: int) -> None:
    """Tell of a program that begins, or of what a process is about to do."""
    told: object = None
    if ptrace.event_of(status) == ptrace.EXEC:
        told = arguments_of(pid)
    elif os.WSTOPSIG(status) == ptrace.SYSTEM_CALL:
        with suppress(OSError, struct.error):
            told = syscall.deed(pid)
    if told:
        os.write(report, json.dumps(told).encode() + b"\n")


def arguments_of(pid: int) -> list[str]:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []
    return [word.decode("utf-8", "surrogateescape") for word in words]


def end_as(status: int) -> None:
    """End with this status. Those who still live are let go by the kernel."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
