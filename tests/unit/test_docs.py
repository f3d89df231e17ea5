# SPDX-License-Identifier: Apache-2.0
"""What the documents name exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ocf_agents.cli.new import FIRST_LINE, MODELS, TEMPLATES

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "tests" / "lab" / "README.md"])
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
TARGET = re.compile(r"`make ([a-z][a-z-]*)`")
QUOTED = re.compile(r"\bmutants? (\"[^|]*\")")


def test_there_are_pages() -> None:
    assert {"README.md", "CONTRIBUTING.md", "guard.md", "proof.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_command_of_make_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.M))
    assert [name for name in TARGET.findall(page.read_text(encoding="utf-8")) if name not in targets] == []


def test_each_mutant_that_is_named_exists() -> None:
    source = (ROOT / "tests" / "proof" / "mutants.py").read_text(encoding="utf-8")
    text = (ROOT / "docs" / "guard.md").read_text(encoding="utf-8")
    named = [name for group in QUOTED.findall(text) for name in re.findall(r'"([^"]+)"', group)]
    assert len(named) > 15
    assert [name for name in named if f'"{name}"' not in source] == []


def test_each_decision_of_the_history_is_explained() -> None:
    from ocf_agents.guard import reading

    text = (ROOT / "docs" / "guard.md").read_text(encoding="utf-8")
    decisions = [reading.TO_SEND, reading.TO_WAIT, reading.TO_WAIT_FOR_UP, reading.TO_WATCH, reading.DONE]
    assert [name for name in [*decisions, "overtaken", "blocked"] if f"| `{name}` |" not in text] == []


def test_the_authors_page_shows_what_new_writes() -> None:
    page = (ROOT / "docs" / "authors.md").read_text(encoding="utf-8")
    shown = re.findall(r"```python\n(.*?)```", page, re.S)
    first = FIRST_LINE.format(interpreter="/usr/bin/python3")
    assert shown == [first + (TEMPLATES / f"{one}.txt").read_text(encoding="utf-8") for one in MODELS]
    lines = [sum(bool(line.strip()) for line in text.splitlines()) for text in shown]
    assert lines[0] <= 40
    assert lines[1] <= 90


def test_the_authors_page_has_each_error_and_each_type() -> None:
    from ocf_agents.ocf import errors, parameters

    page = (ROOT / "docs" / "authors.md").read_text(encoding="utf-8")
    results = {
        name for name, item in vars(errors).items() if isinstance(item, type) and hasattr(item, "code")
    }
    types = {name for name, item in vars(parameters).items() if isinstance(item, parameters.Type)}
    assert len(results) >= 12
    assert len(types) >= 7
    assert [name for name in sorted(results - {"OcfError"} | types) if f"`{name}`" not in page] == []


def test_the_reference_is_what_the_docstrings_say() -> None:
    command = [sys.executable, str(ROOT / "docs" / "reference.py"), "--check"]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0, "run docs/reference.py"


def test_whatever_is_public_says_what_it_is() -> None:
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^##+ ", text, re.M)) > 60
    assert [
        part.splitlines()[0] for part in re.split(r"^##+ ", text, flags=re.M)[1:] if not part.splitlines()[2:]
    ] == []
