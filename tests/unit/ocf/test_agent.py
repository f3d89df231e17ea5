# SPDX-License-Identifier: Apache-2.0
"""The entry point, run as a program as Pacemaker runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ocf_agents.ocf.agent import Action, Agent, Call
from ocf_agents.testing.run import Pacemaker, execute


def test_success_is_0_with_nothing_on_stderr(sample: Pacemaker) -> None:
    result = sample.run("start")
    assert (result.code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("GenericError", 1),
        ("BadArguments", 2),
        ("Unimplemented", 3),
        ("PermissionDenied", 4),
        ("NotInstalled", 5),
        ("NotConfigured", 6),
        ("NotRunning", 7),
        ("RunningPromoted", 8),
        ("FailedPromoted", 9),
        ("Degraded", 190),
        ("DegradedPromoted", 191),
    ],
)
def test_each_error_has_its_code_and_its_reason(sample: Pacemaker, error: str, code: int) -> None:
    result = sample.monitor(parameters={"fails": error, "text": "why"})
    assert (result.code, result.reason) == (code, "why")
    assert result.stderr == "ocf-exit-reason:why\n"


def test_an_unexpected_exception_is_one_line_and_no_traceback(sample: Pacemaker, tmp_path: Path) -> None:
    result = sample.monitor(parameters={"fails": "bug", "text": "a\nb"})
    assert (result.code, result.reason) == (1, "ValueError: a b")
    assert result.stderr.count("\n") == 1

    log = tmp_path / "log"
    sample.monitor(parameters={"fails": "bug"}, env_extra={"HA_debug": "1", "HA_LOGFILE": str(log)})
    assert "Traceback" in log.read_text()


def test_the_reason_is_literal_one_line_and_bounded(sample: Pacemaker) -> None:
    result = sample.monitor(parameters={"fails": "GenericError", "text": "%s %n\n" + "word " * 1000})
    assert result.stderr.startswith("ocf-exit-reason:%s %n word word")
    assert result.stderr.count("\n") == 1
    assert len(result.stderr.strip()) <= len("ocf-exit-reason:") + 127


def test_a_failed_start_says_its_reason_once_and_last(sample: Pacemaker) -> None:
    result = sample.run("start", parameters={"wait": "0"})
    assert result.stderr == f"ocf-exit-reason:{result.reason}\n"


def test_the_prefix_of_the_caller_is_used(sample: Pacemaker) -> None:
    extra = {"OCF_EXIT_REASON_PREFIX": "why%s:"}
    result = sample.monitor(parameters={"fails": "GenericError", "text": "so"}, env_extra=extra)
    assert result.stderr == "why%s:so\n"


@pytest.mark.parametrize("error", ["NotRunning", "NotInstalled"])
def test_a_probe_that_finds_nothing_makes_no_noise(sample: Pacemaker, error: str) -> None:
    assert sample.probe(parameters={"fails": error, "text": "gone"}).stderr == ""


def test_a_probe_that_finds_a_failure_says_it(sample: Pacemaker) -> None:
    assert sample.probe(parameters={"fails": "GenericError", "text": "ill"}).reason == "ill"


def test_an_unknown_action_is_3(sample: Pacemaker) -> None:
    result = sample.run("frobnicate\n")
    assert (result.code, result.reason) == (3, "sample-agent has no action 'frobnicate\\n'")


def test_extra_arguments_are_ignored(sample_path: str) -> None:
    assert execute([sample_path, "stop", "now", "--force"], {}, 20).code == 0


def test_no_action_is_2_and_shows_the_usage(sample_path: str) -> None:
    result = execute([sample_path], {}, 20)
    usage = "usage: sample-agent {start|stop|monitor|validate-all|reload-agent|meta-data}\n"
    assert (result.code, result.stdout, result.stderr) == (2, "", usage)
    assert execute([sample_path, "usage"], {}, 20).stdout == usage


@pytest.mark.parametrize("action", ["start", "monitor", "meta-data"])
@pytest.mark.parametrize("major", ["2", "0", "x"])
def test_another_major_version_is_an_error_that_says_so(sample: Pacemaker, action: str, major: str) -> None:
    result = sample.run(action, env_extra={"OCF_RA_VERSION_MAJOR": major})
    assert (result.code, result.stdout) == (1, "")
    assert result.reason == f"OCF_RA_VERSION_MAJOR is '{major}': this agent speaks version 1"


def test_an_empty_environment_is_enough(sample_path: str) -> None:
    environ = {"OCF_ROOT": "/usr/lib/ocf"}
    assert execute([sample_path, "start"], environ, 20).stdout == "started sample-agent 85.5\n"
    assert execute([sample_path, "stop"], environ, 20).code == 0
    assert execute([sample_path, "monitor"], environ, 20).stdout == "level 0 probe True\n"


def test_the_deadline_is_the_callers_timeout_or_else_the_advertised_one(sample: Pacemaker) -> None:
    assert sample.run("start", timeout=20).stdout == "started resource 19.0\n"
    for nonsense in (None, "", "abc", "-1"):
        extra = {"OCF_RESKEY_CRM_meta_timeout": nonsense}
        assert sample.run("start", env_extra=extra).stdout == "started resource 85.5\n"


def test_level_and_probe_reach_the_handler(sample: Pacemaker) -> None:
    assert sample.monitor(level=15).stdout == "level 10 probe False\n"
    assert sample.monitor(env_extra={"OCF_CHECK_LEVEL": "10s"}).code == 0


def test_a_bad_parameter_is_6_with_one_line_and_no_secret(sample: Pacemaker) -> None:
    result = sample.run("start", parameters={"secret": "s3cret"})
    assert (result.code, result.reason) == (6, "parameter secret has an unusable value: give true or false")
    assert "s3cret" not in result.stdout + result.stderr


def test_bytes_that_are_no_text_are_survived(sample_path: str) -> None:
    environ = {
        "OCF_RESKEY_fails": "GenericError",
        "OCF_RESKEY_text": os.fsdecode(b"bad \xff byte"),
        "LC_ALL": "C",
    }
    result = execute([sample_path, "monitor"], environ, 20)
    assert (result.code, result.reason) == (1, "bad \\udcff byte")


def test_a_log_file_in_a_missing_directory_stops_nothing(sample: Pacemaker) -> None:
    extra = {"HA_LOGFILE": "/no/dir/x", "HA_DEBUGLOG": "/no/dir/y", "HA_debug": "1"}
    assert sample.run("stop", env_extra=extra).code == 0
    assert sample.run("meta-data", env_extra=extra).code == 0


def test_a_failed_start_is_logged_once_and_a_failed_monitor_is_not(sample: Pacemaker, tmp_path: Path) -> None:
    log = tmp_path / "log"
    extra = {"HA_LOGFILE": str(log)}
    sample.run("start", parameters={"wait": "0"}, env_extra=extra)
    assert log.read_text().count("ERROR: parameter wait") == 1
    for _ in range(3):
        sample.monitor(parameters={"fails": "GenericError"}, env_extra=extra)
    assert log.read_text().count("\n") == 1


def test_a_reader_that_has_gone_changes_no_exit_code(sample_path: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen([sample_path, "meta-data"], stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        _, stderr = process.communicate(timeout=20)
    assert (process.returncode, stderr) == (0, b"")


def test_the_interpreter_has_nothing_to_warn_about(sample_path: str) -> None:
    for action in ("start", "stop", "monitor", "meta-data"):
        done = subprocess.run(
            [sys.executable, "-I", "-W", "error", "-X", "dev", sample_path, action],
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")


def test_the_end_of_an_action_waits_for_no_thread(tmp_path: Path, sample_path: str) -> None:
    path = tmp_path / "stuck-agent"
    text = Path(sample_path).read_text()
    stuck = "    import threading, time\n    threading.Thread(target=time.sleep, args=(30,)).start()\n"
    path.write_text(text.replace('    call.log.info("stopping")\n', stuck))
    path.chmod(0o755)
    result = execute([str(path), "stop"], {}, 20)
    assert result.code == 0
    assert result.seconds < 10


def test_a_handler_is_told_of_its_clone_its_notification_and_its_migration() -> None:
    told = {
        "OCF_RESKEY_CRM_meta_clone": "1",
        "OCF_RESKEY_CRM_meta_notify_type": "post",
        "OCF_RESKEY_CRM_meta_migrate_source": "node1",
    }
    seen: list[object] = []

    def notify(call: Call) -> None:
        seen.extend((call.clone.number, call.notification.when, call.migration.source))

    agent = Agent("x", "1", "s", "l", [], [Action("notify", notify, 20)])
    assert agent.run(["x", "notify"], told) == 0
    assert seen == [1, "post", "node1"]


def test_a_handler_reaches_the_attributes_of_its_node_within_its_time(tmp_path: Path) -> None:
    tool = tmp_path / "crm_attribute"
    tool.write_text("#!/bin/sh\necho 7\n")
    tool.chmod(0o755)
    seen: list[object] = []
    agent = Agent(
        "x", "1", "s", "l", [], [Action("promote", lambda c: seen.append(c.attributes.promotion_score()), 20)]
    )
    assert agent.run(["x", "promote"], {"HA_SBIN_DIR": str(tmp_path)}) == 0
    assert seen == [7]
