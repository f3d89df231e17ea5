# SPDX-License-Identifier: Apache-2.0
"""Users and endpoints of a cloud that knows only its administrator yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.cloud import IDENTITY, Cloud
from labkit.settings import AGENT_PASSWORD, AGENT_USER, PASSWORD, REGION, Settings

INTERFACES = ("public", "internal")


def fill(cloud: Cloud, settings: Settings, proxy: str) -> None:
    """Make the service project, its users, and Nova's and Placement's endpoints; what is there stays.

    Nova's admin endpoint, which nothing else uses, leads through the lab's proxy at the address `proxy`.
    """
    project = _have(cloud, "project", {"name": "service", "domain_id": "default"})
    for user in ("nova", "placement"):
        _member(cloud, project, user, ("admin", "service"))
    agent = _member(cloud, project, AGENT_USER, ("admin",))
    cloud.request("PATCH", IDENTITY, f"/users/{agent}", {"user": {"password": AGENT_PASSWORD}})
    direct = settings.compute_url
    urls = {"public": direct, "internal": direct, "admin": settings.behind(proxy).compute_url}
    _endpoints(cloud, "nova", "compute", urls)
    _endpoints(cloud, "placement", "placement", dict.fromkeys(INTERFACES, settings.placement_url))


def _have(cloud: Cloud, kind: str, wanted: dict[str, Any]) -> str:
    """The id of the thing of that name, made if need be."""
    found = cloud.get(IDENTITY, f"/{kind}s?name={wanted['name']}")[f"{kind}s"]
    return str((found or [cloud.request("POST", IDENTITY, f"/{kind}s", {kind: wanted})[kind]])[0]["id"])


def _member(cloud: Cloud, project: str, name: str, roles: tuple[str, ...]) -> str:
    user = _have(cloud, "user", {"name": name, "domain_id": "default", "password": PASSWORD})
    for role in roles:
        role_id = _have(cloud, "role", {"name": role})
        cloud.request("PUT", IDENTITY, f"/projects/{project}/users/{user}/roles/{role_id}")
    return user


def _endpoints(cloud: Cloud, name: str, kind: str, urls: Mapping[str, str]) -> None:
    service = _have(cloud, "service", {"name": name, "type": kind})
    for interface, url in urls.items():
        query = f"/endpoints?service_id={service}&interface={interface}"
        if not cloud.get(IDENTITY, query)["endpoints"]:
            endpoint = {"service_id": service, "interface": interface, "url": url, "region_id": REGION}
            cloud.request("POST", IDENTITY, "/endpoints", {"endpoint": endpoint})
