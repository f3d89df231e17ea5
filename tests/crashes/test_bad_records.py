# SPDX-License-Identifier: Apache-2.0
"""What lies in the record's place proves nothing: the row's marker decides (cases 105, 132, 133)."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any, Callable

import pytest

from ocf_agents.guard import marker

from .stage import Job, Stage, play
from .victim import Victim

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
    "NULs": filled(b"\0" * 4096),
    "half JSON": filled(b'{"version": 1, "resource": "nova-compute", "want":'),
    "deep": filled(b"[" * 60000),
    "a long number": filled(b'{"version": ' + b"9" * 60000 + b"}"),
    "not UTF-8": filled(b"\xff\xfe\x00\x01" * 100),
    "10 MB": filled(b"x" * 10_000_000),
    "a future version": changed(version=2),
    "of another machine": changed(machine_id="0123456789abcdef0123456789abcdef"),
    "of another resource": changed(resource="nova-compute-2"),
    "a huge generation": changed(generation=2**70),
    "a helper without a pid": changed(reconciler={"process": {"pid": "abc"}, "generation": 1}),
    "a helper without a deadline": changed(
        reconciler={"process": {"pid": 4711, "start": 1, "boot_id": "x"}, "generation": 1}
    ),
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
EVERY = {**BAD, **PLANTS}


def record_path(victim: Victim) -> Path:
    return victim.state_dir / "nova-compute.json"


def bad_ones(victim: Victim) -> list[Path]:
    return sorted(victim.state_dir.glob("nova-compute.json.bad-*"))


def identity(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_dev, status.st_ino


def played(stage: Stage, plant: Callable[[Path], None]) -> str:
    """A bad record before a stop, and another one before a start; empty when all went well."""
    victim = stage.victim
    path = record_path(victim)
    plant(path)
    before = identity(path)
    result = victim.run("stop", timeout=40)
    assert (result.code, victim.daemons()) == (0, []), result
    assert result.seconds < STOP_SECONDS, result
    assert victim.wait_for_quiet()
    assert victim.row.disabled, victim.history()
    found = marker.parse(victim.row.reason)
    assert found is not None
    assert found.belongs_to("nova-compute", "cmp-7")
    assert [identity(one) for one in bad_ones(victim)] == [before], "set aside, the very same"
    assert f"{path}: " in victim.log.read_text(), "said which one"

    plant(path)
    victim.act("start")
    assert victim.complaints() == [], victim.history()
    assert len(bad_ones(victim)) == 2
    assert_nothing_of_others_was_touched(victim)
    clear(victim)
    return ""


def played_by_an_operator(stage: Stage, plant: Callable[[Path], None]) -> str:
    """A bad record and an operator's reason, which stands."""
    victim = stage.victim
    victim.operator_disables("RAM swap")
    plant(record_path(victim))
    victim.act("stop")
    assert victim.wait_for_quiet()
    assert victim.row.reason == "RAM swap"
    victim.act("start")
    assert victim.complaints(reason="RAM swap") == []
    victim.operator_enables()
    clear(victim)
    return ""


def clear(victim: Victim) -> None:
    for path in bad_ones(victim):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name in ("target", "good"):
        (victim.root / name).unlink(missing_ok=True)
    victim.log.unlink()


@pytest.fixture(scope="module")
def results() -> dict[str, str | AssertionError]:
    """All of them, played on a few nodes at a time."""
    jobs = {name: Job(lambda stage, p=plant: played(stage, p)) for name, plant in EVERY.items()}
    jobs.update(
        {
            f"operator: {name}": Job(lambda stage, p=plant: played_by_an_operator(stage, p))
            for name, plant in list(EVERY.items())[::6]
        }
    )
    return dict(zip(jobs, play(list(jobs.values()))))


@pytest.mark.parametrize("name", EVERY)
def test_stop_and_start_go_by_the_row(name: str, results: dict[str, str | AssertionError]) -> None:
    assert results[name] == "", results[name]


@pytest.mark.parametrize("name", list(EVERY)[::6])
def test_an_operators_reason_stands_beside_a_bad_record(
    name: str, results: dict[str, str | AssertionError]
) -> None:
    assert results[f"operator: {name}"] == "", results[f"operator: {name}"]


def test_a_record_of_another_host_is_for_the_row_that_it_names(running: Victim) -> None:
    """On this very machine: what ran here ran under that name. The present one's row is left alone."""
    changed(host="cmp-8")(record_path(running))
    other = running.cloud.add("cmp-8")
    running.act("stop")
    assert running.wait_for_quiet()
    assert (running.row.disabled, other.disabled) == (False, True)
    running.act("start")
    assert running.complaints() == []
    assert len(bad_ones(running)) == 1


def test_a_marker_of_another_host_is_foreign_whatever_the_record_says(running: Victim) -> None:
    running.act("stop")
    assert running.wait_for_quiet()
    foreign = str(marker.make("nova-compute", "cmp-8", "2026-01-01T00:00:00Z", "0" * 16))
    changed(machine_id="0" * 32)(record_path(running))
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
