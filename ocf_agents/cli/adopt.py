# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents adopt`: the marker of a resource or host that has another name now."""

from __future__ import annotations

import click

from ocf_agents.cli.hold import SECONDS, tell
from ocf_agents.cli.shared import options, screen
from ocf_agents.operator import adopting, cluster, finding, look
from ocf_agents.operator.holding import Desk
from ocf_agents.operator.trouble import DONE, BadInput


@click.command()
@options.resource
@click.option("--from-resource", metavar="NAME", help="The resource that the marker names.")
@click.option("--from-host", metavar="HOST", help="The host that the marker names, if it is another.")
@click.option("--yes", is_flag=True, help="Do it; without it the marker is shown.")
@options.timeout(SECONDS)
@options.cloud
@options.as_json
def adopt(
    resource: str | None,
    from_resource: str | None,
    from_host: str | None,
    yes: bool,
    timeout: float,
    cloud: str | None,
    parameters: tuple[str, ...],
    agent: str | None,
    is_json: bool,
) -> int:
    """Take over a disable that was made under another name.

    A resource or a host that was renamed does not know its old marker. Without --yes it is shown. With it, a
    running service's host is enabled; a stopped one's disable becomes its own: the next start enables it.
    """
    wanted = options.wanted(resource, None, cloud, parameters, agent)
    with screen.waiting("looking at the row"):
        source = cluster.read()
        target = finding.one_target(wanted, source)
        if target.resource is None:
            raise BadInput("name a resource of this host")
        desk = Desk.of(target, timeout, is_forced=False)
        row = desk.row()
        there = adopting.found(row, target.name, target.host)
        if there is not None and yes:
            others = [one for one in finding.here(wanted, source) if one.name != target.name]
            present = adopting.still_here(others, is_cluster_known=source.cluster is not None)
            host = from_host or target.host
            adopting.check(there, from_resource, host, present, adopting.unsettled(others))
            running = look.service_of(target.resource).is_running
            return tell(adopting.adopt(desk, there, row, is_running=running), target, is_json=is_json)
    if is_json:
        marked = {"resource": there.resource, "host": there.host, "at": there.at} if there else None
        screen.say_json({"resource": target.name, "host": target.host, "marker": marked})
    else:
        screen.say(adopting.describe(there, row))
    return DONE
