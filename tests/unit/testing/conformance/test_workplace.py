# SPDX-License-Identifier: Apache-2.0
"""A check's directory: gone when the check is, at the latest when another one begins."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ocf_agents.testing.conformance.workplace import LOCK, PREFIX, workplace
from ocf_agents.testing.node import wait_for

ROOT = Path(__file__).parents[4]
CHECK = """
import time
from ocf_agents.testing.conformance.runner import Runner
from ocf_agents.testing.conformance.workplace import workplace
with workplace() as place, Runner([place.lock]) as runner:
    print(place.path, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for temporary files of our own: other checks may run here."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def killed_check(directory: Path) -> Path:
    """The directory of a check that was killed."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(directory)}
    check = subprocess.Popen([sys.executable, "-c", CHECK], env=environ, stdout=subprocess.PIPE, text=True)
    assert check.stdout is not None
    path = Path(check.stdout.readline().strip())
    check.kill()
    check.wait()
    check.stdout.close()
    return path


def test_it_is_gone_afterwards() -> None:
    with workplace() as place:
        assert place.path.is_dir()
    assert not place.path.exists()


def test_what_a_killed_check_left_is_removed_by_the_next_one(temporary: Path) -> None:
    path = killed_check(temporary)
    (path / "file").touch()

    def is_gone() -> bool:  # the keeper of its processes may need a moment
        with workplace():
            return not path.exists()

    assert path.is_dir()
    assert wait_for(is_gone)


def test_that_of_a_living_check_stays() -> None:
    with workplace() as one, workplace():
        assert one.path.is_dir()
    assert not one.path.exists()


def test_what_is_not_known_to_be_of_a_dead_check_stays(temporary: Path) -> None:
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / LOCK).touch()
    (temporary / f"{PREFIX}link").symlink_to(elsewhere)
    (temporary / f"{PREFIX}file").touch()
    (temporary / f"{PREFIX}no-lock").mkdir()
    (temporary / f"{PREFIX}linked-lock").mkdir()
    (temporary / f"{PREFIX}linked-lock" / LOCK).symlink_to(elsewhere / LOCK)
    before = sorted(temporary.rglob("*"))
    with workplace():
        pass
    assert sorted(temporary.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_that_of_another_user_stays(temporary: Path) -> None:
    path = temporary / f"{PREFIX}another"
    path.mkdir()
    (path / LOCK).touch()
    for place in (path, path / LOCK):
        os.chown(place, 65534, 65534)
    with workplace():
        assert path.is_dir()
