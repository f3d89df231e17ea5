# SPDX-License-Identifier: Apache-2.0
"""What the stories check again and again."""

from __future__ import annotations

import os
import re

from labkit.control import Control
from labkit.errors import wait_for
from labkit.journal import Action
from labkit.report import Entry
from labkit.resource import RECOVERY, Resource
from labkit.tap import Request

LONG = os.environ.get("LAB_LONG") == "1"
HOLD = 20
"""Seconds for which the lab's API may keep a request; nothing is between the agent and Nova here."""

OPERATIONS = {
    "start": "timeout=60s",
    "stop": "timeout=60s",
    "monitor": "interval=1s timeout=20s",
}


def establish(resource: Resource, parameters: dict[str, str], control: Control) -> None:
    """Put it into the cluster and start it for the first time, until the scheduler knows its host."""
    resource.create(parameters, OPERATIONS, "failure-timeout=20s")
    resource.start()
    wait_for("the first row", lambda: resource.cloud.row(resource.host), 60)
    control.discover_hosts()


def bring_to_rest(resource: Resource, control: Control) -> Resource:
    """Whatever the story before left: running, enabled, up, nothing under way, no failure on record."""
    control.api.start()
    resource.clean_up()
    if not resource.is_active:
        resource.start(timeout=120)
    wait_for("the row to be up", lambda: resource.row.is_up, 90, every=0.5)
    if not resource.row.is_enabled:
        resource.cloud.enable(resource.host)
    resource.settle(HOLD + 40)
    resource.forget()
    return resource


MARKER = r"ocf-agents disabled: resource=%s host=%s at=\S+ token=[0-9a-f]+"


DEEP = 3
"""Seconds between two questions over the message bus, where a story has them asked."""


def deep_codes(compute: Resource) -> list[int | None]:
    """The results of the monitor at level 10 in this story, where they changed."""
    done = compute.journal.actions(compute.name, compute.mark)
    return [action.code for action in done if action.name == "monitor" and action.interval == 1000 * DEEP]


def await_answer(compute: Resource, control: Control, timeout: float) -> None:
    """Its monitor has nothing to say, and nova-compute answers over the message bus."""
    wait_for("a monitor at level 10 without a word", lambda: deep_codes(compute)[-1:] in ([], [0]), timeout)
    wait_for("an answer over the message bus", lambda: control.answers(compute.host), timeout)


def recovered(compute: Resource, mark: int, timeout: float) -> tuple[Action, Action, Action]:
    """The failed monitor, and the stop and start that it led to."""

    def done() -> list[Action] | None:
        actions = [a for a in compute.journal.actions(compute.name, mark) if a.name != "monitor" or a.code]
        return actions[:3] if tuple(a.name for a in actions[:3]) == RECOVERY and actions[2].end else None

    failure, stop, start = wait_for(f"the recovery of {compute.name}", done, timeout)
    return failure, stop, start


def assert_untouched(compute: Resource, pid: int) -> None:
    """The same process as before: no monitor has failed, nothing was stopped or started."""
    assert [str(action) for action in compute.actions] == []
    assert compute.process is not None
    assert compute.process.pid == pid


def assert_disabled_by_us(compute: Resource, within: float = 20) -> None:
    """The row bears our marker, at the latest `within` seconds from now: a stop does not wait for it."""
    wait_for("our disable in the row", lambda: not compute.row.is_enabled, within)
    row = compute.row
    assert row.status == "disabled"
    assert row.reason is not None
    assert re.fullmatch(MARKER % (re.escape(compute.name), re.escape(compute.host)), row.reason), row.reason


def assert_in_service(compute: Resource) -> None:
    """The row is enabled, and at once, not a minute later, Placement lets the scheduler choose the host."""
    assert not compute.cloud.bears_disabled_trait(compute.host)
    assert compute.cloud.may_be_chosen(compute.host)
    row = compute.row
    assert (row.status, row.reason, row.state) == ("enabled", None, "up")


def assert_stays_in_service(compute: Resource, hold: float) -> None:
    """Nothing that was sent comes into effect later: looked at again once nothing is under way."""
    compute.settle(hold + 40)
    assert_in_service(compute)


ALLOWANCE = 10
"""Requests of one recovery, besides one read for each 2 s that start waits for the row to be up."""


def assert_asked_little(compute: Resource, start: Action, story: Entry) -> None:
    """All that one stop and one start asked, their helpers included, is within the allowance."""
    compute.wait_until_nobody_works_on_it(HOLD + 40)
    requests = compute.requests
    waiting = [r for r in reads_of_the_row(requests) if start.begin <= r.begin <= start.end]
    besides = len(requests) - min(len(waiting), int(start.seconds / 2))
    story.notes.append(f"{besides} requests besides the reads of the waiting start, {ALLOWANCE} allowed")
    assert besides <= ALLOWANCE, [str(request) for request in requests]


def writes(requests: list[Request]) -> list[Request]:
    return [request for request in requests if request.method == "PUT"]


def reads_of_the_row(requests: list[Request]) -> list[Request]:
    return [r for r in requests if r.method == "GET" and r.path.startswith("/v2.1/os-services")]
