# SPDX-License-Identifier: Apache-2.0
"""Where the cloud is: regions, interfaces, a CA that is not given, proxies."""

from __future__ import annotations

from pathlib import Path

import pytest

from ocf_agents.testing.compute.certificates import Authority
from ocf_agents.testing.compute.keystone import Endpoint
from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import wait_for

from . import stage
from .conftest import MakeStage
from .stage import HOST, Stage
from .watch import read

PATIENT = {"head_start": "30s"}
TWO = ("RegionOne", "RegionTwo")


def stop_and_rest(here: Stage) -> None:
    """A stop whose disable has been answered."""
    here.stop(parameters=PATIENT, timeout=60, bound=40)
    here.come_to_rest()


def test_only_the_named_region_is_asked_and_changed(mark: str, make_stage: MakeStage) -> None:
    with ComputeApi(report_interval=1.0, regions=TWO, account=stage.secrets(mark)) as api:
        first, second = api.add(HOST), api.add(HOST, alive=False, region="RegionTwo")
        here = make_stage(api, row=second, region_name="RegionTwo", api_timeout="20s")
        here.run_service()
        stop_and_rest(here)
        assert here.is_ours()
        assert here.start(60.0).code == 0
        assert (first.disabled, second.disabled) == (False, False)
        assert api.count("PUT") == 2
        asked = {request.headers["host"] for request in api.log.select(path="os-services")}
        assert asked == {api.regions["RegionTwo"].listener.origin.removeprefix("http://")}
        here.come_to_rest()


def test_of_two_regions_none_is_chosen_and_the_log_says_what_to_set(mark: str, make_stage: MakeStage) -> None:
    with ComputeApi(report_interval=1.0, regions=TWO, account=stage.secrets(mark)) as api:
        first, second = api.add(HOST, alive=False), api.add(HOST, region="RegionTwo")
        here = make_stage(api, row=first)
        assert here.start().code == 0
        (warning,) = [line for line in here.log().splitlines() if " WARNING: " in line]
        assert "set region_name (RegionOne, RegionTwo): the compute service is in several regions" in warning
        here.stop()
        assert api.wait_for(lambda: api.count("POST") > 1, 20)
        assert (first.disabled, second.disabled) == (False, False)
        assert api.count(path="os-services") == 0
        assert here.run("reload-agent", parameters={"region_name": "RegionOne"}).code == 0
        here.come_to_rest()
        assert here.is_ours()
        assert not second.disabled


@pytest.mark.parametrize("interface", ["internal", "admin"])
def test_only_the_chosen_interface_is_asked(api: ComputeApi, make_stage: MakeStage, interface: str) -> None:
    with ComputeApi() as elsewhere:
        others = [one for one in ("public", "internal", "admin") if one != interface]
        endpoints = [
            Endpoint("compute", "nova", "RegionOne", elsewhere.regions["RegionOne"].url, one)
            for one in others
        ]
        here_too = Endpoint("compute", "nova", "RegionOne", api.regions["RegionOne"].url, interface)
        api.keystone.endpoints = [one for one in api.keystone.endpoints if one.kind != "compute"]
        api.keystone.endpoints += [*endpoints, here_too]
        here = make_stage(api, interface=interface, api_timeout="20s")
        here.run_service()
        stop_and_rest(here)
        assert here.is_ours()
        assert elsewhere.requests == []


def test_a_private_ca_that_is_not_given_sends_no_password_until_reload(
    mark: str, make_stage: MakeStage, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    tls = authority.server_context()
    with ComputeApi(report_interval=1.0, account=stage.secrets(mark), tls=tls) as api:
        here = make_stage(api)
        assert here.start().code == 0
        assert f"set cacert: the TLS certificate of {api.auth_url}/auth/tokens is not trusted" in here.log()
        here.stop()
        assert wait_for(lambda: bool(here.node.helpers()), 20)
        assert api.requests == []
        assert here.run("reload-agent", parameters={"cacert": authority.ca_file}).code == 0
        here.come_to_rest()
        assert here.is_ours()


def test_proxies_of_the_environment_are_not_used_and_go_no_further(
    api: ComputeApi, make_stage: MakeStage, mark: str
) -> None:
    """What /etc/default/pacemaker says reaches each agent; a proxy may even hold a password (case 48)."""
    with ComputeApi() as proxy:
        there = f"http://user:{mark}@{proxy.compute.origin.removeprefix('http://')}"
        names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        here = make_stage(api)
        here.run("start", parameters=stage.NO_CLOUD, env_extra=dict.fromkeys(names, there))
        assert b"proxy" not in read(here.node.pid or 0, "environ").lower()
        here.stop(parameters=PATIENT, timeout=60, bound=40, env_extra=dict.fromkeys(names, there))
        here.come_to_rest()
        assert here.is_ours()
        assert (
            here.node.run(
                "start", timeout=60, env_extra={**dict.fromkeys(names, there), "no_proxy": "*"}
            ).code
            == 0
        )
        assert not here.row.disabled
        assert proxy.requests == []
