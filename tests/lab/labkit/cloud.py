# SPDX-License-Identifier: Apache-2.0
"""The cloud as its operator sees it: `openstack compute service list --long`, and who may be scheduled to.

Plain HTTP, so that what the scenarios see does not depend on the library that the agents use.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from labkit.errors import LabError

DISABLED_TRAIT = "COMPUTE_STATUS_DISABLED"
COMPUTE, PLACEMENT, IDENTITY = "compute", "placement", "identity"
VERSIONS = {
    COMPUTE: {"X-OpenStack-Nova-API-Version": "2.100"},
    PLACEMENT: {"OpenStack-API-Version": "placement 1.39"},
}


class Refused(LabError):
    """The cloud answered with an error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"HTTP {status}: {text[:500]}")
        self.status = status


@dataclass(frozen=True)
class Row:
    """One line of the list of services."""

    id: str
    binary: str
    host: str
    status: str
    state: str
    reason: str | None
    updated_at: str | None
    is_forced_down: bool = False

    @property
    def is_up(self) -> bool:
        return self.state == "up"

    @property
    def is_enabled(self) -> bool:
        return self.status == "enabled"

    def __str__(self) -> str:
        words = f"{self.status}, {self.state}{', forced down' if self.is_forced_down else ''}"
        return words if self.reason is None else f"{words}, {self.reason!r}"


class Cloud:
    """A person logged in to the cloud; each call is one request, after a first one for the token."""

    def __init__(self, auth_url: str, user: str, password: str, project: str) -> None:
        self.auth_url = auth_url
        self.user, self.password, self.project = user, password, project
        self._token: str | None = None
        self._catalog: dict[str, str] = {}

    # services

    def rows(self, **filters: str) -> list[Row]:
        found = self.get(COMPUTE, f"/os-services?{urllib.parse.urlencode(filters)}")["services"]
        return [
            Row(
                id=row["id"],
                binary=row["binary"],
                host=row["host"],
                status=row["status"],
                state=row["state"],
                reason=row["disabled_reason"],
                updated_at=row["updated_at"],
                is_forced_down=row["forced_down"],
            )
            for row in found
        ]

    def row(self, host: str) -> Row | None:
        """The row of the host's nova-compute, if it has registered."""
        rows = self.rows(host=host, binary="nova-compute")
        return rows[0] if rows else None

    def disable(self, host: str, reason: str | None = None) -> None:
        """As a person would, with or without a reason."""
        change = (
            {"status": "disabled"} if reason is None else {"status": "disabled", "disabled_reason": reason}
        )
        self._update(host, change)

    def enable(self, host: str) -> None:
        self._update(host, {"status": "enabled"})

    def force_down(self, host: str, is_down: bool) -> None:
        """What fencing says of a host before it evacuates it, and takes back when the host has returned."""
        self._update(host, {"forced_down": is_down})

    def forget(self, host: str) -> None:
        """Delete the row of a host that is no more, and with it what Placement knows of it."""
        self.request("DELETE", COMPUTE, f"/os-services/{self._known(host).id}")

    def _update(self, host: str, change: Mapping[str, object]) -> None:
        self.request("PUT", COMPUTE, f"/os-services/{self._known(host).id}", change)

    def _known(self, host: str) -> Row:
        row = self.row(host)
        if row is None:
            raise LabError(f"{host} has no nova-compute row")
        return row

    @staticmethod
    def elsewhere() -> ThreadPoolExecutor:
        """For requests whose answer is not waited for at once."""
        return ThreadPoolExecutor()

    # identity

    def revoke(self, token: str) -> None:
        """Somebody's token is good no longer."""
        self.request("DELETE", IDENTITY, "/auth/tokens", headers={"X-Subject-Token": token})

    # placement

    def bears_disabled_trait(self, host: str) -> bool:
        """Does Placement hold the host for disabled? Not one that it does not know."""
        providers = self.get(PLACEMENT, f"/resource_providers?name={host}")["resource_providers"]
        if not providers:
            return False
        return (
            DISABLED_TRAIT
            in self.get(PLACEMENT, f"/resource_providers/{providers[0]['uuid']}/traits")["traits"]
        )

    def may_be_chosen(self, host: str) -> bool:
        """Would the scheduler's question to Placement bring up the host?"""
        query = f"/allocation_candidates?resources=VCPU:1&required=!{DISABLED_TRAIT}"
        candidates = self.get(PLACEMENT, query)["provider_summaries"]
        provider = self.get(PLACEMENT, f"/resource_providers?name={host}")["resource_providers"]
        return bool(provider) and provider[0]["uuid"] in candidates

    # requests

    def get(self, service: str, path: str) -> Any:
        return self.request("GET", service, path)

    def request(
        self,
        method: str,
        service: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Any:
        """The answer's JSON; Refused for anything but 2xx."""
        if self._token is None:
            self._log_in()
        url = (self.auth_url if service == IDENTITY else self._catalog[service]) + path
        ours = {"X-Auth-Token": str(self._token), **VERSIONS.get(service, {})}
        return self._send(method, url, {**ours, **headers}, body)[1]

    def _who(self) -> dict[str, Any]:
        """What Keystone is told."""
        identity = {
            "methods": ["password"],
            "password": {"user": {"name": self.user, "domain": {"id": "default"}, "password": self.password}},
        }
        return {
            "identity": identity,
            "scope": {"project": {"name": self.project, "domain": {"id": "default"}}},
        }

    def _log_in(self) -> None:
        headers, answer = self._send("POST", f"{self.auth_url}/auth/tokens", {}, {"auth": self._who()})
        self._token = headers["X-Subject-Token"]
        for service in answer["token"]["catalog"]:
            for endpoint in service["endpoints"]:
                if endpoint["interface"] == "public":
                    self._catalog[service["type"]] = endpoint["url"]

    def _send(self, method: str, url: str, headers: dict[str, str], body: object) -> tuple[Any, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {**headers, "User-Agent": "lab"}, method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                text = answer.read()
                return answer.headers, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode(errors="replace")) from None
        except urllib.error.URLError as error:
            raise LabError(f"{method} {url}: {error.reason}") from None


class Application(Cloud):
    """A program that is logged in with an application credential."""

    def __init__(self, auth_url: str, identifier: str, secret: str) -> None:
        super().__init__(auth_url, identifier, secret, "")

    def _who(self) -> dict[str, Any]:
        credential = {"id": self.user, "secret": self.password}
        return {"identity": {"methods": ["application_credential"], "application_credential": credential}}
