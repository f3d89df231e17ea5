# SPDX-License-Identifier: Apache-2.0
"""Only what a regular file holds is read, and no more than that."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from ocf_agents.openstack.text_file import LARGEST, read_bytes, read_text


def test_a_text_is_read_whole_also_through_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "a.conf", tmp_path / "link"
    path.write_text("ü" * (LARGEST // 2), encoding="utf-8")
    link.symlink_to(path)
    assert read_text(str(link)) == "ü" * (LARGEST // 2)


def test_one_byte_too_many_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * (LARGEST + 1))
    with pytest.raises(OSError, match="it is larger than 1 MiB"):
        read_bytes(str(path))
    assert len(read_bytes(str(path), 2 * LARGEST)) == LARGEST + 1


def test_a_pipe_a_socket_and_a_device_are_never_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, place = str(tmp_path / "pipe"), str(tmp_path / "socket")
    os.mkfifo(pipe)
    opened: list[object] = []
    monkeypatch.setattr(os, "open", lambda *arguments: opened.append(arguments))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        for path in (pipe, place, "/dev/zero", "/dev/null"):
            with pytest.raises(OSError, match="it is no regular file"):
                read_bytes(path)
    assert opened == []


def test_what_became_a_pipe_meanwhile_does_not_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    regular = os.stat(__file__)
    monkeypatch.setattr(os, "stat", lambda path: regular)
    with pytest.raises(OSError, match="it is no regular file"):
        read_bytes(pipe)


def test_what_is_missing_or_a_directory_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file"):
        read_bytes(str(tmp_path / "none"))
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        read_bytes(str(tmp_path))
