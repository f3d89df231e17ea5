# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents list`: the agents of this package, and where this host has them."""

from __future__ import annotations

import click

from ocf_agents.cli.shared import options, screen
from ocf_agents.operator import catalog, installed
from ocf_agents.operator.page import Table

HEAD = ("agent", "version", "installed as", "what it is")


@click.command()
@options.as_json
def list(is_json: bool) -> None:
    """The agents of this package, and where they are installed."""
    found = [(kind, installed.of_agent(kind.name)) for kind in catalog.kinds()]
    if is_json:
        screen.say_json(
            {
                "agents": [
                    {
                        "name": kind.name,
                        "version": kind.agent.version,
                        "shortdesc": kind.agent.shortdesc,
                        "installed": [one._asdict() for one in files],
                    }
                    for kind, files in found
                ]
            }
        )
        return
    rows = [
        [
            kind.name,
            kind.agent.version,
            ", ".join(f"ocf:{one.provider}:{kind.name}" for one in files) or "not installed here",
            kind.agent.shortdesc,
        ]
        for kind, files in found
    ]
    screen.say_table(Table(HEAD, rows))
