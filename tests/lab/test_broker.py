# SPDX-License-Identifier: Apache-2.0
"""The way to the message bus is closed for one compute alone, or the bus itself is restarted."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from labkit.compute import USER
from labkit.control import Control
from labkit.errors import wait_for
from labkit.firewall import silence
from labkit.lab import Lab
from labkit.report import Entry
from labkit.resource import Resource
from labkit.settings import RABBIT
from words import (
    HOLD,
    LONG,
    OPERATIONS,
    assert_in_service,
    assert_stays_in_service,
    await_answer,
    deep_codes,
    recovered,
)

BLOCKED = 120 if LONG else 20
"""Seconds for which a node gets no word to the message bus."""

STOP = 20
"""Seconds that a stop may take here, instead of minutes."""

STILL_BLOCKED = 120 if LONG else 0
"""Seconds for which nova-compute stays cut off after Pacemaker has noticed."""


@pytest.fixture
def impatient(watched: Resource) -> Iterator[None]:
    """A short timeout of stop: nova-compute waits for the bus when it is told to end."""
    watched.set_timeout("stop", f"{STOP}s")
    yield
    watched.set_timeout("stop", OPERATIONS["stop"].removeprefix("timeout="))


@pytest.mark.usefixtures("impatient")
def test_blocked_for_nova_compute_alone(watched: Resource, lab: Lab, control: Control, story: Entry) -> None:
    """A firewall drops what nova-compute sends to the bus; the agent gets there. Pacemaker recovers it."""
    if lab.compute_user != USER:
        pytest.skip("nova-compute runs as root, like the agent: no firewall tells them apart")
    mark, begin = watched.journal.mark(), time.monotonic()
    with silence(watched.node, RABBIT, USER):
        wait_for("a failed monitor", lambda: 1 in deep_codes(watched), 60)
        story.notes.append(f"level 10 fails after {time.monotonic() - begin:.0f} s")
        time.sleep(STILL_BLOCKED)
    opened = watched.tap.now()
    failure, stop, _ = recovered(watched, mark, 240)
    assert failure.code == 1
    assert "did not answer" in failure.reason, failure.reason
    assert stop.code == 0
    wait_for("the host in service", lambda: is_in_service(watched), 180, every=0.5)
    story.notes.append(
        f"opened {STILL_BLOCKED} s later, in service {watched.tap.now() - opened:.0f} s after that"
    )
    await_answer(watched, control, 60)
    assert_stays_in_service(watched, HOLD)


def is_in_service(compute: Resource) -> bool:
    row = compute.row
    return row.is_up and row.is_enabled and compute.may_be_chosen


def test_blocked_for_one_node(watched: Resource, control: Control, story: Entry) -> None:
    """A firewall drops all that a node sends to the bus: degraded, and nothing is restarted."""
    process = watched.process
    assert process is not None
    begin = time.monotonic()
    with silence(watched.node, RABBIT):
        wait_for("a degraded monitor", lambda: 190 in deep_codes(watched), 60)
        story.notes.append(f"degraded after {time.monotonic() - begin:.0f} s")
        time.sleep(max(0.0, begin + BLOCKED - time.monotonic()))
    opened = time.monotonic()
    await_answer(watched, control, 120)
    story.notes.append(f"blocked for {BLOCKED} s; well {time.monotonic() - opened:.0f} s after that")
    assert_never_restarted(watched, process.pid)
    wait_for("the row to be up", lambda: watched.row.is_up, 90, every=0.5)
    assert_in_service(watched)


def test_the_bus_is_restarted(watched: Resource, control: Control, story: Entry) -> None:
    """RabbitMQ is restarted; nova-compute is not."""
    process = watched.process
    assert process is not None
    begin = time.monotonic()
    control.rabbit.stop()
    control.rabbit.start()
    away = time.monotonic() - begin
    reported = watched.row.updated_at
    wait_for("nova-compute to report", lambda: watched.row.updated_at != reported, 120, every=0.5)
    await_answer(watched, control, 60)
    story.notes.append(f"away for {away:.0f} s, reported again after {time.monotonic() - begin:.0f} s")
    assert_never_restarted(watched, process.pid)
    assert_in_service(watched)


def assert_never_restarted(compute: Resource, pid: int) -> None:
    """Degraded monitors are shown by Pacemaker, and lead to nothing."""
    assert {action.code for action in compute.actions} <= {190}, list(map(str, compute.actions))
    assert compute.process is not None
    assert compute.process.pid == pid
