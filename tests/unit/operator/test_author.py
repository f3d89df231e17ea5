# SPDX-License-Identifier: Apache-2.0
"""Who disabled a row."""

from __future__ import annotations

import pytest

from ocf_agents.guard import marker
from ocf_agents.guard.record import Foreign, Record
from ocf_agents.guard.row import Row
from ocf_agents.operator import author, hold

AT = "2026-11-30T11:23:23Z"
TOKEN = "5b964e4f5116da1e"


def who(
    reason: str | None, resource: str | None = "nova-compute", record: Record | None = None
) -> author.Author:
    return author.of_row(Row("id", True, reason), resource, "cmp-7", record)


def test_nobody() -> None:
    assert author.of_row(Row("id", False), "nova-compute", "cmp-7").kind == author.NOBODY


def test_the_agent_and_when() -> None:
    found = who(str(marker.make("nova-compute", "cmp-7", AT, TOKEN)))
    assert (found.kind, found.at, found.resource) == (author.AGENT, AT, "nova-compute")
    assert AT in found.when


def test_on_another_machine_any_marker_of_the_host_is_the_agents() -> None:
    reason = str(marker.make("whatever", "cmp-7", AT, TOKEN))
    assert who(reason, None).kind == author.AGENT
    assert who(reason).kind == author.OTHER_AGENT


def test_a_marker_of_another_host_is_another_ones_everywhere() -> None:
    reason = str(marker.make("nova-compute", "cmp-8", AT, TOKEN))
    assert who(reason).kind == author.OTHER_AGENT
    assert "host cmp-8" in who(reason, None).text


def test_a_hold_says_by_whom_and_why() -> None:
    found = who(str(hold.make("zoe", AT, "RAM swap")))
    assert (found.kind, found.at, found.words) == (author.HELD, AT, "RAM swap")
    assert "zoe" in found.text


def test_words_under_a_late_marker_are_still_the_persons() -> None:
    reason = str(marker.make("nova-compute", "cmp-7", AT, TOKEN))
    record = Record(1, "nova-compute", "m", "cmp-7", generation=3, foreign=Foreign("RAM", AT))
    found = who(reason, record=record)
    assert (found.kind, found.words) == (author.OVERLAID, "RAM")


@pytest.mark.parametrize(
    ("reason", "kind", "words"),
    [
        ("AUTO: Connection to libvirt lost: 1", author.NOVA, "nova-compute itself"),
        ("Masakari detected host failed.", author.PROGRAM, "Masakari"),
        ("RAM", author.SOMEBODY, "somebody, 'RAM'"),
        (None, author.SOMEBODY, "no reason given"),
        ("", author.SOMEBODY, "an empty reason"),
        ("x ocf-agents disabled: resource=a", author.SOMEBODY, "somebody"),
    ],
)
def test_others(reason: str | None, kind: str, words: str) -> None:
    found = who(reason)
    assert found.kind == kind
    assert words in found.text
