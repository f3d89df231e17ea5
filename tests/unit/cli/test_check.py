# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents check`: exit codes, table, JSON, JUnit, and what it says to wrong calls."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from ocf_agents.testing.conformance.rules import RULES
from ocf_agents.testing.node import wait_for

from ..testing.conformance.mutants import GOOD_AGENT, Mutant, one

ROOT = Path(__file__).parents[3]
FEW = ("--only", "lifecycle.start", "--only", "file")
BROKEN = one("lifecycle.start", "return 0 # started", 'reason "%s no"; return 1')


def check(*arguments: object, columns: int = 80, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "COLUMNS": str(columns), "LC_ALL": "C.UTF-8", **variables}
    command = [sys.executable, "-m", "ocf_agents.cli.main", "check", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=environ, cwd=ROOT, check=False
    )


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    return BROKEN.write(tmp_path)


def test_a_good_agent_gives_0_and_a_plain_table() -> None:
    done = check("-o", "target=x", *FEW, GOOD_AGENT)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "ok     file.mode"
    assert "4 passed, 0 failed, 0 not applicable" in " ".join(lines[-2:])
    assert "\x1b" not in done.stdout


def test_a_broken_one_gives_1_and_says_what_was_seen_and_expected(broken: Path) -> None:
    done = check("-o", "target=x", "-q", *FEW, broken)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "FAILED lifecycle.start"
    assert lines[2] == "       > start returned 1 (error); expected: 0 (success) [%s no]"


def test_a_narrow_terminal_gets_short_lines(broken: Path) -> None:
    done = check("-o", "target=x", *FEW, broken, columns=44)
    assert "FAILED lifecycle.start" in done.stdout
    rows = done.stdout.partition(str(broken))[0].splitlines()
    assert max(map(len, rows)) <= 44


def test_many_failures_come_with_the_advice_to_begin_with_the_first(tmp_path: Path) -> None:
    faults = (("Any number.", ""), ('default="7"', 'default="seven"'), ('"9s"', '"often"'))
    path = Mutant("many", faults).write(tmp_path)
    done = check("-q", "--meta-data", path)
    assert done.returncode == 1
    assert "Begin with the first failure" in done.stdout


def test_a_version_that_is_not_looked_at_is_named_with_its_variables(tmp_path: Path) -> None:
    path = one("environment.version", "!= 1 ]", "= 99 ]").write(tmp_path)
    done = check("-o", "target=x", "-q", "--only", "environment.version", path)
    assert done.returncode == 1
    words = " ".join(done.stdout.split())
    assert (
        "start with OCF_RA_VERSION_MAJOR=7 and OCF_RA_VERSION_MINOR=0 returned 0 (success); expected" in words
    )
    assert "Begin with" not in words


def test_a_parameter_can_be_said_to_be_a_secret(tmp_path: Path) -> None:
    path = one("privacy.output", '    log "started"\n', '    echo "$OCF_RESKEY_target"\n').write(tmp_path)
    arguments = ("-o", "target=open-sesame", "--only", "privacy.output", path)
    assert check(*arguments).returncode == 0
    done = check("--secret", "target", *arguments)
    assert done.returncode == 1
    assert "the value of the parameter target is in what an action prints" in " ".join(done.stdout.split())
    assert "has no parameter targets" in check("--secret", "targets", *arguments).stderr


def test_json_is_stable(broken: Path) -> None:
    done = check("-o", "target=x", "--json", *FEW, broken)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["format"] == 1
    (agent,) = report["agents"]
    assert (agent["path"], agent["success"], agent["leftover"]) == (str(broken), False, "")
    (result,) = (one for one in agent["results"] if one["rule"] == "lifecycle.start")
    assert set(result) == {
        "rule",
        "statement",
        "source",
        "strict",
        "meta_data_only",
        "state",
        "text",
        "seconds",
    }
    assert (result["state"], result["strict"]) == ("failed", False)


def test_junit_has_a_case_for_each_rule(broken: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    done = check("-o", "target=x", "-q", "--junit", path, *FEW, broken)
    assert done.returncode == 1
    (suite,) = ElementTree.parse(path).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
    (case,) = (one for one in suite if one.get("name") == "lifecycle.start")
    failure = case.find("failure")
    assert failure is not None
    assert "start returned 1" in (failure.get("message") or "")


def test_several_agents_are_checked_in_one_call(broken: Path) -> None:
    done = check("-m", "--only", "file", "--json", GOOD_AGENT, broken)
    assert [one["path"] for one in json.loads(done.stdout)["agents"]] == [str(GOOD_AGENT), str(broken)]


def test_all_rules_are_listed_with_their_sources() -> None:
    text = check("--list").stdout
    assert all(rule.id in text for rule in RULES)
    assert "OCF 1.1, Exit status codes" in text
    listed = json.loads(check("--list", "--json").stdout)["rules"]
    assert [one["rule"] for one in listed] == [rule.id for rule in RULES]


def test_a_secret_comes_from_the_environment() -> None:
    done = check("-o", "target", *FEW, GOOD_AGENT, OCF_RESKEY_target="x")
    assert done.returncode == 0
    assert "NAME=VALUE" in check("-o", "target", *FEW, GOOD_AGENT).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no agent is given"),
        (("/no/such/agent",), "/no/such/agent is no file"),
        ((ROOT / "README.md",), "may not be run"),
        ((GOOD_AGENT,), "requires the parameter target"),
        (("-o", "target", GOOD_AGENT), "'target' is no NAME=VALUE"),
        (("--only", "nothing", GOOD_AGENT), "no rule and no group 'nothing'"),
        (("--only", "file", "--skip", "file", GOOD_AGENT), "no rule is left"),
        (("--timeout", "soon", GOOD_AGENT), "is no [ACTION=]SECONDS"),
        (("-m", "--only", "file", "--junit", "/no/dir/x.xml", GOOD_AGENT), "/no/dir/x.xml"),
    ],
)
def test_a_wrong_call_gives_2_and_one_clear_line(arguments: tuple[object, ...], words: str) -> None:
    done = check(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_resource_that_runs_is_left_alone_without_force(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    environ = {
        **os.environ,
        "HA_RSCTMP": str(run_dir),
        "OCF_RESKEY_target": "x",
        "OCF_RESOURCE_INSTANCE": "it",
    }
    arguments = ("-o", "target=x", "-n", "it", "--env", f"HA_RSCTMP={run_dir}", *FEW)
    subprocess.run([GOOD_AGENT, "start"], env=environ, check=True)
    try:
        done = check(*arguments, GOOD_AGENT)
        assert done.returncode == 2
        assert "runs already" in done.stderr
        assert subprocess.run([GOOD_AGENT, "monitor"], env=environ, check=False).returncode == 0
        assert check(*arguments, "--force", GOOD_AGENT).returncode == 0
        assert subprocess.run([GOOD_AGENT, "monitor"], env=environ, check=False).returncode == 7
    finally:
        subprocess.run([GOOD_AGENT, "stop"], env=environ, check=False)


def test_an_interrupt_stops_the_resource(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    variables = {"HA_RSCTMP": str(run_dir), "OCF_RESKEY_target": "x", "OCF_RESOURCE_INSTANCE": "it"}
    options = ["-o", "target=x", "-n", "it", "--env", f"HA_RSCTMP={run_dir}"]
    command = [sys.executable, "-m", "ocf_agents.cli.main", "check", *options, "--only", "lifecycle"]
    with subprocess.Popen([*command, str(GOOD_AGENT)], cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        assert wait_for((run_dir / "good-agent-it.pid").exists, 30)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    done = subprocess.run([GOOD_AGENT, "monitor"], env={**os.environ, **variables}, check=False)
    assert done.returncode == 7


def test_a_resource_that_does_not_stop_is_a_failure_of_its_own(tmp_path: Path) -> None:
    agent = one("none", "    if process && lives; then\n", "    if false; then\n").write(tmp_path)
    done = check("-o", "target=x", *FEW, agent)
    assert done.returncode == 1
    assert "at the end process" in " ".join(done.stdout.split())
