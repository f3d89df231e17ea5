# SPDX-License-Identifier: Apache-2.0
"""Tokens that end too early, passwords that were rotated, application credentials."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from ocf_agents.testing.compute import faults
from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import wait_for

from .conftest import MakeStage
from .stage import Stage

PATIENT = {"head_start": "30s"}


def statuses(here: Stage, method: str, path: str) -> list[int | None]:
    """The answers to such requests."""
    return [request.status for request in here.api.log.select(method, path)]


def end_tokens_after_the_read(here: Stage) -> None:
    """The next listing is answered, and then no token is good any more."""
    here.api.fail(faults.and_then(here.api.keystone.expire_tokens), method="GET", path="os-services")


def test_a_token_that_ends_between_read_and_write_costs_one_more_round(here: Stage) -> None:
    here.run_service()
    end_tokens_after_the_read(here)
    here.stop(parameters=PATIENT, timeout=60, bound=40)
    here.come_to_rest()
    assert here.is_ours()
    assert statuses(here, "PUT", "os-services") == [401, 200]
    assert statuses(here, "POST", "auth/tokens") == [201, 201]

    here.api.forget()
    end_tokens_after_the_read(here)
    assert here.start(60.0).code == 0
    assert not here.row.disabled
    assert statuses(here, "PUT", "os-services").count(200) == 1
    assert {401} >= set(statuses(here, "PUT", "os-services")) - {200}
    assert statuses(here, "POST", "auth/tokens") == [201, 201]


def test_a_token_that_has_ended_before_a_read_is_replaced_at_once(here: Stage) -> None:
    here.run_service()
    here.api.fail(faults.and_then(here.api.keystone.expire_tokens), method="POST")
    here.stop(parameters=PATIENT, timeout=60, bound=40)
    here.come_to_rest()
    assert here.is_ours()
    assert statuses(here, "GET", "os-services")[:2] == [401, 200], here.requests()
    assert statuses(here, "PUT", "os-services") == [200]
    assert statuses(here, "POST", "auth/tokens") == [201, 201]


def test_a_rotated_password_is_said_at_once_and_does_not_hammer(here: Stage) -> None:
    here.run_service()
    here.stop(parameters=PATIENT, timeout=60, bound=40)
    here.come_to_rest()
    assert here.is_ours()

    here.api.account.password, right = "rotated", here.api.account.password
    here.api.keystone.expire_tokens()
    here.api.forget()
    failed = here.start(60.0)
    assert failed.code == 1
    assert (failed.reason or "").startswith(
        "disabled by us when last read: check the credentials: logging in at"
    )
    assert failed.seconds < 40, "a start does not wait for what waiting does not heal"
    assert statuses(here, "POST", "auth/tokens") == [401]

    here.api.forget()
    here.stop()  # Pacemaker's recovery; the row is ours, but its helper cannot know
    assert here.api.wait_for(lambda: here.api.count("POST") > 0, 30)
    time.sleep(6.0)
    assert set(statuses(here, "POST", "auth/tokens")) == {401}
    assert here.api.count("POST") <= 5, "one second, two, four, ... up to a minute apart"
    assert here.api.count("PUT") == 0

    new = {"password": "rotated"}
    assert here.run("reload-agent", parameters=new).code == 0
    here.come_to_rest()
    assert here.start(60.0, parameters=new).code == 0
    assert not here.row.disabled
    here.api.account.password = right


def test_an_application_credential_and_its_secret(
    api: ComputeApi, make_stage: MakeStage, tmp_path: Path
) -> None:
    account = api.account
    auth = {
        "auth_url": api.auth_url,
        "application_credential_id": account.credential_id,
        "application_credential_secret": account.credential_secret,
    }
    cloud: dict[str, Any] = {"auth_type": "v3applicationcredential", "auth": auth}
    path = tmp_path / "clouds.yaml"
    path.touch(0o600)
    path.write_text(json.dumps({"clouds": {"ha": cloud}}))
    # The parameter is there for the watch alone: who is given it is seen, and it is used for nothing.
    here = make_stage(api, path, credentials={"cloud": "ha", "clouds_file": path, "unused": account.password})
    here.run_service()
    here.stop(parameters=PATIENT, timeout=60, bound=40)
    here.come_to_rest()
    assert here.is_ours()

    account.credential_secret += "2"
    api.keystone.expire_tokens()
    failed = here.start(60.0)
    assert failed.code == 1
    assert "check the credentials: logging in at" in (failed.reason or "")
    account.credential_secret = account.credential_secret[:-1]
    assert here.start(60.0).code == 0
    assert not here.row.disabled
    assert wait_for(lambda: not here.node.helpers(), 30)
