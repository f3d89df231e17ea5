# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents describe`: an agent's parameters and actions."""

from __future__ import annotations

import click

from ocf_agents.cli.shared import options, screen
from ocf_agents.operator import catalog, declared


@click.command()
@click.argument("agent")
@click.argument("parameter", required=False)
@options.as_json
def describe(agent: str, parameter: str | None, is_json: bool) -> None:
    """The parameters and actions of AGENT."""
    described = catalog.kind_of(agent).agent
    if is_json:
        screen.say_json(declared.as_json(described, parameter))
        return
    if parameter is not None:
        screen.say_sections([declared.parameter(described, parameter)])
        return
    screen.say(f"{described.name} {described.version}: {described.shortdesc}")
    screen.say()
    screen.say_table(declared.parameters(described))
    screen.say()
    screen.say_table(declared.actions(described))
