# SPDX-License-Identifier: Apache-2.0
"""The manual page of an agent, ocf_PROVIDER_NAME(7), from the same declaration as its meta-data."""

from __future__ import annotations

from collections.abc import Mapping

import roff

from ocf_agents.ocf.agent import META_DATA, Action, Agent
from ocf_agents.ocf.metadata import META_DATA_TIMEOUT
from ocf_agents.ocf.parameters import Parameter, Path, Select

SEE_ALSO = ("pacemaker(7)", "pcs(8)", "crm(8)", "crm_resource(8)")
MEANINGS = {
    "start": "Starts it.",
    "stop": "Stops it; a success also where it does not run.",
    "monitor": "Says whether it runs.",
    "reload-agent": "Takes over the parameters that are reloadable.",
    "validate-all": "Checks the parameters, and with OCF_CHECK_LEVEL 10 this node as well.",
    META_DATA: "Describes the agent for the cluster and its tools.",
}
DEEPER = "The same, with a deeper look."
KINDS = {"Duration": "time", "Path": "path", "Port": "port"}


def page_name(agent: Agent, provider: str) -> str:
    return f"ocf_{provider}_{agent.name}"


def render(agent: Agent, provider: str, date: str, examples: Mapping[str, str]) -> str:
    """The page. `date`: year-month-day. `examples`: what a cluster's tool is given, by the tool's name."""
    name = page_name(agent, provider)
    page = roff.Page(name, 7, date, f"ocf-agents {agent.version}", "OCF resource agents")
    page.section("NAME")
    page.marked(f"{roff.literal(name)} \\- {roff.escaped(agent.shortdesc)}")
    _synopsis(page, agent, provider)
    page.section("DESCRIPTION")
    page.text(agent.longdesc)
    page.section("PARAMETERS")
    for parameter in agent.parameters:
        _parameter(page, parameter)
    page.section("ACTIONS")
    page.text("With the timeouts and intervals that are advised:")
    for action in agent.actions:
        _action(page, action)
    page.entry(f"{roff.bold(META_DATA)} (timeout {META_DATA_TIMEOUT}s)")
    page.text(MEANINGS[META_DATA])
    _examples(page, agent, provider, examples)
    _files(page, agent)
    page.see_also(SEE_ALSO)
    return str(page)


def _synopsis(page: roff.Page, agent: Agent, provider: str) -> None:
    page.section("SYNOPSIS")
    names = dict.fromkeys([*(action.name for action in agent.actions), META_DATA])
    page.marked(f"{roff.bold(agent.name)} " + "|".join(roff.bold(name) for name in names))
    page.paragraph(f"The cluster calls it ocf:{provider}:{agent.name}.")


def _parameter(page: roff.Page, parameter: Parameter) -> None:
    page.entry(f"{roff.bold(parameter.name)} ({roff.literal(', '.join(_facts(parameter)))})")
    page.text(parameter.shortdesc.rstrip(".") + ".")
    if parameter.longdesc and parameter.longdesc.rstrip(".") != parameter.shortdesc.rstrip("."):
        page.text(parameter.longdesc)
    if parameter.type is Select:
        page.text(f"One of: {', '.join(parameter.choices)}.")
    if parameter.deprecated:
        instead = f": use {parameter.replaced_by}" if parameter.replaced_by else ""
        page.text(f"Deprecated{instead}.")


def _facts(parameter: Parameter) -> list[str]:
    kind = type(parameter.type).__name__.lstrip("_")
    facts = [KINDS.get(kind, parameter.type.content)]
    facts += ["required"] if parameter.required else []
    facts += [f"default {parameter.default}"] if parameter.default else []
    facts += ["unique"] if parameter.unique_group else []
    return facts + (["reloadable"] if parameter.reloadable else [])


def _action(page: roff.Page, action: Action) -> None:
    facts = [f"timeout {action.timeout:g}s"]
    facts += [f"interval {action.interval:g}s"] if action.interval is not None else []
    facts += [f"OCF_CHECK_LEVEL {action.depth}"] if action.depth is not None else []
    facts += [f"role {action.role}"] if action.role is not None else []
    page.entry(f"{roff.bold(action.name)} ({roff.literal(', '.join(facts))})")
    page.text(DEEPER if action.depth else MEANINGS.get(action.name, "As the standard says."))


def _examples(page: roff.Page, agent: Agent, provider: str, examples: Mapping[str, str]) -> None:
    if not examples:
        return
    page.section("EXAMPLES")
    for tool, text in examples.items():
        page.subsection(f"With {tool}")
        page.example(text.replace(f"ocf:heartbeat:{agent.name}", f"ocf:{provider}:{agent.name}"))


def _files(page: roff.Page, agent: Agent) -> None:
    page.section("FILES")
    page.text("By default:")
    for parameter in agent.parameters:
        if parameter.type is Path and parameter.default:
            page.entry(roff.italic(parameter.default))
            page.text(f"{parameter.shortdesc.rstrip('.')} (parameter {parameter.name}).")
