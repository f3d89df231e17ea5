# SPDX-License-Identifier: Apache-2.0
"""docs/guide.md: what it names exists, what it states is so, and each configuration in it is a sound one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from ocf_agents.actions import advice
from ocf_agents.agents.nova_compute import AGENT, SERVICE
from ocf_agents.cli.main import COMMANDS, main
from ocf_agents.ocf.parameters import PREFIX, Values
from ocf_agents.openstack import reporting
from ocf_agents.operator.cib import Cluster, Configured, Operation
from ocf_agents.operator.doctor import cluster
from ocf_agents.operator.doctor.finding import OK, Finding
from ocf_agents.operator.resource import Resource
from tests import guide

ROOT = guide.PATH.parents[1]
BLOCKS = guide.blocks()
CONFIGURED = [(str(block), one) for block in BLOCKS for one in guide.resources(block)]
PARAMETERS = {one.name: one for one in AGENT.parameters}
FIRST = CONFIGURED[0][1]
PROSE = re.sub(r"^    .*$", "", guide.TEXT, flags=re.M)
SPANS = re.findall(r"`([^`\n]+)`", PROSE)
TYPED = [line for block in BLOCKS for line in block.lines] + SPANS
SECONDS = {"s": 1, "m": 60, "h": 3600}
NO_COMMANDS = {"disabled:"}
"""How a marker begins."""


def slug(heading: str) -> str:
    """As a forge makes an anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    return {slug(one) for one in re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.M)}


def test_each_link_leads_to_a_heading_that_is_there() -> None:
    links = re.findall(r"\]\(([^)]+)\)", guide.TEXT)
    assert len(links) > 30
    bad = []
    for link in links:
        name, _, anchor = link.partition("#")
        path = guide.PATH.parent / name if name else guide.PATH
        if not path.exists() or (anchor and anchor not in anchors(path)):
            bad.append(link)
    assert bad == []


def test_each_test_that_is_named_exists() -> None:
    named = set(re.findall(r"\btests/[\w/]+\.py\b", guide.TEXT))
    assert len(named) > 6
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    "line", sorted({line[line.index("ocf-agents ") :] for line in TYPED if "ocf-agents " in line})
)
def test_each_command_of_ours_can_be_typed(line: str) -> None:
    """Parsed, not run."""
    words = shlex.split(line)
    if words[1] in NO_COMMANDS:
        return
    assert words[1] in COMMANDS
    command = main.get_command(click.Context(main), words[1])
    assert command is not None
    command.make_context(words[1], words[2:])


def test_each_command_that_an_operator_needs_is_shown() -> None:
    typed = {line.split()[1] for line in TYPED if line.startswith("ocf-agents ")}
    assert {"demo", "doctor", "history", "hold", "release", "run", "status"} <= typed


@pytest.mark.parametrize(("name", "default"), re.findall(r"^\| `([a-z_]+)` \| ([^|]+?) \|", PROSE, re.M))
def test_each_default_is_the_codes(name: str, default: str) -> None:
    assert str(PARAMETERS[name].default) == default


def test_each_default_that_sizes_something_is_there() -> None:
    shown = dict(re.findall(r"^\| `([a-z_]+)` \| ([^|]+?) \|", PROSE, re.M))
    times = {one.name for one in AGENT.parameters if one.type.__class__.__name__ == "Duration"}
    assert times - {"api_timeout"} <= set(shown)
    assert {"bus_misses", "row_misses", "api_timeout"} <= set(shown)


def test_each_parameter_in_the_text_exists() -> None:
    given = {span.partition("=")[0] for span in SPANS if re.fullmatch(r"[a-z_]+=(true|false)", span)}
    assert given == {"disable_on_stop", "hypervisor", "interleave"} | (given & set(PARAMETERS))
    named = {"api_timeout", "head_start", "hold", "disable_deadline", "bus_timeout", "enable_reasons", "unit"}
    assert named <= set(SPANS) & set(PARAMETERS)


def seconds(text: str) -> float:
    return float(text[:-1]) * SECONDS[text[-1]]


def configured(one: guide.Resource) -> Configured:
    operations = [
        Operation(
            name,
            seconds(said.get("interval", "0s")),
            seconds(said["timeout"]),
            int(said.get("OCF_CHECK_LEVEL", 0)),
        )
        for name, said in one.operations
    ]
    return Configured(
        one.name,
        "ocf",
        "heartbeat",
        "nova-compute",
        one.parameters,
        tuple(operations),
        one.meta,
        None if one.clone is None else f"{one.name}-clone",
        one.clone or {},
    )


def examined(one: guide.Resource) -> list[Finding]:
    """What doctor says of the configuration."""
    found = configured(one)
    resource = Resource(one.name, AGENT, SERVICE, one.parameters, "the guide", found)
    followed = frozenset({f"{one.name}-clone"})
    return list(cluster.of_resource(resource, Cluster((found,), {}, followed)))


def test_there_are_configurations_for_both_tools() -> None:
    assert len(CONFIGURED) >= 8
    assert {block.is_crmsh for block in BLOCKS if guide.resources(block)} == {True, False}


@pytest.mark.parametrize(("where", "one"), CONFIGURED, ids=[where for where, _ in CONFIGURED])
def test_each_configuration_is_one_that_doctor_finds_sound(where: str, one: guide.Resource) -> None:
    """But for examples of one parameter, which leave the clone out."""
    bad = [finding for finding in examined(one) if finding.level != OK]
    assert [finding for finding in bad if finding.what != "clone" or one.clone is not None] == []


@pytest.mark.parametrize(("where", "one"), CONFIGURED, ids=[where for where, _ in CONFIGURED])
def test_each_configuration_has_parameters_and_operations_of_the_agent(
    where: str, one: guide.Resource
) -> None:
    values = Values(AGENT.parameters, {PREFIX + name: value for name, value in one.parameters.items()})
    assert set(one.parameters) <= set(PARAMETERS)
    values.check()
    actions = {(action.name, action.depth or 0) for action in AGENT.actions}
    assert {(name, int(said.get("OCF_CHECK_LEVEL", 0))) for name, said in one.operations} <= actions
    assert {name for name, _ in one.operations} == {"start", "stop", "monitor"}
    intervals = [said.get("interval") for name, said in one.operations if name == "monitor"]
    assert len(intervals) == len(set(intervals))


def row(begin: str) -> list[str]:
    (found,) = [line for line in PROSE.splitlines() if line.startswith(f"| {begin}")]
    return [cell.strip() for cell in found.strip("|").split("|")]


@pytest.mark.parametrize(("what", "level"), [("start", 0), ("stop", 0), ("monitor", 0), ("monitor", 10)])
def test_each_time_is_what_doctor_needs(what: str, level: int) -> None:
    """The least that doctor takes: a second less is told, with that number."""
    name = f"{what}, level {level}" if what == "monitor" else f"{what} |"
    needed = float(row(name)[2].partition(" s")[0])
    for short, is_well in ((0.0, True), (1.0, False)):
        operations = [
            (
                action,
                {**said, "timeout": f"{needed - short:g}s"} if is_meant(action, said, what, level) else said,
            )
            for action, said in FIRST.operations
        ]
        one = guide.Resource(FIRST.name, FIRST.parameters, operations, FIRST.meta, FIRST.clone)
        bad = [finding for finding in examined(one) if finding.level != OK]
        assert (bad == []) is is_well, bad
        assert is_well or f"{needed:.0f} s" in bad[0].text


def is_meant(action: str, said: dict[str, str], what: str, level: int) -> bool:
    return action == what and int(said.get("OCF_CHECK_LEVEL", 0)) == level


def test_novas_own_times_are_the_codes() -> None:
    assert row("the unit's")[2] == f"{advice.GRACEFUL_SHUTDOWN + advice.MARGIN} s"
    assert f"{advice.SPARE} s more" in row("stop |")[3]
    assert row("`service_down_time`")[2] == f"{reporting.SERVICE_DOWN_TIME} s, {reporting.REPORT_INTERVAL} s"


def test_each_time_to_set_is_what_the_agent_advises() -> None:
    for action in AGENT.actions:
        if action.name not in ("start", "stop", "monitor"):
            continue
        is_monitor = action.name == "monitor"
        cell = row(f"{action.name}, level {action.depth or 0}" if is_monitor else f"{action.name} |")[3]
        assert f"timeout={action.timeout:g}s" in cell
        assert not is_monitor or f"interval={action.interval:g}s" in cell


def test_a_round_of_level_10_fits_into_the_failure_timeout_that_is_advised() -> None:
    """Else a migration-threshold is never reached: the guide's own words."""
    (line,) = [one for block in BLOCKS for one in block.lines if "migration-threshold=" in one]
    said = dict(word.split("=") for word in line.split() if "=" in word)
    lasts = seconds("1m") * (1 + int(str(PARAMETERS["bus_misses"].default))) + 240 + 60
    assert seconds(said["failure-timeout"]) > lasts > 2 * seconds(FIRST.meta["failure-timeout"])
    assert "up to 9 minutes" in guide.TEXT
    assert lasts == 9 * 60
