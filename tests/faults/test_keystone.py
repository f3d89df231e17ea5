# SPDX-License-Identifier: Apache-2.0
"""Every action while Keystone is in trouble, or knows us no more, and Nova is well.

What is tried in full: see test_nova.py.
"""

from __future__ import annotations

from pathlib import Path

from ocf_agents.testing.compute import faults
from ocf_agents.testing.compute_api import ComputeApi

from .stage import Stage
from .story import Trouble, on, one_after_another, play_all

IN = "logging in at"


def rotate(stage: Stage) -> None:
    """The password is another now, and what tokens there were are not good any more."""
    stage.api.account.password += "2"
    stage.api.keystone.expire_tokens()


def rotate_back(stage: Stage) -> None:
    stage.api.account.password = stage.api.account.password[:-1]


def unlist(stage: Stage) -> None:
    """The catalog has no compute service."""
    keystone = stage.api.keystone
    keystone.endpoints = [one for one in keystone.endpoints if one.kind != "compute"]


def list_again(stage: Stage) -> None:
    stage.api.keystone.endpoints += stage.api.endpoints()


ANSWERS = [
    faults.status(500),
    faults.status(502),
    faults.not_json(),
    faults.empty(),
    faults.wrong_json([]),
    faults.wrong_json(None, code=201),
    faults.half_a_body(),
    faults.reset(),
]

EVERYTHING = [
    Trouble("the password was rotated", f"check the credentials: {IN}", rotate, rotate_back, most=14),
    Trouble("nova is not in the catalog", "catalog has no compute service", unlist, list_again, most=14),
    Trouble("503", f"{IN} .*answered 503", on(faults.status(503, retry_after="1"), "identity")),
    Trouble("one after another", f"{IN} ", one_after_another(*ANSWERS, service="identity"), most=60),
    Trouble("10 MB", "", on(faults.huge(), "identity"), start=(0, 1)),
    Trouble("never answers", f"{IN} .*no answer", on(faults.never_apply(), "identity")),
    Trouble(
        "down", f"{IN} .*no connection", lambda s: s.api.identity.stop(), lambda s: s.api.identity.start()
    ),
]


def test_keystone(tmp_path: Path) -> None:
    play_all(EVERYTHING, tmp_path)


def test_who_is_sent_elsewhere_by_keystone_does_not_go(tmp_path: Path) -> None:
    with ComputeApi() as elsewhere:
        there = f"{elsewhere.auth_url}/auth/tokens"
        play_all(
            [Trouble("307", f"{IN} .*answered 307", on(faults.redirect(there, 307), "identity"))], tmp_path
        )
        assert elsewhere.count() == 0
