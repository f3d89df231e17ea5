# SPDX-License-Identifier: Apache-2.0
"""What the stories check again and again."""

from __future__ import annotations

import os
import re

from labkit.errors import wait_for
from labkit.resource import Resource
from labkit.tap import Request

LONG = os.environ.get("LAB_LONG") == "1"
HOLD = 20
"""Seconds for which the lab's API may keep a request; nothing is between the agent and Nova here."""

OPERATIONS = {
    "start": "timeout=60s",
    "stop": "timeout=60s",
    "monitor": "interval=1s timeout=20s",
}

MARKER = re.compile(r"ocf-agents disabled: resource=nova-compute host=node1 at=\S+ token=[0-9a-f]+")


def assert_disabled_by_us(compute: Resource, within: float = 20) -> None:
    """The row is disabled with our marker, at the latest `within` seconds from now: stop does not wait for it."""
    wait_for("our disable in the row", lambda: not compute.row.is_enabled, within)
    row = compute.row
    assert row.status == "disabled"
    assert row.reason is not None
    assert MARKER.fullmatch(row.reason), row.reason


def assert_in_service(compute: Resource) -> None:
    """The row is enabled, and at once, not a minute later, Placement lets the scheduler choose the host."""
    assert not compute.cloud.bears_disabled_trait(compute.host)
    assert compute.cloud.may_be_chosen(compute.host)
    row = compute.row
    assert (row.status, row.reason, row.state) == ("enabled", None, "up")


def assert_stays_in_service(compute: Resource, hold: float) -> None:
    """Nothing that was sent comes into effect later: looked at again once nothing is under way."""
    compute.settle(hold + 40)
    assert_in_service(compute)


def writes(requests: list[Request]) -> list[Request]:
    return [request for request in requests if request.method == "PUT"]


def reads_of_the_row(requests: list[Request]) -> list[Request]:
    return [r for r in requests if r.method == "GET" and r.path.startswith("/v2.1/os-services")]
