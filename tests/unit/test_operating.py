# SPDX-License-Identifier: Apache-2.0
"""docs/operating.md has each reason that the code can print, each exit code, each command, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ocf_agents.cli.main import COMMANDS
from ocf_agents.openstack import failure
from ocf_agents.operator.trouble import MEANINGS
from tests.unit.reasons import reasons

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text(encoding="utf-8")
ADVICE = PAGE[PAGE.index("## What the exit reason says") :]
LISTED = re.findall(r"^\| `([^`]+)` \| .+ \|$", ADVICE, re.M)


def test_there_are_reasons() -> None:
    assert len(reasons()) > 80


@pytest.mark.parametrize("reason", sorted(reasons()))
def test_each_reason_of_the_code_has_its_advice(reason: str) -> None:
    assert reason in LISTED, (
        f"{reasons()[reason]}: docs/operating.md does not say what to do about {reason!r}"
    )


def test_no_reason_is_listed_twice_or_out_of_date() -> None:
    assert len(LISTED) == len(set(LISTED))
    elsewhere = {  # put together in more than one place
        "give either cloud or ..., not both",
        "give cloud (and clouds_file), or auth_url, username, password and project_name",
        "give ... too, or cloud instead",
        "parameter ... is ...: give ...",
        "Nova calls host ... down, last report ...",
        "...: see to nova-conductor and the message bus",
        "the API did not answer in the time of this monitor",
    }
    assert sorted(set(LISTED) - set(reasons()) - elsewhere) == []


@pytest.mark.parametrize("code", sorted(failure.HINTS))
def test_each_hint_for_a_code_of_the_api_is_told(code: int) -> None:
    assert f"`{failure.HINTS[code]}`" in ADVICE.replace("\n", " ")
    assert f"({code})" in ADVICE


@pytest.mark.parametrize("code", sorted(MEANINGS))
def test_each_exit_code_has_its_meaning(code: int) -> None:
    meaning = re.sub(r"\b(doctor|demo)\b", r"`\1`", MEANINGS[code])
    assert f"| {code} | {meaning} |" in PAGE


@pytest.mark.parametrize("command", sorted({*COMMANDS, "new"}))
def test_each_command_is_in_the_reference(command: str) -> None:
    assert f"`{command}`" in PAGE[: PAGE.index("## Why")].replace("`hold, `", "")
