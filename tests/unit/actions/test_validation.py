# SPDX-License-Identifier: Apache-2.0
"""validate-all at level 10: what is an error, what is a warning, and what each of them says."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.testing.compute_api import ComputeApi, Fault, faults
from ocf_agents.testing.node import Node
from ocf_agents.testing.pinned import pin
from ocf_agents.testing.run import Pacemaker, Result

AGENT = Path(__file__).parents[3] / "heartbeat" / "nova-compute"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("clouds: {ha: {auth: {auth_url: 'http://127.0.0.1:9'}}}\n", "no cloud 'hb'"),
        ("clouds: 3\n", "clouds.yaml"),
        (None, "clouds.yaml"),
    ],
    ids=["another cloud", "no clouds", "no file"],
)
def test_level_10_tells_a_cloud_that_is_not_in_the_file(
    tmp_path: Path, content: str | None, said: str
) -> None:
    clouds = tmp_path / "clouds.yaml"
    if content is not None:
        clouds.write_text(content)
    agent = pin(AGENT, tmp_path)
    parameters = {"cloud": "hb", "clouds_file": clouds, "binary": sys.executable}
    resource = Pacemaker(str(agent), {**parameters, "user": os.geteuid()})
    assert resource.run("validate-all").code == 0, "level 0 looks at the parameters only"
    result = resource.run("validate-all", level=10)
    assert result.code == 2
    assert said in (result.reason or "")


@pytest.mark.parametrize(
    ("entry", "code", "said"),
    [
        ({"regoin_name": "RegionOne"}, 0, "regoin_name of cloud 'ha' is read by nobody: region_name is"),
        ({"auth_urll": "x"}, 2, "auth.auth_urll of cloud 'ha' is read by nobody: auth.auth_url is"),
    ],
)
def test_level_10_names_a_key_that_is_a_slip(
    tmp_path: Path, cloud: ComputeApi, entry: dict[str, str], code: int, said: str
) -> None:
    """Where all goes well without it, and beside the failure that it causes."""
    domains = {"user_domain_name": "Default", "project_domain_name": "Default"}
    auth = {**cloud.credentials(), **domains}
    mine = {"auth": {**auth, **entry}} if code else {"auth": auth, **entry}
    clouds, log = tmp_path / "clouds.yaml", tmp_path / "log"
    clouds.write_text(json.dumps({"clouds": {"ha": mine}}))
    parameters = {"cloud": "ha", "clouds_file": clouds, "binary": sys.executable, "user": os.geteuid()}
    resource = Pacemaker(
        str(pin(AGENT, tmp_path)),
        {**parameters, "supervisor": "process", "state_dir": tmp_path / "state", "host": "cmp-7"},
        environment={"HA_LOGFILE": str(log)},
    )
    result = resource.run("validate-all", level=10)
    assert result.code == code, result
    assert said in log.read_text()
    assert (said in result.stderr) == bool(code)


@pytest.fixture
def cloud() -> Iterator[ComputeApi]:
    with ComputeApi() as cloud:
        yield cloud


@pytest.fixture
def node(tmp_path: Path, cloud: ComputeApi) -> Iterator[Node]:
    """A node whose host Nova may know; nothing runs there."""
    node = Node(tmp_path, AGENT, cloud.credentials(), "cmp-7", api_timeout="2s")
    yield node
    node.clean_up()


def warnings(node: Node) -> list[str]:
    log = node.log.read_text() if node.log.exists() else ""
    return [line.partition(" WARNING: ")[2] for line in log.splitlines() if " WARNING: " in line]


def validate(node: Node, **parameters: object) -> Result:
    return node.run("validate-all", level=10, timeout=30.0, parameters=parameters)


def test_level_10_logs_in_and_finds_the_row_and_writes_nothing(node: Node, cloud: ComputeApi) -> None:
    cloud.add("cmp-7")
    assert node.run("validate-all").code == 0
    assert cloud.requests == [], "level 0 looks at the parameters only"
    assert validate(node).code == 0
    assert [one.method for one in cloud.requests] == ["GET", "POST", "GET", "GET"]
    assert warnings(node) == []


@pytest.mark.parametrize(
    ("status", "parameters", "said"),
    [
        (None, {"password": "wrong"}, "check the credentials: logging in"),
        (403, {}, "the cloud user needs the role admin: GET"),
        (406, {}, "microversion 2.53"),
        (None, {"region_name": "elsewhere"}, "set region_name (RegionOne)"),
    ],
    ids=["bad password", "role", "an old Nova", "region"],
)
def test_what_the_cloud_refuses_is_a_bad_parameter(
    node: Node, cloud: ComputeApi, status: int | None, parameters: dict[str, str], said: str
) -> None:
    cloud.add("cmp-7")
    if status:
        cloud.fail(faults.status(status), service="compute", path="os-services", times=None)
    result = validate(node, **parameters)
    assert result.code == 2
    assert said in (result.reason or "")


def test_a_nova_that_is_too_old_is_told(tmp_path: Path) -> None:
    with ComputeApi(maximum=(2, 52)) as old:
        result = validate(Node(tmp_path, AGENT, old.credentials(), "cmp-7"))
    assert result.code == 2
    assert "2.53" in (result.reason or "")


@pytest.mark.parametrize(
    "trouble",
    [faults.status(503), faults.never_apply(), faults.not_json(), faults.stub_row()],
    ids=["503", "no answer", "a page", "a cell that is down"],
)
def test_what_time_can_heal_is_a_warning(node: Node, cloud: ComputeApi, trouble: Fault) -> None:
    cloud.add("cmp-7")
    cloud.fail(trouble, service="compute", path="os-services", times=None)
    assert validate(node).code == 0
    (warning,) = warnings(node)
    assert warning.startswith("the cloud cannot be asked now")


def test_a_cloud_that_nobody_answers_for_is_a_warning(node: Node) -> None:
    assert validate(node, auth_url="http://127.0.0.1:9/v3").code == 0
    assert "no connection" in warnings(node)[0]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "right before its first start"),
        (["cmp-8"], "right before its first start"),
        (["CMP-7.example.org"], "but for CMP-7.example.org: set the parameter host"),
    ],
    ids=["no rows", "another host", "another spelling"],
)
def test_a_host_without_a_row_is_a_warning(node: Node, cloud: ComputeApi, rows: list[str], said: str) -> None:
    for host in rows:
        cloud.add(host)
    assert validate(node).code == 0
    (warning,) = warnings(node)
    assert said in warning


def test_a_host_that_is_forced_down_is_a_warning(node: Node, cloud: ComputeApi) -> None:
    cloud.add("cmp-7", forced_down=True)
    assert validate(node).code == 0
    assert "forced down" in warnings(node)[0]


def test_novas_own_times_are_warnings(node: Node, cloud: ComputeApi) -> None:
    """Cases 25 and 155."""
    cloud.add("cmp-7")
    with node.config.open("a") as file:
        file.write("report_interval = 120\ngraceful_shutdown_timeout = 600\n")
    assert validate(node).code == 0
    assert [line.split(" = ")[0] for line in warnings(node)] == [
        "in Nova's configuration report_interval",
        "graceful_shutdown_timeout",
    ]


@pytest.mark.parametrize("module", ["filelock", "openstack"])
def test_level_10_names_a_library_that_is_missing(tmp_path: Path, module: str) -> None:
    """Case 174: as after an installation without what the package recommends or needs."""
    agent = pin(AGENT, tmp_path)
    program = agent.read_text()
    agent.write_text(
        program.replace("import runpy\n", f"import runpy, sys\nsys.modules[{module!r}] = None\n")
    )
    resource = Pacemaker(str(agent), {"cloud": "ha", "binary": sys.executable, "user": os.geteuid()})
    assert resource.run("validate-all").code == 0
    result = resource.run("validate-all", level=10)
    assert result.code == 5
    assert f"the Python module {module} is missing: install" in (result.reason or "")
