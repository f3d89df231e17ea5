# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from ocf_agents.service import pidfile, runfile
from ocf_agents.service.pidfile import Record
from ocf_agents.service.proc import ProcessId

ARGV = ["/usr/bin/python3", "/usr/bin/nova-compute", "--x=a b", "line\nbreak", "back\\nslash\\", "", "\udcff"]
RECORD = Record(ProcessId(4321, 987654, "boot-1"), 162, "run-1", ARGV)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.pid"


def test_what_is_written_is_read_back(path: Path) -> None:
    pidfile.write(str(path), RECORD)
    record = pidfile.read(str(path))
    assert record is not None
    assert record.process == RECORD.process
    assert (record.uid, record.run_id, record.argv) == (162, "run-1", tuple(ARGV))


def test_the_first_line_is_the_bare_pid_and_all_may_read_it(path: Path) -> None:
    old = os.umask(0o077)
    try:
        pidfile.write(str(path), RECORD)
    finally:
        os.umask(old)
    assert path.read_bytes().split(b"\n")[0] == b"4321"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_writing_replaces_at_once_and_leaves_nothing_beside(path: Path) -> None:
    path.write_text("9\n")
    inode = path.stat().st_ino
    pidfile.write(str(path), RECORD)
    assert path.stat().st_ino != inode
    assert os.listdir(path.parent) == ["x.pid"]


def test_a_planted_link_is_replaced_and_not_followed(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("keep")
    path.symlink_to(target)
    pidfile.write(str(path), RECORD)
    assert target.read_text() == "keep"
    assert not path.is_symlink()


def test_a_failed_write_leaves_nothing_beside(path: Path) -> None:
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        pidfile.write(str(path), RECORD)
    assert os.listdir(path.parent) == ["x.pid"]


def test_what_a_killed_writer_left_is_gone_after_the_next(path: Path, mocker: MockerFixture) -> None:
    mocker.patch.object(os, "rename", side_effect=SystemExit)
    mocker.patch.object(os, "getpid", return_value=99)
    with pytest.raises(SystemExit):
        pidfile.write(str(path), RECORD)
    assert len(os.listdir(path.parent)) == 1, "the test left nothing to be found"
    mocker.stopall()
    pidfile.write(str(path), RECORD)
    assert os.listdir(path.parent) == ["x.pid"]


def test_removing_takes_what_a_killed_writer_left_along(path: Path) -> None:
    path.write_text("1")
    path.with_name("x.pid.ocf-agents.tmp").write_text("1")
    runfile.remove(str(path))
    assert os.listdir(path.parent) == []


GOOD = b"4321\nstart=9\nboot=b\nuid=0\nrun=r\narg=/x\n"


def test_the_sample_for_the_broken_ones_is_good(path: Path) -> None:
    path.write_bytes(GOOD)
    assert pidfile.read(str(path)) is not None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\0" * 100,
        b"123 456\n",
        b"123\n456\n",
        b"4321",
        b"4321 \n",
        b"-1\n",
        b"0\n",
        b"1\n",
        b"9" * 30 + b"\n",
        b"\x7fELF\xff\xfe\x00\x01",
        GOOD.replace(b"4321", b"-1"),
        GOOD.replace(b"4321", b"0"),
        GOOD.replace(b"4321", b"1"),
        GOOD.replace(b"4321", b"9" * 30),
        GOOD.replace(b"4321", b"4321 1"),
        GOOD.replace(b"4321", "\u0664".encode()),
        GOOD.replace(b"start=9", b"start=-9"),
        GOOD.replace(b"start=9\n", b""),
        GOOD.replace(b"boot=b\n", b""),
        GOOD.replace(b"uid=0", b"uid=root"),
        GOOD.replace(b"arg=/x\n", b""),
    ],
)
def test_anything_else_is_no_record(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert pidfile.read(str(path)) is None


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_may_write_proves_nothing(path: Path, mode: int) -> None:
    path.write_bytes(GOOD)
    path.chmod(mode)
    assert pidfile.read(str(path)) is None


def test_a_link_a_second_name_a_fifo_and_a_directory_prove_nothing(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(GOOD)
    path.symlink_to(other)
    assert pidfile.read(str(path)) is None
    path.unlink()
    os.link(other, path)
    assert pidfile.read(str(path)) is None
    path.unlink()
    os.mkfifo(path)
    assert pidfile.read(str(path)) is None
    path.unlink()
    path.mkdir()
    assert pidfile.read(str(path)) is None
    assert pidfile.read(str(tmp_path / "none")) is None


def test_a_file_of_a_third_user_proves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(GOOD)
    assert pidfile.read(str(path)) is not None
    if os.geteuid() == 0:
        os.chown(path, 12345, 0)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert pidfile.read(str(path)) is None


@pytest.mark.parametrize("content", [b"", b"12\n", b"12 13\n", b"-1", b"\0\0\0", GOOD])
def test_what_looks_like_a_pid_file_may_be_replaced(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert pidfile.is_replaceable(str(path))


def test_what_holds_something_else_may_not(path: Path) -> None:
    assert pidfile.is_replaceable(str(path))
    path.write_text("root:x:0:0:root:/root:/bin/bash\n")
    assert not pidfile.is_replaceable(str(path))
    path.unlink()
    os.mkfifo(path)
    assert not pidfile.is_replaceable(str(path))
    path.unlink()
    path.mkdir()
    assert not pidfile.is_replaceable(str(path))


def test_removing_what_is_not_there_is_no_error(path: Path) -> None:
    runfile.remove(str(path))
    pidfile.write(str(path), RECORD)
    runfile.remove(str(path))
    assert not path.exists()
