# SPDX-License-Identifier: Apache-2.0
"""The configurations of docs/guide.md are taken by pcs and crmsh; its migrations stop and start nothing.

What a cluster would do at each step is asked of Pacemaker's own scheduler (crm_simulate).
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from tests import guide
from tests.tools.conftest import Tools
from tests.tools.test_tools import assert_silent

BLOCKS = guide.blocks()
LOADED = [block for block in BLOCKS if (block.is_pcs or block.is_crmsh) and "old-systemd" not in block.needs]
OLD = [block for block in BLOCKS if "old-systemd" in block.needs]
(BACK,) = [block for block in BLOCKS if "old-systemd-back" in block.needs]
REMOVALS = [block for block in BLOCKS if "nova-compute-clone" in block.needs and "new.xml" in block.text]
(REMOVED,) = [block for block in BLOCKS if "removed" in block.needs]
FIRST_PCS, FIRST_CRMSH = (
    next(block for block in BLOCKS if guide.resources(block) and block.is_crmsh is is_crmsh)
    for is_crmsh in (False, True)
)
OF_A_RUNNING_CLUSTER = ("pcs cluster node add-remote", "pcs node attribute")
"""What a file has no nodes for."""

NODES = ("cmp-1", "cmp-2", "ctl-1")
HYPERVISORS = NODES[:2]
OLD_CLONE = guide.OLD_RESOURCE.replace("UNIT", "openstack-nova-compute")


def load(tools: Tools, block: guide.Block) -> str:
    """As the guide says it is loaded. Units that this machine lacks are believed to be elsewhere."""
    is_believed = any(need.endswith(".service") for need in block.needs)
    if block.is_crmsh:
        return load_crmsh(tools, block.text, is_forced=is_believed)
    said = ""
    for line in block.lines:
        if not line.startswith(OF_A_RUNNING_CLUSTER):
            command = re.sub(r"^pcs ", f"pcs -f {tools.cib} ", line)
            command += " --force" * (is_believed and " systemd:" in line)
            said += tools.run("sh", "-ec", command)
    return said


def load_crmsh(tools: Tools, text: str, *, is_forced: bool = False) -> str:
    path = tools.scratch.parent / "nova-compute.crmsh"
    path.write_text(text)
    return tools.run("crm", *["-F"] * is_forced, "configure", "load", "update", str(path))


def test_there_are_blocks_for_both_tools() -> None:
    assert sum(block.is_crmsh for block in LOADED) >= 6
    assert sum(block.is_pcs for block in LOADED) >= 5
    assert len(OLD) == 2


@pytest.mark.parametrize("block", LOADED, ids=str)
def test_a_configuration_is_taken_without_a_complaint(tools: Tools, block: guide.Block) -> None:
    if block.is_pcs and not guide.resources(block):
        load(tools, FIRST_PCS)
    said = load(tools, block)
    if not any(need.endswith(".service") for need in block.needs):
        assert_silent(said)
        assert_silent(tools.run("crm", "configure", "verify"))
    ids = {element.get("id") for element in ET.parse(tools.cib).iter()}
    for line in block.lines if block.is_crmsh else ():
        assert line.split()[1] in ids, line
    assert {one.name for one in guide.resources(block)} <= ids


def running(tools: Tools) -> None:
    """Three nodes; the old clone runs on the two that are hypervisors."""
    load_crmsh(tools, OLD_CLONE, is_forced=True)
    root = ET.parse(tools.cib).getroot()
    nodes = root.find("configuration/nodes")
    assert nodes is not None
    for number, name in enumerate(NODES, 1):
        node = ET.SubElement(nodes, "node", {"id": str(number), "uname": name})
        attributes = ET.SubElement(node, "instance_attributes", {"id": f"nodes-{number}"})
        mark = {"id": f"mark-{number}", "name": "hypervisor", "value": "true"}
        if name in HYPERVISORS:
            ET.SubElement(attributes, "nvpair", mark)
    tools.cib.write_text(ET.tostring(root, encoding="unicode"))
    done = settle(tools, *(word for name in NODES for word in ("--node-up", name)))
    assert [f"openstack-nova-compute start on {name}" for name in HYPERVISORS] == [
        one for one in done if " start " in one
    ]


def simulate(tools: Tools, *options: str) -> list[str]:
    """What the cluster does now, such as `nova-compute:0 monitor on cmp-1`; the file is as it is then."""
    said = tools.run(
        *("crm_simulate", "--simulate", "--quorum", "true", "--xml-file", str(tools.cib)),
        *("--save-output", str(tools.cib), *options),
    )
    return re.findall(r"\* Resource action: +(\S+ +\S+ on \S+)", said)


def settle(tools: Tools, *options: str) -> list[str]:
    """All that it does until it comes to rest: a result that was not expected makes it think again.

    Sorted, without the numbers of a clone's instances.
    """
    done: list[str] = []
    for _ in range(8):
        more = simulate(tools, *options)
        if not more:
            return sorted(re.sub(r":\d+ ", " ", " ".join(action.split())) for action in set(done))
        done += more
    raise AssertionError(f"it comes to no rest: {done}")


def refresh(tools: Tools) -> None:
    """As `crm_resource --refresh`, which needs a living controller: the history is forgotten."""
    root = ET.parse(tools.cib).getroot()
    for lrm in root.iter("lrm_resources"):
        lrm[:] = []
    tools.cib.write_text(ET.tostring(root, encoding="unicode"))


def follow(tools: Tools, lines: tuple[str, ...]) -> None:
    """Type them, but for what needs a living cluster."""
    place = tools.scratch.parent
    for line in lines:
        if not line.startswith(("crm_resource", "ocf-agents")):
            typed = re.sub(r"^pcs property ", f"pcs -f {tools.cib} property ", line)
            assert_silent(tools.run("sh", "-ec", f"cd {place} && {typed}"))


@pytest.mark.parametrize("block", OLD, ids=["pcs", "crmsh"])
def test_a_migration_stops_and_starts_nothing(tools: Tools, block: guide.Block) -> None:
    running(tools)
    (tools.scratch.parent / "nova-compute.crmsh").write_text(FIRST_CRMSH.text)
    follow(tools, block.lines)
    intervals = [10000] if block.lines[0].startswith("pcs") else [10000, 60000]
    probes = [f"nova-compute monitor on {name}" for name in NODES]
    found = [word for name in HYPERVISORS for word in ("--op-fail", f"nova-compute_monitor_0@{name}=0")]

    assert settle(tools, *found) == probes
    refresh(tools)
    assert settle(tools, *found) == probes

    tools.run("crm_attribute", "--name", "maintenance-mode", "--delete")
    watched = [f"nova-compute monitor={one} on {name}" for one in intervals for name in HYPERVISORS]
    assert settle(tools) == watched
    assert 'id="openstack-nova-compute' not in tools.cib.read_text(encoding="utf-8")


def test_without_the_maintenance_mode_it_would_stop_them(tools: Tools) -> None:
    """What makes the test above mean something."""
    running(tools)
    (pcs,) = [block for block in OLD if block.lines[0].startswith("pcs")]
    follow(tools, tuple(line for line in pcs.lines if "maintenance-mode" not in line))
    stopped = {action for action in simulate(tools) if " stop " in action}
    assert stopped == {f"openstack-nova-compute stop on {name}" for name in HYPERVISORS}


def half_way(tools: Tools) -> None:
    """Migrated with pcs, nova-compute found running, the mode not yet ended."""
    running(tools)
    (pcs,) = [block for block in OLD if block.lines[0].startswith("pcs")]
    follow(tools, pcs.lines)
    refresh(tools)
    settle(
        tools, *(word for name in HYPERVISORS for word in ("--op-fail", f"nova-compute_monitor_0@{name}=0"))
    )


def test_the_way_back_stops_and_starts_nothing(tools: Tools) -> None:
    half_way(tools)
    name = "openstack-nova-compute"
    found = [word for node in HYPERVISORS for word in ("--op-fail", f"{name}_monitor_0@{node}=0")]
    follow(tools, BACK.lines[:-1])
    refresh(tools)
    assert settle(tools, *found) == [f"{name} monitor on {node}" for node in NODES]
    follow(tools, BACK.lines[-1:])
    assert settle(tools) == [f"{name} monitor=30000 on {node}" for node in HYPERVISORS]


def test_the_way_back_without_its_first_line_would_stop_them(tools: Tools) -> None:
    """What makes the test above mean something."""
    half_way(tools)
    follow(tools, BACK.lines[1:2])
    stopped = {re.sub(r":\d+ ", " ", action) for action in simulate(tools) if " stop " in action}
    assert {" ".join(action.split()) for action in stopped} == {
        f"nova-compute stop on {name}" for name in HYPERVISORS
    }


def test_there_is_a_removal_with_each_tool() -> None:
    assert [" pcs " in f" {block.text}" for block in REMOVALS] == [True, False]


def migrated(tools: Tools) -> None:
    """Ours runs on two of three nodes, and is managed."""
    half_way(tools)
    tools.run("crm_attribute", "--name", "maintenance-mode", "--delete")
    settle(tools)


@pytest.mark.parametrize("block", REMOVALS, ids=["pcs", "crmsh"])
def test_a_removal_stops_nothing(tools: Tools, block: guide.Block) -> None:
    migrated(tools)
    follow(tools, block.lines)
    assert settle(tools) == []
    refresh(tools)
    assert settle(tools) == []
    follow(tools, REMOVED.lines)
    assert settle(tools) == []
    assert 'id="nova-compute' not in tools.cib.read_text(encoding="utf-8")


@pytest.mark.parametrize("block", REMOVALS, ids=["pcs", "crmsh"])
def test_a_removal_without_the_maintenance_mode_would_stop_them(tools: Tools, block: guide.Block) -> None:
    """What makes the test above mean something."""
    migrated(tools)
    follow(tools, tuple(line for line in block.lines if "maintenance-mode" not in line))
    stopped = {re.sub(r":\d+ ", " ", action) for action in simulate(tools) if " stop " in action}
    assert {" ".join(action.split()) for action in stopped} == {
        f"nova-compute stop on {name}" for name in HYPERVISORS
    }
