# SPDX-License-Identifier: Apache-2.0
"""What is in the packages: everything that contents.txt lists and every module, root's, and nothing else."""

from __future__ import annotations

import io
import re
import struct
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.packages.builder import SOURCE, Release
from tests.packages.place import run

CONTENTS = Path(__file__).parent / "contents.txt"
MODULES = "usr/lib/python3/dist-packages/ocf_agents/"
PACKAGES = ("ocf-agents", "python3-ocf-agents")
KINDS = ("deb", "rpm")


class Entry(NamedTuple):
    mode: int
    owner: str
    path: str


def of_deb(path: Path) -> list[Entry]:
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return [
            Entry(
                one.mode | (0o040000 if one.isdir() else 0o100000),
                f"{one.uname}:{one.gname}",
                one.name[2:].rstrip("/"),  # after ./
            )
            for one in archive.getmembers()
            if one.name not in (".", "./")
        ]


def of_rpm(path: Path) -> list[Entry]:
    lines = run("rpm", "-qp", "--qf", "[%{filemodes} %{fileusername}:%{filegroupname} %{filenames}\n]", path)
    entries = [line.split(" ", 2) for line in lines.stdout.splitlines() if line[:1].isdigit()]
    return [Entry(int(mode), owner, name.lstrip("/")) for mode, owner, name in entries]


def unpack(rpm: Path, place: Path) -> None:
    place.mkdir(exist_ok=True)
    with subprocess.Popen(["rpm2cpio", rpm], stdout=subprocess.PIPE) as data:
        subprocess.run(["cpio", "-idm", "--quiet"], stdin=data.stdout, cwd=place, check=True)


def entries(release: Release, package: str, kind: str) -> list[Entry]:
    return of_deb(release.deb(package)) if kind == "deb" else of_rpm(release.rpm(package))


def listed(package: str, kind: str) -> list[str]:
    """The lines of a package's part of contents.txt."""
    text = CONTENTS.read_text().partition(f"[{package} {kind}]\n")[2]
    return [line for line in text.partition("\n[")[0].splitlines() if line]


def shown(found: list[Entry], version: str) -> Iterator[str]:
    for entry in found:
        if not entry.path.startswith(MODULES) and not MODULES.startswith(f"{entry.path}/"):
            mark = "/" if entry.mode & 0o040000 else ""
            yield f"{entry.mode & 0o7777:04o} {entry.path.replace(version, 'VERSION')}{mark}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_holds_what_is_listed(release: Release, package: str, kind: str) -> None:
    assert sorted(shown(entries(release, package, kind), release.version)) == sorted(listed(package, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_each_link_of_an_installed_document_leads_to_an_installed_file(
    release: Release, kind: str, tmp_path: Path
) -> None:
    if kind == "deb":
        run("dpkg-deb", "-x", release.deb("ocf-agents"), tmp_path)
    else:
        unpack(release.rpm("ocf-agents"), tmp_path)
    home = tmp_path / "usr/share/doc/ocf-agents"
    links = [
        (document, link)
        for document in home.rglob("*.md")
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    ]
    assert [f"{one.name} points to {link}" for one, link in links if not (one.parent / link).is_file()] == []
    led_to = {str((one.parent / link).resolve().relative_to(home)) for one, link in links}
    assert {
        "README.md",
        "docs/guide.md",
        "docs/operating.md",
        "docs/examples/stub",
        "examples/README.md",
    } <= led_to


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("package", PACKAGES)
def test_all_is_roots_and_nobody_else_may_write(release: Release, package: str, kind: str) -> None:
    found = entries(release, package, kind)
    assert found
    assert {entry.owner for entry in found} == {"root:root"}
    assert [entry.path for entry in found if entry.mode & 0o022] == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_library_holds_every_module_of_the_source(release: Release, kind: str) -> None:
    found = [
        entry for entry in entries(release, "python3-ocf-agents", kind) if entry.path.startswith(MODULES)
    ]
    files = {entry.path[len(MODULES) :]: entry for entry in found if entry.mode & 0o100000}
    folder = SOURCE / "ocf_agents"
    sources = [*folder.rglob("*.py"), *folder.glob("cli/templates/*.txt"), folder / "py.typed"]
    modules = {str(path.relative_to(folder)) for path in sources}
    (bundle,) = (name for name in files if name.startswith("bundle.cpython-"))
    assert {name for name in files if not name.endswith(".pyc")} == {*modules, bundle}
    assert {entry.mode & 0o777 for entry in files.values()} == {0o644}


def test_the_agent_knows_where_its_library_is(release: Release, tmp_path: Path) -> None:
    """Its interpreter does not look for it: that is a third of a monitor's time."""
    line = f'LIBRARY = "/{MODULES.removesuffix("/ocf_agents/")}"'
    unpack(release.rpm("ocf-agents"), tmp_path / "rpm")
    subprocess.run(["dpkg-deb", "-x", release.deb("ocf-agents"), tmp_path / "deb"], check=True, timeout=60)
    for kind in KINDS:
        agent = tmp_path / kind / "usr/lib/ocf/resource.d/heartbeat/nova-compute"
        assert agent.read_text().splitlines().count(line) == 1, kind


def test_the_rpm_has_bytecode_that_belongs_to_its_modules(release: Release, tmp_path: Path) -> None:
    unpack(release.rpm("python3-ocf-agents"), tmp_path)
    modules = sorted((tmp_path / MODULES).rglob("*.py"))
    assert len(modules) > 50
    for module in modules:
        (compiled,) = (module.parent / "__pycache__").glob(f"{module.stem}.*.pyc")
        head = compiled.read_bytes()[:16]
        flags, mtime, size = struct.unpack("<III", head[4:])
        assert flags == 0, "a pyc that is checked by its source's hash makes each monitor read the source"
        assert (mtime, size) == (int(module.stat().st_mtime), module.stat().st_size), module


@pytest.mark.parametrize("kind", KINDS)
def test_the_bundle_knows_the_modules_as_they_are_packed(release: Release, kind: str, tmp_path: Path) -> None:
    """A module of another time than the bundle's would be loaded from its file for ever."""
    if kind == "deb":
        run("dpkg-deb", "-x", release.deb("python3-ocf-agents"), tmp_path)
    else:
        unpack(release.rpm("python3-ocf-agents"), tmp_path)
    place = tmp_path / MODULES
    script = (
        "import sys; sys.path.append(sys.argv[1]); from ocf_agents.bundle import Bundle\n"
        "bundle = Bundle(sys.argv[2])\n"
        "print(*(name for name in bundle.names if bundle.find_spec(name) is None))"
    )
    asked = run("/usr/bin/python3", "-IS", "-c", script, place.parent, str(place))
    assert asked.stdout == "\n"


@pytest.mark.parametrize("kind", KINDS)
def test_the_agent_has_the_systems_interpreter_isolated(release: Release, kind: str, tmp_path: Path) -> None:
    agent = "usr/lib/ocf/resource.d/heartbeat/nova-compute"
    if kind == "deb":
        run("dpkg-deb", "-x", release.deb("ocf-agents"), tmp_path)
    else:
        unpack(release.rpm("ocf-agents"), tmp_path)
    text = (tmp_path / agent).read_text()
    assert text.startswith("#!/usr/bin/python3 -IS\n")
    assert '\nLIBRARY = "/usr/lib/python3/dist-packages"\n' in text
    assert (tmp_path / agent).stat().st_mode & 0o7777 == 0o755


def test_the_scripts_of_the_packages_are_these_and_no_others(release: Release, tmp_path: Path) -> None:
    for rpm in release.rpms:
        assert run("rpm", "-qp", "--scripts", "--triggers", "--filetriggers", rpm).stdout == ""
    scripts = {}
    for deb in release.debs:
        place = tmp_path / deb.name.partition("_")[0]
        run("dpkg-deb", "-e", deb, place)
        scripts[place.name] = {path.name for path in place.iterdir()} - {"control", "md5sums"}
    assert scripts == {"ocf-agents": {"postinst", "postrm"}, "python3-ocf-agents": {"postinst", "prerm"}}
    assert "systemd-tmpfiles" in (tmp_path / "ocf-agents" / "postinst").read_text()
    assert "py3compile -p python3-ocf-agents" in (tmp_path / "python3-ocf-agents" / "postinst").read_text()


def test_the_directory_of_the_records_is_made_as_the_agents_would(tmp_path: Path) -> None:
    """Case 181: by our own line, without a word, where the directory may not be in the package's image."""
    for folder in ("etc", "usr/lib/tmpfiles.d", "var/lib"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    (tmp_path / "etc" / "group").write_text("root:x:0:\n")
    line = (SOURCE / "packaging" / "tmpfiles.conf").read_text()
    (tmp_path / "usr/lib/tmpfiles.d/ocf-agents.conf").write_text(line)
    said = run("systemd-tmpfiles", f"--root={tmp_path}", "--create", "ocf-agents.conf").stdout
    assert said == ""
    status = (tmp_path / "var/lib/ocf-agents").stat()
    assert (status.st_mode & 0o7777, status.st_uid) == (0o700, 0)


def test_the_directory_of_the_records_is_the_agents_default() -> None:
    from ocf_agents.guard.parameters import STATE_DIR

    for name in ("tmpfiles.conf", "rpm/ocf-agents.spec", "deb/ocf-agents.postrm"):
        assert re.search(rf"{re.escape(STATE_DIR)}\b", (SOURCE / "packaging" / name).read_text()), name
