# SPDX-License-Identifier: Apache-2.0
"""The demo: it checks itself, fits the terminal, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.testing import demo
from ocf_agents.testing.compute.exchange import Request
from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import all_pids, command_line

IDLE_AGENT = "#!/usr/bin/python3 -I\nraise SystemExit(0)\n"


@pytest.fixture
def api() -> Iterator[ComputeApi]:
    with ComputeApi() as api:
        yield api


def test_a_story_that_does_not_come_out_ends_with_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An agent that always says yes and does nothing."""
    agent = tmp_path / "nova-compute"
    agent.write_text(IDLE_AGENT)
    (tmp_path / "host").mkdir()
    assert not demo.tell_in(tmp_path / "host", agent)
    shown = capsys.readouterr().out
    assert "The story broke" in shown
    assert "All as told" not in shown


def test_a_place_where_no_program_may_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where /tmp is mounted noexec."""
    real = os.statvfs(tmp_path)
    fields = [getattr(real, name) for name in ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail")]
    fields += [real.f_files, real.f_ffree, real.f_favail, real.f_flag | os.ST_NOEXEC, real.f_namemax]
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(fields))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(demo.Unsuitable, match="set TMPDIR to another place"):
        demo.tell(tmp_path / "nova-compute")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    environ = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(
        [sys.executable, "-m", "ocf_agents.cli.main", "demo"],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "exit code 0" in line:  # the daemon runs, and a helper is at work
                break
        process.send_signal(number)
        shown = process.stdout.read()
        assert process.wait(30) == 130, shown
    assert list(tmp_path.iterdir()) == []
    mark = os.fsencode(tmp_path)
    assert [pid for pid in all_pids() if any(mark in word for word in command_line(pid))] == []


def test_no_line_is_wider_than_the_terminal(
    api: ComputeApi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    teller = demo.Teller(api)
    teller.chapter("A title", "words " * 40)
    teller.event("more words " * 20)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) < 44


def test_a_request_is_told_once_and_logins_share_a_line(
    api: ComputeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    teller = demo.Teller(api)
    for method, target in (("GET", "/v3"), ("POST", "/v3/auth/tokens"), ("GET", "/v2.1/os-services?host=a")):
        api.log.add(Request("compute", method, target, {}, t0=time.monotonic(), status=200))
    teller.requests()
    teller.requests()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "GET /v3 200, POST /v3/auth/tokens 200" in lines[0]
    assert "GET /v2.1/os-services: 200" in lines[1]


def test_a_write_is_told_with_what_it_asks_for() -> None:
    target = "/v2.1/os-services/0a1b2c3d-0000-0000-0000-000000000000"
    request = Request("compute", "PUT", target, {}, {"status": "disabled"}, t0=1.0)
    assert demo.described(request) == "PUT /v2.1/os-services/0a1b2c3d... disabled: no answer yet"
    request.status, request.t1 = 200, 1.5
    assert demo.described(request).endswith("disabled: 200 after 0.50 s")
