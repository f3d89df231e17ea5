# SPDX-License-Identifier: Apache-2.0
"""Users of the cloud with rights of some kind, and their application credentials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.cloud import IDENTITY, Application, Cloud

PASSWORD = "only-for-a-story"
ON_PROJECT, ON_DOMAIN, ON_SYSTEM = "projects/{project}", "domains/default", "system"


@dataclass(frozen=True)
class Person:
    """A user; as `Cloud` one acts in the project `service`."""

    id: str
    cloud: Cloud

    def application(self, name: str, role: str, rules: Any = None) -> Application:
        """A credential for a program, confined to access rules if they are given."""
        wanted = {"name": name, "roles": [{"name": role}], **({"access_rules": rules} if rules else {})}
        path = f"/users/{self.id}/application_credentials"
        made = self.cloud.request("POST", IDENTITY, path, {"application_credential": wanted})
        credential = made["application_credential"]
        return Application(self.cloud.auth_url, credential["id"], credential["secret"])


def enrol(admin: Cloud, name: str, role: str, place: str = ON_PROJECT) -> Person:
    """A new user with that role there; an old one of that name goes, with all its credentials."""
    for old in admin.get(IDENTITY, f"/users?name={name}")["users"]:
        admin.request("DELETE", IDENTITY, f"/users/{old['id']}")
    wanted = {"name": name, "domain_id": "default", "password": PASSWORD}
    user = admin.request("POST", IDENTITY, "/users", {"user": wanted})["user"]["id"]
    [project] = admin.get(IDENTITY, "/projects?name=service")["projects"]
    [found] = admin.get(IDENTITY, f"/roles?name={role}")["roles"]
    where = place.format(project=project["id"])
    admin.request("PUT", IDENTITY, f"/{where}/users/{user}/roles/{found['id']}")
    return Person(user, Cloud(admin.auth_url, name, PASSWORD, "service"))
