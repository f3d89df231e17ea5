# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from ocf_agents.guard import history
from ocf_agents.guard.history import History


def add(log: History, why: str = "the row is enabled") -> None:
    log.add("stop", 7, "enabled", "send", why)


def test_one_line_for_each_decision(tmp_path: Path) -> None:
    log = History(str(tmp_path), "nova-compute:0")
    add(log)
    add(log, 'a "quoted"\nand broken line')
    lines = [json.loads(line) for line in Path(log.path).read_text(encoding="ascii").splitlines()]
    assert [line["why"] for line in lines] == ["the row is enabled", 'a "quoted"\nand broken line']
    assert lines[0]["generation"] == 7
    assert lines[0]["pid"] == os.getpid()
    assert {"time", "action", "read", "decided"} <= set(lines[0])


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o026, 0o077])
def test_nobody_else_reads_it(tmp_path: Path, umask: int) -> None:
    log = History(str(tmp_path), "x")
    before = os.umask(umask)
    try:
        add(log)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(log.path).st_mode) == 0o600


def test_it_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_SIZE", 5000)
    log = History(str(tmp_path), "x")
    for number in range(300):
        add(log, f"{number} " + "x" * 10_000)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert set(sizes) == {"x.history.jsonl", "x.history.jsonl.1"}
    assert all(size < 6000 for size in sizes.values())
    assert json.loads(Path(log.path).read_text(encoding="ascii").splitlines()[-1])["why"].startswith("299 ")


@pytest.mark.parametrize("plant", ["symlink", "dangling", "fifo", "directory", "hard link"])
def test_what_was_planted_there_is_left_alone(tmp_path: Path, plant: str) -> None:
    log = History(str(tmp_path), "x")
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="ascii")
    path = Path(log.path)
    if plant == "symlink":
        path.symlink_to(victim)
    elif plant == "dangling":
        path.symlink_to(tmp_path / "nothing")
    elif plant == "fifo":
        os.mkfifo(path)
    elif plant == "directory":
        path.mkdir()
    else:
        os.link(victim, path)
    add(log)
    assert victim.read_text(encoding="ascii") == "precious"
    assert not (tmp_path / "nothing").exists()


def test_a_link_planted_for_the_older_part_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MAX_SIZE", 100)
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="ascii")
    log = History(str(tmp_path), "x")
    os.symlink(victim, log.path + ".1")
    for _ in range(5):
        add(log)
    assert victim.read_text(encoding="ascii") == "precious"
    assert not os.path.islink(log.path + ".1")


@pytest.mark.parametrize("directory", ["/nonexistent/directory", "/dev/null"])
def test_a_history_that_cannot_be_written_stops_nothing(directory: str) -> None:
    add(History(directory, "x"))
    assert not os.path.exists(f"{directory}/x.history.jsonl")
