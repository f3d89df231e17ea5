# SPDX-License-Identifier: Apache-2.0
"""A nova-compute that is there and does nothing: no pid tells, its tasks do."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path

import pytest

from ocf_agents.testing.node import Node, wait_for

from .test_recovery import succeeded

HANGS_WHEN_ASKED = """#!{python} -IS
import ctypes, signal, sys, time
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1))  # PR_SET_PTRACER: any may attach (Yama)
asked = False
def ask(number, frame):
    global asked
    asked = not asked
signal.signal(signal.SIGUSR1, ask)
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
signal.alarm(300)
while True:
    if asked:
        signal.pause()
    time.sleep(0.02)
"""


@pytest.fixture
def hanging(node: Node) -> Node:
    """A node whose daemon hangs, and comes back, at SIGUSR1."""
    python = node.binary.read_text().split()[0][2:]
    node.binary.write_text(HANGS_WHEN_ASKED.format(python=python))
    node.pacemaker.parameters["hang_timeout"] = "500ms"
    assert succeeded(node.run("start"))
    return node


def toggle(node: Node) -> None:
    assert node.pid
    os.kill(node.pid, signal.SIGUSR1)
    time.sleep(0.1)


def lines(node: Node, text: str) -> list[str]:
    log = node.log.read_text() if node.log.exists() else ""
    return [line for line in log.splitlines() if text in line]


def look(node: Node, times: int) -> list[int]:
    codes = []
    for _ in range(times):
        codes.append(node.run("monitor").code)
        time.sleep(0.3)
    return codes


def test_a_service_that_hangs_fails_after_its_time_and_is_told_once(hanging: Node) -> None:
    assert look(hanging, 4) == [0, 0, 0, 0]
    toggle(hanging)
    assert look(hanging, 2) == [0, 0], "too few looks to be sure"
    assert look(hanging, 4)[-2:] == [1, 1]
    failed = hanging.run("monitor")
    assert "hangs: process" in (failed.reason or "")
    assert len(lines(hanging, "it hangs")) == 1, "the same again is no news"
    toggle(hanging)
    assert look(hanging, 3) == [0, 0, 0]
    assert len(lines(hanging, "makes progress again")) == 1


def test_without_the_notes_of_earlier_monitors_nothing_fails(hanging: Node) -> None:
    toggle(hanging)
    for _ in range(4):
        assert hanging.run("monitor").code == 0
        time.sleep(0.3)
        (notes,) = hanging.run_dir.glob("*.notes")
        notes.unlink()


def test_a_probe_neither_judges_nor_remembers(hanging: Node) -> None:
    toggle(hanging)
    for _ in range(4):
        assert hanging.run("monitor", interval=None).code == 0
        time.sleep(0.2)
    assert list(hanging.run_dir.glob("*.notes")) == []


def test_a_hang_timeout_of_nothing_turns_it_off(hanging: Node) -> None:
    hanging.pacemaker.parameters["hang_timeout"] = "0"
    toggle(hanging)
    assert look(hanging, 5) == [0] * 5


def test_a_service_under_a_debugger_is_degraded_and_not_failed(hanging: Node) -> None:
    pid = hanging.pid
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    assert ptrace(16, pid, None, None) == 0, "PTRACE_ATTACH"
    try:
        assert wait_for(lambda: " t " in Path(f"/proc/{pid}/stat").read_text())
        results = [hanging.run("monitor") for _ in range(4)]
        assert [result.code for result in results] == [190] * 4
        assert "held by a debugger" in (results[-1].reason or "")
    finally:
        assert ptrace(17, pid, None, None) == 0, "PTRACE_DETACH"
    assert hanging.run("monitor").code == 0
