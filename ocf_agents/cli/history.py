# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents history`: what the guard read and decided, and why."""

from __future__ import annotations

import json
from typing import Any

import click

from ocf_agents.cli.shared import options, screen
from ocf_agents.operator import cluster, finding, past
from ocf_agents.operator.page import Table
from ocf_agents.operator.texts import clean

HEAD = ("time (UTC)", "by", "generation", "read", "decided", "why")


@click.command()
@options.resource
@click.option("-n", "most", type=click.IntRange(1), default=20, show_default=True, help="How many decisions.")
@options.cloud
@options.as_json
def history(
    resource: str | None,
    most: int,
    cloud: str | None,
    parameters: tuple[str, ...],
    agent: str | None,
    is_json: bool,
) -> None:
    """What the guard decided, the latest last.

    With --json: its lines as they are, one object each.
    """
    wanted = options.wanted(resource, None, cloud, parameters, agent)
    target = finding.one_target(wanted, cluster.read())
    local = target.resource or target.via
    lines = past.lines(local.state_dir, local.name, most)
    if is_json:
        for line in lines:
            screen.say(json.dumps(line))
    else:
        screen.say_table(Table(HEAD, [_row(line) for line in lines]))


def _row(line: dict[str, Any]) -> list[str]:
    when = str(line["time"]).replace("T", " ").rstrip("Z")
    return [clean(text) for text in (when, *(str(line[key]) for key in past.KEYS[1:]))]
