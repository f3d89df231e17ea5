# SPDX-License-Identifier: Apache-2.0
"""Every action while Nova is in trouble.

In full: stop, start while our own disable is in effect, monitor (levels 0 and 20), probe, meta-data and
validate-all, each under each trouble of Nova, followed by the healing. Chosen, because each costs seconds:
answers that differ in their words only come one after another in one story (`ANSWERS`); start while nothing
of ours is in effect, reload-agent and validate-all at level 10 are in test_other_actions.py, under one
trouble of each kind. What each answer to each call means and says, without the processes around it, is in
tests/unit/openstack/test_rows.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ocf_agents.testing.compute import faults
from ocf_agents.testing.compute_api import ComputeApi

from .story import Trouble, on, one_after_another, play_all

DEADLINE = {"disable_deadline": "20s"}
STRANGE: list[dict[str, Any]] = [{"binary": "nova-compute", "host": "cmp-7", "id": [], "status": {}}]

ANSWERS = [
    faults.status(400),
    faults.status(404),
    faults.status(429, retry_after="1"),
    faults.status(503, retry_after="Sat, 01 Dec 1990 16:00:00 GMT"),
    faults.status(503, retry_after="-5 \x7f soon"),
    faults.empty(),
    faults.wrong_json([]),
    faults.wrong_json(None),
    faults.wrong_json({"services": None}),
    faults.wrong_json({"services": STRANGE}),
    faults.stub_row(),
]
SAID = "answered [245]|does not know|makes no sense"

EVERYTHING = {
    "answers": [
        Trouble("403", "the cloud user needs the role admin: GET", on(faults.status(403))),
        Trouble("409", "answered 409", on(faults.status(409))),
        Trouble("500", "answered 500", on(faults.status(500))),
        Trouble("502, a page", "answered 502", on(faults.status(502))),
        Trouble("200, a page", "no JSON", on(faults.not_json())),
        Trouble("one after another", SAID, one_after_another(*ANSWERS)),
        Trouble("503", "answered 503", on(faults.status(503, retry_after="1"))),
        Trouble(
            "503, 30 years",
            "answered 503",
            on(faults.status(503, retry_after="1000000000")),
            parameters=DEADLINE,
        ),
    ],
    "no answers": [
        Trouble("reset", "the connection broke", on(faults.reset())),
        Trouble("half a body", "broke off", on(faults.half_a_body())),
        Trouble("10 MB", "larger than 8 MiB|no answer", on(faults.huge())),
        Trouble("never answers", "no answer", on(faults.never_apply())),
        Trouble("a body that drips", "broke off|no answer", on(faults.drip())),
        Trouble("an answer that drips", "no answer", on(faults.drip(head=True))),
        Trouble("down", "no connection", lambda s: s.api.compute.stop(), lambda s: s.api.compute.start()),
    ],
}

WRITES = [
    Trouble("409", "answered 409", on(faults.status(409), method="PUT")),
    Trouble("503", "answered 503", on(faults.status(503, retry_after="1"), method="PUT")),
    Trouble("200, a page", "no JSON", on(faults.not_json(applied=False), method="PUT")),
    Trouble("reset", "the connection broke", on(faults.reset(), method="PUT")),
    Trouble(
        "reset, applied",
        "the connection broke",
        on(faults.reset(applied=True), method="PUT"),
        start=(0,),
        seconds=60.0,
    ),
    Trouble("half a body", "broke off", on(faults.half_a_body(), method="PUT"), start=(0,), seconds=60.0),
    Trouble(
        "applied, no answer",
        "no answer",
        on(faults.commit_and_never_answer(), method="PUT"),
        start=(0,),
        seconds=60.0,
    ),
    Trouble(
        "applied late",
        "no answer",
        on(faults.commit_late(3.5), method="PUT"),
        start=(0,),
        seconds=60.0,
        parameters={"hold": "4s"},
    ),
]


@pytest.mark.parametrize("family", EVERYTHING)
def test_nova(family: str, tmp_path: Path) -> None:
    play_all(EVERYTHING[family], tmp_path)


def test_a_write_to_nova(tmp_path: Path) -> None:
    play_all(WRITES, tmp_path)


def test_who_is_sent_elsewhere_by_nova_does_not_go(tmp_path: Path) -> None:
    with ComputeApi() as elsewhere:
        elsewhere.keystone.check = lambda request: None  # type: ignore[method-assign]
        there = f"{elsewhere.compute.origin}/v2.1/os-services"
        play_all([Trouble("307", "sent to", on(faults.redirect(there, 307)))], tmp_path)
        assert elsewhere.count() == 0
