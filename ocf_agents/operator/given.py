# SPDX-License-Identifier: Apache-2.0
"""What the command line says of parameters and of the cloud, over what the cluster says."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping

from ocf_agents.ocf.agent import Agent
from ocf_agents.ocf.errors import OcfError
from ocf_agents.ocf.parameters import PREFIX, Values
from ocf_agents.openstack.cloud import DIRECT
from ocf_agents.openstack.parameters import CLOUDS_FILE
from ocf_agents.operator.texts import clean
from ocf_agents.operator.trouble import BadInput

FILE_VARIABLE = "OS_CLIENT_CONFIG_FILE"
PERSONAL = "~/.config/openstack/clouds.yaml"


def pairs(texts: Iterable[str]) -> dict[str, str]:
    """`name=value` each. Raises BadInput, which shows no value: it may be a secret."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BadInput("-o takes name=value, such as -o cloud=ha")
        found[name.strip()] = value
    return found


def check(agent: Agent, parameters: Mapping[str, str]) -> None:
    """Raises BadInput for a name that the agent has not, or a value that it would refuse."""
    names = [parameter.name for parameter in agent.parameters]
    for name in parameters:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            meant = f"did you mean {near[0]}?" if near else f"ocf-agents describe {agent.name} lists them"
            raise BadInput(f"{agent.name} has no parameter {clean(name)[:40]!a}: {meant}")
    values = Values(agent.parameters, {PREFIX + name: value for name, value in parameters.items()})
    for name in parameters:
        try:
            values[name]
        except OcfError as error:
            raise BadInput(error.reason) from None


def merged(base: Mapping[str, str], over: Mapping[str, str], cloud: str | None = None) -> dict[str, str]:
    """The parameters of the cluster with those of the command line over them.

    A cloud by its name takes the place of a URL with a password, and the other way round.
    """
    over = {**over, **({"cloud": cloud} if cloud else {})}
    kept = dict(base)
    if over.get("cloud"):
        kept = {name: value for name, value in kept.items() if name not in DIRECT}
    elif any(over.get(name) for name in DIRECT):
        kept.pop("cloud", None)
    both = {**kept, **over}
    if over.get("cloud") and not both.get("clouds_file"):
        both["clouds_file"] = clouds_file()
    return both


def clouds_file(environ: Mapping[str, str] = os.environ) -> str:
    """The clouds.yaml of whoever types: where the variable says, in his home, or the system's."""
    said = environ.get(FILE_VARIABLE)
    if said:
        return os.path.abspath(said)
    personal = os.path.expanduser(PERSONAL)
    return personal if os.path.isabs(personal) and os.path.exists(personal) else CLOUDS_FILE
