# SPDX-License-Identifier: Apache-2.0
"""Which files lead to the resource's process, and which are left alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.testing.conformance.rule import NotApplicable
from ocf_agents.testing.conformance.runner import Process
from ocf_agents.testing.conformance.subject import Settings, Subject, opened
from ocf_agents.testing.conformance.trail import Trail, below

from .mutants import PARAMETERS, Mutant

OURS = [Process(4711, "daemon", True)]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "my.conf"


@pytest.fixture
def subject(tmp_path: Path, config: Path) -> Iterator[Subject]:
    agent = Mutant("none").write(tmp_path)
    given = {**PARAMETERS, "pid": str(tmp_path / "my.pid"), "target": str(config)}
    with opened(Settings(agent, given)) as subject:
        yield subject


def test_the_number_is_replaced_wherever_the_agent_keeps_it(subject: Subject, tmp_path: Path) -> None:
    state, pid_file = subject.places.run / "state", tmp_path / "my.pid"
    state.write_text('{"pid": 4711, "port": 14711, "boot": "ab-4711-cd"}\n')
    pid_file.write_text("4711\nstart=99\n")
    pid_file.chmod(0o600)
    Trail.of(subject, OURS).lead_to(12)
    assert state.read_text() == '{"pid": 12, "port": 14711, "boot": "ab-4711-cd"}\n'
    assert pid_file.read_text() == "12\nstart=99\n"
    assert pid_file.stat().st_mode & 0o777 == 0o600


def test_a_pid_file_that_went_with_its_process_is_written_anew(subject: Subject) -> None:
    path = subject.places.var_run / "daemon.pid"
    path.write_text("4711\n")
    trail = Trail.of(subject, OURS)
    path.unlink()
    trail.lead_to(12)
    assert path.read_text() == "12\n"


def test_a_configuration_with_the_same_number_in_it_is_left_alone(subject: Subject, config: Path) -> None:
    config.write_text("[daemon]\nport = 4711\n")
    with pytest.raises(NotApplicable, match="no file is seen"):
        Trail.of(subject, OURS)
    config.write_text("4711\n")
    assert list(Trail.of(subject, OURS).texts) == [config], (
        "a plain pid file, whatever its parameter is called"
    )


def test_a_plain_pid_file_is_found_wherever_start_has_written_it(subject: Subject, tmp_path: Path) -> None:
    path, log = tmp_path / "elsewhere", tmp_path / "daemon.log"
    path.write_text("4711\n")
    log.write_text("started as 4711\n")
    assert list(Trail.of(subject, OURS, [path, log]).texts) == [path]


def test_links_long_files_and_directories_are_left_alone(subject: Subject, config: Path) -> None:
    config.write_text("4711\n")
    (subject.places.run / "link").symlink_to(config)
    (subject.places.run / "long").write_text("4711\n" + "x" * 5000)
    (subject.places.run / "4711").mkdir()
    assert list(Trail.of(subject, OURS).texts) == [config]


def test_below_a_directory_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    for place in ("one", "a/two", "a/b/three", "a/b/c/four"):
        (tmp_path / place).touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    found = [str(path.relative_to(tmp_path)) for path in below(tmp_path, 3)]
    assert sorted(found) == ["a/b/three", "a/two", "one"]
