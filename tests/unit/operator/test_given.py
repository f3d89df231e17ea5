# SPDX-License-Identifier: Apache-2.0
"""Parameters and clouds from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ocf_agents.agents.nova_compute import AGENT
from ocf_agents.operator import given
from ocf_agents.operator.trouble import BadInput

DIRECT = {"auth_url": "http://k", "username": "u", "password": "geheim", "project_name": "p"}


def test_pairs_keep_all_that_comes_after_the_first_sign() -> None:
    assert given.pairs(["a=b=c", "d="]) == {"a": "b=c", "d": ""}


@pytest.mark.parametrize("text", ["geheim", "=geheim"])
def test_what_is_no_pair_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        given.pairs([text])
    assert "geheim" not in caught.value.text


def test_a_misspelt_parameter_is_told_how_it_is_spelt() -> None:
    with pytest.raises(BadInput, match="did you mean auth_url"):
        given.check(AGENT, {"auth_ur": "x"})


def test_a_bad_value_is_refused_in_the_agents_own_words() -> None:
    with pytest.raises(BadInput, match="parameter hold is 'soon': give a time"):
        given.check(AGENT, {"hold": "soon"})
    given.check(AGENT, {"hold": "5m"})


def test_a_cloud_takes_the_place_of_a_url_and_a_url_of_a_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", "/x/clouds.yaml")
    merged = given.merged({**DIRECT, "hold": "5m"}, {}, "lab")
    assert merged == {"hold": "5m", "cloud": "lab", "clouds_file": "/x/clouds.yaml"}
    assert given.merged({"cloud": "ha"}, DIRECT) == DIRECT


def test_a_resources_own_clouds_file_is_kept() -> None:
    assert given.merged({"clouds_file": "/a", "cloud": "ha"}, {}, "lab") == {
        "clouds_file": "/a",
        "cloud": "lab",
    }


def test_clouds_yaml_is_looked_for_as_the_openstack_command_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert given.clouds_file({}) == "/etc/openstack/clouds.yaml"
    personal = tmp_path / ".config" / "openstack" / "clouds.yaml"
    personal.parent.mkdir(parents=True)
    personal.write_text("clouds: {}")
    assert given.clouds_file({}) == str(personal)
    assert given.clouds_file({"OS_CLIENT_CONFIG_FILE": "/y"}) == "/y"
