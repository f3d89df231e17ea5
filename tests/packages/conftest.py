# SPDX-License-Identifier: Apache-2.0
"""Builds of this source, and roots to install them into. For root, on Debian: see packaging/packages.txt."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packages.place import Root, run

SOURCE = Path(__file__).parents[2]
OLDER = "0.0.9.dev1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.geteuid() != 0:
        raise pytest.UsageError("the tests of the packages install into roots of their own: run them as root")


class Release:
    """What one run of packaging/build has made."""

    def __init__(self, output: Path, version: str) -> None:
        self.output = output
        self.version = version

    @property
    def debs(self) -> list[Path]:
        return sorted(self.output.glob("*.deb"))

    @property
    def rpms(self) -> list[Path]:
        return sorted(self.output.glob("*.noarch.rpm"))

    def deb(self, name: str) -> Path:
        (path,) = self.output.glob(f"{name}_*.deb")
        return path

    def rpm(self, name: str) -> Path:
        (path,) = self.output.glob(f"{name}-[0-9]*.noarch.rpm")
        return path


class Builder:
    """Checkouts of the present source, and packaging/build in them, all of the same time."""

    def __init__(self, place: Path) -> None:
        self.place = place
        last = run("git", "-c", f"safe.directory={SOURCE}", "-C", SOURCE, "log", "-1", "--format=%ct")
        self.epoch = last.stdout.strip()

    def checkout(self, name: str, version: str = "") -> Path:
        """The files that git knows or would take, and nothing else. `version`: another one."""
        tree = self.place / name
        command = ["git", "-c", f"safe.directory={SOURCE}", "-C", str(SOURCE), "ls-files", "-z"]
        listed = run(*command, "--cached", "--others", "--exclude-standard").stdout
        for file in filter(None, listed.split("\0")):
            if (SOURCE / file).exists():
                (tree / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(SOURCE / file, tree / file)
        if version:
            path = tree / "ocf_agents" / "__init__.py"
            path.write_text(re.sub('__version__ = ".*"', f'__version__ = "{version}"', path.read_text()))
        return tree

    def start(self, tree: Path, *kinds: str) -> subprocess.Popen[str]:
        """Without a network, nor any variable of ours."""
        environ = {"PATH": os.environ["PATH"], "SOURCE_DATE_EPOCH": self.epoch}
        command = ["unshare", "--net", str(tree / "packaging" / "build"), *kinds]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environ, text=True, stdout=pipe, stderr=subprocess.STDOUT)

    def finish(self, process: subprocess.Popen[str]) -> None:
        said = process.communicate(timeout=300)[0]
        assert process.returncode == 0, said


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(tmp_path_factory.mktemp("builds"))


@pytest.fixture(scope="session")
def releases(builder: Builder) -> tuple[Release, Release]:
    """The present source's, complete, and packages of a lower version; two cores, two builds."""
    new, old = builder.checkout("new"), builder.checkout("old", OLDER)
    processes = [builder.start(new), builder.start(old, "deb", "rpm")]
    for process in processes:
        builder.finish(process)
    version = run("python3", new / "packaging" / "build", "--version").stdout.strip()
    return Release(new / "build" / "release", version), Release(old / "build" / "release", OLDER)


@pytest.fixture(scope="session")
def release(releases: tuple[Release, Release]) -> Release:
    return releases[0]


@pytest.fixture(scope="session")
def older(releases: tuple[Release, Release]) -> Release:
    return releases[1]


@pytest.fixture(scope="session")
def python_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Root]:
    """Debian with python3 and no library, from wherever this machine has its packages. To be copied.

    In memory: some gigabytes of small files would wait for the disk more than for anything else.
    """
    place = tmp_path_factory.mktemp("roots")
    run("mount", "-t", "tmpfs", "-o", "size=6g,mode=0755", "ocf-agents-roots", place)
    sources = [*Path("/etc/apt").glob("sources.list"), *Path("/etc/apt/sources.list.d").glob("*.sources")]
    sources += Path("/etc/apt/sources.list.d").glob("*.list")
    command = ["mmdebstrap", "--quiet", "--variant=apt", "--include=python3", "--skip=cleanup/apt"]
    try:
        run(*command, "", place / "python", *sources)
        yield Root(place / "python")
    finally:
        run("umount", "--lazy", place)


@pytest.fixture(scope="session")
def bare(python_only: Root, release: Release) -> Root:
    """Our packages on python3 alone: what they depend on is missing."""
    root = python_only.copy("bare")
    root.dpkg("--force-depends", "-i", *release.debs)
    return root


@pytest.fixture(scope="session")
def whole(python_only: Root, release: Release) -> Root:
    """Our packages as apt installs them, beside resource-agents."""
    root = python_only.copy("whole")
    for path in release.debs:
        shutil.copy(path, root.inside("/root"))
    given = [f"/root/{path.name}" for path in release.debs]
    environ = {"DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *given, "python3-amqp"]
    root.enter(*command, "resource-agents", environ=environ, has_network=True)
    return root
