# SPDX-License-Identifier: Apache-2.0
"""Keys of clouds.yaml that nobody reads, and that were probably meant for others. Pure.

openstacksdk takes any key, for a plugin or a service may have its own, and says nothing of `regoin_name`.
Only a key that is nearly one which decides where we go, and as whom, is told.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping

WHO = (
    "username",
    "password",
    "user_id",
    "user_domain_id",
    "user_domain_name",
    "project_id",
    "project_name",
    "project_domain_id",
    "project_domain_name",
    "application_credential_id",
    "application_credential_name",
    "application_credential_secret",
)
AUTH = ("auth_url", *WHO)
WHERE = ("auth", "auth_type", "profile", "region_name", "regions", "interface", "cacert", "cert", "key")
HOW = ("verify", "insecure")
OTHERS = (
    "access_token",
    "api_timeout",
    "auth_methods",
    "auth_plugin",
    "auth_token",
    "cloud",
    "default_domain_id",
    "default_domain_name",
    "domain_id",
    "domain_name",
    "endpoint",
    "endpoint_type",
    "identity_provider_url",
    "passcode",
    "protocol",
    "system_scope",
    "tenant_id",
    "tenant_name",
    "token",
    "trust_id",
)
"""Read as well, by openstacksdk or by one of Keystone's plugins, and near to one of the others."""

OF_A_SERVICE = (
    "_api_version",
    "_auth_type",
    "_endpoint_override",
    "_endpoint_type",
    "_interface",
    "_region_name",
    "_service_name",
    "_service_type",
)
NEAR = 0.8


def stray(contents: Iterable[Mapping[str, object]], cloud: str) -> list[str]:
    """One line for each, of a cloud in what clouds.yaml and secure.yaml say; no value is shown."""
    found = []
    for content in contents:
        clouds = content.get("clouds")
        entry = clouds.get(cloud) if isinstance(clouds, dict) else None
        if isinstance(entry, dict):
            auth = entry.get("auth")
            found += [*_of(entry, ""), *_of(auth if isinstance(auth, dict) else {}, "auth.")]
    return [f"{key} of cloud {cloud!r} is read by nobody: {meant} is" for key, meant in found]


def _of(part: Mapping[object, object], prefix: str) -> Iterator[tuple[str, str]]:
    known = (*AUTH, *OTHERS) if prefix else (*AUTH, *WHERE, *HOW, *OTHERS)
    for key in part:
        name = str(key).replace("-", "_")  # as openstacksdk does
        if name in known or name.endswith(OF_A_SERVICE):
            continue
        for meant in difflib.get_close_matches(name.lower(), set(known) - set(OTHERS), 1, NEAR):
            yield f"{prefix}{ascii(key)[1:-1][:40]}", prefix + meant
