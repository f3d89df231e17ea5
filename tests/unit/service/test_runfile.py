# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ocf_agents.service import runfile


def test_what_is_written_is_read_and_nothing_lies_beside(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    runfile.replace(path, b"one", 0o600, is_synced=False)
    runfile.replace(path, b"two", 0o644, is_synced=True)
    assert runfile.read(path) == b"two"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o644
    assert os.listdir(tmp_path) == ["x"]


def test_only_a_plain_file_that_nobody_else_can_write_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert runfile.read(str(path)) is None
    path.write_bytes(b"mine")
    (tmp_path / "link").symlink_to(path)
    assert runfile.read(str(tmp_path / "link")) is None
    path.chmod(0o666)
    assert runfile.read(str(path)) is None
    path.chmod(0o600)
    os.link(path, tmp_path / "second")
    assert runfile.read(str(path)) is None
    os.mkfifo(tmp_path / "fifo")
    assert runfile.read(str(tmp_path / "fifo")) is None
    assert runfile.read("/dev/zero") is None


def test_a_link_in_the_way_is_replaced_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "passwd"
    target.write_text("root")
    for name in ("x", "x.ocf-agents.tmp"):
        (tmp_path / name).symlink_to(target)
    runfile.replace(str(tmp_path / "x"), b"new", 0o600, is_synced=False)
    assert target.read_text() == "root"
    assert not (tmp_path / "x").is_symlink()


def test_what_cannot_be_written_raises_and_leaves_the_old_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        runfile.replace(str(tmp_path / "none" / "x"), b"new", 0o600, is_synced=False)
