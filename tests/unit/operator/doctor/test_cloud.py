# SPDX-License-Identifier: Apache-2.0
"""What the cloud says that would bite, asked for real."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ocf_agents.agents.nova_compute import AGENT, SERVICE
from ocf_agents.openstack.survey import Survey
from ocf_agents.operator.doctor import cloud
from ocf_agents.operator.doctor.finding import OK, PROBLEM, WARNING, Finding
from ocf_agents.operator.resource import Resource
from ocf_agents.testing.compute import faults
from ocf_agents.testing.compute_api import ComputeApi


@pytest.fixture
def api() -> Iterator[ComputeApi]:
    with ComputeApi() as found:
        found.add("cmp-7")
        yield found


def resource(api: ComputeApi, **more: str) -> Resource:
    return Resource("nc", AGENT, SERVICE, {**api.credentials(), "api_timeout": "5s", **more})


def surveyed(api: ComputeApi) -> Survey:
    found = cloud.asked(resource(api))
    assert isinstance(found, Survey)
    return found


def levels(found: Survey) -> dict[str, str]:
    return {one.what: one.level for one in cloud.of_survey(found)}


def test_a_cloud_that_is_well(api: ComputeApi) -> None:
    found = surveyed(api)
    assert levels(found) == dict.fromkeys(["login", "role", "microversion", "region", "clock"], OK)
    assert cloud.of_row(found, "cmp-7", "nova-compute").level == OK


def test_it_changes_nothing(api: ComputeApi) -> None:
    row = api.row("cmp-7")
    row.disabled, row.reason = True, "RAM"
    surveyed(api)
    assert (row.disabled, row.reason) == (True, "RAM")
    (put,) = [one for one in api.requests if one.method == "PUT"]
    assert (put.status, row.id in put.path) == (404, False)


def test_a_role_that_may_only_read(api: ComputeApi) -> None:
    api.fail(faults.status(403), method="PUT")
    assert levels(surveyed(api))["role"] == PROBLEM


@pytest.mark.parametrize("way", ["login", "list", "dead"])
def test_a_cloud_that_does_not_let_us_in_is_one_finding(api: ComputeApi, way: str) -> None:
    asked = resource(api)
    if way == "login":
        asked = resource(api, password="falsch-und-geheim")
    elif way == "list":
        api.fail(faults.status(403), method="GET", path="os-services", times=None)
    else:
        api.identity.stop()
    found = cloud.asked(asked)
    assert isinstance(found, Finding)
    assert (found.level, found.what) == (PROBLEM, "cloud")
    assert found.mend
    assert "geheim" not in str(found)


def test_no_credentials_at_all() -> None:
    found = cloud.asked(Resource("nc", AGENT, SERVICE, {}))
    assert isinstance(found, Finding)
    assert found.what == "credentials"


@pytest.mark.parametrize("name", ["CMP-7", "cmp-7.example.org"])
def test_a_name_that_differs_in_case_or_domain_is_found(api: ComputeApi, name: str) -> None:
    finding = cloud.of_row(surveyed(api), name, "nova-compute")
    assert finding.level == PROBLEM
    assert "but on cmp-7" in finding.text


def test_a_name_that_nobody_has_is_a_warning(api: ComputeApi) -> None:
    assert cloud.of_row(surveyed(api), "db-1", "nova-compute").level == WARNING


def test_a_row_whose_cell_is_down(api: ComputeApi) -> None:
    api.nova.down_cells.add("cmp-7")
    assert cloud.of_row(surveyed(api), "cmp-7", "nova-compute").level == PROBLEM


def test_an_old_nova() -> None:
    with ComputeApi(maximum=(2, 42)) as api:
        api.add("cmp-7")
        found = cloud.asked(resource(api))
        assert isinstance(found, Finding)
        assert "2.53" in found.text


def test_a_clock_that_is_off(api: ComputeApi) -> None:
    from dataclasses import replace

    found = surveyed(api)
    assert found.issued is not None
    assert levels(replace(found, asked=found.issued + 120))["clock"] == WARNING


@pytest.mark.parametrize("services", [None, ["a"], {}])
def test_an_answer_without_a_list_of_services_is_no_cloud_without_hosts(
    api: ComputeApi, services: object
) -> None:
    api.fail(faults.wrong_json({"services": services}), method="GET", path="os-services")
    found = cloud.asked(resource(api))
    assert isinstance(found, Finding)
    assert found.level == PROBLEM
    assert "without a list of services" in found.text


def test_a_next_start_under_a_name_that_nova_does_not_have_is_a_problem(api: ComputeApi) -> None:
    found = cloud.of_row(surveyed(api), "cmp-7.example.org", "nova-compute", "cmp-7")
    assert found.level == PROBLEM
    assert "the next start is under another name" in found.text
    assert "'cmp-7.example.org'" in found.text
    assert "host in nova.conf, or the parameter host" in found.mend
    assert "Possible rename detected, refusing to start" in found.mend


def test_a_new_host_is_not_to_be_started_by_hand(api: ComputeApi) -> None:
    mend = cloud.of_row(surveyed(api), "db-1", "nova-compute").mend
    assert mend == "a new host has none before the cluster's first start of it: go on; else the name is wrong"
