# SPDX-License-Identifier: Apache-2.0
"""The actions that cost seconds under any trouble, under one of each kind: see test_nova.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from ocf_agents.testing.compute import faults
from ocf_agents.testing.node import wait_for

from .stage import Stage
from .story import Trouble, on, play_all
from .test_keystone import IN, rotate, rotate_back

TROUBLES = [
    Trouble("503", "answered 503", on(faults.status(503))),
    Trouble("200, a page", "no JSON", on(faults.not_json())),
    Trouble("never answers", "no answer", on(faults.never_apply())),
    Trouble("down", "no connection", lambda s: s.api.compute.stop(), lambda s: s.api.compute.start()),
    Trouble("the password was rotated", f"check the credentials: {IN}", rotate, rotate_back),
]


def start_and_reload(trouble: Trouble, here: Stage) -> None:
    """A start that has nothing of ours to undo succeeds, with a warning; validate-all tries the credentials,
    and fails for bad ones only; the helper finds the row as it should be once the trouble is over."""
    trouble.strike(here)
    result = here.start(20.0)
    assert (result.code, result.reason) == (0, None), result
    (warning,) = [line for line in here.log().splitlines() if " WARNING: " in line]
    assert trouble.says.replace(".*", "") in warning
    assert here.api.count() <= trouble.most, here.requests()
    with here.silent():
        assert here.run("monitor").code == 0
    with here.frozen():
        is_ours = trouble.says.startswith("check the credentials")
        assert here.run("validate-all", level=10).code == (2 if is_ours else 0)
        assert here.api.count("PUT") == 0
    before = here.node.helpers()
    assert here.run("reload-agent").code == 0
    assert wait_for(lambda: bool(here.node.helpers()), 20), "somebody goes on"
    assert before != here.node.helpers()
    trouble.heal(here)
    here.come_to_rest(60)
    assert not here.row.disabled
    assert here.node.is_alive()


@pytest.mark.parametrize("troubles", [TROUBLES[:3], TROUBLES[3:]], ids=["nova", "gone"])
def test_start_without_a_disable_of_ours_and_reload(troubles: list[Trouble], tmp_path: Path) -> None:
    play_all(troubles, tmp_path, start_and_reload)
