# SPDX-License-Identifier: Apache-2.0
"""A nova-compute that runs, and does not answer over the message bus."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.message_bus import MessageBus
from ocf_agents.testing.node import Node, wait_for
from ocf_agents.testing.run import Result

from .test_recovery import succeeded

SECRET = "bus-s3cr3t"


@pytest.fixture
def bus() -> Iterator[MessageBus]:
    with MessageBus(password=SECRET) as bus:
        yield bus


@pytest.fixture
def running(node: Node, bus: MessageBus) -> Node:
    """A node whose nova-compute runs and is told of the bus; two misses are enough, and there is no grace."""
    with node.config.open("a") as file:
        file.write(f"transport_url = {bus.url}\n")
    node.pacemaker.parameters.update(bus_misses="2", bus_grace="0", bus_timeout="500ms")
    assert succeeded(node.run("start"))
    return node


def look(node: Node) -> Result:
    return node.run("monitor", level=10)


def log(node: Node, text: str) -> int:
    return node.log.read_text().count(text) if node.log.exists() else 0


def test_a_service_that_answers_is_well_and_the_api_is_not_asked(
    running: Node, bus: MessageBus, cloud: ComputeApi
) -> None:
    assert wait_for(lambda: not running.helpers(), 30.0), "the start's own asks until it is done"
    cloud.forget()
    assert look(running).code == 0
    assert bus.keys == ["nova/compute.cmp-7"]
    assert cloud.requests == []


def test_a_level_below_asks_nobody(running: Node, bus: MessageBus) -> None:
    assert running.run("monitor").code == 0
    assert running.run("monitor", level=10, interval=None).code == 0, "a probe"
    assert bus.keys == []


def test_a_service_that_does_not_answer_fails_at_the_second_time_and_is_told_once(
    running: Node, bus: MessageBus
) -> None:
    bus.does = "silent"
    assert look(running).code == 0
    failed = look(running)
    assert failed.code == 1
    assert "compute.cmp-7 did not answer" in (failed.reason or "")
    assert "no connection to the message bus" in (failed.reason or ""), "the stand-in has none"
    assert look(running).code == 1
    assert log(running, "did not answer") == 1
    bus.does = "answer"
    assert look(running).code == 0
    assert log(running, "answers over the message bus again") == 1


def test_a_bus_that_is_away_restarts_nothing(running: Node, bus: MessageBus) -> None:
    assert look(running).code == 0
    bus.__exit__(None, None, None)
    assert [look(running).code for _ in range(3)] == [0, 190, 190]
    assert log(running, "no message bus at 127.0.0.1") == 1


def test_a_service_that_has_just_started_is_given_its_time(running: Node, bus: MessageBus) -> None:
    running.pacemaker.parameters["bus_grace"] = "5m"
    bus.does = "nobody"
    assert [look(running).code for _ in range(3)] == [0, 0, 0]
    assert bus.keys == []


def test_a_bus_that_cannot_be_asked_is_told_once_and_fails_nothing(running: Node, bus: MessageBus) -> None:
    bus.password = "changed"
    assert [look(running).code for _ in range(3)] == [0, 0, 0]
    assert log(running, "the message bus is not asked") == 1


def test_the_password_of_the_bus_is_nowhere(running: Node, bus: MessageBus) -> None:
    results = [look(running)]
    for does in ("silent", "nobody", "hangs"):
        bus.does = does
        results.append(look(running))
    bus.password = "changed"
    results.append(look(running))
    texts = [text for result in results for text in (result.reason or "", result.stderr, result.stdout)]
    files = [path.read_text() for path in running.run_dir.iterdir() if path.is_file()]
    assert SECRET not in "".join([*texts, *files, running.log.read_text() if running.log.exists() else ""])


def test_the_misses_of_a_process_are_not_its_successors(running: Node, bus: MessageBus) -> None:
    bus.does = "silent"
    assert [look(running).code for _ in range(2)] == [0, 1]
    assert running.run("stop").code == 0
    assert succeeded(running.run("start"))
    assert look(running).code == 0, "its first miss"


@pytest.mark.parametrize("does", ["blocks", "breaks", "is down"])
def test_a_bus_in_trouble_of_its_own_restarts_nothing(running: Node, bus: MessageBus, does: str) -> None:
    bus.does = does
    assert [look(running).code for _ in range(3)] == [0, 190, 190]


def test_a_monitor_ends_in_its_time_whatever_the_bus_does(running: Node, bus: MessageBus) -> None:
    bus.does = "hangs"
    running.pacemaker.parameters["bus_timeout"] = "50s"
    result = running.run("monitor", level=10, timeout=6.0)
    assert not result.timed_out
    assert result.code == 0
