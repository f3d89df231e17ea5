# SPDX-License-Identifier: Apache-2.0
"""Whose marker may be taken over."""

from __future__ import annotations

from pathlib import Path

import pytest

from ocf_agents.agents.nova_compute import AGENT, SERVICE
from ocf_agents.guard import marker
from ocf_agents.guard.row import Row
from ocf_agents.operator import adopting
from ocf_agents.operator.cib import Configured
from ocf_agents.operator.resource import Resource
from ocf_agents.operator.trouble import BadInput, Refused, Unusable
from tests.unit.operator.test_holding import FakeRows, desk

AT = "2026-11-30T11:23:23Z"
OLD = marker.make("old", "cmp-7", AT, "5b964e4f5116da1e")


def resource(name: str, configured: Configured | None = None) -> Resource:
    return Resource(name, AGENT, SERVICE, configured=configured)


def row(reason: str | None, *, disabled: bool = True) -> Row:
    return Row("id", disabled, reason)


def test_only_a_marker_of_another_name_is_found() -> None:
    assert adopting.found(row(str(OLD)), "nc", "cmp-7") == OLD
    assert adopting.found(row(str(OLD)), "old", "cmp-7") is None
    assert adopting.found(row(str(OLD)), "old", "cmp-8") == OLD
    assert adopting.found(row("RAM"), "nc", "cmp-7") is None
    assert adopting.found(row(f"{OLD} "), "nc", "cmp-7") is None
    assert adopting.found(row(str(OLD), disabled=False), "nc", "cmp-7") is None


@pytest.mark.parametrize(
    ("resource", "host"), [(None, None), ("olds", None), ("old", "cmp-8"), ("", "cmp-7"), ("nc", "cmp-7")]
)
def test_the_names_must_be_given_exactly(resource: str | None, host: str | None) -> None:
    with pytest.raises(BadInput, match="--from-resource old --from-host cmp-7"):
        adopting.check(OLD, resource, host, [])


def test_a_resource_that_is_still_here_keeps_its_own() -> None:
    adopting.check(OLD, "old", None, ["nc"])
    adopting.check(OLD, "old", "cmp-7", [])
    with pytest.raises(Refused, match="still here"):
        adopting.check(OLD, "old", "cmp-7", ["old"])


def test_what_may_still_land_is_waited_for() -> None:
    with pytest.raises(Refused, match="may still land"):
        adopting.check(OLD, "old", None, [], ["old"])
    adopting.check(OLD, "old", None, [], ["nc"])


def test_a_record_alone_is_no_resource_where_the_cluster_tells() -> None:
    configured = resource("nc", Configured("nc", "ocf", "heartbeat", "nova-compute"))
    both = [configured, resource("old")]
    assert adopting.still_here(both, is_cluster_known=True) == ["nc"]
    assert adopting.still_here(both, is_cluster_known=False) == ["nc", "old"]


def test_a_record_that_cannot_be_read_stops_it_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    rows = FakeRows(Row("id", True, str(OLD), True))
    for is_running in (True, False):
        with pytest.raises(Unusable, match="the record cannot be read"):
            adopting.adopt(desk(tmp_path, rows), OLD, row(str(OLD)), is_running=is_running)
    assert rows.row == Row("id", True, str(OLD), True)
