# SPDX-License-Identifier: Apache-2.0
"""One guarded resource of this host: its parameters, its host in the cloud, the ways to its parts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

from ocf_agents.actions.guarded import GuardedService
from ocf_agents.actions.wiring import Wiring, policy_of
from ocf_agents.guard import store
from ocf_agents.guard.verdict import Policy
from ocf_agents.ocf.agent import Action, Agent, Call
from ocf_agents.ocf.errors import OcfError
from ocf_agents.ocf.parameters import PREFIX
from ocf_agents.openstack.cloud import CloudSettings
from ocf_agents.openstack.rows import ComputeRows
from ocf_agents.operator.cib import Configured
from ocf_agents.operator.trouble import BadInput, Unusable

LOOKING = 20
"""Seconds that a look at the service may take."""

KEPT = ("HA_RSCTMP", "HA_LOGFILE", "HA_LOGFACILITY")
"""Variables of the caller's that say where this host keeps things."""


@dataclass(frozen=True)
class Resource:
    """`name` is the instance's name in the cluster. `configured` is None where no cluster tells of it.

    `parameters` are texts, as the cluster gives them to the agent. `source` says where they come from.
    """

    name: str
    agent: Agent
    service: GuardedService
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    source: str = ""
    configured: Configured | None = None

    def call(self, action: str = "monitor") -> Call:
        """An action's call with these parameters, to look at things through."""
        environ = {PREFIX + name: value for name, value in self.parameters.items()}
        environ |= {name: os.environ[name] for name in KEPT if name in os.environ}
        environ |= {
            "OCF_RESOURCE_INSTANCE": self.name,
            "OCF_RESKEY_CRM_meta_timeout": str(LOOKING * 1000),
        }
        return Call(self.agent, Action(action, _nothing, LOOKING), environ)

    def get(self, name: str) -> Any:  # noqa: ANN401 (each parameter's type says what)
        """A parameter's value; its default where the text is bad."""
        return self.call().values.lenient(name)

    @property
    def state_dir(self) -> str:
        return str(self.get("state_dir"))

    @property
    def recorded_host(self) -> str:
        """The host that this machine's record is for; empty without one."""
        return store.recorded_host(self.state_dir, self.name)

    def host(self) -> str:
        """The host's name in the cloud: the record's own first, as a stop goes by it. Raises Unusable."""
        return self.recorded_host or self.next_host()

    def next_host(self) -> str:
        """The host that the next start is for, by the configuration alone. Raises Unusable."""
        try:
            return self.service.cloud_host(self.call())
        except OcfError as error:
            raise Unusable(f"{self.name}: {error.reason}") from None

    def policy(self, host: str) -> Policy:
        """What the parameters decide."""
        return policy_of(self.name, host, self.get, is_moving=self._is_moving(host))

    def store(self, host: str, on_note: Callable[[str], None]) -> store.Store:
        """The record's home."""
        return store.Store(self.state_dir, store.Identity(self.name, store.machine_id(), host), on_note)

    def rows(self, host: str, settings: CloudSettings | None = None) -> ComputeRows:
        """The way to the row. Raises BadInput where the parameters cannot say to which cloud."""
        return ComputeRows(
            settings or settings_of(self), host, self.service.row, float(self.get("api_timeout"))
        )

    def _is_moving(self, host: str) -> bool:
        return Wiring(self.service, self.call()).is_moving(host)


def settings_of(resource: Resource) -> CloudSettings:
    """Which cloud, as whom. Raises BadInput."""
    try:
        settings = CloudSettings.from_values(resource.call().values)
    except OcfError as error:
        raise BadInput(f"{resource.name}: {error.reason}") from None
    problem = settings.problem()
    if problem:
        raise BadInput(f"no credentials for the cloud: {problem} (--cloud NAME, or -o name=value)")
    return settings


def _nothing(call: Call) -> None:
    raise AssertionError("this call is there to be looked through")
