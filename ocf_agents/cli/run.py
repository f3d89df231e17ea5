# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents run`: an action, as Pacemaker would call it."""

from __future__ import annotations

import click

from ocf_agents.cli.shared import options, screen
from ocf_agents.operator import cluster, finding, given, running
from ocf_agents.operator.finding import Wanted
from ocf_agents.operator.texts import clean


@click.command()
@click.argument("agent")
@click.argument("action")
@click.option("--resource", metavar="NAME", help="Name and parameters of this resource of the cluster.")
@click.option("-o", "parameters", metavar="NAME=VALUE", multiple=True, help="A parameter; may be repeated.")
@click.option("--level", type=click.IntRange(0, 100), help="OCF_CHECK_LEVEL.")
@click.option("--interval", type=options.Seconds(0), metavar="SECONDS", help="A recurring monitor's.")
@click.option(
    "--timeout",
    type=options.Seconds(1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Its timeout.",
)
@options.as_json
def run(
    agent: str,
    action: str,
    resource: str | None,
    parameters: tuple[str, ...],
    level: int | None,
    interval: float | None,
    timeout: float,
    is_json: bool,
) -> int:
    """Run ACTION of AGENT as Pacemaker would.

    AGENT is a name or a path. The exit code is the action's own.
    It is done for real: a stop stops the service, and the cluster does not know why.
    """
    path = running.agent_path(agent)
    said = given.pairs(parameters)
    name = path.rpartition("/")[2]
    if resource is not None:
        wanted = Wanted(name=resource, parameters=said)
        source = cluster.read()
        found = finding.named(resource, finding.here(wanted, source), source)[0]
        name, said = found.name, dict(found.parameters)
    with screen.waiting(f"{action} of {name}"):
        result = running.run(path, action, said, name, level=level, interval=interval, timeout=timeout)
    if is_json:
        screen.say_json(running.as_json(action, result))
    else:
        if result.stdout:
            click.echo(result.stdout, nl=False)
        for line in result.stderr.splitlines():
            click.echo(clean(line), err=True)
        screen.say(running.summary(action, result))
    return running.exit_code(result)
