# SPDX-License-Identifier: Apache-2.0
"""Each rule can fail: a mutant of the good agent breaks it, and no other one of its group."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.testing.conformance.engine import BadUse, check, choose
from ocf_agents.testing.conformance.rule import FAILED, NOT_APPLICABLE
from ocf_agents.testing.conformance.rules import RULES, metadata, privacy
from ocf_agents.testing.conformance.subject import Settings

from .mutants import FOR_ROOT_ONLY, GOOD_AGENT, MUTANTS, PARAMETERS, STARTED, Mutant, before, one


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that all users may enter, other than tmp_path."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


def test_the_good_agent_keeps_all_rules(open_directory: Path) -> None:
    path = Mutant("none").write(open_directory)
    report = check(Settings(path, PARAMETERS), choose(strict=True))
    assert [f"{one.rule.id}: {one.text}" for one in report.results if one.state == FAILED] == []
    assert report.leftover == ""
    idle = {one.rule.id for one in report.results if one.state == NOT_APPLICABLE}
    assert idle - FOR_ROOT_ONLY == {"metadata.dialect", "actions.advertised"}


@pytest.mark.parametrize("mutant", MUTANTS, ids=[f"{one.rule}-{n}" for n, one in enumerate(MUTANTS)])
def test_a_mutant_fails_its_rule_and_no_other(mutant: Mutant, open_directory: Path) -> None:
    path = mutant.write(open_directory)
    rules = choose([mutant.group], strict=True)
    report = check(Settings(path, PARAMETERS), rules)
    failed = {one.rule.id for one in report.results if one.state == FAILED}
    assert mutant.rule in failed, [one for one in report.results if one.rule.id == mutant.rule]
    assert failed - {mutant.rule, *mutant.also} == set()


def test_slow_meta_data_fails(open_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "QUICK_SECONDS", 0.2)
    path = before("metadata.quick", "meta_data() {\n", "sleep 0.3").write(open_directory)
    (result,) = check(Settings(path, PARAMETERS), choose(["metadata.quick"])).results
    assert result.state == FAILED


def test_a_secret_in_a_public_directory_fails(
    open_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privacy, "PUBLIC", (str(tmp_path),))
    line = f'    mkdir -p {tmp_path}/below; echo "$OCF_RESKEY_password" >{tmp_path}/below/file\n'
    path = one("privacy.files", STARTED, line).write(open_directory)
    (result,) = check(Settings(path, PARAMETERS), choose(["privacy.files"])).results
    assert (result.state, "below/file" in result.text) == (FAILED, True)


def test_a_parameter_that_is_said_to_be_secret_is_one(open_directory: Path) -> None:
    path = one("privacy.output", STARTED, '    echo "$OCF_RESKEY_target"\n').write(open_directory)
    rules = choose(["privacy.output"])
    given = {"target": "open-sesame"}
    assert check(Settings(path, given), rules).is_success
    (result,) = check(Settings(path, given, secrets=["target"]), rules).results
    assert (result.state, "the parameter target" in result.text) == (FAILED, True)
    with pytest.raises(BadUse, match="has no parameter targets"):
        check(Settings(path, given, secrets=["targets"]), rules)


def test_each_rule_has_a_mutant() -> None:
    broken = {mutant.rule for mutant in MUTANTS} | FOR_ROOT_ONLY | {"metadata.quick"}
    assert broken == {rule.id for rule in RULES}


def test_each_rule_says_what_it_wants_and_where_it_comes_from() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"[a-z]+\.[a-z-]+", rule.id)
        first = rule.statement.split()[0]
        assert first[0].isupper() or first.rstrip(",") in NAMES, rule.statement
        assert not rule.statement.endswith(".")
        assert len(rule.source) > 3


NAMES = {
    *("start", "stop", "meta-data", "validate-all", "promote", "demote", "notify", "reload", "reload-agent"),
    *("migrate_to", "nobody", "<version>", "OCF_EXIT_REASON_PREFIX"),
}


def test_the_good_agent_is_executable() -> None:
    assert GOOD_AGENT.stat().st_mode & 0o777 == 0o755
