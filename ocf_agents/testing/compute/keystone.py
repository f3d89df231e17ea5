# SPDX-License-Identifier: Apache-2.0
"""Keystone v3 as far as a client needs it: versions, tokens, catalog."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from ocf_agents.testing.compute.exchange import Request, Response

DOMAIN = {"id": "default", "name": "Default"}
INTERFACES = ("public", "internal", "admin")
UNAUTHORIZED = "The request you have made requires authentication."


@dataclass
class Account:
    """Who may log in, and as what. Change the fields to rotate a password or to take a role away.

    `lifetime` is a token's, in seconds. `token_mark` is how each begins: a text to look for where no
    token may be.
    """

    username: str = "admin"
    password: str = "secret"  # noqa: S105 - the embedded cloud's own
    project: str = "admin"
    credential_id: str = "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e"
    credential_name: str = "ocf"
    credential_secret: str = "app-secret"  # noqa: S105
    roles: list[str] = field(default_factory=lambda: ["admin", "member", "reader"])
    lifetime: float = 3600.0
    token_mark: str = ""


@dataclass(frozen=True)
class Endpoint:
    """One service in one region, as the catalog shows it; without `interface` it is all three of them."""

    kind: str
    name: str
    region: str
    url: str
    interface: str = ""

    @property
    def interfaces(self) -> tuple[str, ...]:
        return (self.interface,) if self.interface else INTERFACES


class KeystoneApi:
    """One Keystone for all regions. Tokens die with `expire_tokens`, or when their time is over."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.origin = ""
        self.prefix = ""
        self.endpoints: list[Endpoint] = []
        self.user_id, self.project_id = uuid.uuid4().hex, uuid.uuid4().hex
        self._tokens: dict[str, tuple[float, list[str]]] = {}
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The auth URL with its version."""
        return f"{self.origin}{self.prefix}/v3"

    def answer(self, request: Request) -> Response:
        """The answer to one request."""
        path = request.path[len(self.prefix) :] if request.path.startswith(self.prefix) else request.path
        if path in ("", "/"):
            return Response(300, {"versions": {"values": [self._version()]}})
        if path in ("/v3", "/v3/"):
            return Response(200, {"version": self._version()})
        if path == "/v3/auth/tokens" and request.method == "POST":
            return self._issue(request)
        return failure(404, "The resource could not be found.", "Not Found")

    def check(self, request: Request) -> Response | None:
        """The refusal of the token middleware and the policy, or None: an administrator."""
        with self._lock:
            known = self._tokens.get(request.headers.get("x-auth-token", ""))
        if known is None or known[0] <= time.monotonic():
            return unauthorized(self.origin)
        if "admin" not in known[1]:
            message = "Policy doesn't allow os_compute_api:os-services to be performed."
            return Response(403, {"forbidden": {"code": 403, "message": message}})
        return None

    def expire_tokens(self) -> None:
        """No token that was issued so far is good any more."""
        with self._lock:
            self._tokens.clear()

    def _version(self) -> dict[str, Any]:
        return {
            "id": "v3.14",
            "status": "stable",
            "updated": "2020-04-07T00:00:00Z",
            "links": [{"rel": "self", "href": f"{self.url}/"}],
            "media-types": [
                {"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}
            ],
        }

    def _issue(self, request: Request) -> Response:
        identity = (request.body or {}).get("auth", {}).get("identity", {})
        scope = (request.body or {}).get("auth", {}).get("scope", {})
        request.body = None
        if not self._is_known(identity, scope):
            return failure(401, UNAUTHORIZED, "Unauthorized")
        token = self.account.token_mark + uuid.uuid4().hex
        with self._lock:
            self._tokens[token] = (time.monotonic() + self.account.lifetime, list(self.account.roles))
        return Response(201, {"token": self._describe()}, {"X-Subject-Token": token, "Vary": "X-Auth-Token"})

    def _is_known(self, identity: Mapping[str, Any], scope: Mapping[str, Any]) -> bool:
        methods = identity.get("methods")
        if methods == ["password"]:
            return self._has_password(identity["password"].get("user", {})) and self._has_project(scope)
        if methods == ["application_credential"]:
            return self._has_credential(identity["application_credential"])
        return False

    def _has_password(self, user: Mapping[str, Any]) -> bool:
        account = self.account
        named = user.get("name") == account.username and user.get("domain") in (
            {"id": "default"},
            {"name": "Default"},
        )
        return (named or user.get("id") == self.user_id) and user.get("password") == account.password

    def _has_project(self, scope: Mapping[str, Any]) -> bool:
        project = scope.get("project", {})
        named = project.get("name") == self.account.project
        in_domain = project.get("domain") in ({"id": "default"}, {"name": "Default"})
        return (named and in_domain) or project.get("id") == self.project_id

    def _has_credential(self, credential: Mapping[str, Any]) -> bool:
        account = self.account
        named = credential.get("name") == account.credential_name and "user" in credential
        known = named or credential.get("id") == account.credential_id
        return known and credential.get("secret") == account.credential_secret

    def _describe(self) -> dict[str, Any]:
        now = datetime.now(timezone.utc)
        return {
            "methods": ["password"],
            "user": {"id": self.user_id, "name": self.account.username, "domain": DOMAIN},
            "project": {"id": self.project_id, "name": self.account.project, "domain": DOMAIN},
            "roles": [
                {"id": uuid.uuid5(uuid.NAMESPACE_DNS, role).hex, "name": role} for role in self.account.roles
            ],
            "catalog": self.catalog(),
            "issued_at": stamp(now),
            "expires_at": stamp(now + timedelta(seconds=self.account.lifetime)),
            "audit_ids": [uuid.uuid4().hex[:22]],
        }

    def catalog(self) -> list[dict[str, Any]]:
        """The services and their endpoints, as a token shows them."""
        return [self._service(kind, name) for kind, name in self._kinds()]

    def _kinds(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((endpoint.kind, endpoint.name) for endpoint in self.endpoints))

    def _service(self, kind: str, name: str) -> dict[str, Any]:
        endpoints = [
            {
                "id": uuid.uuid5(uuid.NAMESPACE_URL, f"{endpoint.url}{endpoint.region}{interface}").hex,
                "interface": interface,
                "region": endpoint.region,
                "region_id": endpoint.region,
                "url": endpoint.url,
            }
            for endpoint in self.endpoints
            if endpoint.kind == kind
            for interface in endpoint.interfaces
        ]
        return {
            "id": uuid.uuid5(uuid.NAMESPACE_URL, kind).hex,
            "type": kind,
            "name": name,
            "endpoints": endpoints,
        }


def stamp(when: datetime) -> str:
    """A time as Keystone writes it."""
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def failure(code: int, message: str, title: str) -> Response:
    """An error in Keystone's form."""
    return Response(code, {"error": {"code": code, "message": message, "title": title}})


def unauthorized(origin: str) -> Response:
    """The refusal of the token middleware in front of Nova."""
    answer = failure(401, UNAUTHORIZED, "Unauthorized")
    return Response(401, answer.body, {"WWW-Authenticate": f'Keystone uri="{origin}"'})
