# SPDX-License-Identifier: Apache-2.0
"""A helper that is stopped (SIGSTOP) and never goes on: it lives, and does nothing any more.

Nobody waits for its deadline here: the record is made to say that it has passed.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.guard import marker
from ocf_agents.guard.record import DISABLE, OVERDUE_AFTER
from ocf_agents.service.host import boottime
from ocf_agents.testing.compute_api import faults
from ocf_agents.testing.node import is_running, wait_for

from .killing import stopped_with_a_late_disable
from .stage import Stage
from .victim import Victim


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Victim]:
    """A node that watches long enough for a helper to be stopped meanwhile."""
    stage = Stage(tmp_path, {"hold": "30s"})
    yield stage.victim
    stage.close()


def stop_the_helper(victim: Victim) -> int:
    """SIGSTOP for the one helper; its pid."""
    assert wait_for(lambda: victim.record().reconciler is not None and len(victim.helpers()) == 1)
    (pid,) = victim.helpers()
    os.kill(pid, signal.SIGSTOP)
    return pid


def let_its_time_pass(victim: Victim) -> None:
    path = victim.state_dir / "nova-compute.json"
    record = json.loads(path.read_text())
    record["reconciler"]["until"] = boottime() - OVERDUE_AFTER - 1.0
    path.write_text(json.dumps(record))


def land_again(victim: Victim) -> None:
    """The disable of the stop takes effect, whether or not it has before."""
    attempts = victim.record().attempts
    token = next(attempt.token for attempt in attempts if attempt.kind == DISABLE)
    reason = marker.make("nova-compute", "cmp-7", "2026-11-30T11:23:23Z", token)
    victim.row.disabled, victim.row.reason = True, str(reason)


def test_a_monitor_replaces_a_watching_helper_once_it_is_overdue(patient: Victim) -> None:
    """A disable lands while it sleeps."""
    for _ in range(3):  # a start that took longer than `hold` leaves no helper
        stopped_with_a_late_disable(patient)
        patient.act("start")
        if patient.helpers():
            break
    pid = stop_the_helper(patient)
    land_again(patient)
    patient.act("monitor")
    assert patient.helpers() == [pid]
    let_its_time_pass(patient)
    patient.act("monitor")
    assert wait_for(lambda: not is_running(pid))
    assert patient.complaints() == []


def test_a_second_stop_replaces_a_helper_once_it_is_overdue(patient: Victim) -> None:
    patient.cloud.fail(faults.status(503), service="compute", times=None)
    patient.act("stop")
    pid = stop_the_helper(patient)
    patient.cloud.heal()
    patient.act("stop")
    assert patient.helpers() == [pid]
    let_its_time_pass(patient)
    patient.act("stop")
    assert wait_for(lambda: not is_running(pid))
    assert wait_for(lambda: patient.row.disabled, 60.0)
    patient.act("start")
    assert patient.complaints() == []
