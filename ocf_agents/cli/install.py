# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents install`: the agents where Pacemaker looks for them, after an installation with pip."""

from __future__ import annotations

import sys

import click

from ocf_agents import agents
from ocf_agents.cli.shared import options, screen
from ocf_agents.ocf import installation
from ocf_agents.operator import catalog
from ocf_agents.operator.trouble import Refused


@click.command()
@click.option("--ocf-root", default=installation.OCF_ROOT, show_default=True, metavar="DIRECTORY")
@click.option("--provider", default=installation.PROVIDER, show_default=True, metavar="NAME")
@click.option(
    "--interpreter", default=sys.executable, metavar="PATH", help="What runs them; by default what runs this."
)
@click.option("--remove", "is_removal", is_flag=True, help="Take away what install has written.")
@options.as_json
def install(ocf_root: str, provider: str, interpreter: str, is_removal: bool, is_json: bool) -> None:
    """Write the agents' files for an interpreter that has this package.

    A file that was not written by this command is left alone, and so is one of a package.
    """
    done = []
    try:
        for kind in catalog.kinds():
            if is_removal:
                was_there = installation.remove(kind.name, ocf_root, provider)
                done.append({"agent": kind.name, "removed": was_there})
                continue
            module = f"{agents.__name__}.{kind.name.replace('-', '_')}"
            made = installation.install(kind.name, module, ocf_root, provider, interpreter)
            done.append({"agent": kind.name, "path": str(made.path), "interpreter": made.interpreter})
            for warning in made.warnings:
                click.echo(f"warning: {warning}", err=True)
    except installation.InstallationError as error:
        raise Refused(error.text) from None
    if is_json:
        screen.say_json({"agents": done})
        return
    for one in done:
        if is_removal:
            click.echo(f"{one['agent']}: {'removed' if one['removed'] else 'was not there'}")
        else:
            click.echo(f"{one['path']}: runs with {one['interpreter']}")
