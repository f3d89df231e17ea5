# SPDX-License-Identifier: Apache-2.0
"""One look around in the cloud, for people: who we are there, what we may, which hosts it has.

Nothing is changed. Whether changes are allowed is tried with a request for a row that no cloud has.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ocf_agents.guard.row import Row
from ocf_agents.openstack.cloud import Cloud, CloudSettings
from ocf_agents.openstack.errand import Errand, Overrun
from ocf_agents.openstack.failure import Failure, explain
from ocf_agents.openstack.rows import COMPUTE, LOADING, Order, as_row, send, services_in

STAGES = 6
"""Requests that a survey takes at most, each within the timeout."""

NOT_FOUND = 404


@dataclass(frozen=True)
class Listed:
    """One row with the host that it is of; `row` is None where Nova does not know its state now."""

    host: str
    row: Row | None


@dataclass(frozen=True)
class Survey:
    """`newest` is Nova's newest microversion, None where it tells none. `issued`: seconds since 1970 at which
    Keystone made the token, None where it does not say; `asked` is this host's own time then.
    `refusal`: why a change would be refused, empty where it would not.
    """

    auth_url: str
    url: str
    regions: tuple[str, ...]
    region: str | None
    newest: tuple[int, int] | None
    roles: tuple[str, ...]
    issued: float | None
    asked: float
    rows: tuple[Listed, ...]
    refusal: str


def survey(settings: CloudSettings, binary: str = COMPUTE, timeout: float = 10.0) -> Survey:
    """Looks around. Raises Failure with the first thing that does not work, in one line without a secret."""
    cloud = Cloud(settings, timeout)
    errand: Errand[Survey] = Errand(lambda errand: _look(errand, cloud, binary, timeout))
    try:
        return errand.run(STAGES * timeout + LOADING)
    except Overrun as overrun:
        raise Failure(f"{overrun.doing}: no answer in time") from None
    except Failure as failure:
        raise Failure(cloud.redact(failure.text), permanent=failure.permanent) from None


def _look(errand: Errand[Survey], cloud: Cloud, binary: str, timeout: float) -> Survey:
    try:
        errand.doing = "reading the cloud's configuration"
        cloud.open()
        errand.doing = f"logging in at {cloud.auth_url}"
        asked = time.time()
        cloud.login()
        errand.doing = "finding the compute service"
        compute = cloud.compute()
        access = cloud.access()
        errand.doing = f"GET {compute.url}/os-services"
        order = Order("GET", "/os-services", {"params": {"binary": binary}})
        reply = send(errand, compute, order, time.monotonic() + timeout)
        if not reply.is_success:
            raise reply.failure()
        rows = tuple(_listed(one, binary) for one in services_in(reply))
        errand.doing = f"PUT {compute.url}/os-services"
        order = Order("PUT", "/os-services", {"json": {"status": "enabled"}}, f"/{uuid.uuid4()}")
        tried = send(errand, compute, order, time.monotonic() + timeout)
        return Survey(
            auth_url=cloud.auth_url,
            url=compute.url,
            regions=tuple(cloud.regions()),
            region=cloud.region,
            newest=compute.newest,
            roles=tuple(access.role_names or ()),
            issued=_seconds(access),
            asked=asked,
            rows=tuple(one for one in rows if one is not None),
            refusal="" if tried.status == NOT_FOUND else cloud.redact(tried.text()),
        )
    except Exception as error:
        raise explain(error, errand.doing, sent=errand.is_sent) from None
    finally:
        cloud.hang_up()


def _listed(service: Mapping[str, Any], binary: str) -> Listed | None:
    if service.get("binary") != binary:
        return None
    host = str(service.get("host"))
    try:
        return Listed(host, as_row(service, ""))
    except Failure:
        return Listed(host, None)


def _seconds(access: Any) -> float | None:  # noqa: ANN401 (keystoneauth's)
    try:
        return float(access.issued.timestamp())
    except Exception:  # a token without it, in some library's words
        return None
