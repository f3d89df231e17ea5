# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest

from ocf_agents.service.notes import Notes


def test_what_one_monitor_notes_the_next_one_knows(tmp_path: Path) -> None:
    path = str(tmp_path / "x.notes")
    notes = Notes(path, "boot-1")
    assert notes.get("progress") == []
    notes.put("progress", [["1", "2"], ["3", "4"]])
    notes.put("health", [["progress", "up"]])
    notes.save()
    again = Notes(path, "boot-1")
    assert again.get("progress") == [["1", "2"], ["3", "4"]]
    again.put("progress", [])
    again.save()
    assert Notes(path, "boot-1").get("progress") == []
    assert Notes(path, "boot-1").get("health") == [["progress", "up"]]


def test_unchanged_notes_are_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "x.notes"
    for _ in range(2):
        notes = Notes(str(path), "boot-1")
        notes.put("health", [["progress", "up"]])
        notes.save()
        path.touch()
        os.utime(path, (1, 1))
    assert path.stat().st_mtime == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 50,
        b"ocf-agents-notes 2 boot-1\nhealth x y\n",
        b"ocf-agents-notes 1 boot-1\nhealth x",
        b"\xff\xfe",
    ],
    ids=["empty", "zeros", "another version", "torn", "no text"],
)
def test_what_is_no_whole_file_of_notes_says_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.notes"
    path.write_bytes(content)
    assert Notes(str(path), "boot-1").get("health") == []


def test_notes_of_another_boot_say_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "x.notes")
    notes = Notes(path, "boot-1")
    notes.put("health", [["progress", "down"]])
    notes.save()
    assert Notes(path, "boot-2").get("health") == []


def test_who_may_not_write_goes_without(tmp_path: Path) -> None:
    notes = Notes(str(tmp_path / "none" / "x.notes"), "boot-1")
    notes.put("health", [["progress", "up"]])
    notes.save()
    assert os.listdir(tmp_path) == []
