# SPDX-License-Identifier: Apache-2.0
"""Users and endpoints of a cloud that knows only its administrator yet."""

from __future__ import annotations

from typing import Any

from labkit.cloud import IDENTITY, Cloud
from labkit.settings import AGENT_USER, PASSWORD, REGION, Settings


def fill(cloud: Cloud, settings: Settings) -> None:
    """Make the service project, its users, and Nova's and Placement's endpoints; what is there stays."""
    project = _have(cloud, "project", {"name": "service", "domain_id": "default"})
    for user in ("nova", "placement"):
        _member(cloud, project, user, ("admin", "service"))
    _member(cloud, project, AGENT_USER, ("admin",))
    _endpoints(cloud, "nova", "compute", settings.compute_url)
    _endpoints(cloud, "placement", "placement", settings.placement_url)


def _have(cloud: Cloud, kind: str, wanted: dict[str, Any]) -> str:
    """The id of the thing of that name, made if need be."""
    found = cloud.get(IDENTITY, f"/{kind}s?name={wanted['name']}")[f"{kind}s"]
    return str((found or [cloud.request("POST", IDENTITY, f"/{kind}s", {kind: wanted})[kind]])[0]["id"])


def _member(cloud: Cloud, project: str, name: str, roles: tuple[str, ...]) -> None:
    user = _have(cloud, "user", {"name": name, "domain_id": "default", "password": PASSWORD})
    for role in roles:
        role_id = _have(cloud, "role", {"name": role})
        cloud.request("PUT", IDENTITY, f"/projects/{project}/users/{user}/roles/{role_id}")


def _endpoints(cloud: Cloud, name: str, kind: str, url: str) -> None:
    service = _have(cloud, "service", {"name": name, "type": kind})
    for interface in ("public", "internal"):
        query = f"/endpoints?service_id={service}&interface={interface}"
        if not cloud.get(IDENTITY, query)["endpoints"]:
            endpoint = {"service_id": service, "interface": interface, "url": url, "region_id": REGION}
            cloud.request("POST", IDENTITY, "/endpoints", {"endpoint": endpoint})
