# SPDX-License-Identifier: Apache-2.0
"""The rights that README wants for the agents' user, on a real Keystone and Nova: enough, and needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from labkit.cloud import COMPUTE, Application, Cloud, Refused
from labkit.compute import CONFIG
from labkit.control import Control
from labkit.errors import LabError, wait_for
from labkit.layout import REPO
from labkit.node import Node
from labkit.people import ON_DOMAIN, ON_PROJECT, ON_SYSTEM, PASSWORD, enrol
from labkit.report import Entry
from labkit.resource import Resource
from labkit.settings import REGION
from words import HOLD, assert_disabled_by_us, assert_in_service, assert_stays_in_service, writes

AGENT = "/usr/lib/ocf/resource.d/heartbeat/nova-compute"
FILE = "/etc/openstack/rights.yaml"
EXAMPLES = REPO / "packaging" / "examples"
RULES = json.loads((EXAMPLES / "access-rules.json").read_text(encoding="utf-8"))
NEEDED = "service_type = compute\n"


@pytest.fixture(scope="module")
def confined(cloud: Cloud) -> Application:
    """What README advises: admin on the project, an application credential, access rules."""
    return enrol(cloud, "compute-ha", "admin").application("hypervisors", "admin", RULES)


@pytest.fixture(scope="module")
def unconfined(cloud: Cloud) -> Application:
    return enrol(cloud, "compute-ha-2", "admin").application("hypervisors", "admin")


def as_advised(application: Application, control: Control) -> str:
    """The example's clouds.yaml with this cloud and this credential in it."""
    text = (EXAMPLES / "clouds.yaml").read_text(encoding="utf-8")
    for name, value in (
        ("auth_url", control.settings.auth_url),
        ("application_credential_id", application.user),
        ("application_credential_secret", application.password),
        ("region_name", REGION),
    ):
        text, times = re.subn(rf"(?m)^( +{name}:).*", rf"\g<1> {value}", text)
        assert times == 1, name
    return text


def put(node: Node, text: str) -> None:
    path = node.path(FILE)
    path.touch(0o600)
    path.write_text(text, encoding="utf-8")


def checked(node: Node, cloud: str = "ha") -> tuple[int, list[str]]:
    """validate-all at level 10: its code, and all that it says."""
    environ = {
        "OCF_ROOT": "/usr/lib/ocf",
        "OCF_RESOURCE_INSTANCE": "rights",
        "OCF_CHECK_LEVEL": "10",
        "OCF_RESKEY_CRM_meta_timeout": "60000",
        "OCF_RESKEY_binary": "/bin/true",
        "OCF_RESKEY_user": "root",
        "OCF_RESKEY_config": CONFIG,
        "OCF_RESKEY_clouds_file": FILE,
        "OCF_RESKEY_cloud": cloud,
    }
    done = node.run(AGENT, "validate-all", check=False, environ=environ)
    return done.returncode, [line for line in done.stderr.splitlines() if line]


def test_what_readme_advises_is_enough(
    compute: Resource,
    confined: Application,
    control: Control,
    node1: Node,
    parameters: dict[str, str],
    story: Entry,
) -> None:
    """Rights: an application credential with the access rules of the examples; stopped, then started."""
    put(node1, as_advised(confined, control))
    assert checked(node1) == (0, [])
    compute.set_parameters({**parameters, "cloud": "ha", "clouds_file": FILE})
    try:
        stop = compute.stop()
        assert stop.code == 0
        assert_disabled_by_us(compute, within=0)
        assert compute.start().code == 0
        assert_in_service(compute)
        assert_stays_in_service(compute, HOLD)
        assert len(writes(compute.requests)) == 2
        assert {request.status for request in compute.requests} <= {200, 201, 300}
    finally:
        compute.set_parameters(parameters)


def test_the_access_rules_allow_nothing_else(compute: Resource, confined: Application) -> None:
    """The same credential can neither delete the row nor see a guest; the row can be read."""
    row = compute.row
    assert [one["id"] for one in confined.get(COMPUTE, f"/os-services?host={row.host}")["services"]] == [
        row.id
    ]
    for method, path in (("DELETE", f"/os-services/{row.id}"), ("GET", "/servers")):
        with pytest.raises(Refused) as refusal:
            confined.request(method, COMPUTE, path)
        assert refusal.value.status == 401, path
    assert compute.row.id == row.id


@pytest.fixture
def without_service_type(control: Control) -> Iterator[None]:
    """nova-api's configuration as it often is."""
    path = control.home / "etc" / "nova.conf"
    text = path.read_text(encoding="utf-8")
    assert text.count(NEEDED) == 1
    try:
        set_api(control, text.replace(NEEDED, ""))
        yield
    finally:
        set_api(control, text)


def set_api(control: Control, text: str) -> None:
    """Returns once the new one answers: the old one's socket may outlive it for a moment."""
    (control.home / "etc" / "nova.conf").write_text(text, encoding="utf-8")
    control.api.stop()
    control.api.start()

    def answers() -> bool:
        with suppress(LabError, OSError):
            return bool(control.cloud.rows())
        return False

    wait_for("nova-api to answer", answers, 60, every=0.2)


def test_access_rules_and_a_nova_that_does_not_know_its_type(
    confined: Application, unconfined: Application, control: Control, node1: Node, without_service_type: None
) -> None:
    """README: they work only where nova-api has service_type = compute; elsewhere it is 401."""
    put(node1, as_advised(confined, control))
    code, said = checked(node1)
    assert code == 2, said
    assert_one_line(said, "401")
    put(node1, as_advised(unconfined, control))
    assert checked(node1) == (0, [])


def assert_one_line(said: list[str], word: str) -> None:
    """An exit reason that names the answer; no second line, no traceback, no password."""
    reasons = [line for line in said if line.startswith("ocf-exit-reason:")]
    assert len(reasons) == 1, said
    assert word in reasons[0]
    assert PASSWORD not in "".join(said)
    assert len(said) <= 2, said


SCOPES: dict[str, dict[str, Any]] = {
    ON_PROJECT: {"project_name": "service", "project_domain_id": "default"},
    ON_DOMAIN: {"domain_id": "default"},
    ON_SYSTEM: {"system_scope": "all"},
}


@pytest.mark.parametrize(
    ("role", "place"),
    [
        ("reader", ON_PROJECT),
        ("member", ON_PROJECT),
        ("manager", ON_PROJECT),
        ("service", ON_PROJECT),
        ("admin", ON_DOMAIN),
        ("admin", ON_SYSTEM),
    ],
)
def test_nothing_less_is_enough(control: Control, cloud: Cloud, node1: Node, role: str, place: str) -> None:
    """README: reader, member, manager, service, and admin of the system or of a domain alone get 403."""
    name = f"lab-{role}"
    enrol(cloud, name, role, place)
    auth = {"auth_url": control.settings.auth_url, "username": name, "password": PASSWORD}
    entry = {"auth": {**auth, "user_domain_id": "default", **SCOPES[place]}, "region_name": REGION}
    put(node1, json.dumps({"clouds": {"less": entry}}))  # JSON is YAML
    code, said = checked(node1, "less")
    assert code == 2, said
    assert_one_line(said, "403")


def test_the_same_with_admin_is_enough(control: Control, cloud: Cloud, node1: Node) -> None:
    """What makes the refusals above mean something."""
    enrol(cloud, "lab-admin", "admin")
    auth = {"auth_url": control.settings.auth_url, "username": "lab-admin", "password": PASSWORD}
    entry = {"auth": {**auth, "user_domain_id": "default", **SCOPES[ON_PROJECT]}, "region_name": REGION}
    put(node1, json.dumps({"clouds": {"less": entry}}))
    assert checked(node1, "less") == (0, [])
