# SPDX-License-Identifier: Apache-2.0
"""What is foretold is what the guard does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ocf_agents.agents.nova_compute import AGENT, SERVICE
from ocf_agents.guard import marker
from ocf_agents.guard.guard import Guard
from ocf_agents.guard.reading import Seen, Trouble
from ocf_agents.guard.record import (
    DISABLE,
    DISABLED,
    ENABLED,
    OURS,
    Attempt,
    Foreign,
    Helper,
    Instant,
    Known,
    Process,
    Record,
)
from ocf_agents.guard.row import Row
from ocf_agents.guard.verdict import Policy
from ocf_agents.operator import explain, forecast, status
from ocf_agents.operator.finding import Target
from ocf_agents.operator.look import Look, Memory, Service, other_host
from ocf_agents.operator.page import Section
from ocf_agents.operator.resource import Resource

AT = "2026-11-30T11:23:23Z"
NOW = Instant("boot", 1000.0)
MARKER = str(marker.make("nc", "cmp-7", AT, "5b964e4f5116da1e"))
RECORD = Record(1, "nc", "m", "cmp-7", "id", DISABLED, generation=7, known=Known(OURS, 7, True))
ROW = Row("id", True, MARKER, True)
LATE = Attempt("a" * 16, DISABLE, "id", Instant("boot", 900.0), let_go=Instant("boot", 950.0))


def look(
    row: Row | Trouble | None = ROW,
    record: Record | None = RECORD,
    *,
    running: bool = False,
    is_helped: bool = False,
    **policy: object,
) -> Look:
    resource = Resource("nc", AGENT, SERVICE)
    memory = Memory(record, is_helped, "" if record else "/x: Permission denied")
    service = Service("running" if running else "gone", 77 if running else None, 60.0 if running else None)
    said = Policy("nc", "cmp-7", **policy)  # type: ignore[arg-type]
    return Look(Target("cmp-7", resource, resource), said, Seen(row, NOW, AT), NOW, service, memory)


def told(one: Look) -> dict[str, str]:
    return texts(status.section(one))


def texts(section: Section) -> dict[str, str]:
    return {fact.label: fact.text for fact in section.facts}


class FixedClock:
    def now(self) -> Instant:
        return NOW


@pytest.mark.parametrize("want", [ENABLED, DISABLED])
@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize(
    "record",
    [
        RECORD,
        replace(RECORD, attempts=(LATE,)),
        replace(RECORD, stopped=NOW),
        Record.empty("nc", "m", "cmp-7"),
    ],
    ids=["quiet", "open", "stopped", "lost"],
)
def test_the_record_of_a_next_action_is_the_guards_own(record: Record, moves: bool, want: str) -> None:
    one = look(record=record, moves=moves)
    nothing: object = None
    guard = Guard(one.policy, nothing, FixedClock(), *[nothing] * 4)  # type: ignore[arg-type]
    real = guard._next(record, want)
    assert replace(forecast.as_wanted(one, record, want), generation=0) == replace(real, generation=0)


@pytest.mark.parametrize(
    ("row", "record", "policy", "expected"),
    [
        (ROW, RECORD, {}, "sends a request to enable it: the disable is ours"),
        (
            replace(ROW, up=False),
            RECORD,
            {},
            "waits until Nova sees the service up, then enables: the disable is ours",
        ),
        (replace(ROW, reason="RAM"), RECORD, {}, "leaves the row: disabled by somebody else, reason 'RAM'"),
        (replace(ROW, disabled=False, reason=None), RECORD, {}, "leaves the row: the row is enabled"),
        (
            ROW,
            RECORD,
            {"enable_on_start": False},
            "leaves the row: disabled by us, and enable_on_start is false",
        ),
        (
            replace(ROW, reason="RAM"),
            RECORD,
            {"enable_reasons": ("RAM",)},
            "sends a request to enable it: enable_reasons releases this disable",
        ),
        (Trouble("away"), RECORD, {}, "fails as long as the row cannot be read"),
        (Trouble("away"), replace(RECORD, known=Known("enabled", 7)), {}, "succeeds with a warning"),
        (None, RECORD, {}, "waits and looks again: there is no such row"),
    ],
)
def test_the_next_start_in_words(
    row: Row | Trouble | None, record: Record, policy: dict[str, object], expected: str
) -> None:
    assert told(look(row, record, **policy))["next start"].startswith(expected)


@pytest.mark.parametrize("is_permanent", [True, False])
@pytest.mark.parametrize("known", [RECORD.known, Known("enabled", 7)])
def test_status_and_explain_foretell_the_same_where_the_row_cannot_be_read(
    is_permanent: bool, known: Known
) -> None:
    one = look(Trouble("401", is_permanent), replace(RECORD, known=known))
    word = "fails" if known == RECORD.known else "succeeds"
    assert told(one)["next start"].startswith(word)
    assert texts(explain.section(one))["next start"] == told(one)["next start"]
    (start,) = [d for d in explain.as_json(one)["decisions"] if d["when"] == "next start"]
    assert start["why"] == told(one)["next start"]


def test_a_next_start_for_another_host_is_told_and_leaves_this_row() -> None:
    one = replace(look(), next_host="cmp-8")
    words = "leaves the row: that start is for host cmp-8, not for cmp-7, the record's"
    assert told(one)["next start"] == texts(explain.section(one))["next start"] == words
    assert status.as_json(one)["next_start"] == {"does": "leave", "text": words}
    unread = replace(one, seen=Seen(Trouble("away"), NOW, AT))
    assert told(unread)["next start"] == words


def test_the_next_starts_host_is_told_where_it_is_another(tmp_path: Path) -> None:
    resource = Resource("nc", AGENT, SERVICE, {"host": "cmp-8", "state_dir": str(tmp_path)})
    assert other_host(resource, "cmp-7") == "cmp-8"
    assert other_host(resource, "cmp-8") == ""
    assert other_host(replace(resource, parameters={}), "cmp-7") == ""


def test_a_memory_of_a_person_is_told_and_binds() -> None:
    record = replace(RECORD, foreign=Foreign("RAM", AT), attempts=(LATE,))
    one = look(record=record)
    assert "'RAM'; a late disable of the agent's fell on it" in told(one)["disabled by"]
    assert "it is left to them" in told(one)["next start"]
    assert texts(explain.section(one))["remembers"].startswith("'RAM'")


def test_unsettled_requests_say_how_long_they_may_still_land() -> None:
    assert (
        "disable aaaaaaaaaaaaaaaa, sent 100 s ago, may land for 4 min more"
        in told(look(record=replace(RECORD, attempts=(LATE,))))["unsettled"]
    )
    asking = replace(LATE, let_go=None, client=Process(1, 2, "boot"))
    assert "still waits for the answer" in told(look(record=replace(RECORD, attempts=(asking,))))["unsettled"]
    old = replace(LATE, let_go=Instant("boot", 1.0))
    assert "settled by the next reading" in told(look(record=replace(RECORD, attempts=(old,))))["unsettled"]
    before = replace(LATE, sent=Instant("other", 5.0), let_go=Instant("other", 5.0))
    assert (
        "before this host was booted" in told(look(record=replace(RECORD, attempts=(before,))))["unsettled"]
    )


def test_a_helper_is_alive_or_owed_or_not_needed() -> None:
    helper = Helper(Process(4711, 1, "boot"), 7, 1600.0)
    helped = look(record=replace(RECORD, reconciler=helper), is_helped=True)
    assert told(helped)["helper"] == "at work, pid 4711, for 10 min more at most"
    owed = look(record=replace(RECORD, want=ENABLED, attempts=(LATE,)), running=True)
    assert "the next monitor sends one" in told(owed)["helper"]
    assert told(look())["helper"] == "none at work, none needed"
    undone = look(replace(ROW, disabled=False, reason=None))
    assert "still enabled" in told(undone)["helper"]


def test_a_record_that_cannot_be_read_is_told_and_nothing_is_foretold_from_it() -> None:
    one = look(record=None)
    assert told(one)["record"] == "cannot be read: /x: Permission denied"
    assert status.as_json(one)["record"]["readable"] is False
    assert "decisions" in explain.as_json(one)
    assert explain.as_json(one)["decisions"] == []


def test_json_has_the_same_as_the_words() -> None:
    found = status.as_json(look(running=True))
    assert found["service"] == {"state": "running", "pid": 77, "seconds": 60.0}
    assert found["row"]["reason"] == MARKER
    assert found["disabled_by"]["kind"] == "agent"
    assert found["next_start"]["does"] == "enable"


def test_a_reason_with_escapes_cannot_reach_the_terminal() -> None:
    for section in (
        status.section(look(replace(ROW, reason="a\x1b]0;b\x07"))),
        explain.section(look(replace(ROW, reason="\x1b[2J"))),
    ):
        assert all(fact.text.isprintable() for fact in section.facts)


def test_a_token_of_a_damaged_record_moves_no_terminal() -> None:
    late = replace(LATE, token="\x1b[2J")
    texts = [fact.text for fact in status.section(look(record=replace(RECORD, attempts=(late,)))).facts]
    assert "\x1b" not in "".join(texts)
    assert any(r"disable \x1b[2J, sent" in text for text in texts)
