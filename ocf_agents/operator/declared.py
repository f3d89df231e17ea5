# SPDX-License-Identifier: Apache-2.0
"""An agent's declaration as tables. Pure."""

from __future__ import annotations

from typing import Any

from ocf_agents.ocf.agent import Action, Agent
from ocf_agents.ocf.parameters import Parameter
from ocf_agents.operator.page import Fact, Section, Table
from ocf_agents.operator.trouble import NotFound

PARAMETERS = ("parameter", "type", "default", "what it is")
ACTIONS = ("action", "timeout", "interval", "level")


def parameters(agent: Agent) -> Table:
    """One row for each."""
    return Table(
        PARAMETERS, [[one.name, type_of(one), shown_default(one), one.shortdesc] for one in agent.parameters]
    )


def actions(agent: Agent) -> Table:
    """One row for each, with the times that it advises."""
    return Table(ACTIONS, [_action(one) for one in agent.actions])


def parameter(agent: Agent, name: str) -> Section:
    """All about one. Raises NotFound."""
    one = _named(agent, name)
    facts = [
        Fact("type", type_of(one)),
        Fact("default", shown_default(one)),
        Fact("what", one.longdesc),
    ]
    choices = [Fact("one of", ", ".join(one.choices))] if one.choices else []
    return Section(f"{one.name}: {one.shortdesc}", [*facts, *choices, Fact("and", "; ".join(_traits(one)))])


def _named(agent: Agent, name: str) -> Parameter:
    for one in agent.parameters:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in agent.parameters)
    raise NotFound(f"{agent.name} has no parameter {name[:40]!a}: it has {names}")


def as_json(agent: Agent, name: str | None = None) -> dict[str, Any]:
    """The whole declaration, or that with one parameter only; times in seconds. Raises NotFound."""
    return {
        "name": agent.name,
        "version": agent.version,
        "shortdesc": agent.shortdesc,
        "longdesc": agent.longdesc,
        "parameters": [
            _parameter_json(one) for one in (agent.parameters if name is None else [_named(agent, name)])
        ],
        "actions": [
            {"name": one.name, "timeout": one.timeout, "interval": one.interval, "depth": one.depth}
            for one in agent.actions
        ],
    }


def type_of(one: Parameter) -> str:
    """A type's name."""
    return type(one.type).__name__.strip("_").lower()


def shown_default(one: Parameter) -> str:
    if one.required:
        return "required"
    return "-" if one.default in (None, "") else str(one.default)


def _traits(one: Parameter) -> list[str]:
    found = [
        (one.required, "required"),
        (one.reloadable, "a change needs no restart"),
        (not one.reloadable, "a change restarts the service"),
        (bool(one.unique_group), "one per resource"),
        (one.private, "its value is never shown"),
        (one.deprecated, f"deprecated, use {one.replaced_by}" if one.replaced_by else "deprecated"),
    ]
    return [text for holds, text in found if holds]


def _action(one: Action) -> list[str]:
    interval = "-" if one.interval is None else f"{one.interval:g} s"
    return [one.name, f"{one.timeout:g} s", interval, "-" if one.depth is None else str(one.depth)]


def _parameter_json(one: Parameter) -> dict[str, Any]:
    return {
        "name": one.name,
        "type": type_of(one),
        "default": one.default,
        "choices": list(one.choices),
        "required": one.required,
        "reloadable": one.reloadable,
        "private": one.private,
        "shortdesc": one.shortdesc,
        "longdesc": one.longdesc,
    }
