# SPDX-License-Identifier: Apache-2.0
"""An operator has disabled the host for reasons of their own."""

from __future__ import annotations

import pytest
from labkit.errors import wait_for
from labkit.report import Entry
from labkit.resource import Resource
from words import HOLD, assert_disabled_by_us, writes

WORDS = "RAM swap,  ticket 4711 (José: nicht einschalten!) 内存"


def assert_disabled_by_the_operator(compute: Resource, reason: str | None) -> None:
    row = compute.row
    assert (row.status, row.reason) == ("disabled", reason)


@pytest.mark.parametrize("reason", [WORDS, None], ids=["with a reason", "without a reason"])
def test_crash_of_a_disabled_host(compute: Resource, story: Entry, reason: str | None) -> None:
    """The operator disables, then nova-compute crashes."""
    compute.cloud.disable(compute.host, reason)
    failure, stop, start = compute.crash()
    assert failure.code != 0
    assert (stop.code, start.code) == (0, 0)

    assert_disabled_by_the_operator(compute, reason)
    compute.settle(HOLD + 40)
    assert_disabled_by_the_operator(compute, reason)
    assert writes(compute.requests) == []
    assert not compute.may_be_chosen
    story.notes.append("not one write of the agent")


def test_operator_disables_what_we_have_disabled(compute: Resource, story: Entry) -> None:
    """The operator disables while our disable is in effect, then it is started."""
    compute.stop()
    assert_disabled_by_us(compute)
    with compute.cloud.elsewhere() as operator:
        # Nova saves this at once and answers when the compute does: it is still believed to be up.
        answer = operator.submit(compute.cloud.disable, compute.host, WORDS)
        wait_for("the operator's words in the row", lambda: compute.row.reason == WORDS, 10)

        start = compute.start()
        assert start.code == 0
        assert_disabled_by_the_operator(compute, WORDS)
        answer.result(timeout=90)
    compute.settle(HOLD + 40)
    assert_disabled_by_the_operator(compute, WORDS)
    assert len(writes(compute.requests)) == 1, "the stop's own disable"
    story.notes.append("the start succeeds and leaves the row alone")
