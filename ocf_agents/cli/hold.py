# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents hold`: an operator's maintenance, which every stop and start leaves alone."""

from __future__ import annotations

import getpass
import os

import click

from ocf_agents.cli.shared import options, screen
from ocf_agents.operator import cluster, finding, holding
from ocf_agents.operator.holding import Desk, Outcome
from ocf_agents.operator.trouble import DONE, IN_DOUBT

SECONDS = 30.0


@click.command()
@options.resource
@options.host
@click.option(
    "--reason", "words", required=True, metavar="TEXT", help="Why, for whoever looks at the host next."
)
@click.option("--by", metavar="NAME", help="Who holds it. Default: who is logged in.")
@click.option("--force", is_flag=True, help="Also over somebody else's disable, which is then shown.")
@options.timeout(SECONDS)
@options.cloud
@options.as_json
def hold(
    resource: str | None,
    host: str | None,
    words: str,
    by: str | None,
    force: bool,
    timeout: float,
    cloud: str | None,
    parameters: tuple[str, ...],
    agent: str | None,
    is_json: bool,
) -> int:
    """Disable a host for maintenance, in your words.

    It stays so through stops and starts, until it is released.
    What the agent had disabled is taken over. What somebody else disabled is refused.
    """
    wanted = options.wanted(resource, host, cloud, parameters, agent, options.BY_HOST)
    with screen.waiting("disabling the host"):
        target = finding.one_target(wanted, cluster.read())
        desk = Desk.of(target, timeout, is_forced=force)
        outcome = holding.set_hold(desk, words, holder(by))
    return tell(outcome, target, is_json=is_json)


def holder(by: str | None) -> str:
    """Who is named, or who types: the one before sudo, else the user."""
    if by and by.strip():
        return by.strip()
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError, ImportError):
        return str(os.getuid())


def tell(outcome: Outcome, target: finding.Target, *, is_json: bool) -> int:
    """Says how it went; the exit code."""
    code = IN_DOUBT if outcome.is_in_doubt else DONE
    if is_json:
        held = outcome.hold
        screen.say_json(
            {
                "resource": target.resource.name if target.resource else None,
                "host": target.host,
                "did": outcome.did,
                "notes": list(outcome.notes),
                "hold": {"by": held.by, "at": held.at, "words": held.words} if held else None,
                "code": code,
            }
        )
        return code
    screen.say(outcome.did)
    for note in outcome.notes:
        screen.say_note(note)
    return code
