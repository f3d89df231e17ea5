# SPDX-License-Identifier: Apache-2.0
"""The plugin, as a foreign repository uses it: its own pytest run, in a process of its own."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

import pytest

from .conformance.mutants import GOOD_AGENT, TEXT, one

pytest_plugins = "pytester"
ROOT = Path(__file__).parents[3]
FEW = ["lifecycle.start", "file", "roles.pair"]
THREE_LINES = f"""\
from ocf_agents.testing.pytest_plugin import ocf_check

test_my_agent = ocf_check("agents/good-agent", {{"target": "x"}}, only={FEW})
"""


def is_installed() -> bool:
    """Whether pytest finds the plugin by its entry point."""
    entries = importlib.metadata.entry_points()
    found = entries.select(group="pytest11") if hasattr(entries, "select") else entries.get("pytest11", [])
    return any(entry.value == "ocf_agents.testing.pytest_plugin" for entry in found)


@pytest.fixture
def foreign(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A repository with an agent and a test module of three lines."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    write(pytester, TEXT)
    pytester.makepyfile(test_agent=THREE_LINES)
    return pytester


def write(pytester: pytest.Pytester, text: str) -> None:
    directory = pytester.path / "agents"
    directory.mkdir(exist_ok=True)
    (directory / GOOD_AGENT.name).write_text(text)
    (directory / GOOD_AGENT.name).chmod(0o755)


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    plugin = [] if is_installed() else ["-p", "ocf_agents.testing.pytest_plugin"]
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers", *plugin, *arguments)


def test_three_lines_give_a_test_for_each_rule(foreign: pytest.Pytester) -> None:
    result = run(foreign, "-v")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["*test_agent.py::test_my_agent?lifecycle.start? PASSED*"])


def test_a_broken_rule_is_a_failed_test_with_one_clear_message(foreign: pytest.Pytester) -> None:
    write(foreign, TEXT.replace("return 0 # started", "return 1"))
    result = run(foreign)
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(
        ["lifecycle.start: start returns 0", "start returned 1 (error); expected: 0 (success)"]
    )
    assert "Traceback" not in result.stdout.str()


def test_what_is_not_applicable_is_skipped_with_the_reason(foreign: pytest.Pytester) -> None:
    text = TEXT.replace('<action name="promote" timeout="20s"/>\n', "")
    write(foreign, text.replace('<action name="demote" timeout="20s"/>\n', ""))
    result = run(foreign, "-rs")
    result.assert_outcomes(passed=4, skipped=1)
    result.stdout.fnmatch_lines(["*neither promote nor demote is advertised*"])


def test_a_wrong_use_fails_each_test_with_what_to_do(foreign: pytest.Pytester) -> None:
    foreign.makepyfile(test_agent=THREE_LINES.replace('{"target": "x"}', "{}"))
    result = run(foreign)
    result.assert_outcomes(failed=5)
    result.stdout.fnmatch_lines(["agents/good-agent: good-agent requires the parameter target*"])


def test_a_resource_that_does_not_stop_is_an_error_at_the_end(foreign: pytest.Pytester) -> None:
    old, new = one("none", "    if process && lives; then\n", "    if false; then\n").changes[0]
    write(foreign, TEXT.replace(old, new))
    result = run(foreign)
    result.assert_outcomes(passed=5, errors=1)
    result.stdout.fnmatch_lines(["agents/good-agent: at the end process *"])


def test_parameters_may_be_known_later(foreign: pytest.Pytester) -> None:
    foreign.makepyfile(test_agent=THREE_LINES.replace('{"target": "x"}', 'lambda: {"target": 1}'))
    run(foreign).assert_outcomes(passed=5)


def test_meta_data_alone_needs_no_parameters(foreign: pytest.Pytester) -> None:
    module = THREE_LINES.replace('{"target": "x"}', "meta_data=True").replace(
        "roles.pair", "metadata.success"
    )
    foreign.makepyfile(test_agent=module)
    run(foreign).assert_outcomes(passed=4)
