# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents explain`: what the guard makes of the present record and row, without doing it."""

from __future__ import annotations

import click

from ocf_agents.cli.shared import options, screen
from ocf_agents.operator import cluster, finding, look, status
from ocf_agents.operator import explain as told
from ocf_agents.operator.trouble import UNUSABLE


@click.command()
@options.resource
@options.cloud
@options.as_json
def explain(
    resource: str | None, cloud: str | None, parameters: tuple[str, ...], agent: str | None, is_json: bool
) -> int:
    """What the guard would do now and next, and why.

    Now, at the next start, at the next stop: its own verdicts, on copies.
    It reads the record and the row; it sends no write, and changes nothing.
    """
    wanted = options.wanted(resource, None, cloud, parameters, agent)
    with screen.waiting("asking the cluster and the cloud"):
        targets, lost = finding.all_targets(wanted, cluster.read())
        looks = [look.look(target) for target in targets]
    if is_json:
        screen.say_json({"resources": [*map(told.as_json, looks), *map(status.hostless_json, lost)]})
    else:
        screen.say_sections([*map(told.section, looks), *map(status.hostless_section, lost)])
    return UNUSABLE if lost else look.code_of(looks)
