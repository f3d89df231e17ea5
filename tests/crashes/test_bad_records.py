# SPDX-License-Identifier: Apache-2.0
"""What lies in the record's place proves nothing: the row's marker decides (cases 105, 132, 133)."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any, Callable

import pytest

from ocf_agents.guard import marker

from .victim import Victim

OURS = str(marker.make("nova-compute", "cmp-7", "2026-01-01T00:00:00Z", "0" * 16))
PLANTED = "another's file, to be left alone\n"
STOP_SECONDS = 12.0


def changed(**changes: object) -> Callable[[Path], None]:
    """The good record with other values."""

    def plant(path: Path) -> None:
        record: dict[str, Any] = json.loads(path.read_text())
        path.write_text(json.dumps({**record, **changes}))

    return plant


def cut(size: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, size)


def filled(data: bytes) -> Callable[[Path], None]:
    return lambda path: write(path, data)


def write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def instead(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def plant(path: Path) -> None:
        path.unlink(missing_ok=True)
        make(path)

    return plant


def link(path: Path) -> None:
    target = path.parent.parent / "target"
    target.write_text(PLANTED)
    path.symlink_to(target)


def link_to_a_good_one(path: Path) -> None:
    target = path.parent.parent / "good"
    os.rename(path, target)
    path.symlink_to(target)


def hard_link(path: Path) -> None:
    target = path.parent.parent / "target"
    target.write_text(PLANTED)
    os.link(target, path)


def directory(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text(PLANTED)


def bind(path: Path) -> None:
    here = os.open(path.parent, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(f"/proc/self/fd/{here}/{path.name}")
    finally:
        os.close(here)


def writable(path: Path) -> None:
    path.chmod(0o666)


BAD: dict[str, Callable[[Path], None]] = {
    "empty": cut(0),
    "torn": cut(120),
    "its last byte lost": cut(40),
    "NULs": filled(b"\0" * 4096),
    "half JSON": filled(b'{"version": 1, "resource": "nova-compute", "want":'),
    "a list": filled(b"[1, 2, 3]\n"),
    "a number": filled(b"7\n"),
    "deep": filled(b"[" * 60000),
    "a long number": filled(b'{"version": ' + b"9" * 60000 + b"}"),
    "not UTF-8": filled(b"\xff\xfe\x00\x01" * 100),
    "10 MB": filled(b"x" * 10_000_000),
    "10 MB of JSON": filled(b'{"version": 1, "pad": "' + b"x" * 10_000_000 + b'"}'),
    "a future version": changed(version=2),
    "of another machine": changed(machine_id="0123456789abcdef0123456789abcdef"),
    "of another host": changed(host="cmp-8"),
    "of another resource": changed(resource="nova-compute-2"),
    "negative generation": changed(generation=-1),
    "a huge generation": changed(generation=2**70),
    "a Boolean for a number": changed(generation=True),
    "a helper without a pid": changed(reconciler={"process": {"pid": "abc"}, "generation": 1}),
    "writable by all": writable,
}
PLANTS: dict[str, Callable[[Path], None]] = {
    "a link": instead(link),
    "a link to a record that was good": link_to_a_good_one,
    "a link to nothing": instead(lambda path: path.symlink_to(path.parent / "nowhere")),
    "a link to itself": instead(lambda path: path.symlink_to(path.name)),
    "a FIFO": instead(os.mkfifo),
    "a directory": instead(directory),
    "a socket": instead(bind),
    "a hard link": instead(hard_link),
}
EVERY = [*BAD.items(), *PLANTS.items()]


def record_path(victim: Victim) -> Path:
    return victim.state_dir / "nova-compute.json"


def bad_ones(victim: Victim) -> list[Path]:
    return sorted(victim.state_dir.glob("nova-compute.json.bad-*"))


def identity(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_dev, status.st_ino


@pytest.mark.parametrize("plant", [pytest.param(plant, id=name) for name, plant in EVERY])
def test_stop_and_start_go_by_the_row(running: Victim, plant: Callable[[Path], None]) -> None:
    """One node, twice: a bad record before the stop, and a bad one before the start."""
    path = record_path(running)
    plant(path)
    before = identity(path)
    result = running.run("stop", timeout=40)
    assert (result.code, running.daemons()) == (0, []), result
    assert result.seconds < STOP_SECONDS
    assert running.wait_for_quiet()
    assert running.row.disabled
    found = marker.parse(running.row.reason)
    assert found is not None
    assert found.belongs_to("nova-compute", "cmp-7")
    assert [identity(one) for one in bad_ones(running)] == [before], "set aside, the very same"
    assert str(path) in running.log.read_text(), "said which one"

    plant(path)
    running.act("start")
    assert running.complaints() == []
    assert len(bad_ones(running)) == 2
    assert_nothing_of_others_was_touched(running)


@pytest.mark.parametrize("plant", [pytest.param(plant, id=name) for name, plant in EVERY[::4]])
def test_an_operators_reason_stands_beside_a_bad_record(
    running: Victim, plant: Callable[[Path], None]
) -> None:
    running.operator_disables("RAM swap")
    plant(record_path(running))
    running.act("stop")
    assert running.wait_for_quiet()
    assert running.row.reason == "RAM swap"
    running.act("start")
    assert running.complaints(reason="RAM swap") == []


def test_a_record_of_another_machine_that_says_ours_does_not_enable_what_is_not(running: Victim) -> None:
    running.act("stop")
    assert running.wait_for_quiet()
    changed(machine_id="0" * 32)(record_path(running))
    foreign = OURS.replace("cmp-7", "cmp-8")
    assert foreign != OURS
    running.row.reason = foreign
    running.act("start")
    assert running.complaints(reason=foreign) == []


def assert_nothing_of_others_was_touched(victim: Victim) -> None:
    target = victim.root / "target"
    if target.exists():
        assert target.read_text() == PLANTED
    for one in bad_ones(victim):
        if one.is_dir() and not one.is_symlink():
            assert (one / "inside").read_text() == PLANTED
