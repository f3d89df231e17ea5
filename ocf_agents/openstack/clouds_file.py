# SPDX-License-Identifier: Apache-2.0
"""clouds.yaml and the secure.yaml beside it, checked before openstacksdk reads them.

openstacksdk answers a slip in them with whatever its own code stumbles over; here each gets one line
that names the file and the key, and shows no value.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from ocf_agents.openstack.failure import Failure
from ocf_agents.openstack.stray_keys import WHO, stray
from ocf_agents.openstack.text_file import read_text

SECRETS = ("password", "application_credential_secret", "token", "passcode", "client_secret")
SECTIONS = ("cache", "client", "metrics")
IDENTITY = (*WHO, "token")
TEXTS = ("auth_type", "profile", "cloud", "interface", "endpoint_type", "cacert", "cert", "key", *IDENTITY)


class CloudsFile:
    """One cloud in clouds.yaml. `path` is an absolute path."""

    def __init__(self, path: str, cloud: str) -> None:
        self.path, self.cloud = path, cloud
        self.secure = os.path.join(os.path.dirname(path), "secure.yaml")

    def contents(self) -> list[dict[str, Any]]:
        """What the files say. Raises Failure for one that cannot be read or parsed."""
        return [read_yaml(path) for path in [self.path] + [self.secure] * os.path.lexists(self.secure)]

    def strays(self) -> list[str]:
        """Keys that nobody reads and that look like slips, one line each; none where the files are bad."""
        try:
            return [f"{line} ({self.path})" for line in stray(self.contents(), self.cloud)]
        except Failure:
            return []

    def check(self, clouds: Mapping[str, Any], region_name: str | None) -> None:
        """Refuse an entry that cannot be right, among the clouds of both files; with several regions
        one must be named (case 37: never the first). Raises Failure."""
        where = f"in {self.path} (clouds_file)"
        entry = clouds.get(self.cloud)
        if not isinstance(entry, dict):
            raise Failure(f"set cloud: no cloud {self.cloud!r} {where}", permanent=True)
        for key, expected in slips(entry):
            raise Failure(f"{key} of cloud {self.cloud!r} {where} must be {expected}", permanent=True)
        names = entry.get("region_name") or entry.get("regions") or []
        names = names.split(",") if isinstance(names, str) else names
        if len(names) > 1 and not region_name:
            raise Failure(
                f"set region_name: cloud {self.cloud!r} {where} has several regions", permanent=True
            )


def read_yaml(path: str) -> dict[str, Any]:
    """The mapping in a file. Raises Failure, which does not show what is in it."""
    import yaml

    try:
        content = yaml.safe_load(read_text(path))
    except OSError as error:
        raise Failure(f"cannot read {path} (clouds_file): {error.strerror}", permanent=True) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise Failure(f"{path} (clouds_file) is no YAML: see line {line}", permanent=True) from None
    except Exception:  # ValueError of a date or of UTF-8, RecursionError, what else its parts may raise
        raise Failure(f"{path} (clouds_file) is no YAML", permanent=True) from None
    if not isinstance(content, dict) or not isinstance(content.get("clouds", {}), dict):
        raise Failure(f"{path} (clouds_file) has no section 'clouds'", permanent=True)
    for section in SECTIONS:
        if not isinstance(content.get(section, {}), dict):
            raise Failure(f"{section} in {path} (clouds_file) must be a mapping", permanent=True)
    return content


def slips(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each key of a cloud whose value cannot be right, and what it must be."""
    auth = entry.get("auth", {})
    if not isinstance(auth, dict):
        yield "auth", "a mapping"
        auth = {}
    for prefix, part, names in (("", entry, TEXTS), ("auth.", auth, IDENTITY)):
        if part.get("auth_url") is not None and not is_url(part["auth_url"]):
            yield f"{prefix}auth_url", "a URL such as https://keystone:5000/v3"
        for name in names:
            if not isinstance(part.get(name), (str, type(None))):  # an empty value is none at all
                yield prefix + name, "a text, in quotes if need be"
    for name in ("auth_url", "password"):
        if auth.get(name, "") is None:
            yield f"auth.{name}", "a text"
    if not isinstance(entry.get("verify", True), bool):  # openstacksdk takes an empty one for false
        yield "verify", "true or false"
    if not is_switch(entry.get("insecure") or False):
        yield "insecure", "true or false"
    if not isinstance(entry.get("region_name", ""), (str, list)):
        yield "region_name", "a text"
    regions = entry.get("regions", [])
    if not isinstance(regions, list) or not all(map(is_region, regions)):
        yield "regions", "a list of names"


def is_region(value: object) -> bool:
    """True for a region's name, alone or with values that hold there."""
    if isinstance(value, dict):
        return isinstance(value.get("name"), str) and isinstance(value.get("values", {}), dict)
    return isinstance(value, str)


def is_switch(value: object) -> bool:
    """True for true and false, also as texts: openstacksdk takes these for `insecure`."""
    return isinstance(value, bool) or (isinstance(value, str) and value.lower() in ("true", "false"))


def is_url(value: object) -> bool:
    """True for a URL that a request can be sent to."""
    if not isinstance(value, str) or not value.isprintable() or " " in value:
        return False
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def secrets_in(contents: Iterable[object]) -> list[str]:
    """All texts that nobody may see, at whatever depth. A part that is referred to often is seen once."""
    found: list[str] = []
    waiting = list(contents)
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        if not isinstance(part, (dict, list)) or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            found += [str(part[name]) for name in SECRETS if isinstance(part.get(name), (str, int, float))]
        waiting += part.values() if isinstance(part, dict) else part
    return found
