# SPDX-License-Identifier: Apache-2.0
"""The configurations of our own documents, loaded with pcs and crmsh into a living cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from labkit.cluster import Cluster
from labkit.compute import CONFIG
from labkit.control import Control
from labkit.documents import Configuration, configurations
from labkit.errors import wait_for
from labkit.lab import Lab
from labkit.node import Node
from labkit.report import Entry
from labkit.resource import Resource
from words import assert_disabled_by_us, assert_in_service, bring_to_rest

DOCUMENTS = (
    "README.md",
    "packaging/examples/nova-compute.pcs",
    "packaging/examples/nova-compute.crmsh",
    "docs/guide.md#First start",
)
"""In this order: what is in an earlier one word for word is not loaded again."""

OF_THE_LAB = "Blind faith: not fencing unseen nodes"
"""The lab's cluster has no fencing; all else that a tool complains of is of the configuration."""

COMPLAINTS = ("warn", "error", "deprecat", "unable", "cannot", "fail", "invalid")


def distinct() -> list[Configuration]:
    """Each configuration once."""
    found: list[Configuration] = []
    for configuration in (one for document in DOCUMENTS for one in configurations(document)):
        if not any(configuration.is_part_of(other) for other in found):
            found.append(configuration)
    return found


@pytest.fixture(scope="module")
def bare(configured: Resource, cluster: Cluster, control: Control) -> Iterator[str]:
    """The configuration without the lab's own resource, which comes back afterwards."""
    bring_to_rest(configured, control)
    kept = cluster.run("cibadmin", "--query", "--scope=configuration")
    configured.delete()
    yield cluster.run("cibadmin", "--query", "--scope=configuration")
    replace(cluster, kept)
    bring_to_rest(configured, control)


def replace(cluster: Cluster, configuration: str) -> None:
    """Another configuration in the place of the present one; what is not in it is stopped."""
    cluster.run("cibadmin", "--replace", "--scope=configuration", "--xml-pipe", text=configuration)
    cluster.wait()


@pytest.fixture(params=distinct(), ids=str)
def example(request: pytest.FixtureRequest) -> Configuration:
    found: Configuration = request.param
    return found


@pytest.fixture
def node(example: Configuration, cluster: Cluster) -> Node:
    """The hypervisor; each example has another than the one before."""
    return cluster.nodes[distinct().index(example) % len(cluster.nodes)]


@pytest.fixture
def compute(bare: str, example: Configuration, node: Node, cluster: Cluster, lab: Lab) -> Iterator[Resource]:
    """The example's resource, which is not there yet."""
    [name] = example.names
    yield resource_of(name, node, lab)
    replace(cluster, bare)


def resource_of(name: str, node: Node, lab: Lab) -> Resource:
    return Resource(name, node, lab.cluster, lab.control.cloud, lab.control.tap)


def silent(text: str) -> str:
    """What a tool has said, without what is the lab's; nothing of it is a complaint."""
    said = [line for line in text.splitlines() if OF_THE_LAB not in line]
    assert [line for line in said if any(word in line.lower() for word in COMPLAINTS)] == []
    return "\n".join(said)


def typed(node: Node, *argv: str, text: str = "") -> str:
    done = node.run(*argv, text=text)
    return silent(done.stdout + done.stderr)


def load(node: Node, example: Configuration) -> None:
    """As the documents say: shell commands, and `crm configure load update` for definitions."""
    for mark in example.marks:
        typed(node, "sh", "-e", text=mark)
    text = "\n".join([*example.commands, ""])
    if example.tool == "pcs":
        typed(node, "sh", "-e", text=text)
        return
    path = "/run/lab/example.crmsh"
    node.path(path).write_text(text, encoding="utf-8")
    typed(node, "crm", "configure", "load", "update", path)


def test_an_example(
    example: Configuration,
    compute: Resource,
    node: Node,
    cluster: Cluster,
    lab: Lab,
    parameters: dict[str, str],
    story: Entry,
) -> None:
    """Examples: loaded as it stands in the document; it runs on the node with the mark alone."""
    story.notes.append(f"{example}, marked: {node.name}")
    needed = {"cloud": "lab", "config": CONFIG, **{name: parameters[name] for name in ("binary", "user")}}
    elsewhere = [resource_of(compute.name, other, lab) for other in cluster.nodes if other is not node]
    load(node, example.fitted(node.name, needed))
    assert silent(node.run("crm_verify", "--live-check", "--verbose").stderr) == ""
    start = compute.wait_for_action("start", compute.mark)
    assert start.code == 0, start
    cluster.wait()
    lab.control.discover_hosts()
    wait_for("Placement to know the host", lambda: compute.may_be_chosen, 60, every=0.5)
    assert_in_service(compute)
    assert_monitored_as_configured(compute)

    for other in elsewhere:
        assert (other.process, other.actions) == (None, []), other.node.name
    located = cluster.run("crm_resource", f"--resource={compute.name}", "--locate")
    assert [line.split()[-1] for line in located.splitlines() if "is running on" in line] == [node.name]


def assert_monitored_as_configured(compute: Resource) -> None:
    """Each recurring monitor has told that it works, whatever its level."""
    found = compute.cluster.query(f"//primitive[@id='{compute.name}']//op[@name='monitor']")
    intervals = {1000 * int((op.get("interval") or "").rstrip("s")) for op in found}

    def results() -> dict[int, int | None]:
        done = compute.journal.actions(compute.name, compute.mark)
        return {a.interval: a.code for a in done if a.name == "monitor" and a.interval}

    wait_for("a result of each monitor", lambda: set(results()) >= intervals, 30)
    assert results() == dict.fromkeys(intervals, 0)


def test_a_removal_leaves_the_host_disabled(bare: str, cluster: Cluster, lab: Lab) -> None:
    """README: the removal of the resource is a stop like any other."""
    compute = resource_of("nova-compute", cluster.nodes[0], lab)
    assert compute.process is None
    assert_disabled_by_us(compute)
