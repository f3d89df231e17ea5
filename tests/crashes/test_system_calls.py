# SPDX-License-Identifier: Apache-2.0
"""The same kills by the kernel's own count: strace injects SIGKILL at the system call itself.

It watches the threads that work on files; what is sent by others is left to `killing`. strace counts
in each thread by itself.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from ocf_agents.testing.node import wait_for

from .killing import STORIES, Story, recover
from .stage import Job, Stage, play

CALLS = ("fsync", "rename", "renameat", "unlink", "unlinkat", "flock", "write", "vfork")
CHOSEN = [STORIES[number] for number in (0, 1, 9)]
PER_CALL = 10_000 if os.environ.get("CRASHES_ALL") == "1" else 1


def can_trace(directory: Path) -> bool:
    if shutil.which("strace") is None:
        return False
    argv = ["strace", "-o", str(directory / "probe"), "true"]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def act(stage: Stage, story: Story, *options: str) -> str:
    """Let it happen under strace; what that wrote."""
    victim = stage.victim
    story.prepare(victim)
    # A stop does not wait for the disk: a thread of its own does. A start would have the daemon followed.
    follow = ["-f"] if story.role == "stop" else []
    output = victim.trace(story.role, *follow, *options)
    story.act(victim)
    victim.forget_tracer()
    wait_for(lambda: output.exists() and "+++ " in output.read_text(), 20)
    return output.read_text()


def count_calls(stage: Stage, story: Story) -> Counter[str]:
    text = act(stage, story, "-e", "trace=" + ",".join(CALLS))
    recover(stage, story, "start")
    threads: dict[str, Counter[str]] = {}
    for thread, call in re.findall(r"^(?:(\d+) +)?(\w+)\(", text, re.MULTILINE):
        threads.setdefault(thread, Counter())[call] += 1
    most: Counter[str] = Counter()
    for counts in threads.values():
        most |= counts
    return most


def kill_at(stage: Stage, story: Story, call: str, number: int, recovery: str) -> bool:
    text = act(stage, story, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}")
    recover(stage, story, recovery)
    return "killed by SIGKILL" in text


def numbers(count: int) -> list[int]:
    """Which of the calls of one name: all, or one in the middle."""
    return list(range(1, count + 1)) if count <= PER_CALL else [count // 2 + 1]


def test_killed_at_the_system_call_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not can_trace(tmp_path):
        pytest.skip("strace is not here, or may not trace")
    found = play([Job(lambda stage, s=story: count_calls(stage, s)) for story in CHOSEN])
    jobs, names = [], []
    for story, counts in zip(CHOSEN, found):
        assert not isinstance(counts, AssertionError), f"{story.key}: {counts}"
        assert counts["fsync"] > 0, counts
        turns = itertools.cycle(story.recoveries)
        for call, count in counts.items():
            for number in numbers(count):
                recovery = next(turns)
                names.append(f"{story.key} killed at {call} {number}, then {recovery}")
                jobs.append(Job(lambda stage, a=(story, call, number, recovery): kill_at(stage, *a)))
    results = play(jobs)
    wrong = [f"{name}: {r}" for name, r in zip(names, results) if isinstance(r, AssertionError)]
    total = sum(sum(counts.values()) for counts in found if isinstance(counts, Counter))
    with capsys.disabled():
        print(f"\n{total} system calls found, {results.count(True)} kills, {len(wrong)} wrong")
    assert wrong == [], "\n".join(wrong)
    assert results.count(True) > len(CHOSEN)
