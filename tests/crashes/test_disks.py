# SPDX-License-Identifier: Apache-2.0
"""Disks that are full, read-only, not there, or somebody else's: a stop never fails of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Callable

import pytest

from .victim import Victim

ROOT = Path(__file__).parents[2]
NAMESPACE = (
    ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
)


def test_a_full_and_a_read_only_disk(tmp_path: Path) -> None:
    argv = [*NAMESPACE, sys.executable, "-m", "tests.crashes.small_disk", str(tmp_path)]
    result = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    words = result.stdout.split()
    assert words[:-1] == ["full", "full_while_disabled", "read_only", "no_inodes", "done"], result


@contextmanager
def aside(path: Path) -> Iterator[None]:
    """The directory out of the way, and back."""
    kept = path.with_name("kept")
    path.rename(kept)
    try:
        yield
    finally:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir():
            for one in path.iterdir():
                one.unlink()
            path.rmdir()
        kept.rename(path)


def world_writable(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def somebody_elses(path: Path) -> None:
    """As root a directory of another user; else a link to one, which is refused as well."""
    if os.geteuid() == 0:
        path.mkdir()
        os.chown(path, 12345, 12345)
    else:
        path.symlink_to("/usr")


BAD: dict[str, Callable[[Path], object]] = {
    "writable by all": world_writable,
    "of another user": somebody_elses,
    "a link": lambda path: path.symlink_to(path.with_name("kept")),
    "a file": lambda path: path.write_text("?"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_state_directory_that_cannot_be_trusted(running: Victim, name: str) -> None:
    """A stop ends the service and leaves the row alone; a start fails with the path."""
    with aside(running.state_dir):
        BAD[name](running.state_dir)
        result = running.run("stop", timeout=40)
        assert (result.code, running.daemons()) == (0, []), result
        assert result.seconds < 12
        assert not running.row.disabled
        assert not running.helpers()
        assert str(running.state_dir) in running.log.read_text()
        result = running.run("start", timeout=16)
        assert result.code == 1
        assert str(running.state_dir) in (result.reason or ""), result
        assert not running.daemons()
    running.act("start")
    assert running.complaints() == []


def test_a_state_directory_that_is_gone_is_made_again(running: Victim) -> None:
    with aside(running.state_dir):
        running.act("stop")
        assert running.wait_for_quiet()
        assert running.row.disabled
        assert running.state_dir.stat().st_mode & 0o777 == 0o700
        running.act("start")
        assert running.wait_for_quiet()
        assert not running.row.disabled
    running.act("start")
    assert running.complaints() == []
