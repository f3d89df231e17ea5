# SPDX-License-Identifier: Apache-2.0
"""The cluster's part of a unit, as a file."""

from __future__ import annotations

import configparser
import os
from pathlib import Path

from ocf_agents.service import drop_in


def read(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def test_what_it_says() -> None:
    """Cases 142, 143 and 147."""
    said = read(drop_in.content({}))
    assert said["Unit"]["Before"].split() == ["pacemaker.service", "pacemaker_remote.service"]
    assert said["Service"]["Restart"] == "no"
    assert said["Service"]["KillMode"] == "process"
    assert "Environment" not in said["Service"]


def test_a_value_is_no_directive() -> None:
    text = drop_in.content({"HOST": 'a"b\\c%d\nExecStop=/x\t'})
    assert read(text)["Service"]["Environment"] == '"HOST=a\\"b\\\\c%%d\\x0aExecStop=/x\\x09"'
    assert "ExecStop" not in read(text)["Service"]


def test_written_once_and_for_all_to_read(tmp_path: Path) -> None:
    """Cases 145 and 149."""
    path = tmp_path / "x.service.d" / "90.conf"
    before = os.umask(0o077)
    try:
        assert drop_in.place(str(path), "one\n")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o7777 == 0o644
    assert path.parent.stat().st_mode & 0o7777 == 0o755
    assert not drop_in.place(str(path), "one\n")
    assert drop_in.place(str(path), "two\n")
    path.chmod(0o755)
    assert drop_in.place(str(path), "two\n"), "a wrong mode is mended"
    assert path.stat().st_mode & 0o7777 == 0o644
    assert [entry.name for entry in path.parent.iterdir()] == ["90.conf"]


def test_taken_away_with_its_folder_unless_others_use_it(tmp_path: Path) -> None:
    path = tmp_path / "x.service.d" / "90.conf"
    assert not drop_in.remove(str(path))
    drop_in.place(str(path), "one\n")
    assert drop_in.remove(str(path))
    assert not path.parent.exists()
    drop_in.place(str(path), "one\n")
    (path.parent / "other.conf").write_text("")
    assert drop_in.remove(str(path))
    assert [entry.name for entry in path.parent.iterdir()] == ["other.conf"]


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "x.service.d" / "90.conf"
    path.parent.mkdir()
    precious = tmp_path / "precious"
    precious.write_text("precious")
    path.symlink_to(precious)
    assert drop_in.place(str(path), "one\n")
    assert precious.read_text() == "precious"
    assert not path.is_symlink()
