# SPDX-License-Identifier: Apache-2.0
"""Nova's os-services as Nova answers it: versions, listing, update.

The rules were measured on Nova 32; the contract suite in tests/contract holds both together.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping
from typing import Any, Callable, Optional

from ocf_agents.testing.compute.exchange import Request, Response
from ocf_agents.testing.compute.services import COMPUTE, ServiceRow, Services

MINIMUM, MAXIMUM = (2, 1), (2, 100)
SERVICES = re.compile(r"^/v2\.1/os-services/?([^/]*)$")
OLD_ACTIONS = {"enable", "disable", "disable-log-reason", "force-down"}
Wait = Callable[[float], None]
Authorize = Callable[[Request], Optional[Response]]


class Refusal(Exception):
    """A definite error answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.response = error(code, message)


NAMES = {
    400: "badRequest",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    409: "conflictingRequest",
}


def error(code: int, message: str) -> Response:
    """An error in Nova's form."""
    return Response(code, {NAMES.get(code, "computeFault"): {"code": code, "message": message}})


class NovaApi:
    """One region's Nova. `origin` is filled in when the port is known; `wait` blocks for some seconds."""

    def __init__(
        self, services: Services, authorize: Authorize, *, maximum: tuple[int, int] = MAXIMUM
    ) -> None:
        self.services, self.authorize, self.maximum = services, authorize, maximum
        self.origin = ""
        self.down_cells: set[str] = set()
        self.wait: Wait = time.sleep

    def answer(self, request: Request) -> Response:
        """The answer to one request."""
        try:
            return self._answer(request)
        except Refusal as refusal:
            return refusal.response

    def _answer(self, request: Request) -> Response:
        if request.path in ("/", ""):
            return Response(200, {"versions": [self._version("v2.0"), self._version("v2.1")]})
        if request.path in ("/v2.1", "/v2.1/"):
            return Response(200, {"version": self._version("v2.1")})
        matched = SERVICES.match(request.path)
        if matched is None:
            return self.authorize(request) or Response(
                404, b"404 Not Found\n\nThe resource could not be found.\n"
            )
        return self.authorize(request) or self._os_services(request, matched.group(1))

    def _version(self, name: str) -> dict[str, Any]:
        latest = name == "v2.1"
        return {
            "id": name,
            "status": "CURRENT" if latest else "DEPRECATED",
            "version": dotted(self.maximum) if latest else "",
            "min_version": dotted(MINIMUM) if latest else "",
            "updated": "2013-07-23T11:33:21Z",
            "links": [{"rel": "self", "href": f"{self.origin}/{'v2.1' if latest else 'v2'}/"}],
        }

    def _os_services(self, request: Request, name: str) -> Response:
        version = self._microversion(request.headers)
        if request.method == "GET" and not name:
            answer = self._list(request, version)
        elif request.method == "PUT" and name:
            answer = self._update(request, name, version)
        else:
            raise Refusal(405 if not name else 404, "The method is not allowed for this resource.")
        told = f"compute {dotted(version)}"
        headers = {"OpenStack-API-Version": told, "X-OpenStack-Nova-API-Version": dotted(version)}
        vary = {"Vary": "OpenStack-API-Version, X-OpenStack-Nova-API-Version"}
        return Response(answer.status, answer.body, {**answer.headers, **headers, **vary})

    def _microversion(self, headers: Mapping[str, str]) -> tuple[int, int]:
        text = headers.get("openstack-api-version", "")
        asked = (
            text.split()[1]
            if text.startswith("compute ")
            else headers.get("x-openstack-nova-api-version", "2.1")
        )
        if asked == "latest":
            return self.maximum
        matched = re.fullmatch(r"([1-9]\d*)\.(0|[1-9]\d*)", asked)
        if matched is None:
            raise Refusal(
                400, f"API Version String {asked} is of invalid format. Must be of format MajorNum.MinorNum."
            )
        version = (int(matched.group(1)), int(matched.group(2)))
        if not MINIMUM <= version <= self.maximum:
            limits = f"Minimum is {dotted(MINIMUM)} and maximum is {dotted(self.maximum)}."
            raise Refusal(406, f"Version {asked} is not supported by the API. {limits}")
        return version

    def _list(self, request: Request, version: tuple[int, int]) -> Response:
        query = request.query
        extra = set(query) - {"host", "binary"}
        if version >= (2, 75) and extra:
            raise Refusal(
                400, f"Additional properties are not allowed ({', '.join(sorted(extra))} unexpected)"
            )
        with self.services.lock:
            rows = [row for row in self.services.rows if matches(row, query)]
            shown = [self._show(row, version) for row in rows]
        return Response(200, {"services": [one for one in shown if one is not None]})

    def _show(self, row: ServiceRow, version: tuple[int, int]) -> dict[str, Any] | None:
        """A row; of a cell that cannot be reached a stub (from 2.69 on) or nothing."""
        if row.host in self.down_cells:
            return (
                {"binary": row.binary, "host": row.host, "status": "UNKNOWN"} if version >= (2, 69) else None
            )
        return self.services.show(row, uuid_ids=version >= (2, 53), with_forced_down=version >= (2, 11))

    def _update(self, request: Request, name: str, version: tuple[int, int]) -> Response:
        if version < (2, 53):
            return self._update_by_host(request.body, name, version)
        check_schema(request.body, UPDATE)
        if not is_uuid(name):
            raise Refusal(400, f"Invalid uuid {name}")
        row = self.services.by_id(str(uuid.UUID(name)))
        if row is None:
            raise Refusal(404, f"Service {name} could not be found.")
        if row.binary != COMPUTE:
            raise only_compute(row.binary)
        self._save(row, self._wanted(row, request.body))
        return Response(200, {"service": self.services.show(row)})

    def _wanted(self, row: ServiceRow, body: Mapping[str, Any]) -> dict[str, Any]:
        if body.get("status") == "enabled" and body.get("disabled_reason"):
            raise Refusal(400, "Specifying 'disabled_reason' with status 'enabled' is invalid.")
        wanted: dict[str, Any] = {}
        if "status" in body:
            wanted["disabled"] = body["status"] == "disabled"
            wanted["reason"] = body.get("disabled_reason")
        if "forced_down" in body:
            wanted["forced_down"] = as_boolean(body["forced_down"])
            if row.blocked_by_evacuation and not wanted["forced_down"]:
                why = "as `done` evacuation migration records remain associated with the host."
                raise Refusal(400, f"Unable to force up host {row.host} {why}")
        if not wanted:
            fields = "Fields 'status' or 'forced_down' should be specified."
            raise Refusal(400, f"No updates were requested. {fields}")
        return wanted

    def _save(self, row: ServiceRow, wanted: Mapping[str, Any]) -> None:
        """Save first; the RPC to the compute blocks afterwards, and the answer waits for it."""
        if has_wide_characters(wanted.get("reason")):
            raise Refusal(
                500, "Unexpected API Error. Please report this. <class 'oslo_db.exception.DBError'>"
            )
        if "forced_down" in wanted:
            self.services.set_forced_down(row, wanted["forced_down"])
        if "disabled" in wanted:
            self.wait(self.services.set_status(row, wanted["disabled"], wanted["reason"]))

    def _update_by_host(self, body: object, action: str, version: tuple[int, int]) -> Response:
        """The old style: the action in the path, host and binary in the body."""
        schema = {**UPDATE_BY_HOST, **(FORCED_DOWN if version >= (2, 11) else {})}
        fields = check_schema(body, schema, required=("host", "binary"))
        if action not in OLD_ACTIONS or (action == "force-down" and version < (2, 11)):
            raise Refusal(404, "Unknown action")
        row = self.services.find(fields["host"], fields["binary"])
        if fields["binary"] != COMPUTE:
            raise only_compute(fields["binary"])
        if row is None:
            raise Refusal(404, f"Host '{fields['host']}' is not mapped to any cell")
        wanted, told = old_action(action, fields)
        self._save(row, wanted)
        return Response(200, {"service": {"host": row.host, "binary": row.binary, **told}})


def only_compute(binary: str) -> Refusal:
    """Nova updates no other services."""
    what = f"Updating a {binary} service is not supported."
    return Refusal(400, f"{what} Only nova-compute services can be updated.")


def old_action(action: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What an old-style action changes, and what its answer tells."""
    if action == "force-down":
        if "forced_down" not in body:
            raise Refusal(400, "Missing forced_down field")
        forced = as_boolean(body["forced_down"])
        return {"forced_down": forced}, {"forced_down": forced}
    if action == "enable":
        return {"disabled": False, "reason": None}, {"status": "enabled"}
    if action == "disable":
        return {"disabled": True, "reason": None}, {"status": "disabled"}
    if "disabled_reason" not in body:
        raise Refusal(400, "Missing disabled reason field")
    reason = body["disabled_reason"]
    return {"disabled": True, "reason": reason}, {"status": "disabled", "disabled_reason": reason}


Check = Callable[[Any], bool]


def is_text(value: object) -> bool:
    """A string of 1 to 255 characters."""
    return isinstance(value, str) and 1 <= len(value) <= 255


def is_boolean(value: object) -> bool:
    """What Nova's schema takes for a boolean."""
    return isinstance(value, (bool, str)) and str(value).lower() in TRUE + FALSE


TRUE = ("true", "1", "on", "yes", "t", "y")
FALSE = ("false", "0", "off", "no", "f", "n")
FORCED_DOWN: dict[str, Check] = {"forced_down": is_boolean}
UPDATE: dict[str, Check] = {
    "status": lambda value: value in ("enabled", "disabled"),
    "disabled_reason": is_text,
    **FORCED_DOWN,
}
UPDATE_BY_HOST: dict[str, Check] = {"host": is_text, "binary": is_text, "disabled_reason": is_text}


def as_boolean(value: object) -> bool:
    """A boolean, or its name as a string."""
    return str(value).lower() in TRUE


def check_schema(
    body: object, schema: Mapping[str, Check], *, required: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Refuse (400) a body that is no object, lacks something, has something unknown, or of a wrong form."""
    if not isinstance(body, dict):
        raise Refusal(400, "Malformed request body")
    for name in required:
        if name not in body:
            raise Refusal(400, f"Invalid input for field/attribute {name}. '{name}' is a required property")
    for name, value in body.items():
        if name not in schema:
            raise Refusal(400, f"Additional properties are not allowed ('{name}' was unexpected)")
        if not schema[name](value):
            raise Refusal(400, f"Invalid input for field/attribute {name}.")
    return body


def has_wide_characters(text: str | None) -> bool:
    """True when MariaDB's three-byte utf8 cannot hold it (Nova answers 500)."""
    return text is not None and any(ord(character) > 0xFFFF for character in text)


def is_uuid(text: str) -> bool:
    """True when Nova takes it for a uuid (hyphens and case do not matter)."""
    try:
        return str(uuid.UUID(text)).replace("-", "") == text.lower().replace("-", "").strip("{}")
    except ValueError:
        return False


def matches(row: ServiceRow, query: Mapping[str, str]) -> bool:
    """Nova's filter: an exact comparison; an empty value does not filter."""
    wanted = (query.get("host", ""), query.get("binary", ""))
    return wanted[0] in ("", row.host) and wanted[1] in ("", row.binary)


def dotted(version: tuple[int, int]) -> str:
    """(2, 53) as 2.53."""
    return f"{version[0]}.{version[1]}"
