# SPDX-License-Identifier: Apache-2.0
"""A nova-compute that runs and answers, and is down in Nova's eyes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.testing.compute_api import ComputeApi, ServiceRow, faults
from ocf_agents.testing.message_bus import MessageBus
from ocf_agents.testing.node import Node
from ocf_agents.testing.run import Result

from .conftest import AGENT
from .test_recovery import succeeded

NO_GUARD = {"disable_on_stop": "false", "enable_on_start": "false"}
"""What asks the API is the monitor alone."""
QUICK = {"row_misses": "2", "row_grace": "0", "api_timeout": "2s"}
DOWN_TIME = 0.4
SILENCE = 3.2
"""Three reports of one second each, and a little."""


@pytest.fixture
def cloud() -> Iterator[ComputeApi]:
    """A cloud of four hosts. The row of ours does not follow its daemon: it reports when it is told to."""
    with ComputeApi(down_time=DOWN_TIME, report_interval=0.1) as api:
        api.add("cmp-7", alive=False)
        for number in range(1, 4):
            api.add(f"cmp-{number}")
        yield api


@pytest.fixture
def bus() -> Iterator[MessageBus]:
    with MessageBus() as bus:
        yield bus


@pytest.fixture
def running(tmp_path: Path, cloud: ComputeApi, bus: MessageBus) -> Iterator[Node]:
    """A node whose nova-compute runs; two misses are enough, and there is no grace."""
    node = Node(tmp_path, AGENT, cloud.credentials(), **NO_GUARD, **QUICK)
    with node.config.open("a") as file:
        file.write(f"transport_url = {bus.url}\nreport_interval = 1\n")
    assert succeeded(node.run("start"))
    cloud.services.start(cloud.row("cmp-7"), first_report=0.0)
    cloud.forget()
    yield node
    node.clean_up()


@pytest.fixture
def row(cloud: ComputeApi) -> ServiceRow:
    return cloud.row("cmp-7")


def look(node: Node, **more: object) -> Result:
    return node.run("monitor", level=20, **more)


def looks(node: Node, times: int) -> list[int]:
    return [look(node).code for _ in range(times)]


def silence(cloud: ComputeApi, *rows: ServiceRow) -> None:
    """They report no more, and Nova has noticed."""
    for row in rows:
        cloud.services.stop(row)
    time.sleep(DOWN_TIME + 0.1)


def long_ago(row: ServiceRow) -> None:
    """Its last report was on another day."""
    assert row.updated
    row.updated = row.updated.replace(year=2001)


def log(node: Node, text: str) -> int:
    return node.log.read_text().count(text) if node.log.exists() else 0


def test_a_row_that_is_up_costs_one_request_and_the_login(running: Node, cloud: ComputeApi) -> None:
    assert look(running).code == 0
    assert [(one.method, one.service) for one in cloud.requests] == [
        ("GET", "identity"),
        ("POST", "identity"),
        ("GET", "compute"),
        ("GET", "compute"),
    ]
    assert cloud.requests[-1].query == {"binary": "nova-compute", "host": "cmp-7"}


def test_levels_below_and_probes_ask_nobody(running: Node, cloud: ComputeApi) -> None:
    assert [running.run("monitor", level=level).code for level in (0, 10)] == [0, 0]
    assert look(running, interval=None).code == 0, "a probe"
    assert cloud.requests == []


def test_a_service_that_alone_is_down_fails_in_time_and_is_told_once(
    running: Node, cloud: ComputeApi, row: ServiceRow
) -> None:
    silence(cloud, row)
    assert look(running).code == 0
    assert {one.query.get("host") for one in cloud.requests if one.query} == {"cmp-7"}
    time.sleep(SILENCE)
    cloud.forget()
    failed = look(running)
    assert failed.code == 1
    assert "Nova calls host cmp-7 down, last report 20" in (failed.reason or "")
    assert cloud.count() == 4, "one request, for all rows, and the login"
    assert cloud.requests[-1].query == {"binary": "nova-compute"}
    assert look(running).code == 1
    assert log(running, "Nova calls host cmp-7 down") == 1
    cloud.services.start(row, first_report=0.0)
    assert look(running).code == 0
    assert log(running, "is up in the cloud again") == 1
    assert cloud.count("PUT") == 0, "who looks does not write"


def test_a_control_plane_that_stands_still_restarts_nobody(
    running: Node, cloud: ComputeApi, row: ServiceRow
) -> None:
    silence(cloud, *cloud.rows)
    assert look(running).code == 0
    time.sleep(SILENCE)
    assert looks(running, 4) == [190] * 4
    assert "Nova calls 4 of 4 computes down" in (look(running).reason or "") + running.log.read_text()
    assert log(running, "computes down") == 1
    for one in cloud.rows:
        cloud.services.start(one, first_report=0.0)
    assert look(running).code == 0


def test_a_cell_that_stands_still_restarts_nobody(running: Node, cloud: ComputeApi, row: ServiceRow) -> None:
    """Case 154. Three hosts of twelve have one conductor: no majority, and yet not their own fault."""
    for number in range(10, 18):
        cloud.add(f"cmp-{number}")
    silence(cloud, row, cloud.row("cmp-1"), cloud.row("cmp-2"))
    assert look(running).code == 0
    time.sleep(SILENCE)
    degraded = look(running)
    assert degraded.code == 190
    assert "fell silent together" in (degraded.reason or "")
    long_ago(cloud.row("cmp-1"))
    long_ago(cloud.row("cmp-2"))
    assert look(running).code == 190
    time.sleep(SILENCE)
    assert look(running).code == 1, "the others were down before, and for reasons of their own"


def test_a_row_that_is_forced_down_is_told_and_stays_so(
    running: Node, cloud: ComputeApi, row: ServiceRow
) -> None:
    cloud.services.set_forced_down(row, True)
    assert looks(running, 3) == [190] * 3
    assert log(running, "forced down in Nova") == 1
    assert row.forced_down


def test_a_row_that_an_operator_disabled_is_well(running: Node, cloud: ComputeApi, row: ServiceRow) -> None:
    cloud.services.set_status(row, disabled=True, reason="new disks")
    assert looks(running, 3) == [0, 0, 0]
    assert (row.disabled, row.reason) == (True, "new disks")


def test_a_row_that_is_missing_is_told_once_and_fails_nothing(
    running: Node, cloud: ComputeApi, row: ServiceRow
) -> None:
    cloud.services.remove(row)
    assert looks(running, 3) == [0, 0, 0]
    assert log(running, "Nova has no row for host cmp-7") == 1


def test_an_api_that_is_away_degrades_and_never_fails(running: Node, cloud: ComputeApi) -> None:
    cloud.fail(faults.status(503), service="compute", times=None)
    assert looks(running, 4) == [0, 190, 190, 190]
    assert log(running, "answered 503") == 1
    cloud.heal()
    assert look(running).code == 0


@pytest.mark.parametrize(
    ("parameters", "said"),
    [({"password": "wrong"}, "check the credentials"), ({"auth_url": "", "username": ""}, "give ")],
    ids=["bad credentials", "no credentials"],
)
def test_a_row_that_may_not_be_read_is_told_once_and_fails_nothing(
    running: Node, parameters: dict[str, str], said: str
) -> None:
    running.pacemaker.parameters.update(parameters)  # type: ignore[attr-defined]
    assert looks(running, 3) == [0, 0, 0]
    assert log(running, "the row in the cloud tells nothing") == 1
    assert log(running, said) == 1


def test_a_service_that_has_just_started_is_given_its_time(
    running: Node, cloud: ComputeApi, row: ServiceRow
) -> None:
    running.pacemaker.parameters["row_grace"] = "5m"  # type: ignore[index]
    silence(cloud, row)
    assert looks(running, 3) == [0, 0, 0]
    assert cloud.requests == []


def test_who_cannot_reach_the_bus_is_not_judged_by_the_row(
    running: Node, cloud: ComputeApi, row: ServiceRow, bus: MessageBus
) -> None:
    running.pacemaker.parameters.update(bus_grace="0")  # type: ignore[attr-defined]
    silence(cloud, row)
    bus.__exit__(None, None, None)
    assert look(running).code == 0
    time.sleep(SILENCE)
    assert looks(running, 3) == [0, 190, 190]
    assert cloud.requests == []


def test_the_misses_of_a_process_are_not_its_successors(
    running: Node, cloud: ComputeApi, row: ServiceRow
) -> None:
    silence(cloud, row)
    assert look(running).code == 0
    time.sleep(SILENCE)
    assert running.run("stop").code == 0
    assert succeeded(running.run("start"))
    assert look(running).code == 0, "its first miss"


def test_without_the_notes_of_earlier_looks_nothing_fails(
    running: Node, cloud: ComputeApi, row: ServiceRow
) -> None:
    silence(cloud, row)
    assert look(running).code == 0
    time.sleep(SILENCE)
    (notes,) = running.run_dir.glob("*.notes")
    notes.unlink()
    assert look(running).code == 0


def test_a_monitor_ends_in_its_time_whatever_the_api_does(running: Node, cloud: ComputeApi) -> None:
    running.pacemaker.parameters["api_timeout"] = "50s"  # type: ignore[index]
    cloud.fail(faults.drip(), service="compute", times=None)
    result = look(running, timeout=6.0)
    assert not result.timed_out
    assert result.code == 0
