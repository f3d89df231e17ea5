# SPDX-License-Identifier: Apache-2.0
"""The rpms in a small root: what is installed is as the package says, the agent runs, records are kept."""

from __future__ import annotations

import pytest

from tests.packages.builder import Release
from tests.packages.place import AGENT, LIKE_HACLUSTER, NOBODY, ROOT_USER, STATE, Root, run


@pytest.fixture(scope="module")
def root(python_only: Root, release: Release) -> Root:
    """Debian's interpreter, and nothing that rpm knows of: so without dependencies."""
    root = python_only.copy("rpm")
    rpm(root, "--install", *map(str, release.rpms))
    return root


def rpm(root: Root, *words: str) -> str:
    return run("rpm", "--root", root.path, "--nodeps", *words).stdout


def test_what_is_installed_is_what_the_packages_say(root: Root) -> None:
    assert rpm(root, "--verify", "ocf-agents", "python3-ocf-agents") == ""
    status = root.inside(AGENT).stat()
    assert (status.st_mode & 0o7777, status.st_uid, status.st_gid) == (0o755, 0, 0)
    assert root.inside(STATE).stat().st_mode & 0o7777 == 0o700


@pytest.mark.parametrize("user", [ROOT_USER, NOBODY, LIKE_HACLUSTER])
def test_anybody_may_read_the_meta_data(root: Root, user: int, release: Release) -> None:
    done = root.agent("meta-data", user)
    assert done.returncode == 0, done.stdout
    assert f'<resource-agent name="nova-compute" version="{release.version}">' in done.stdout


def test_a_probe_finds_that_nothing_runs(root: Root) -> None:
    done = root.agent("monitor", cloud="ha", CRM_meta_interval="0")
    assert (done.returncode, done.stdout) == (7, "")


def test_running_the_agent_changes_no_file_of_the_package(root: Root) -> None:
    """The bytecode in the package is what the interpreter takes: it writes none."""
    assert root.agent("meta-data").returncode == 0
    assert root.agent("validate-all", cloud="ha").returncode == 0
    assert rpm(root, "--verify", "python3-ocf-agents") == ""


def test_records_outlive_an_upgrade_and_a_removal(
    python_only: Root, older: Release, release: Release
) -> None:
    root = python_only.copy("rpm-upgraded")
    rpm(root, "--install", *map(str, older.rpms))
    assert 'version="0.0.9.dev1"' in root.agent("meta-data").stdout
    record = root.write_record()
    rpm(root, "--upgrade", *map(str, release.rpms))
    assert f'version="{release.version}"' in root.agent("meta-data").stdout
    assert root.has_record(record)
    rpm(root, "--erase", "ocf-agents", "python3-ocf-agents")
    assert root.has_record(record)
    assert not root.inside(AGENT).exists()
