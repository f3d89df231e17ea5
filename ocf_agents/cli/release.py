# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents release`: the end of a hold."""

from __future__ import annotations

import click

from ocf_agents.cli.hold import SECONDS, holder, tell
from ocf_agents.cli.shared import options, screen
from ocf_agents.operator import cluster, finding, holding
from ocf_agents.operator.holding import Desk


@click.command()
@options.resource
@options.host
@click.option("--force", is_flag=True, help="Also where the service is stopped or down.")
@options.timeout(SECONDS)
@options.cloud
@options.as_json
def release(
    resource: str | None,
    host: str | None,
    force: bool,
    timeout: float,
    cloud: str | None,
    parameters: tuple[str, ...],
    agent: str | None,
    is_json: bool,
) -> int:
    """Enable a host that a hold disabled.

    None that anybody else did. Where the service is stopped or down it is refused, and why is said.
    """
    wanted = options.wanted(resource, host, cloud, parameters, agent, options.BY_HOST)
    with screen.waiting("enabling the host"):
        target = finding.one_target(wanted, cluster.read())
        outcome = holding.release(Desk.of(target, timeout, is_forced=force), holder(None))
    return tell(outcome, target, is_json=is_json)
