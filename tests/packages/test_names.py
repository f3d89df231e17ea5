# SPDX-License-Identifier: Apache-2.0
"""What the packages ask for: names that the distributions have, versions that the source asks for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.packages.builder import SOURCE, Release
from tests.packages.place import run

NAMES = SOURCE / "packaging" / "rpm" / "names.txt"
DISTRIBUTIONS = {
    "fedora": ["fedora 43"],
    "el9": ["rhel 9"],
    "el10": ["rhel 10"],
    "suse": ["suse_version 1600"],
}
STUBS = ["pyproject_wheel BUILT_BY_MACRO", "pyproject_install INSTALLED_BY_MACRO", "fdupes true"]
OURS = ("ocf-agents", "python3-ocf-agents")


def defines(distribution: str) -> list[str]:
    """As if it were there: its own number, and its macros as words."""
    told = [*DISTRIBUTIONS[distribution], *STUBS, "python3_sitelib /usr/lib/python3.x/site-packages"]
    return [word for one in told for word in ("-D", one)]


def names(distribution: str) -> set[str]:
    lines = [line.split() for line in NAMES.read_text().splitlines() if not line.startswith("#")]
    return {package for where, package, _ in lines if where == distribution}


def asked(distribution: str, spec: Path) -> set[str]:
    """Every name in a Requires, Recommends, Suggests or BuildRequires."""
    tags = "[%{REQUIRENAME}\n][%{RECOMMENDNAME}\n][%{SUGGESTNAME}\n]"
    given = [*defines(distribution), "--qf", tags, spec]
    text = run("rpmspec", "-q", *given).stdout + run("rpmspec", "-q", "--srpm", *given).stdout
    return {name for name in text.split() if name not in OURS and not name.startswith(("(", "rpmlib("))}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_the_spec_asks_for_names_that_the_distribution_has(distribution: str, release: Release) -> None:
    wanted = asked(distribution, release.output / "ocf-agents.spec")
    assert {"python3-openstacksdk", "python3-filelock", "python3-click", "python3-amqp"} <= wanted
    assert wanted == names(distribution), "packaging/rpm/names.txt and the spec file differ"


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_the_spec_builds_with_the_macros_where_there_are_any(distribution: str, release: Release) -> None:
    text = run("rpmspec", "-P", *defines(distribution), release.output / "ocf-agents.spec").stdout
    assert ("BUILT_BY_MACRO" in text, "INSTALLED_BY_MACRO" in text) == (distribution != "el9",) * 2
    assert ("python3.12 -m pip wheel --no-index" in text) == (distribution == "el9")
    assert "BuildArch:      noarch" in text


def test_no_requirement_is_a_path_or_one_pythons_number(release: Release) -> None:
    """Case 173."""
    for rpm in release.rpms:
        lines = run("rpm", "-qp", "--requires", rpm).stdout.splitlines()
        assert [line for line in lines if line.startswith("/") or "abi" in line or "dist(" in line] == []
    for deb in release.debs:
        assert "/" not in run("dpkg-deb", "--field", deb, "Depends").stdout


def minimums() -> dict[str, str]:
    """Of pyproject.toml: the lowest version of each library."""
    text = (SOURCE / "pyproject.toml").read_text()
    (needed,) = re.findall(r"^dependencies = \[(.*)\]$", text, re.M)
    (bus,) = re.findall(r"^bus = \[(.*)\]$", text, re.M)
    return dict(re.findall(r'"(\w+)>=([0-9.]+)"', f"{needed}, {bus}"))


@pytest.mark.parametrize("kind", ["deb", "rpm"])
def test_the_agents_need_what_the_source_needs(kind: str, release: Release) -> None:
    if kind == "deb":
        fields = run("dpkg-deb", "--field", release.deb("ocf-agents"), "Depends", "Recommends").stdout
    else:
        fields = run("rpm", "-qp", "--requires", "--recommends", release.rpm("ocf-agents")).stdout
    found = dict(re.findall(r"python3-(\w+) \(?>= ([0-9.]+)", fields))
    assert len(minimums()) == 4
    assert found == minimums()


@pytest.mark.parametrize("kind", ["deb", "rpm"])
def test_the_library_alone_pulls_in_no_cloud(kind: str, release: Release) -> None:
    """Case 176."""
    if kind == "deb":
        needed = run("dpkg-deb", "--field", release.deb("python3-ocf-agents"), "Depends").stdout.strip()
        assert needed == "python3:any (>= 3.9~)"
    else:
        lines = run("rpm", "-qp", "--requires", release.rpm("python3-ocf-agents")).stdout.splitlines()
        assert [line for line in lines if not line.startswith("rpmlib(")] == ["python3 >= 3.9"]
