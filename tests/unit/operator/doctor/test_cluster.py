# SPDX-License-Identifier: Apache-2.0
"""What the cluster's configuration says that would bite."""

from __future__ import annotations

import pytest

from ocf_agents.agents.nova_compute import AGENT, SERVICE
from ocf_agents.operator.cib import Cluster, Configured, Operation
from ocf_agents.operator.doctor import cluster
from ocf_agents.operator.doctor.finding import OK, PROBLEM, WARNING, Finding
from ocf_agents.operator.resource import Resource

GOOD = (
    Operation("start", 0, 240, 0),
    Operation("stop", 0, 240, 0),
    Operation("monitor", 10, 30, 0),
)
META = {"failure-timeout": "120s"}


def findings(
    operations: tuple[Operation, ...] = GOOD,
    meta: dict[str, str] | None = None,
    parameters: dict[str, str] | None = None,
    followed: frozenset[str] = frozenset(),
    clone: str | None = "nc-clone",
    **clone_meta: str,
) -> list[Finding]:
    configured = Configured(
        "nc",
        "ocf",
        "heartbeat",
        "nova-compute",
        operations=operations,
        meta=META if meta is None else meta,
        clone=clone,
        clone_meta={name.replace("_", "-"): value for name, value in clone_meta.items()},
    )
    resource = Resource("nc", AGENT, SERVICE, parameters or {}, "", configured)
    return list(cluster.of_resource(resource, Cluster((configured,), followed=followed)))


def bad(found: list[Finding]) -> list[tuple[str, str]]:
    return [(one.level, one.what) for one in found if one.level != OK]


def replaced(new: Operation) -> tuple[Operation, ...]:
    return tuple(new if one.name == new.name else one for one in GOOD)


def test_what_the_readme_says_is_well() -> None:
    assert bad(findings()) == []
    assert len(findings()) >= 4


def test_each_finding_that_is_not_well_has_a_mend() -> None:
    every = [*findings(operations=(), meta={}), *findings(clone=None), *findings(globally_unique="true")]
    assert len([one for one in every if one.level != OK]) >= 6
    assert [one for one in every if one.level != OK and not one.mend] == []


@pytest.mark.parametrize(
    ("timeout", "api_timeout", "expected"),
    [(240, "10s", OK), (60, "10s", PROBLEM), (60, "3s", OK), (None, "10s", PROBLEM), (240, "60s", PROBLEM)],
)
def test_a_start_needs_time_for_a_dead_api(timeout: float | None, api_timeout: str, expected: str) -> None:
    found = findings(replaced(Operation("start", 0, timeout, 0)), parameters={"api_timeout": api_timeout})
    assert [one.level for one in found if one.what == "start"] == [expected]


@pytest.mark.parametrize(
    ("timeout", "head_start", "expected"),
    [
        (240, "3s", OK),
        (190, "3s", WARNING),
        (20, "3s", PROBLEM),
        (None, "3s", PROBLEM),
        (240, "60s", WARNING),
    ],
)
def test_a_stop_needs_time_for_novas_graceful_shutdown(
    timeout: float | None, head_start: str, expected: str
) -> None:
    found = findings(replaced(Operation("stop", 0, timeout, 0)), parameters={"head_start": head_start})
    assert [one.level for one in found if one.what == "stop"] == [expected]


@pytest.mark.parametrize(
    ("monitor", "expected"),
    [
        (Operation("monitor", 10, 30, 0), []),
        (Operation("monitor", 10, 5, 0), [(PROBLEM, "monitor 10s")]),
        (Operation("monitor", 300, 30, 0), [(WARNING, "monitor 300s")]),
        (Operation("monitor", 0, 30, 0), [(PROBLEM, "monitor")]),
        (Operation("monitor", 60, 60, 10), [(WARNING, "monitor")]),
        (Operation("monitor", 60, 15, 10), [(WARNING, "monitor"), (PROBLEM, "monitor 60s")]),
    ],
    ids=["good", "short", "rare", "a probe only", "deep only", "deep only and short"],
)
def test_monitors(monitor: Operation, expected: list[tuple[str, str]]) -> None:
    assert bad(findings(replaced(monitor))) == expected


def test_without_failure_timeout_a_failed_start_bans_for_ever() -> None:
    assert bad(findings(meta={})) == [(PROBLEM, "failure-timeout")]


def test_interleave_matters_where_something_follows_the_clone() -> None:
    assert bad(findings()) == []
    assert bad(findings(followed=frozenset({"nc-clone"}))) == [(WARNING, "interleave")]
    assert bad(findings(followed=frozenset({"nc-clone"}), interleave="true")) == []


def test_a_primitive_that_is_no_clone_runs_once_unless_its_host_moves() -> None:
    assert bad(findings(clone=None)) == [(WARNING, "clone")]
    assert bad(findings(clone=None, parameters={"host": "cmp"})) == []


def test_two_resources_for_one_row() -> None:
    assert list(cluster.of_hosts({"a": "cmp-7", "b": "cmp-8"})) == []
    (found,) = cluster.of_hosts({"a": "cmp-7", "b": "cmp-7"})
    assert (found.level, "a and b" in found.text) == (PROBLEM, True)


@pytest.mark.parametrize("name", ["start", "stop", "monitor"])
def test_a_failure_that_is_ignored_is_never_recovered(name: str) -> None:
    operations = tuple(one._replace(on_fail="ignore") if one.name == name else one for one in GOOD)
    assert bad(findings(operations)) == [(PROBLEM, name)]


def test_other_answers_to_a_failure_are_the_operators_own() -> None:
    assert bad(findings(tuple(one._replace(on_fail="fence") for one in GOOD))) == []


@pytest.mark.parametrize("meta", [{"is-managed": "false"}, {"maintenance": "true"}])
def test_a_resource_that_is_not_managed(meta: dict[str, str]) -> None:
    assert bad(findings(meta={**META, **meta})) == [(WARNING, "unmanaged")]


@pytest.mark.parametrize(
    ("fence", "options", "expected"),
    [
        ("fence_ipmilan", {}, []),
        ("fence_ipmilan", {"stonith-enabled": "false"}, [(PROBLEM, "fencing")]),
        (None, {"stonith-enabled": "false"}, [(PROBLEM, "fencing")]),
        (None, {}, [(PROBLEM, "fencing")]),
        ("fence_compute", {}, [(WARNING, "evacuator")]),
        ("fence_ipmilan", {"maintenance-mode": "true"}, [(WARNING, "maintenance")]),
    ],
    ids=["well", "off", "off and no device", "no device", "evacuator", "maintenance"],
)
def test_fencing_evacuators_and_maintenance(
    fence: str | None, options: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    resources = () if fence is None else (Configured("f", "stonith", "", fence),)
    assert bad(list(cluster.of_cluster(Cluster(resources, options)))) == expected
