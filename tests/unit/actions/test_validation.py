# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ocf_agents.testing.pinned import pin
from ocf_agents.testing.run import Pacemaker

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
