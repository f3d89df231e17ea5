# SPDX-License-Identifier: Apache-2.0
"""nova-api is dead: its port refuses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from labkit.control import Control
from labkit.report import Entry
from labkit.resource import Resource
from words import HOLD, OPERATIONS, assert_disabled_by_us, assert_in_service, assert_stays_in_service

SHORT = 30
"""Seconds that a start may take here, instead of minutes."""


@pytest.fixture
def impatient(compute: Resource) -> Iterator[Resource]:
    """The resource with a short timeout of start."""
    compute.set_timeout("start", f"{SHORT}s")
    yield compute
    compute.set_timeout("start", OPERATIONS["start"].removeprefix("timeout="))


@pytest.fixture
def outage(control: Control) -> Iterator[Control]:
    """The control plane; whatever the story does to nova-api, it is back for the next one."""
    yield control
    control.api.start()


def test_dead_during_stop_back_before_start(outage: Control, compute: Resource, story: Entry) -> None:
    """nova-api dies, stop, nova-api is back, start."""
    outage.api.kill()
    stop = compute.stop()
    assert stop.code == 0
    assert stop.seconds < 10

    outage.api.start()
    assert compute.start().code == 0
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)


def test_dead_during_start_with_our_disable_in_effect(
    outage: Control, impatient: Resource, story: Entry
) -> None:
    """Stop, nova-api dies, start; it fails, is tried again after failure-timeout, nova-api returns."""
    impatient.stop()
    assert_disabled_by_us(impatient)
    outage.api.kill()
    start = impatient.start()
    assert start.code not in (0, None), "ended by the agent itself, in time"
    assert start.seconds < SHORT
    assert start.reason
    story.notes.append(f"the start fails: {start.reason}")

    outage.api.start()
    assert_disabled_by_us(impatient)
    again = impatient.wait_for_action("start", impatient.journal.end_of(start), timeout=120)
    assert again.code == 0
    story.notes.append(f"healed {again.end - start.end:.0f} s after the failure")
    assert_in_service(impatient)
    assert_stays_in_service(impatient, HOLD)


def test_dead_during_start_with_nothing_of_ours_in_effect(
    outage: Control, impatient: Resource, story: Entry
) -> None:
    """nova-api dies, stop, start; it is back later."""
    outage.api.kill()
    assert impatient.stop().code == 0
    start = impatient.start()
    assert start.code == 0
    assert start.seconds < SHORT
    warning = impatient.decisions[-1]
    story.notes.append(f"the start succeeds: {warning['why']}")

    outage.api.start()
    assert_stays_in_service(impatient, HOLD + 60)
