# SPDX-License-Identifier: Apache-2.0
"""The configuration of the cloud's services, as texts. Timeouts are Nova's defaults: stories measure them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

PASSWORD = "labpass"
REGION = "RegionOne"
AGENT_USER = "ocf-agents"  # what the agents log in as: admin on one project, nothing else
AGENT_PASSWORD = "Zaunk0enig-im-Schilf"  # nobody else's: it is searched for everywhere (see `canary`)

KEYSTONE, NOVA, PLACEMENT, RABBIT, MYSQL = 5000, 8774, 8778, 5672, 3306

Sections = Mapping[str, Mapping[str, object]]


def ini(sections: Sections) -> str:
    """The text of an oslo.config file."""
    lines = []
    for name, options in sections.items():
        lines += [f"[{name}]", *(f"{option} = {value}" for option, value in options.items()), ""]
    return "\n".join(lines)


@dataclass(frozen=True)
class Settings:
    """Of a control plane at `address` that keeps its files in `home`."""

    address: str
    home: str

    @property
    def auth_url(self) -> str:
        return f"http://{self.address}:{KEYSTONE}/v3"

    @property
    def compute_url(self) -> str:
        return f"http://{self.address}:{NOVA}/v2.1"

    @property
    def placement_url(self) -> str:
        return f"http://{self.address}:{PLACEMENT}"

    def behind(self, proxy: str) -> Settings:
        """The same cloud as it is reached through a proxy at that address."""
        return replace(self, address=proxy)

    @property
    def transport_url(self) -> str:
        return f"rabbit://lab:{PASSWORD}@{self.address}:{RABBIT}/"

    def database(self, name: str) -> str:
        return f"mysql+pymysql://lab:{PASSWORD}@127.0.0.1:{MYSQL}/{name}?charset=utf8mb4"

    def login(self, user: str) -> dict[str, object]:
        """How a service logs in to keystone."""
        return {
            "auth_url": self.auth_url,
            "auth_type": "password",
            "username": user,
            "password": PASSWORD,
            "project_name": "service",
            "user_domain_id": "default",
            "project_domain_id": "default",
        }

    def keystone(self) -> str:
        return ini(
            {
                "DEFAULT": {"use_stderr": "true"},
                "database": {"connection": self.database("keystone")},
                "token": {"provider": "fernet", "expiration": 86400},
                "fernet_tokens": {"key_repository": f"{self.home}/etc/fernet"},
                "credential": {"key_repository": f"{self.home}/etc/credential"},
                "identity": {"password_hash_rounds": 4},
                "cache": {"enabled": "true", "backend": "dogpile.cache.memory"},
            }
        )

    def placement(self) -> str:
        return ini(
            {
                "DEFAULT": {"use_stderr": "true"},
                "placement_database": {"connection": self.database("placement"), "sync_on_startup": "true"},
                "api": {"auth_strategy": "keystone"},
                "keystone_authtoken": {"www_authenticate_uri": self.auth_url, **self.login("placement")},
            }
        )

    def nova(self) -> str:
        """Of nova-api, nova-conductor and nova-scheduler."""
        sections = self._nova_common(self.address, f"{self.home}/state")
        return ini(
            {
                **sections,
                "api_database": {"connection": self.database("nova_api")},
                "database": {"connection": self.database("nova_cell1")},
                "keystone_authtoken": {
                    "service_type": "compute",
                    "token_cache_time": -1,  # else a revoked token is good for five minutes more
                    "www_authenticate_uri": self.auth_url,
                    **self.login("nova"),
                },
                "scheduler": {"workers": 1},
                "conductor": {"workers": 1},
            }
        )

    def nova_compute(self, host: str, address: str, state: str = "/var/lib/nova") -> str:
        """Of one nova-compute: no database, a fake hypervisor that survives a restart."""
        sections = self._nova_common(address, state)
        driver = {"host": host, "compute_driver": "fake.FakeDriverWithoutFakeNodes"}
        return ini({**sections, "DEFAULT": {**sections["DEFAULT"], **driver}})

    def _nova_common(self, address: str, state: str) -> dict[str, dict[str, object]]:
        return {
            "DEFAULT": {
                "use_stderr": "true",
                "my_ip": address,
                "state_path": state,
                "transport_url": self.transport_url,
            },
            "placement": {**self.login("placement"), "region_name": REGION},
            "oslo_concurrency": {"lock_path": f"{state}/lock"},
            "vnc": {"enabled": "false"},
        }

    def rabbit(self) -> str:
        """A user of our own: guest may only come from the loopback."""
        return f"listeners.tcp.1 = 0.0.0.0:{RABBIT}\ndefault_user = lab\ndefault_pass = {PASSWORD}\n"

    def agent_login(self) -> dict[str, str]:
        """The agents' parameters, in the place of `cloud`, that lead them to the catalog's admin endpoint."""
        return {
            "auth_url": self.auth_url,
            "username": AGENT_USER,
            "password": AGENT_PASSWORD,
            "project_name": "service",
            "interface": "admin",
        }

    def clouds(self) -> str:
        """clouds.yaml of the agents."""
        return f"""\
clouds:
  lab:
    region_name: {REGION}
    auth:
      auth_url: {self.auth_url}
      username: {AGENT_USER}
      password: {AGENT_PASSWORD}
      project_name: service
      user_domain_id: default
      project_domain_id: default
"""
