# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from ocf_agents.ocf.log import Log


@pytest.fixture
def syslog(tmp_path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    server.bind(str(tmp_path / "log.sock"))
    server.settimeout(5)
    return server


def test_the_file_gets_one_line_with_tag_severity_and_literal_text(tmp_path: Path) -> None:
    path = tmp_path / "ha.log"
    log = Log({"HA_LOGFILE": str(path)}, "nova-compute(c1)")
    log.warning("50 %s\nsecond line")
    log.info("x" * 5000)
    first, second = path.read_text().splitlines()
    assert first.startswith(f"nova-compute(c1)[{os.getpid()}]:\t")
    assert first.endswith(" WARNING: 50 %s second line")
    assert len(second) < 1100


def test_debug_is_written_only_when_the_cluster_asks_for_it(tmp_path: Path) -> None:
    quiet, loud = tmp_path / "quiet", tmp_path / "loud"
    Log({"HA_LOGFILE": str(quiet), "HA_debug": "0"}, "x").debug("hidden")
    Log({"HA_LOGFILE": str(loud), "HA_debug": "1"}, "x").debug("shown")
    assert not quiet.exists()
    assert "DEBUG: shown" in loud.read_text()


def test_the_lower_case_names_of_pacemaker_count(tmp_path: Path) -> None:
    Log({"HA_logfile": str(tmp_path / "l")}, "x").info("hello")
    assert "hello" in (tmp_path / "l").read_text()


def test_syslog_gets_facility_and_severity(tmp_path: Path, syslog: socket.socket) -> None:
    with syslog:
        Log({"HA_LOGFACILITY": "daemon"}, "agent(x)", str(tmp_path / "log.sock")).error("broken")
        message = syslog.recv(4096).decode()
    assert message.startswith("<27>")  # daemon is 3, error is 3
    assert message.endswith(f"agent(x)[{os.getpid()}]: ERROR: broken")


def test_file_and_syslog_both_get_it(tmp_path: Path, syslog: socket.socket) -> None:
    with syslog:
        environ = {"HA_LOGFACILITY": "local3", "HA_LOGFILE": str(tmp_path / "l")}
        Log(environ, "x", str(tmp_path / "log.sock")).info("hello")
        assert syslog.recv(4096).startswith(b"<158>")
    assert "INFO: hello" in (tmp_path / "l").read_text()


def test_a_file_in_a_missing_directory_falls_back_to_syslog(tmp_path: Path, syslog: socket.socket) -> None:
    with syslog:
        environ = {"HA_LOGFILE": "/no/dir/x", "HA_DEBUGLOG": "/no/dir/y", "HA_LOGFACILITY": "daemon"}
        Log(environ, "x", str(tmp_path / "log.sock")).info("still heard")
        assert b"still heard" in syslog.recv(4096)


def test_a_full_syslog_does_not_hold_the_action_up(tmp_path: Path, syslog: socket.socket) -> None:
    log = Log({"HA_LOGFACILITY": "daemon"}, "x", str(tmp_path / "log.sock"))
    with syslog:
        for number in range(2000):
            log.info(f"line {number} " + "x" * 500)
        assert b"line 0" in syslog.recv(4096)


def test_a_planted_link_or_fifo_is_not_written_to(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("keep")
    (tmp_path / "link").symlink_to(target)
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo"):
        Log({"HA_LOGFILE": str(tmp_path / name)}, "x").error("no")
    assert target.read_text() == "keep"


def test_without_a_log_standard_error_gets_what_an_operator_should_know(
    capfd: pytest.CaptureFixture[str],
) -> None:
    for environ in ({}, {"HA_LOGFACILITY": "none", "HA_LOGFILE": "relative"}):
        log = Log(environ, "x", "/no/such/socket")
        log.info("quiet")
        log.warning("heed")
        log.error("broken")
        log.error("said elsewhere", is_on_stderr=True)
        tag = f"x[{os.getpid()}]"
        assert capfd.readouterr() == ("", f"{tag}: WARNING: heed\n{tag}: ERROR: broken\n")


def test_without_a_log_a_terminal_sees_it() -> None:
    leader, follower = os.openpty()
    saved = os.dup(2)
    try:
        os.dup2(follower, 2)
        Log({}, "x").info("for the eyes")
    finally:
        os.dup2(saved, 2)
        os.close(saved)
    assert b"INFO: for the eyes" in os.read(leader, 1000)
    os.close(leader)
    os.close(follower)


def test_a_resources_name_makes_no_line_of_its_own(tmp_path: Path, syslog: socket.socket) -> None:
    path = tmp_path / "ha.log"
    tag = "nova-compute(a\nb\x1b[2J" + "c" * 3000 + ")"
    with syslog:
        environ = {"HA_LOGFILE": str(path), "HA_LOGFACILITY": "daemon"}
        Log(environ, tag, str(tmp_path / "log.sock")).warning("heed")
        message = syslog.recv(8192).decode()
    (line,) = path.read_text().splitlines()
    for text in (line, message):
        assert text.endswith("WARNING: heed")
        assert f"[{os.getpid()}]" in text
        assert text.isprintable() or "\t" in text
        assert "\n" not in text
        assert "\x1b" not in text
        assert len(text) < 300
