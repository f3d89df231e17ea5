# SPDX-License-Identifier: Apache-2.0
"""Judging is pure; measuring is tried on real processes that idle, hang, work, and have workers."""

from __future__ import annotations

import ctypes
import os
import signal
import time

import pytest

from ocf_agents.service import progress
from ocf_agents.service.proc import ProcessId, ProcTable
from ocf_agents.service.progress import Sample, Track

from .conftest import Workshop, wait_until

MAIN, WORKER, OTHER = (ProcessId(pid, 1, "boot") for pid in (100, 200, 300))
IDLE = "say('up')\nwhile True:\n    time.sleep(0.01)\n"
HUNG = "import threading\nsay('up')\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n"
BUSY = "say('up')\nwhile True:\n    pass\n"
PARENT = "for body in sys.argv[1:]:\n    if os.fork() == 0:\n        exec(body)\nsay('up')\ntime.sleep(600)\n"


def after(looks: list[tuple[float, list[Sample]]], timeout: float) -> list[ProcessId]:
    tracks: list[Track] = []
    for now, samples in looks:
        tracks = progress.follow(tracks, samples, now)
    return progress.hung(tracks, looks[-1][0], timeout)


def still(process: ProcessId = MAIN) -> Sample:
    return Sample(process, "5/5")


@pytest.mark.parametrize(
    ("times", "timeout", "is_hung"),
    [
        ([0, 60, 120], 120, True),
        ([0, 60, 119], 120, False),
        ([0, 500], 120, False),
        ([0, 1, 2], 120, False),
        ([0, 500, 501], 120, True),
        ([0, 60, 120], 0, False),
    ],
    ids=["long enough", "not yet", "two looks", "three quick looks", "monitors came late", "turned off"],
)
def test_it_takes_the_whole_time_and_three_looks_to_hang(
    times: list[float], timeout: float, is_hung: bool
) -> None:
    assert after([(now, [still()]) for now in times], timeout) == ([MAIN] if is_hung else [])


def test_a_single_switch_is_life() -> None:
    looks = [(0.0, [still()]), (100.0, [still()]), (200.0, [Sample(MAIN, "6/5")]), (300.0, [still()])]
    assert after(looks, 120) == []


def test_a_clock_that_went_back_is_no_proof() -> None:
    assert after([(1000.0, [still()]), (1100.0, [still()]), (10.0, [still()])], 120) == []


def test_a_parent_of_workers_hangs_when_they_do() -> None:
    busy = [Sample(WORKER, str(number)) for number in range(3)]
    assert after([(60.0 * n, [still(), worker]) for n, worker in enumerate(busy)], 100) == []
    assert after([(60.0 * n, [still(), still(WORKER)]) for n in range(3)], 100) == [MAIN, WORKER]


def test_a_child_that_only_waits_beside_others_that_move_is_no_proof() -> None:
    busy_main = [(60.0 * n, [Sample(MAIN, str(n)), still(WORKER)]) for n in range(3)]
    assert after(busy_main, 100) == []
    busy_worker = [(60.0 * n, [still(), still(WORKER), Sample(OTHER, str(n))]) for n in range(3)]
    assert after(busy_worker, 100) == []


def test_a_short_lived_child_does_not_hide_that_the_parent_hangs() -> None:
    looks = [(0.0, [still()]), (60.0, [still(), still(OTHER)]), (120.0, [still()])]
    assert after(looks, 100) == [MAIN]


def test_another_process_of_that_number_starts_anew() -> None:
    successor = ProcessId(MAIN.pid, 2, "boot")
    assert after([(0.0, [still()]), (60.0, [still()]), (200.0, [still(successor)])], 100) == []


def test_tracks_survive_as_words() -> None:
    track = Track(MAIN, "5/5", 12.25, 2)
    (again,) = progress.parse([track.words(), ["x"], ["1", "2", "3", "4", "five"]], "boot")
    assert again.words() == track.words()
    assert again.process == MAIN


def values(pid: int, seconds: float = 0.4) -> tuple[list[str], list[str]]:
    table = ProcTable()
    process = table.identify(pid)
    assert process is not None
    before = [sample.value for sample in progress.measure(table, process)]
    time.sleep(seconds)
    return before, [sample.value for sample in progress.measure(table, process)]


@pytest.mark.parametrize(("body", "moves"), [(IDLE, True), (BUSY, True), (HUNG, False)])
def test_who_idles_and_who_works_moves_and_who_hangs_does_not(
    workshop: Workshop, body: str, moves: bool
) -> None:
    process = workshop.run([workshop.script("fake", body)])
    workshop.said("up")
    time.sleep(0.1)
    before, now = values(process.pid)
    assert len(before) == len(now) == 1
    assert (before != now) == moves


def test_workers_are_the_children_that_run_the_same_program(workshop: Workshop) -> None:
    command = [workshop.script("fake", PARENT), IDLE, "os.execv('/bin/sleep', ['sleep', '600'])"]
    process = workshop.run(command)
    workshop.said("up", 2)
    wait_until(lambda: len(ProcTable().children(process.pid) or []) == 2)
    main = ProcTable().identify(process.pid)
    assert main is not None
    wait_until(lambda: len(progress.measure(ProcTable(), main)) == 2)
    samples = progress.measure(ProcTable(), main)
    assert [sample.process.pid == process.pid for sample in samples] == [True, False]
    for pid in ProcTable().children(process.pid) or []:
        os.kill(pid, signal.SIGKILL)


def test_a_process_that_a_debugger_holds_is_not_judged(workshop: Workshop) -> None:
    process = workshop.run([workshop.script("fake", IDLE)])
    workshop.said("up")
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    assert ptrace(16, process.pid, None, None) == 0, "PTRACE_ATTACH"
    wait_until(lambda: (stat := ProcTable().stat(process.pid)) is not None and stat.state == "t")
    main = ProcTable().identify(process.pid)
    assert main is not None
    assert progress.measure(ProcTable(), main) == []
    process.kill()


def test_a_process_that_has_gone_gives_no_sample(workshop: Workshop) -> None:
    process = workshop.run([workshop.script("fake", IDLE)])
    main = ProcTable().identify(process.pid)
    assert main is not None
    process.kill()
    process.wait()
    assert progress.measure(ProcTable(), main) == []
