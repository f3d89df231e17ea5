# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, and what they make of them."""

from __future__ import annotations

import math
import os
from typing import Any, Callable, TypeVar

import click

from ocf_agents.operator import given
from ocf_agents.operator.finding import Wanted

BY_HOST = "--host NAME --cloud NAME asks the cloud alone"
"""The hint of the commands that take --host."""

F = TypeVar("F", bound=Callable[..., Any])


def as_json(command: F) -> F:
    return click.option("--json", "is_json", is_flag=True, help="Answer in JSON.")(command)


def cloud(command: F) -> F:
    """Which cloud, as whom."""
    for option in (
        click.option("--agent", metavar="AGENT", help="The agent, where the cluster does not tell."),
        click.option(
            "-o",
            "parameters",
            metavar="NAME=VALUE",
            multiple=True,
            help="A parameter of the agent, over the cluster's; may be repeated.",
        ),
        click.option("--cloud", metavar="NAME", help="Ask this cloud of your clouds.yaml."),
    ):
        command = option(command)
    return command


def host(command: F) -> F:
    return click.option("--host", metavar="HOST", help="The host's name in Nova; works from any machine.")(
        command
    )


def resource(command: F) -> F:
    return click.argument("resource", required=False)(command)


def wanted(
    resource: str | None,
    host: str | None,
    cloud: str | None,
    parameters: tuple[str, ...],
    agent: str | None,
    hint: str = "",
) -> Wanted:
    """What was typed. A host alone may be asked about in the cloud that OS_CLOUD names, as openstack does."""
    said = given.pairs(parameters)
    if host is not None and resource is None and cloud is None and not said:
        cloud = os.environ.get("OS_CLOUD") or None
    return Wanted(resource, host, cloud, said, agent, hint)


class Seconds(click.FloatRange):
    """A span of time: up to a day. Python reads `nan` as a number that is in every range."""

    def __init__(self, least: float, most: float = 86400) -> None:
        super().__init__(least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 (click's own)
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is no number of seconds.", param, ctx)
        return seconds


def timeout(default: float) -> Callable[[F], F]:
    """Seconds for the whole command."""
    return click.option(
        "--timeout",
        type=Seconds(1, 3600),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help="How long it may take in all.",
    )
