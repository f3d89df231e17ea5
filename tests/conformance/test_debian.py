# SPDX-License-Identifier: Apache-2.0
"""The agents of Debian 12, checked: what is found is what docs/conformance.md says, no more and no less."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ocf_agents.testing.conformance.engine import Report, check, choose
from ocf_agents.testing.conformance.rule import FAILED
from ocf_agents.testing.conformance.subject import Settings

RESOURCE_D = Path("/usr/lib/ocf/resource.d")
DOCUMENT = Path(__file__).parents[2] / "docs" / "conformance.md"
PROVIDERS = ("heartbeat", "pacemaker")
PACKAGES = ("resource-agents", "pacemaker-resource-agents")
WHOLE = {
    "heartbeat/Dummy": {},
    "heartbeat/dummypy": {"state": "/run/ocf-check-dummypy.state"},
    "pacemaker/Dummy": {},
    "pacemaker/Stateful": {},
}
"""These are started and stopped, with these parameters."""

pytestmark = pytest.mark.skipif(
    not all((RESOURCE_D / name).is_file() for name in WHOLE),
    reason="Debian's resource agents are not installed",
)


def published(heading: str) -> set[tuple[str, str]]:
    """The (agent, rule) pairs of the table below a heading of the document."""
    section = DOCUMENT.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([\w./-]+)` \| `([\w.-]+)` \|", section, re.M))


def broken(name: str, report: Report) -> set[tuple[str, str]]:
    return {(name, one.rule.id) for one in report.results if one.state == FAILED}


def agents() -> list[str]:
    paths = [path for provider in PROVIDERS for path in (RESOURCE_D / provider).glob("[!.]*")]
    return sorted(f"{path.parent.name}/{path.name}" for path in paths if is_packaged(path))


def is_packaged(path: Path) -> bool:
    """Whether the file is of one of the packages, not of this project or of another one."""
    return str(path) in FILES


def packaged() -> set[str]:
    try:
        done = subprocess.run(["dpkg", "-L", *PACKAGES], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return set()
    return {
        line
        for line in done.stdout.splitlines()
        if line.startswith(f"{RESOURCE_D}/") and Path(line).is_file()
    }


FILES = packaged()


def test_what_is_published_was_found_with_these_packages() -> None:
    command = ["dpkg-query", "-W", "-f", "${Version} ", *PACKAGES]
    versions = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    text = DOCUMENT.read_text(encoding="utf-8")
    assert [version for version in versions if version not in text] == []


@pytest.mark.parametrize("name", WHOLE)
def test_agents_that_are_started_break_what_is_published(name: str) -> None:
    report = check(Settings(RESOURCE_D / name, WHOLE[name]))
    assert broken(name, report) == {pair for pair in published("Whole agents") if pair[0] == name}
    assert report.leftover == ""


def test_the_meta_data_of_all_agents_breaks_what_is_published() -> None:
    names = agents()
    assert len(names) > 100
    rules = choose(harmless=True)
    found = set().union(*(broken(name, check(Settings(RESOURCE_D / name), rules)) for name in names))
    assert found == published("Meta-data of all agents")
