# SPDX-License-Identifier: Apache-2.0
"""From a systemd: resource to ours and back, and the removal: the guide's commands on a living cluster.

They are typed one by one as docs/guide.md has them; changed is only what has another name here (`typed`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

import pytest
from labkit import compute as nova
from labkit.cluster import Cluster
from labkit.errors import wait_for
from labkit.lab import Lab
from labkit.node import CHECKOUT, Process
from labkit.report import Entry
from labkit.resource import STATE_DIR, Resource
from labkit.systemd import COMPUTE as UNIT
from labkit.systemd import SystemdNode
from labkit.tap import Request
from words import assert_disabled_by_us, assert_stays_in_service

from tests import guide

NEW, OLD = "nova-compute", "openstack-nova-compute"
OLD_CONFIGURATION = guide.OLD_RESOURCE.replace("UNIT", "nova-compute")
PLACE = "/run/migration"
"""Where the administrator types."""

HOLD = 5
"""Seconds for which the API may keep a request: nothing is between the agent and Nova here."""

WORDS = "RAM swap, ticket 4711"


def block(needs: str, words: str) -> guide.Block:
    """The one of the guide that has these words in it, and that comment above it."""
    [found] = [one for one in guide.blocks() if needs in one.needs and words in one.text]
    return found


WITH_PCS = block("old-systemd", "pcs cluster cib-push")
WITH_CRMSH = block("old-systemd", "load update")
BACK = block("old-systemd-back", "before.xml")
REMOVAL = block("nova-compute-clone", "resource delete nova-compute")
REMOVED = block("removed", "--delete")
[END] = [
    one for one in guide.blocks() if one.section == WITH_PCS.section and "ocf-agents status" in one.lines
]
FIRST_START = next(one for one in guide.blocks() if one.is_crmsh and guide.resources(one))
STAY_ENABLED = "pcs resource update nova-compute disable_on_stop=false"
DELETE = "pcs resource delete nova-compute"


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[Cluster]:
    """A cluster of one node that systemd has booted: a hypervisor, without any resource."""
    node = cast(SystemdNode, lab.systemd_cluster.nodes[0])
    node.kill()
    nova.provide(node, lab.control.settings)
    node.add_compute(lab.nova_venv.bin("nova-compute"), lab.compute_user)
    cluster = lab.systemd_cluster
    cluster.up()
    cluster.run("crm_attribute", f"--node={node.name}", "--name=hypervisor", "--update=true")
    reset(cluster)
    node.run("rm", "-rf", STATE_DIR)
    node.run("mkdir", PLACE)
    for name, text in ((OLD, OLD_CONFIGURATION), (NEW, typed(FIRST_START.text))):
        node.path(f"{PLACE}/{name}.crmsh").write_text(text, encoding="utf-8")
    yield cluster
    if node.is_up:
        reset(cluster)
    node.kill()


@pytest.fixture
def node(cluster: Cluster) -> SystemdNode:
    return cast(SystemdNode, cluster.nodes[0])


@pytest.fixture
def compute(lab: Lab, cluster: Cluster, node: SystemdNode) -> Resource:
    """The resource as it is to be; nova-compute runs under the old one: enabled, up."""
    compute = Resource(NEW, node, cluster, lab.control.cloud, lab.control.tap)
    if not is_configured(cluster, OLD) or is_configured(cluster, NEW):
        reset(cluster)
        cluster.run("crm", "--force", "configure", "load", "update", f"{PLACE}/{OLD}.crmsh")
    cluster.wait()
    wait_for("the first row", lambda: compute.cloud.row(compute.host), 60)
    wait_for("the row to be up", lambda: compute.row.is_up, 90, every=0.5)
    lab.control.discover_hosts()
    if not compute.row.is_enabled:
        compute.cloud.enable(compute.host)
    assert watched(cluster, OLD) == {0, 30000}
    compute.forget()
    return compute


def is_configured(cluster: Cluster, name: str) -> bool:
    return bool(cluster.query(f"//primitive[@id='{name}']"))


def reset(cluster: Cluster) -> None:
    """Whatever is configured goes, as an administrator would not do it."""
    cluster.set("maintenance-mode", None)
    for name in (NEW, OLD):
        if is_configured(cluster, name):
            cluster.remove(f"{name}-clone")
            cluster.run("crm", "--force", "configure", "delete", name)


def typed(line: str) -> str:
    """The guide's line for this lab: its cloud, a shorter hold, the checkout in the place of a package."""
    ours = f"PYTHONPATH={CHECKOUT} /usr/bin/python3 -m ocf_agents.cli.main "
    return re.sub("^ocf-agents ", ours, line.replace("cloud=ha", f"cloud=lab hold={HOLD}s"))


@dataclass(frozen=True)
class Witness:
    """What must not change: the process, and the row as it was."""

    compute: Resource
    process: Process
    status: str
    reason: str | None
    since: float

    @classmethod
    def of(cls, compute: Resource) -> Witness:
        process, row = compute.process, compute.row
        assert process is not None
        return cls(compute, process, row.status, row.reason, compute.tap.now())

    def type(self, lines: Iterable[str]) -> str:
        """Type them one by one, and look after each; what the last one said."""
        said = ""
        for line in lines:
            script = f"cd {PLACE} && {typed(line)}"
            said = self.compute.node.run("sh", "-ec", script).stdout
            self.look(line)
        return said

    def look(self, after: str) -> None:
        assert self.compute.process == self.process, after
        row = self.compute.row
        assert (row.status, row.reason, row.state) == (self.status, self.reason, "up"), after
        assert self.writes == [], after

    @property
    def writes(self) -> list[Request]:
        """Of anybody, to any row."""
        done = self.compute.tap.requests(self.since)
        return [one for one in done if "/os-services" in one.path and one.method != "GET"]


def watched(cluster: Cluster, name: str) -> set[int]:
    """The intervals of its monitors whose last result was good, in ms; 0: the probe or the start."""
    operations = cluster.query(f"//lrm_resource[@id='{name}']/lrm_rsc_op[@rc-code='0']")
    named = [one for one in operations if one.get("operation") in ("start", "monitor")]
    return {int(one.get("interval", "")) for one in named}


def assert_unmanaged_and_started(compute: Resource) -> None:
    """What the guide has one look for before the mode ends."""
    said = compute.cluster.run("crm_mon", "-1r")
    assert re.search(rf"{NEW}\s.*Started {compute.node.name} \(.*unmanaged", said), said
    assert "ORPHANED" not in said


def migrate(witness: Witness, commands: guide.Block) -> None:
    """All of it, up to the end of the mode."""
    compute = witness.compute
    witness.type(commands.lines)
    assert_unmanaged_and_started(compute)
    assert compute.requests == []
    said = witness.type(END.lines)
    assert re.search(r"record:? +none", said), said
    assert compute.cluster.query("//nvpair[@name='maintenance-mode']") == []
    assert not is_configured(compute.cluster, OLD)
    assert watched(compute.cluster, OLD) == set()
    assert [action.name for action in compute.actions] == []


def test_there_and_back(compute: Resource, cluster: Cluster, story: Entry) -> None:
    """Migration: with pcs, and back again before the mode ends."""
    witness = Witness.of(compute)
    witness.type(WITH_PCS.lines)
    assert_unmanaged_and_started(compute)
    witness.type(BACK.lines)
    cluster.wait()
    witness.look("the end of the mode")
    assert cluster.query("//nvpair[@name='maintenance-mode']") == []
    assert watched(cluster, OLD) == {0, 30000}
    assert (is_configured(cluster, NEW), watched(cluster, NEW)) == (False, set())
    assert compute.requests == []


def test_with_crmsh_and_removed(compute: Resource, cluster: Cluster, story: Entry) -> None:
    """Migration: with crmsh, the row disabled by an operator; then removed, the service running on."""
    compute.cloud.disable(compute.host, WORDS)
    witness = Witness.of(compute)
    migrate(witness, WITH_CRMSH)
    assert watched(cluster, NEW) == {0, 10000, 60000}
    witness.type(REMOVAL.lines)
    witness.type(REMOVED.lines)
    witness.look("the removal")
    assert (is_configured(cluster, NEW), watched(cluster, NEW)) == (False, set())
    assert witness.reason == WORDS
    story.notes.append("the same process and the operator's words all the time")


def test_with_pcs_then_stopped_and_removed(compute: Resource, cluster: Cluster, story: Entry) -> None:
    """Migration: with pcs; a stop and a start; then removed, the service stopped and its row enabled."""
    migrate(Witness.of(compute), WITH_PCS)
    assert watched(cluster, NEW) == {0, 10000}
    assert compute.node.systemctl("disable", UNIT) == 0

    assert compute.stop().code == 0
    assert_disabled_by_us(compute, within=0)
    assert compute.process is None
    assert compute.start().code == 0
    cluster.wait()
    assert_stays_in_service(compute, HOLD)

    witness = Witness.of(compute)
    assert f"`{STAY_ENABLED}`" in guide.TEXT
    assert f"`{DELETE}`" in guide.TEXT
    witness.type([STAY_ENABLED, "crm_resource --wait"])
    compute.node.run("sh", "-ec", DELETE)
    assert compute.process is None
    assert compute.row.is_enabled
    assert witness.writes == []
    assert not is_configured(cluster, NEW)
