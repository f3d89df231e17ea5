# SPDX-License-Identifier: Apache-2.0
"""One command, no network, one version, the same bytes twice; the distributions' checkers are content."""

from __future__ import annotations

import hashlib
import re
import runpy
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from ocf_agents import __version__
from tests.packages.builder import SOURCE, Builder, Release
from tests.packages.place import run


def test_everything_is_built_from_a_clean_checkout_without_a_network(release: Release) -> None:
    version = release.version
    assert version == __version__
    assert {path.name for path in release.output.iterdir()} == {
        f"ocf_agents-{version}.tar.gz",
        f"ocf_agents-{version}-py3-none-any.whl",
        f"ocf-agents_{version}.orig.tar.gz",
        f"ocf-agents_{version}-1.debian.tar.xz",
        f"ocf-agents_{version}-1.dsc",
        f"ocf-agents_{version}-1_amd64.buildinfo",
        f"ocf-agents_{version}-1_amd64.changes",
        f"ocf-agents_{version}-1_all.deb",
        f"python3-ocf-agents_{version}-1_all.deb",
        "ocf-agents.spec",
        f"ocf-agents-{version}-1.src.rpm",
        f"ocf-agents-{version}-1.noarch.rpm",
        f"python3-ocf-agents-{version}-1.noarch.rpm",
        "SHA256SUMS",
    }


def test_all_of_them_say_the_same_version(release: Release) -> None:
    with tarfile.open(release.output / f"ocf_agents-{release.version}.tar.gz") as archive:
        member = archive.extractfile(f"ocf_agents-{release.version}/PKG-INFO")
        assert member is not None
        assert Parser().parsestr(member.read().decode())["Version"] == release.version
    with zipfile.ZipFile(*release.output.glob("*.whl")) as wheel:
        metadata = wheel.read(f"ocf_agents-{release.version}.dist-info/METADATA").decode()
        assert Parser().parsestr(metadata)["Version"] == release.version
    for deb in release.debs:
        assert run("dpkg-deb", "--field", deb, "Version").stdout.strip() == f"{release.version}-1"
    for rpm in release.rpms:
        assert run("rpm", "-qp", "--qf", "%{version}-%{release} %{arch}", rpm).stdout.endswith(
            f"{release.version}-1 noarch"
        )


def test_the_maintainer_is_whom_the_environment_names_and_else_nobody_real() -> None:
    maintainer = runpy.run_path(str(SOURCE / "packaging" / "build"))["maintainer"]
    assert (
        maintainer({"DEBFULLNAME": "A Packager", "DEBEMAIL": "a@example.org"}) == "A Packager <a@example.org>"
    )
    assert maintainer({}).endswith(".invalid>")


def test_a_version_before_the_release_sorts_before_it(older: Release) -> None:
    deb = run("dpkg-deb", "--field", older.deb("ocf-agents"), "Version").stdout.strip()
    assert deb == "0.0.9~dev1-1"
    run("dpkg", "--compare-versions", deb, "lt", "0.0.9-1")
    assert run("rpm", "--eval", "%{lua:print(rpm.vercmp('0.0.9~dev1', '0.0.9'))}").stdout.strip() == "-1"
    assert "0.0.9~dev1" in older.rpm("ocf-agents").name


def test_the_checksums_are_those_of_the_files(release: Release) -> None:
    lines = (release.output / "SHA256SUMS").read_text().splitlines()
    assert len(lines) == len(list(release.output.iterdir())) - 1
    for line in lines:
        digest, name = line.split()
        assert hashlib.sha256((release.output / name).read_bytes()).hexdigest() == digest


def test_the_same_source_makes_the_same_sdist_wheel_and_debs(builder: Builder, release: Release) -> None:
    again = builder.checkout("again")
    builder.finish(builder.start(again, "wheel", "deb"))
    names = [path.name for path in (again / "build" / "release").iterdir()]
    compared = [name for name in names if name.endswith((".tar.gz", ".whl", ".deb", ".dsc", ".tar.xz"))]
    assert len(compared) == 7
    made = again / "build" / "release"
    different = [
        name for name in compared if (made / name).read_bytes() != (release.output / name).read_bytes()
    ]
    assert different == []


def test_the_sdist_holds_the_whole_source(builder: Builder, release: Release) -> None:
    tree = builder.checkout("files")
    expected = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()} - {".gitignore"}
    with tarfile.open(release.output / f"ocf_agents-{release.version}.tar.gz") as archive:
        found = {member.name.partition("/")[2]: member.mode for member in archive.getmembers()}
    assert expected - set(found) == set()
    assert found["heartbeat/nova-compute"] & 0o111
    assert found["packaging/build"] & 0o111


def test_lintian_is_content(release: Release) -> None:
    (changes,) = release.output.glob("*.changes")
    said = run("lintian", "--allow-root", "--tag-display-limit=0", "--display-info", changes, check=False)
    assert said.stdout == ""


def test_rpmlint_is_content(release: Release) -> None:
    rules = SOURCE / "packaging" / "rpm" / "rpmlint.toml"
    files = [*release.output.glob("*.rpm"), release.output / "ocf-agents.spec"]
    said = run("rpmlint", "--config", rules, *files).stdout
    assert "3 packages and 1 specfiles checked; 0 errors, 0 warnings" in said, said


@pytest.mark.parametrize("name", ["ocf-agents.lintian-overrides", "python3-ocf-agents.lintian-overrides"])
def test_each_override_has_its_reason_above_it(name: str) -> None:
    lines = (SOURCE / "packaging" / "deb" / name).read_text().splitlines()
    overrides = [index for index, line in enumerate(lines) if line and not line.startswith("#")]
    assert overrides
    assert all(lines[index - 1].startswith("# ") for index in overrides)


def test_a_kind_that_does_not_exist_is_refused_before_anything_is_made(builder: Builder) -> None:
    tree = builder.checkout("refused")
    done = run(tree / "packaging" / "build", "msi", check=False)
    assert done.returncode == 2
    assert re.search("give some of sdist, wheel, deb, rpm", done.stdout)
    assert not (tree / "build").exists()


def test_another_provider_is_one_variable(tmp_path: Path, release: Release) -> None:
    run(SOURCE / "packaging" / "install", "--root", tmp_path, "--provider", "openstack")
    assert (tmp_path / "usr/lib/ocf/resource.d/openstack/nova-compute").stat().st_mode & 0o777 == 0o755
    page = (tmp_path / "usr/share/man/man7/ocf_openstack_nova-compute.7").read_text()
    assert "ocf:openstack:nova\\-compute" in page
    assert "ocf:heartbeat" not in page
    spec = run("rpmspec", "-P", "-D", "ocf_provider openstack", release.output / "ocf-agents.spec").stdout
    assert "/usr/lib/ocf/resource.d/openstack/nova-compute" in spec
    assert "heartbeat/" not in spec.partition("%files")[2]


@pytest.mark.parametrize("bad", ["../etc", "a/b", "", "a b"])
def test_a_provider_that_is_no_directory_is_refused(bad: str, tmp_path: Path) -> None:
    done = run(SOURCE / "packaging" / "install", "--root", tmp_path, "--provider", bad, check=False)
    assert done.returncode == 2
    assert "letters and digits" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_in_the_source(release: Release) -> None:
    tree = release.output.parents[1]
    made = {path.name for path in tree.iterdir()} - {path.name for path in SOURCE.iterdir()}
    assert made <= {"build"}
    assert not list(tree.rglob("*.egg-info"))
