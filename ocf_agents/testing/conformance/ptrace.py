# SPDX-License-Identifier: Apache-2.0
"""ptrace(2), as much of it as the keeper and the tracer need."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal

CONT, SEIZE, LISTEN = 7, 0x4206, 0x4208
FORK, VFORK, CLONE, EXEC, STOP = 1, 2, 3, 4, 128
"""Events, as they come with a stop."""
FAMILY = 1 << FORK | 1 << VFORK | 1 << CLONE
"""An option: what a process begins is traced as well."""
PROGRAMS = FAMILY | 1 << EXEC
GOOD = 1
"""An option: stops for system calls are told from others."""
SYSTEM_CALL = signal.SIGTRAP | 0x80
"""The signal of such a stop."""
STEP, INFO = 24, 0x420E
WALL = 0x40000000
"""For waitpid: threads too."""
STOPPING = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)


def call(request: int, pid: int, data: int = 0, address: int = 0) -> None:
    """Raises OSError."""
    if _libc.ptrace(request, pid, address, data) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def event_of(status: int) -> int:
    """What a stopped process stopped for; 0 for a signal that it is about to get."""
    return status >> 16


def go_on(pid: int, number: int = 0, how: int = CONT) -> None:
    """Let a stopped process run, with this signal or none; one that was killed meanwhile is no trouble."""
    with contextlib.suppress(ProcessLookupError):
        call(how, pid, number)


def go_on_as_meant(pid: int, status: int, how: int = CONT) -> None:
    """Let it run as it would without us: it gets its signals, and stays stopped where somebody stopped it."""
    number, event = os.WSTOPSIG(status), event_of(status)
    if number == SYSTEM_CALL:
        go_on(pid, 0, how)
    elif not event:
        go_on(pid, number, how)
    elif event == STOP and number in STOPPING:
        go_on(pid, 0, LISTEN)
    else:
        go_on(pid, 0, how)
