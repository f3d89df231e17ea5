# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents status`: each guarded resource of this host, who disabled it, and what comes next."""

from __future__ import annotations

import click

from ocf_agents.cli.shared import options, screen
from ocf_agents.operator import cluster, finding, look, past
from ocf_agents.operator import status as told
from ocf_agents.operator.look import Look
from ocf_agents.operator.trouble import UNUSABLE, Trouble


@click.command()
@options.resource
@options.host
@options.cloud
@options.as_json
def status(
    resource: str | None,
    host: str | None,
    cloud: str | None,
    parameters: tuple[str, ...],
    agent: str | None,
    is_json: bool,
) -> int:
    """Who disabled a host, and what the next start does.

    Without RESOURCE: all guarded resources of this host. With --host: any host, from any machine that has
    credentials; its row alone tells then.
    """
    wanted = options.wanted(resource, host, cloud, parameters, agent, options.BY_HOST)
    with screen.waiting("asking the cluster and the cloud"):
        targets, lost = finding.all_targets(wanted, cluster.read())
        looks = [look.look(target) for target in targets]
    if is_json:
        objects = [told.as_json(one, first_read(one)) for one in looks]
        screen.say_json({"resources": [*objects, *map(told.hostless_json, lost)]})
    else:
        sections = [told.section(one, first_read(one)) for one in looks]
        screen.say_sections([*sections, *map(told.hostless_section, lost)])
    return UNUSABLE if lost else look.code_of(looks)


def first_read(one: Look) -> str:
    """Since when the history has the row as somebody else's; empty where it does not tell."""
    resource = one.target.resource
    if resource is None or one.row is None or not one.row.disabled:
        return ""
    try:
        return past.read_since(past.lines(resource.state_dir, resource.name), one.row.reason)
    except Trouble:
        return ""
