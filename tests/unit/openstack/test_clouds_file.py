# SPDX-License-Identifier: Apache-2.0
"""Each slip in clouds.yaml gets one line with the file and the key, and no value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ocf_agents.openstack.clouds_file import CloudsFile, secrets_in
from ocf_agents.openstack.failure import Failure

AUTH = {"auth_url": "https://keystone/v3", "username": "u", "password": "p", "project_name": "admin"}
TEXT = "a text, in quotes if need be"
URL = "a URL such as https://keystone:5000/v3"


def write(folder: Path, content: object, name: str = "clouds.yaml") -> str:
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def check(entry: dict[str, Any], region_name: str | None = None) -> None:
    CloudsFile("/clouds.yaml", "mine").check({"mine": {"auth": AUTH, **entry}}, region_name)


@pytest.mark.parametrize(
    ("entry", "key", "expected"),
    [
        ({"auth": 3}, "auth", "a mapping"),
        ({"auth": None}, "auth", "a mapping"),
        ({"auth": ["canary"]}, "auth", "a mapping"),
        ({"auth_url": 3}, "auth_url", URL),
        ({"auth_url": "keystone"}, "auth_url", URL),
        ({"auth": {"auth_url": 3}}, "auth.auth_url", URL),
        ({"auth": {"auth_url": "canary"}}, "auth.auth_url", URL),
        ({"auth": {"auth_url": None}}, "auth.auth_url", "a text"),
        ({"auth": {"password": 12345}}, "auth.password", TEXT),
        ({"auth": {"password": None}}, "auth.password", "a text"),
        ({"auth": {"project_id": 7}}, "auth.project_id", TEXT),
        ({"username": ["canary"]}, "username", TEXT),
        ({"auth_type": {}}, "auth_type", TEXT),
        ({"cacert": True}, "cacert", TEXT),
        ({"profile": 3}, "profile", TEXT),
        ({"interface": ["canary"]}, "interface", TEXT),
        ({"verify": "maybe"}, "verify", "true or false"),
        ({"verify": None}, "verify", "true or false"),
        ({"verify": 0}, "verify", "true or false"),
        ({"insecure": "yes"}, "insecure", "true or false"),
        ({"insecure": 1}, "insecure", "true or false"),
        ({"region_name": 3}, "region_name", "a text"),
        ({"region_name": None}, "region_name", "a text"),
        ({"regions": 3}, "regions", "a list of names"),
        ({"regions": "canary"}, "regions", "a list of names"),
        ({"regions": [3]}, "regions", "a list of names"),
        ({"regions": [{"name": "A", "values": 3}]}, "regions", "a list of names"),
    ],
)
def test_a_slip_is_named(entry: dict[str, Any], key: str, expected: str) -> None:
    with pytest.raises(Failure) as caught:
        check(entry)
    assert caught.value.text == f"{key} of cloud 'mine' in /clouds.yaml (clouds_file) must be {expected}"
    assert caught.value.permanent


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"auth": {}},
        {"cacert": None, "cert": None, "profile": None, "interface": None, "insecure": None},
        {"auth": {**AUTH, "project_id": None}},
        {"verify": False, "insecure": "True"},
        {"region_name": "A", "regions": ["A"]},
        {"regions": [{"name": "A"}]},
        {"regions": [{"name": "A", "values": {"x": 1}}]},
        {"auth_url": "http://[::1]:5000"},
    ],
)
def test_what_may_be_right_is_left_to_openstacksdk(entry: dict[str, Any]) -> None:
    check(entry)


@pytest.mark.parametrize(
    "entry", [{"region_name": ["A", "B"]}, {"region_name": "A,B"}, {"regions": ["A", "B"]}]
)
def test_one_of_several_regions_must_be_named(entry: dict[str, Any]) -> None:
    with pytest.raises(Failure, match=r"^set region_name: cloud 'mine' in /clouds.yaml \(clouds_file\) has"):
        check(entry)
    check(entry, "B")


@pytest.mark.parametrize("name", ["clouds.yaml", "secure.yaml"])
@pytest.mark.parametrize("section", ["cache", "client", "metrics"])
def test_a_section_that_is_no_mapping_is_named_with_its_file(tmp_path: Path, name: str, section: str) -> None:
    file = CloudsFile(write(tmp_path, {"clouds": {}}), "mine")
    assert file.contents()[0] == {"clouds": {}}
    path = write(tmp_path, {"clouds": {}, section: 3}, name)
    with pytest.raises(Failure) as caught:
        file.contents()
    assert caught.value.text == f"{section} in {path} (clouds_file) must be a mapping"


def test_secrets_are_found_at_any_depth_and_in_parts_that_refer_to_themselves() -> None:
    part: dict[str, Any] = {"password": "a", "more": [{"auth": {"token": 7}}], "passcode": None}
    part["me"] = [part]
    assert sorted(secrets_in([part, 3])) == ["7", "a"]


def test_a_part_that_is_referred_to_a_billion_times_is_seen_once() -> None:
    part: Any = {"password": "a"}
    for _ in range(30):
        part = [part, part]
    assert secrets_in([part]) == ["a"]
