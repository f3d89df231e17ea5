# SPDX-License-Identifier: Apache-2.0
"""Puts the real parts together: a guard for one call of one guarded service.

Loaded by start, stop and helpers; by a monitor only when the record's flag is up.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any, Callable

from ocf_agents.actions.guarded import GuardedService
from ocf_agents.actions.host import HelperSpawner, HostClock, HostProcesses, HostReporter, helper_environment
from ocf_agents.guard import store
from ocf_agents.guard.guard import Guard
from ocf_agents.guard.history import History
from ocf_agents.guard.row import Rows
from ocf_agents.guard.verdict import Policy
from ocf_agents.ocf.agent import Call
from ocf_agents.ocf.errors import NotInstalled, OcfError
from ocf_agents.openstack.cloud import CloudSettings
from ocf_agents.openstack.rows import ComputeRows


class Wiring:
    """Makes guards. A strict one raises on what is wrong; a lenient one does with what it has."""

    def __init__(self, service: GuardedService, call: Call, clock: HostClock | None = None) -> None:
        self._service = service
        self._call = call
        self._clock = clock or HostClock()

    def strict(self) -> Guard | None:
        """The guard for start; None when the parameters want nothing of the cloud. Raises OcfError."""
        values = self._call.values
        if not self._is_needed(values.__getitem__):
            return None
        host = self._service.cloud_host(self._call)
        require_library(sys.executable)
        self._warn_of_readers()
        return self._make(host, values.__getitem__, self.is_moving(host))

    def lenient(self) -> Guard | None:
        """The guard for stop and monitor: the record's own host first, for that is what ran. Never raises."""
        get = self._call.values.lenient
        try:
            if not self._has_credentials() or not self._is_needed(get):
                return None
            host = self._recorded_host(get) or self._service.cloud_host(self._call)
            return self._make(host, get, self.is_moving(host))
        except (OcfError, OSError) as error:
            self._call.log.warning(f"the row in the cloud is left as it is: {error}")
            return None

    def for_helper(self, host: str, *, is_moving: bool, is_quiet: bool) -> Guard:
        """The guard of a helper, for the host that its action found."""
        return self._make(host, self._call.values.lenient, is_moving, is_quiet=is_quiet, is_helper=True)

    def _is_needed(self, get: Callable[[str], Any]) -> bool:
        """Whether the parameters want something of the cloud, or something of ours may be under way there."""
        if get("disable_on_stop") or get("enable_on_start"):
            return True
        return self._has_credentials() and bool(self._recorded_host(get))

    def _make(
        self,
        host: str,
        get: Callable[[str], Any],
        is_moving: bool,
        *,
        is_quiet: bool = False,
        is_helper: bool = False,
    ) -> Guard:
        call = self._call
        instance, directory = call.environment.instance, get("state_dir")
        identity = store.Identity(instance, store.machine_id(), host)
        is_quiet = is_quiet or call.action.name == "monitor"  # again and again the same is no news
        reporter = HostReporter(call.log, History(directory, instance), call.action.name, is_quiet=is_quiet)
        facts = {"host": host, "moves": is_moving, "is_quiet": is_quiet}
        return Guard(
            policy=policy_of(instance, host, get, is_moving),
            disk=store.Store(directory, identity, reporter.warning, is_guest=is_helper),
            clock=self._clock,
            processes=HostProcesses(),
            spawner=HelperSpawner(self._service.module, facts, helper_environment(dict(os.environ))),
            reporter=reporter,
            connect=lambda seconds: self._connect(host, seconds),
            disable_deadline=get("disable_deadline"),
            head_start=get("head_start"),
        )

    def check(self) -> None:
        """Reads the record as a start would, and warns of who can read the secret. Raises StoreError."""
        self._warn_of_readers()
        instance, directory = self._call.environment.instance, self._call.values["state_dir"]
        identity = store.Identity(instance, store.machine_id(), self._service.cloud_host(self._call))
        store.Store(directory, identity, self._call.log.warning).load()

    def _warn_of_readers(self) -> None:
        values = self._call.values
        clouds_file = values["clouds_file"] if values["cloud"] else None
        try:
            mode = os.stat(clouds_file).st_mode if clouds_file else 0
        except OSError:
            return
        if mode & 0o037:
            self._call.log.warning(f"{clouds_file} holds a secret and is open to others: chmod 0600 it")

    def _recorded_host(self, get: Callable[[str], Any]) -> str:
        return store.recorded_host(get("state_dir"), self._call.environment.instance)

    def _has_credentials(self) -> bool:
        return self._call.values.given("cloud") or self._call.values.given("auth_url")

    def _connect(self, host: str, timeout: float) -> Rows:
        settings = CloudSettings.from_values(self._call.values)
        return ComputeRows(settings, host, self._service.row, timeout)

    def is_moving(self, host: str) -> bool:
        """A row can follow the resource when its name is not what Nova on this node would use."""
        if not self._call.values.given("host"):
            return False
        try:
            return host != self._service.default_host(self._call)
        except OcfError:
            return True


def require_library(interpreter: str) -> None:
    """Raises NotInstalled when openstacksdk is missing, which is only loaded when a request is sent."""
    if find_spec("openstack") is None:
        raise NotInstalled(f"the Python module openstack is missing: install openstacksdk for {interpreter}")


def policy_of(instance: str, host: str, get: Callable[[str], Any], is_moving: bool) -> Policy:
    """What the parameters decide, for one instance and its host."""
    reasons = (text.strip() for text in (get("enable_reasons") or "").split(","))
    return Policy(
        resource=instance,
        host=host,
        hold=get("hold"),
        api_timeout=get("api_timeout"),
        disable_on_stop=get("disable_on_stop"),
        enable_on_start=get("enable_on_start"),
        enable_reasons=tuple(text for text in reasons if text),
        moves=is_moving,
    )
