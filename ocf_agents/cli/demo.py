# SPDX-License-Identifier: Apache-2.0
"""`ocf-agents demo`: the operator's story, on this machine, without a cluster and without a cloud."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ocf_agents.agents import nova_compute
from ocf_agents.ocf import installation
from ocf_agents.operator import installed
from ocf_agents.operator.trouble import DONE, WRONG, Unusable
from ocf_agents.testing import demo as story

AGENT = "nova-compute"
LIBRARIES = {"openstack": "python3-openstacksdk", "filelock": "python3-filelock"}
"""What an agent needs to speak to a cloud, with the packages that have it."""


@click.command()
def demo() -> int:
    """Tell an operator's story, with the real agent and a small cloud inside.

    A start, a planned stop, an operator's disable through a crash, a disable that comes late, an API that is
    dead: told as it happens, each claim checked, in less than a minute. It needs no root, no network, no
    cluster and no cloud, touches nothing of this host, and leaves nothing behind. The exit code is 0 if all
    came out as told, else 1.
    """
    _require_libraries()
    try:
        with _agent() as path:
            return DONE if story.tell(path) else WRONG
    except (story.Unsuitable, installation.InstallationError) as error:
        raise Unusable(str(error)) from None


@contextmanager
def _agent() -> Iterator[Path]:
    """The agent's file: the source tree's own, else one as `ocf-agents install` writes it."""
    path = installed.in_source_tree(AGENT)
    if path is not None:
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="ocf-agents-demo-") as root:
        yield installation.install(AGENT, nova_compute.__name__, root).path


def _require_libraries() -> None:
    """Raises Unusable: a story that breaks for want of a library tells nobody anything."""
    try:
        absent = installed.missing_for(sys.executable, list(LIBRARIES))
    except installed.CannotAsk as error:
        raise Unusable(str(error)) from None
    if absent:
        packages = " ".join(LIBRARIES[name] for name in absent)
        raise Unusable(f"install {packages} for {sys.executable}: the agent cannot speak to a cloud without")
