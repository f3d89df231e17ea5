# SPDX-License-Identifier: Apache-2.0
"""What a monitor says of a service's state."""

from __future__ import annotations

import pytest

from ocf_agents.ocf.errors import GenericError, NotRunning
from ocf_agents.service import supervisor
from ocf_agents.service.supervisor import Status


def test_what_runs_is_well() -> None:
    Status(supervisor.RUNNING, None).require_running("lamp")


def test_what_is_gone_is_cleanly_stopped() -> None:
    with pytest.raises(NotRunning, match="lamp is not running"):
        Status(supervisor.GONE, None).require_running("lamp")


@pytest.mark.parametrize(
    "state", [supervisor.STOPPED, supervisor.ZOMBIE, supervisor.ORPHANS, supervisor.UNIT_FAILED]
)
def test_what_is_neither_has_failed_and_says_how(state: str) -> None:
    with pytest.raises(GenericError) as error:
        Status(state, None).require_running("lamp")
    assert error.value.reason == supervisor.FAILED[state]
