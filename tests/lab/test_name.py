# SPDX-License-Identifier: Apache-2.0
"""The host gets another name in Nova, and its old one back."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from labkit.compute import CONFIG, UID
from labkit.control import Control
from labkit.errors import wait_for
from labkit.report import Entry
from labkit.resource import Resource
from words import HOLD, assert_disabled_by_us, assert_in_service, assert_stays_in_service

NEW = "cmp-renamed"


@pytest.fixture
def compute(compute: Resource, control: Control) -> Iterator[Resource]:
    """The resource; whatever the story leaves, the host has its own name afterwards."""
    name = compute.host
    yield compute
    if compute.host != name:
        call_it(compute, control, name)
    if control.cloud.row(NEW):
        control.cloud.forget(NEW)


def test_renamed_and_back(compute: Resource, control: Control, story: Entry) -> None:
    """Stopped, renamed in nova.conf, started; stopped, its old name again, started."""
    old = compute.host
    assert compute.stop().code == 0
    assert_disabled_by_us(compute, within=0)
    call_it(compute, control, NEW)
    start = compute.start()
    assert start.code == 0, start
    story.notes.append(f"start of the new name: {start.seconds:.1f} s")
    [aside] = set_aside(compute)
    assert any(aside in line and old in line for line in compute.told), compute.told
    story.notes.append(next(line for line in compute.told if aside in line))
    control.discover_hosts()
    wait_for("the new row to be up", lambda: compute.row.is_up, 60, every=0.5)
    assert_in_service(compute)
    left = compute.cloud.row(old)
    assert left is not None
    assert not left.is_enabled, "nobody looks after the row of the old name"
    story.notes.append(f"the old row stays: {left}")

    assert compute.stop().code == 0
    assert_disabled_by_us(compute, within=0)
    call_it(compute, control, old)
    start = compute.start()
    assert start.code == 0, start
    story.notes.append(f"start of the old name again: {start.seconds:.1f} s, by the marker in its row")
    assert len(set_aside(compute)) == 2
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)


def call_it(compute: Resource, control: Control, name: str) -> None:
    """As an administrator does it: Nova wants a state directory of its own for each name."""
    node, state = compute.node, f"/var/lib/nova/{name}"
    text = control.settings.nova_compute(name, node.address, state if name == NEW else "/var/lib/nova")
    node.path(CONFIG).write_text(text, encoding="utf-8")
    node.path(state).mkdir(exist_ok=True)
    os.chown(node.path(state), UID, UID)
    compute.host = name


def set_aside(compute: Resource) -> list[str]:
    """The names of the records that could not be used."""
    return [
        path.name for path in compute.state.iterdir() if path.name.startswith(f"{compute.name}.json.bad-")
    ]
