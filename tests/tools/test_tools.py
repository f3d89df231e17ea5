# SPDX-License-Identifier: Apache-2.0
"""pcs, crmsh and Pacemaker's own commands take the agents, without a word of complaint."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.tools.conftest import Tools

AGENTS = sorted(path.name for path in (Path(__file__).parents[2] / "heartbeat").iterdir() if path.is_file())
OF_THE_FILE = "Blind faith: not fencing unseen nodes"
"""Said of any configuration without fencing, whatever is in it."""

COMPLAINTS = ("warn", "error", "deprecat", "traceback", "unable", "cannot", "fail", "invalid")


def assert_silent(text: str) -> None:
    lines = [line for line in text.splitlines() if OF_THE_FILE not in line]
    found = [line for line in lines if any(word in line.lower() for word in COMPLAINTS)]
    assert found == []


def meta_data(tools: Tools, agent: str) -> ET.Element:
    return ET.fromstring(tools.run("crm_resource", "--show-metadata", f"ocf:heartbeat:{agent}"))


def operations(tools: Tools) -> list[dict[str, str]]:
    """What the configuration says, the check level among it."""
    found = []
    for op in ET.parse(tools.cib).iter("op"):
        levels = [
            pair.get("value", "") for pair in op.iter("nvpair") if pair.get("name") == "OCF_CHECK_LEVEL"
        ]
        found.append({**op.attrib, "depth": levels[0] if levels else "0"})
    return found


def advised(agent: ET.Element) -> list[tuple[str, str, str, str]]:
    """Name, timeout, interval, depth of what the metadata advises and a cluster runs by itself."""
    actions = [
        action for action in agent.iter("action") if action.get("name") in ("start", "stop", "monitor")
    ]
    return [
        (a.get("name", ""), a.get("timeout", ""), a.get("interval", "0s"), a.get("depth", "0"))
        for a in actions
    ]


@pytest.mark.parametrize("agent", AGENTS)
def test_crm_resource_reads_the_meta_data_in_the_dialect_of_1_1(tools: Tools, agent: str) -> None:
    found = meta_data(tools, agent)
    assert found.get("name") == agent
    assert found.findtext("version") == "1.1"


@pytest.mark.parametrize("agent", AGENTS)
def test_pcs_describes_every_parameter(tools: Tools, agent: str) -> None:
    text = tools.run("pcs", "resource", "describe", f"ocf:heartbeat:{agent}")
    names = [parameter.get("name") for parameter in meta_data(tools, agent).iter("parameter")]
    assert len(names) > 10
    assert [name for name in names if f"\n  {name}" not in text] == []
    assert "Warning" not in text


@pytest.mark.parametrize("agent", AGENTS)
def test_pcs_creates_a_resource_with_the_advised_operations(tools: Tools, agent: str) -> None:
    created = tools.run(
        *("pcs", "-f", str(tools.cib), "resource", "create", "guarded", f"ocf:heartbeat:{agent}"),
        *("cloud=lab", "--agent-validation"),
    )
    assert created == ""
    made = {(op["name"], op["timeout"], op["interval"], op["depth"]) for op in operations(tools)}
    assert set(advised(meta_data(tools, agent))) <= made


@pytest.mark.parametrize("agent", AGENTS)
def test_pcs_hears_why_a_parameter_is_bad(tools: Tools, agent: str) -> None:
    refused = tools.run(
        *("pcs", "-f", str(tools.cib), "resource", "create", "guarded", f"ocf:heartbeat:{agent}"),
        *("cloud=lab", "api_timeout=soon", "--agent-validation"),
        code=1,
    )
    assert "parameter api_timeout is 'soon'" in refused
    assert operations(tools) == []


@pytest.mark.parametrize("agent", AGENTS)
def test_crmsh_takes_the_advised_operations_without_a_warning(tools: Tools, agent: str) -> None:
    words = []
    for name, timeout, interval, depth in advised(meta_data(tools, agent)):
        words += ["op", name, f"timeout={timeout}", f"interval={interval}"]
        words += [f"OCF_CHECK_LEVEL={depth}"] * (depth != "0")
    primitive = ("primitive", "guarded", f"ocf:heartbeat:{agent}", "params", "cloud=lab")
    assert_silent(tools.run("crm", "configure", *primitive, *words))
    assert len(operations(tools)) == len(advised(meta_data(tools, agent)))
    assert_silent(tools.run("crm", "configure", "verify"))


@pytest.mark.parametrize("agent", AGENTS)
def test_crmsh_warns_of_a_timeout_that_is_shorter_than_advised(tools: Tools, agent: str) -> None:
    primitive = ("primitive", "guarded", f"ocf:heartbeat:{agent}", "params", "cloud=lab")
    text = tools.run("crm", "configure", *primitive, "op", "start", "timeout=10s", "interval=0")
    assert "smaller than the advised" in text, "what makes the test above mean something"


@pytest.mark.parametrize("agent", AGENTS)
def test_crmsh_shows_the_agent(tools: Tools, agent: str) -> None:
    text = tools.run("crm", "ra", "info", f"ocf:heartbeat:{agent}")
    assert "Parameters (*: required, []: default):" in text
    assert "Operations' defaults" in text


@pytest.mark.parametrize("agent", AGENTS)
def test_crm_resource_validates(tools: Tools, agent: str) -> None:
    call = ("crm_resource", "--validate", "--class", "ocf", "--provider", "heartbeat", "--agent", agent)
    assert_silent(tools.run(*call, "--option", "cloud=lab"))
    refused = tools.run(*call, "--option", "cloud=lab", "--option", "hold=never", code=6)
    assert "parameter hold is 'never'" in refused
