# SPDX-License-Identifier: Apache-2.0
"""A slip in a key of clouds.yaml is named with what was meant; a key that somebody reads never is."""

from __future__ import annotations

from typing import Any

import pytest

from ocf_agents.openstack.stray_keys import stray


def of(entry: dict[Any, Any]) -> list[str]:
    return stray([{"clouds": {"mine": entry}}], "mine")


@pytest.mark.parametrize(
    ("entry", "key", "meant"),
    [
        ({"regoin_name": "A"}, "regoin_name", "region_name"),
        ({"region-nmae": "A"}, "region-nmae", "region_name"),
        ({"Region_Name": "A"}, "Region_Name", "region_name"),
        ({"interfaces": "internal"}, "interfaces", "interface"),
        ({"ca_cert": "/ca.pem"}, "ca_cert", "cacert"),
        ({"auth_typ": "password"}, "auth_typ", "auth_type"),
        ({"inscure": True}, "inscure", "insecure"),
        ({"auth": {"auth_urll": "x"}}, "auth.auth_urll", "auth.auth_url"),
        ({"auth": {"user_name": "x"}}, "auth.user_name", "auth.username"),
        (
            {"auth": {"application_credential_secrt": "x"}},
            "auth.application_credential_secrt",
            "auth.application_credential_secret",
        ),
    ],
)
def test_a_slip_is_named(entry: dict[str, Any], key: str, meant: str) -> None:
    assert of(entry) == [f"{key} of cloud 'mine' is read by nobody: {meant} is"]


def test_keys_that_openstacksdk_and_the_plugins_of_keystone_read_are_no_slips() -> None:
    from keystoneauth1 import loading

    names = {
        option.dest
        for plugin in loading.get_available_plugin_names()
        for option in loading.get_plugin_options(plugin)
    }
    assert len(names) > 20
    assert of({"auth": dict.fromkeys(names, "x")}) == []
    assert of({name.replace("_", "-"): "x" for name in names}) == []


@pytest.mark.parametrize(
    "name",
    [
        "region_name",
        "volume_api_version",
        "compute_endpoint_override",
        "identity_interface",
        "network_region_name",
        "networks",
        "profile",
        "vendor_hook",
        "image_format",
        "force_ipv4",
        "api_timeout",
        "tenant_name",
        7,
        None,
    ],
)
def test_others_of_a_cloud_are_left_alone(name: object) -> None:
    assert of({name: "x"}) == []


def test_both_files_are_looked_at_and_no_other_cloud() -> None:
    contents: list[dict[str, Any]] = [
        {"clouds": {"mine": {"auth": 3}, "other": {"regoin_name": "A"}}},
        {"clouds": {"mine": {"auth": {"pasword": "geheim"}}}},
        {"clouds": None},
        {},
    ]
    assert stray(contents, "mine") == ["auth.pasword of cloud 'mine' is read by nobody: auth.password is"]
