# SPDX-License-Identifier: Apache-2.0
"""The agents of this package: every module of `ocf_agents.agents` that declares one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import NamedTuple

from ocf_agents import agents
from ocf_agents.actions.guarded import GuardedService
from ocf_agents.ocf.agent import Agent
from ocf_agents.operator.trouble import NotFound


class Kind(NamedTuple):
    """One agent. `service` is None for one that has no row in the cloud."""

    agent: Agent
    service: GuardedService | None

    @property
    def name(self) -> str:
        return self.agent.name


def kinds() -> list[Kind]:
    """All agents, by name."""
    return sorted(_kinds(), key=lambda kind: kind.name)


def guarded() -> list[Kind]:
    """Those that disable and enable a row."""
    return [kind for kind in kinds() if kind.service is not None]


def kind_of(name: str) -> Kind:
    """The agent of this name, also as ocf:PROVIDER:NAME. Raises NotFound."""
    wanted = name.rpartition(":")[2]
    for kind in kinds():
        if kind.name == wanted:
            return kind
    names = ", ".join(kind.name for kind in kinds())
    raise NotFound(f"there is no agent {wanted[:80]!a} in this package: it has {names}")


def _kinds() -> Iterator[Kind]:
    for module in pkgutil.iter_modules(agents.__path__, agents.__name__ + "."):
        declared = importlib.import_module(module.name)
        agent, service = getattr(declared, "AGENT", None), getattr(declared, "SERVICE", None)
        if isinstance(agent, Agent):
            yield Kind(agent, service if isinstance(service, GuardedService) else None)
