# SPDX-License-Identifier: Apache-2.0
"""nova-compute under a Pacemaker whose agent came with the Debian packages: upgraded and removed as well."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest
from labkit import compute as nova
from labkit.canary import Watch
from labkit.cluster import Cluster
from labkit.command import INSTALLED, command
from labkit.control import Control
from labkit.installed import InstalledNode
from labkit.lab import Lab
from labkit.node import CHECKOUT
from labkit.report import Entry
from labkit.resource import STATE_DIR, Resource
from labkit.settings import AGENT_PASSWORD
from words import (
    HOLD,
    assert_disabled_by_us,
    assert_in_service,
    assert_stays_in_service,
    assert_untouched,
    bring_to_rest,
    establish,
)

from tests.packages.builder import Builder, Release

PACKAGES = ("ocf-agents", "python3-ocf-agents")
AGENT = "/usr/lib/ocf/resource.d/heartbeat/nova-compute"
LIBRARY = "/usr/lib/python3/dist-packages/ocf_agents/"
LIKE_HACLUSTER = ("setpriv", "--reuid=hacluster", "--regid=haclient", "--clear-groups", "--")


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, Release]:
    """The packages of this source, and of a lower version of it."""
    return Builder(tmp_path_factory.mktemp("builds")).both(["deb"], ["deb"])


@pytest.fixture(scope="module")
def release(releases: tuple[Release, Release]) -> Release:
    return releases[0]


@pytest.fixture(scope="module")
def older(releases: tuple[Release, Release]) -> Release:
    return releases[1]


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[Cluster]:
    """A cluster of one node, without any agent of ours."""
    [node] = lab.installed_cluster.nodes
    cast(InstalledNode, node).renew()
    nova.provide(node, lab.control.settings)
    lab.installed_cluster.up()
    yield lab.installed_cluster
    node.kill()


@pytest.fixture(scope="module")
def node(cluster: Cluster, older: Release) -> InstalledNode:
    """The node, with the older packages."""
    node = cast(InstalledNode, cluster.nodes[0])
    assert not node.path(AGENT).exists()
    install(node, older)
    state = node.path(STATE_DIR).stat()
    assert (state.st_uid, stat.S_IMODE(state.st_mode)) == (0, 0o700), "systemd-tmpfiles has made it"
    return node


@pytest.fixture(scope="module")
def processes(node: InstalledNode) -> Iterator[Watch]:
    """The command lines of all its processes from now on."""
    watch = Watch([node], [AGENT_PASSWORD.encode()])
    watch.start()
    yield watch
    watch.stop()
    assert watch.found == set()


@pytest.fixture(scope="module")
def resource(
    lab: Lab, cluster: Cluster, node: InstalledNode, processes: Watch, parameters: dict[str, str]
) -> Iterator[Resource]:
    resource = Resource("nova-compute", node, cluster, lab.control.cloud, lab.control.tap)
    establish(resource, parameters, lab.control)
    yield resource
    resource.delete()


@pytest.fixture
def compute(resource: Resource, control: Control) -> Resource:
    """nova-compute of the package's agent: running, enabled, up, nothing under way."""
    return bring_to_rest(resource, control)


def install(node: InstalledNode, release: Release) -> str:
    return node.dpkg("--install", *map(str, release.debs))


def version_of(node: InstalledNode) -> str:
    """What the cluster's own tool reads in the meta-data, as the cluster's own user."""
    told = node.run(*LIKE_HACLUSTER, "crm_resource", "--show-metadata", "ocf:heartbeat:nova-compute").stdout
    match = re.search(r'<resource-agent name="nova-compute" version="([^"]+)"', told)
    assert match is not None, told
    return match[1]


def test_it_is_the_packages_agent_that_runs(
    compute: Resource, node: InstalledNode, older: Release, processes: Watch, story: Entry
) -> None:
    """From packages: stopped, started, killed and recovered by the agent of the package."""
    assert version_of(node) == older.version, "this checkout has another"
    stop = compute.stop()
    assert stop.code == 0
    assert_disabled_by_us(compute, within=0)
    assert compute.start().code == 0
    assert_in_service(compute)
    failure, stop, start = compute.crash()
    assert (failure.code, stop.code, start.code) == (7, 0, 0)
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)
    assert_of_packages(node, processes)
    story.notes.append(f"version {older.version}; its helpers ran from {LIBRARY}")


def assert_of_packages(node: InstalledNode, processes: Watch) -> None:
    """Whose files they are, what the agent's interpreter reads, and what the helpers were."""
    assert not node.path(str(CHECKOUT)).exists()
    assert node.dpkg("--search", AGENT, f"{LIBRARY}__init__.py").splitlines() == [
        f"ocf-agents: {AGENT}",
        f"python3-ocf-agents: {LIBRARY}__init__.py",
    ]
    assert node.dpkg("--verify", *PACKAGES) == "", "as they were shipped"
    said = node.run("/usr/bin/python3", "-ISv", AGENT, "meta-data").stderr
    read = {path for path in re.findall(r"code object from '?([^'\s]+)", said) if "ocf_agents" in path}
    assert {path for path in read if not path.startswith(LIBRARY)} == set()
    loaders = set(re.findall(r"import 'ocf_agents[^']*' # <(\S+) object", said))
    assert loaders == {"_frozen_importlib_external.SourceFileLoader", "ocf_agents.bundle.Bundle"}
    helpers = {word for line in processes.command_lines for word in line.split(b"\0") if b"helper.py" in word}
    assert helpers == {f"{LIBRARY}actions/helper.py".encode()}


def test_an_upgrade_while_it_runs(
    compute: Resource, node: InstalledNode, release: Release, story: Entry
) -> None:
    """From packages: upgraded under a running service; no monitor fails, record and history go on."""
    process, record, history = compute.process, compute.record, compute.decisions
    assert process is not None
    with ThreadPoolExecutor() as pool:
        upgrade = pool.submit(install, node, release)
        checks = [compute.check()]
        while not upgrade.done():
            checks.append(compute.check())
        assert f"Setting up ocf-agents ({release.version}" in upgrade.result()
    assert set(checks) == {0}, checks
    story.notes.append(f"{len(checks)} monitors besides Pacemaker's own while dpkg worked")
    assert version_of(node) == release.version
    assert_untouched(compute, process.pid)
    assert compute.record == record
    assert compute.decisions[: len(history)] == history

    assert compute.stop().code == 0
    assert_disabled_by_us(compute, within=0)
    assert compute.record["generation"] > record["generation"]
    assert compute.start().code == 0
    assert_in_service(compute)
    assert compute.decisions[: len(history)] == history
    assert_stays_in_service(compute, HOLD)


def test_a_removal_while_we_have_disabled_the_host(
    compute: Resource, node: InstalledNode, release: Release, story: Entry
) -> None:
    """From packages: stopped, removed, installed again, started: the record has outlived it."""
    assert compute.stop().code == 0
    assert_disabled_by_us(compute, within=0)
    compute.wait_until_nobody_works_on_it(HOLD + 40)
    who = command(node, "status", program=INSTALLED)["disabled by"]
    assert who.startswith("the agent of resource nova-compute, when its service was stopped")
    kept = {path.name: path.read_bytes() for path in compute.state.iterdir()}
    assert {"nova-compute.json", "nova-compute.history.jsonl"} <= set(kept)

    assert "Deleting" not in node.dpkg("--remove", *PACKAGES)
    assert not node.path(AGENT).exists()
    assert {path.name: path.read_bytes() for path in compute.state.iterdir()} == kept
    assert_disabled_by_us(compute, within=0)

    install(node, release)
    assert {path.name: path.read_bytes() for path in compute.state.iterdir()} == kept
    assert compute.start().code == 0
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)
