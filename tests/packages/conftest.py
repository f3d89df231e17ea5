# SPDX-License-Identifier: Apache-2.0
"""Builds of this source, and roots to install them into. For root, on Debian: see packaging/packages.txt."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packages.builder import Builder, Release
from tests.packages.place import Root, run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.geteuid() != 0:
        raise pytest.UsageError("the tests of the packages install into roots of their own: run them as root")


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(tmp_path_factory.mktemp("builds"))


@pytest.fixture(scope="session")
def releases(builder: Builder) -> tuple[Release, Release]:
    """The present source's, complete, and packages of a lower version; two cores, two builds."""
    return builder.both(of_the_older=("deb", "rpm"))


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
