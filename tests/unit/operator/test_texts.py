# SPDX-License-Identifier: Apache-2.0
"""Other people's texts and times on a terminal."""

from __future__ import annotations

import pytest

from ocf_agents.operator import texts


def test_a_reason_cannot_move_the_cursor_or_colour_the_terminal() -> None:
    assert texts.clean("a\x1b[31mb\r\nc\x00") == r"a\x1b[31mb\r\nc\x00"
    assert texts.clean("Zoë, 配置") == "Zoë, 配置"


@pytest.mark.parametrize(
    ("reason", "expected"), [(None, "no reason given"), ("", "an empty reason"), ("RAM", "'RAM'")]
)
def test_no_reason_and_an_empty_one_are_told_apart(reason: str | None, expected: str) -> None:
    assert texts.quoted(reason) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "120 min"),
        (7200, "2 hours"),
        (864000, "10 days"),
    ],
)
def test_spans(seconds: float, expected: str) -> None:
    assert texts.lasting(seconds) == expected


def test_a_time_and_how_long_ago_it_was() -> None:
    now = 1764500000.0
    assert texts.since("2025-11-30T10:51:20Z", now) == "2025-11-30T10:51:20Z (2 min ago)"
    assert "ahead of this host's clock" in texts.since("2025-11-30T11:53:20Z", now)
    assert texts.since("yesterday", now) == "yesterday"


def test_numbers_of_things() -> None:
    assert [texts.counted(n, "problem") for n in (0, 1, 2)] == ["0 problems", "1 problem", "2 problems"]
