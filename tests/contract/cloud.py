# SPDX-License-Identifier: Apache-2.0
"""A small raw client, and the two clouds that it talks to: the embedded one and a real one."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from ocf_agents.openstack.cloud import CloudSettings
from ocf_agents.testing.compute_api import ComputeApi

COMPUTE = "nova-compute"
REAL = "CONTRACT_AUTH_URL"


@dataclass(frozen=True)
class Reply:
    """One answer: `body` is the decoded JSON, None when there is none."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def message(self) -> str:
        """The text of an error in Nova's or Keystone's form."""
        return str(next(iter(self.body.values()))["message"])


@dataclass(frozen=True)
class Access:
    """Where a cloud is, who we are there, and the compute host to play with: up, and nobody else's."""

    auth_url: str
    username: str
    password: str
    project: str
    host: str

    def settings(self) -> CloudSettings:
        """The same for our own floor."""
        return CloudSettings(
            auth_url=self.auth_url,
            username=self.username,
            password=self.password,
            project_name=self.project,
        )


class Client:
    """Speaks HTTP and nothing else, so that what it sees is what the API said."""

    def __init__(self, access: Access) -> None:
        self.access = access
        reply = self.authenticate(access.password)
        assert reply.status == 201, reply
        self.token = reply.headers["x-subject-token"]
        self.endpoint = next(
            str(endpoint["url"])
            for service in reply.body["token"]["catalog"]
            if service["type"] == "compute"
            for endpoint in service["endpoints"]
            if endpoint["interface"] == "public"
        ).rstrip("/")

    def authenticate(self, password: str) -> Reply:
        """Ask Keystone for a token."""
        domain = {"id": "default"}
        user = {"name": self.access.username, "password": password, "domain": domain}
        scope = {"project": {"name": self.access.project, "domain": domain}}
        body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}
        return exchange("POST", self.access.auth_url + "/auth/tokens", {}, body)

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        version: str | None = "2.53",
        token: str | None = None,
    ) -> Reply:
        """One request to Nova, with a microversion."""
        headers = {"X-Auth-Token": self.token if token is None else token}
        if version is not None:
            headers["OpenStack-API-Version"] = f"compute {version}"
        return exchange(method, self.endpoint + path, headers, body)

    def list(self, *, version: str | None = "2.53", **query: str) -> list[dict[str, Any]]:
        """The services that match."""
        reply = self.send("GET", f"/os-services?{urlencode(query)}", version=version)
        assert reply.status == 200, reply
        return list(reply.body["services"])

    def row(self) -> dict[str, Any]:
        """The row to play with."""
        (row,) = self.list(host=self.access.host, binary=COMPUTE)
        return row

    def put(self, body: Any, *, row_id: str | None = None, version: str = "2.53") -> Reply:
        """Change the row to play with, or another."""
        return self.send("PUT", f"/os-services/{row_id or self.row()['id']}", body, version=version)

    def restore(self) -> None:
        """As it was found: enabled, not forced down."""
        assert self.put({"forced_down": False}).status == 200
        assert self.put({"status": "enabled"}).status == 200


def exchange(method: str, url: str, headers: Mapping[str, str], body: Any) -> Reply:
    """One request and its answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=90)
    try:
        data = None if body is None else json.dumps(body)
        kind = {"Content-Type": "application/json", "Accept": "application/json"}
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target or "/", data, {**kind, **headers})
        answer = connection.getresponse()
        raw = answer.read()
    finally:
        connection.close()
    names = {name.lower(): value for name, value in answer.getheaders()}
    return Reply(answer.status, names, json.loads(raw) if raw[:1] in (b"{", b"[") else None)


@contextmanager
def embedded() -> Iterator[Access]:
    """The embedded cloud, with the services of a small Nova."""
    with ComputeApi() as api:
        api.add("fake1")
        api.add("fake2")
        api.add("controller", "nova-conductor")
        api.add("controller", "nova-scheduler")
        account = api.account
        yield Access(api.auth_url, account.username, account.password, account.project, "fake1")


@contextmanager
def real() -> Iterator[Access]:
    """The cloud that the environment names."""
    names = ("AUTH_URL", "USERNAME", "PASSWORD", "PROJECT", "HOST")
    yield Access(*(os.environ[f"CONTRACT_{name}"] for name in names))


CLOUDS = {"embedded": embedded, **({"real": real} if os.environ.get(REAL) else {})}
