# SPDX-License-Identifier: Apache-2.0
"""The debs in a small Debian: the agent runs there, records outlive all but a purge, others keep theirs."""

from __future__ import annotations

import pytest

from tests.packages.builder import Release
from tests.packages.place import AGENT, LIKE_HACLUSTER, NOBODY, ROOT_USER, STATE, Root

USERS = (ROOT_USER, NOBODY, LIKE_HACLUSTER)
BYTECODE = "/usr/lib/python3/dist-packages/ocf_agents/ocf/__pycache__"
PROVIDER = "/usr/lib/ocf/resource.d/heartbeat"


@pytest.fixture(params=["bare", "whole"])
def root(request: pytest.FixtureRequest) -> Root:
    """Without any library that we depend on, and with all of them."""
    found: Root = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize("user", USERS)
def test_anybody_may_read_the_meta_data(root: Root, user: int, release: Release) -> None:
    done = root.agent("meta-data", user)
    assert done.returncode == 0, done.stdout
    assert f'<resource-agent name="nova-compute" version="{release.version}">' in done.stdout


@pytest.mark.parametrize("user", USERS)
def test_a_probe_finds_that_nothing_runs(root: Root, user: int) -> None:
    done = root.agent("monitor", user, cloud="ha", CRM_meta_interval="0")
    assert (done.returncode, done.stdout) == (7, "")


def test_the_parameters_can_be_checked(root: Root) -> None:
    assert root.agent("validate-all", cloud="ha").returncode == 0
    wrong = root.agent("validate-all", cloud="ha", api_timeout="soon")
    assert wrong.returncode in (2, 6)
    assert "api_timeout" in wrong.stdout


def test_what_is_missing_is_named_and_never_a_traceback(bare: Root) -> None:
    """Case 174."""
    given = {"cloud": "ha", "binary": "/usr/bin/python3", "user": "root"}
    for action in ("validate-all", "start"):
        done = bare.agent(action, environ={"OCF_CHECK_LEVEL": "10"}, **given)
        assert done.returncode == 5
        assert "the Python module filelock is missing: install it for /usr/bin/python3" in done.stdout
        assert "Traceback" not in done.stdout
    assert bare.agent("stop", **given).returncode == 0


def test_with_what_the_package_depends_on_the_check_gets_as_far_as_the_cloud(whole: Root) -> None:
    """Case 175: apt has found every name."""
    given = {"cloud": "ha", "binary": "/usr/bin/python3", "user": "root"}
    done = whole.agent("validate-all", environ={"OCF_CHECK_LEVEL": "10"}, **given)
    assert done.returncode == 2
    assert "/etc/openstack/clouds.yaml" in done.stdout


LOOPBACK_UP = """\
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 1))
"""
"""SIOCSIFFLAGS: a new network namespace has nothing but it, and that is down."""


def test_the_demo_tells_its_story_for_a_plain_user_without_a_network(whole: Root) -> None:
    nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    command = f"/usr/bin/python3 -c '{LOOPBACK_UP}' && cd / && exec {nobody} ocf-agents demo"
    done = whole.enter("sh", "-c", command, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.rstrip().endswith("Nothing is left behind.")
    assert not list(whole.inside("/tmp").glob("ocf-agents*"))


def test_the_interpreter_finds_its_bytecode(root: Root) -> None:
    names = [path.name for path in root.inside(BYTECODE).iterdir()]
    assert any(name.startswith("agent.cpython-") for name in names)


def test_resource_agents_and_ours_share_the_directory(whole: Root) -> None:
    both = whole.copy("both")
    assert both.dpkg("-S", PROVIDER).strip() == f"ocf-agents, resource-agents: {PROVIDER}"
    assert both.dpkg("-S", AGENT).startswith("ocf-agents: ")
    both.dpkg("--remove", "ocf-agents", "python3-ocf-agents")
    assert both.inside(f"{PROVIDER}/IPaddr2").exists()
    assert not both.inside(AGENT).exists()
    assert not both.inside(BYTECODE).parents[1].exists(), "bytecode is left behind"


def test_ours_outlives_resource_agents(whole: Root) -> None:
    """Case 171: the directories are made by our own package."""
    alone = whole.copy("alone")
    alone.dpkg("--purge", "resource-agents")
    assert not alone.inside(f"{PROVIDER}/IPaddr2").exists()
    assert alone.agent("meta-data").returncode == 0


def test_records_outlive_an_upgrade_and_a_removal_and_no_purge(
    python_only: Root, older: Release, release: Release
) -> None:
    root = python_only.copy("upgraded")
    root.dpkg("--force-depends", "-i", *older.debs)
    assert 'version="0.0.9.dev1"' in root.agent("meta-data").stdout
    record = root.write_record()

    root.dpkg("--force-depends", "-i", *release.debs)
    assert f'version="{release.version}"' in root.agent("meta-data").stdout
    assert root.has_record(record)

    said = root.dpkg("--remove", "ocf-agents", "python3-ocf-agents")
    assert root.has_record(record)
    assert not root.inside(AGENT).exists()
    assert "Deleting" not in said

    said = root.dpkg("--purge", "ocf-agents")
    assert not root.inside(STATE).exists()
    assert f"Deleting the agents' records and histories in {STATE}" in said


def test_a_purge_deletes_no_directory_that_a_link_leads_to(bare: Root) -> None:
    root = bare.copy("linked")
    kept = root.inside("/srv/kept")
    kept.mkdir(parents=True)
    (kept / "file").write_text("kept")
    root.inside(STATE).symlink_to("/srv/kept")
    root.dpkg("--purge", "ocf-agents")
    assert (kept / "file").read_text() == "kept"
