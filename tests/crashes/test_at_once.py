# SPDX-License-Identifier: Apache-2.0
"""Many actions at once, and an action whose process group is killed."""

from __future__ import annotations

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

from ocf_agents.guard import marker
from ocf_agents.testing.compute_api import faults
from ocf_agents.testing.node import wait_for
from ocf_agents.testing.run import Result

from .victim import Victim

STOPS, STARTS = 50, 8


def at_once(victim: Victim, action: str, count: int) -> list[Result]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda number: victim.run(action, timeout=120), range(count)))


def test_fifty_stops_at_once_send_one_disable(running: Victim) -> None:
    """Case 128; beside them the lock file of a holder that is dead."""
    (running.state_dir / "nova-compute.lock").write_text("999999\n")
    running.cloud.forget()
    results = at_once(running, "stop", STOPS)
    assert [result.code for result in results] == [0] * STOPS, results
    assert not running.daemons()
    assert running.wait_for_quiet()
    assert running.cloud.count("PUT") == 1
    found = marker.parse(running.row.reason)
    assert found is not None
    assert found.belongs_to("nova-compute", "cmp-7")
    running.act("start")
    assert running.complaints() == []


def test_several_starts_at_once_start_one_service_and_enable_it(running: Victim) -> None:
    running.act("stop")
    assert running.wait_for_quiet()
    results = at_once(running, "start", STARTS)
    assert any(result.code == 0 for result in results), results
    for result in results:
        is_ended = result.code == -signal.SIGTERM  # by the one that took over
        assert result.code == 0 or is_ended or "took over" in (result.reason or ""), result
    assert running.complaints() == []


def test_stops_and_starts_in_a_heap_end_as_the_last_one_says(running: Victim) -> None:
    with ThreadPoolExecutor(6) as pool:
        actions = ("stop", "start", "stop", "start", "stop", "start")
        results = list(pool.map(lambda action: running.run(action, timeout=60), actions))
    assert not any("Traceback" in result.stderr for result in results)
    running.act("start")
    assert running.complaints() == []
    running.act("stop")
    assert running.wait_for_quiet()
    assert running.row.disabled
    running.act("start")
    assert running.complaints() == []


def test_the_helper_outlives_a_stop_whose_process_group_is_killed(running: Victim) -> None:
    """As Pacemaker kills an action that ran out of time (cases 123 to 125)."""
    running.cloud.fail(faults.status(503), service="compute", times=3)
    environ = running.pacemaker.environ("stop", interval=None, timeout=40, level=None)
    argv = [running.pacemaker.agent_path, "stop"]
    with subprocess.Popen(argv, env=environ, start_new_session=True) as process:
        assert wait_for(lambda: running.helpers() != [], 10)
        os.killpg(process.pid, signal.SIGKILL)
    assert running.helpers()
    assert wait_for(lambda: running.row.disabled, 20)
    assert running.wait_for_quiet()
    running.act("stop")
    running.act("start")
    assert running.complaints() == []
