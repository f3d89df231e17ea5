# SPDX-License-Identifier: Apache-2.0
"""Reading the guard's history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ocf_agents.guard.history import History
from ocf_agents.guard.verdict import somebody_elses
from ocf_agents.operator import past
from ocf_agents.operator.trouble import NotFound, Unusable


def line(time: str, read: str) -> dict[str, object]:
    return {
        "time": time,
        "pid": 1,
        "action": "helper",
        "generation": 1,
        "read": read,
        "decided": "d",
        "why": "w",
    }


def test_the_older_file_comes_first_and_the_last_lines_are_given(tmp_path: Path) -> None:
    (tmp_path / "nc.history.jsonl.1").write_text(
        json.dumps(line("1", "ours")) + "\n" + json.dumps(line("2", "ours")) + "\n"
    )
    (tmp_path / "nc.history.jsonl").write_text(json.dumps(line("3", "ours")) + "\n")
    assert [one["time"] for one in past.lines(str(tmp_path), "nc")] == ["1", "2", "3"]
    assert [one["time"] for one in past.lines(str(tmp_path), "nc", 2)] == ["2", "3"]


def test_it_reads_what_the_guard_writes(tmp_path: Path) -> None:
    History(str(tmp_path), "nc:0").add("start", 7, "enabled", "done", "the row is enabled")
    (found,) = past.lines(str(tmp_path), "nc:0")
    assert (found["action"], found["generation"], found["decided"]) == ("start", 7, "done")


def test_a_line_that_is_torn_or_strange_is_left_out(tmp_path: Path) -> None:
    good = json.dumps(line("3", "ours"))
    timeless = json.dumps({**line("", "foreign"), "time": 5})
    (tmp_path / "nc.history.jsonl").write_text(
        f'{good[:20]}\n[1]\n{{"time": null}}\n{timeless}\n{good}\n\xff'
    )
    assert len(past.lines(str(tmp_path), "nc")) == 1


def test_no_history_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nc\.history\.jsonl does not exist"):
        past.lines(str(tmp_path), "nc")


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (tmp_path / "nc.history.jsonl").symlink_to(tmp_path / "secret")
    with pytest.raises(Unusable):
        past.lines(str(tmp_path), "nc")


OURS_WORDS = somebody_elses("bad DIMM")
OTHER_WORDS = somebody_elses("RAM swap")
NO_WORDS = somebody_elses(None)


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ([("1", "enabled"), ("2", "foreign"), ("3", "answer"), ("4", "foreign")], "2"),
        ([("1", "foreign"), ("2", "enabled"), ("3", "foreign"), ("4", "unknown")], "3"),
        ([("1", "foreign"), ("2", "ours")], ""),
        ([], ""),
    ],
)
def test_since_when_a_row_is_read_as_somebody_elses(reads: list[tuple[str, str]], expected: str) -> None:
    history = [{**line(*one), "why": OURS_WORDS} for one in reads]
    assert past.read_since(history, "bad DIMM") == expected


@pytest.mark.parametrize(
    ("whys", "expected"),
    [
        ([OTHER_WORDS, OURS_WORDS], "1"),
        ([OURS_WORDS, OTHER_WORDS], ""),
        ([OURS_WORDS, OTHER_WORDS, OURS_WORDS], "2"),
        ([NO_WORDS, OURS_WORDS, OURS_WORDS], "1"),
        ([NO_WORDS], ""),
    ],
)
def test_of_other_words_it_tells_nothing(whys: list[str], expected: str) -> None:
    history = [{**line(str(number), "foreign"), "why": why} for number, why in enumerate(whys)]
    assert past.read_since(history, "bad DIMM") == expected


def test_a_disable_without_a_reason_has_a_beginning_too() -> None:
    assert past.read_since([{**line("1", "foreign"), "why": NO_WORDS}], None) == "1"
