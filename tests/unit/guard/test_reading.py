# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ocf_agents.guard import marker
from ocf_agents.guard.reading import (
    DONE,
    TO_SEND,
    TO_WAIT,
    TO_WAIT_FOR_UP,
    TO_WATCH,
    Decision,
    Seen,
    Situation,
    Trouble,
    consider,
    settle,
)
from ocf_agents.guard.record import (
    DISABLE,
    DISABLED,
    ENABLE,
    ENABLED,
    FOREIGN,
    OURS,
    UNKNOWN,
    Attempt,
    Foreign,
    Instant,
    Known,
    Process,
    Record,
)
from ocf_agents.guard.row import APPLIED, REFUSED, Answer, Row
from ocf_agents.guard.row import UNKNOWN as IN_DOUBT
from ocf_agents.guard.verdict import NONE, Policy

POLICY = Policy("nova-compute", "c1", hold=300.0, api_timeout=10.0)
ME = Process(10, 20, "boot-1")
OTHER = Process(11, 21, "boot-1")
UTC = "2026-11-30T11:23:23Z"
NOW = Instant("boot-1", 1000.0)
ENABLED_ROW = Row("row-1", disabled=False)
OUR_ROW = Row("row-1", disabled=True, reason=str(marker.make("nova-compute", "c1", UTC, "0" * 16)))
FOREIGN_ROW = Row("row-1", disabled=True, reason="RAM swap")
UNSETTLED = Attempt("a", DISABLE, "row-1", Instant("boot-1", 900.0), OTHER, Instant("boot-1", 910.0))
SETTLEABLE = replace(UNSETTLED, let_go=Instant("boot-1", 100.0))


def record(want: str, *many: Attempt, **more: Any) -> Record:
    empty = Record.empty("nova-compute", "machine", "c1")
    return replace(empty, generation=5, want=want, attempts=many, **more)


def situation(**more: Any) -> Situation:
    around = Situation(NOW, ME, "f" * 16, lambda _: False, is_busy=False, may_enable=True)
    return replace(around, **more)


def look(
    before: Record, result: Row | Trouble | None, policy: Policy = POLICY, **more: Any
) -> tuple[Record, Decision]:
    return consider(before, Seen(result, NOW, UTC), situation(**more), policy)


# what is done


@pytest.mark.parametrize(
    ("want", "result", "do"),
    [
        (DISABLED, ENABLED_ROW, TO_SEND),
        (DISABLED, OUR_ROW, DONE),
        (DISABLED, FOREIGN_ROW, DONE),
        (ENABLED, ENABLED_ROW, DONE),
        (ENABLED, OUR_ROW, TO_SEND),
        (ENABLED, FOREIGN_ROW, DONE),
        (ENABLED, None, TO_WAIT),
        (DISABLED, Trouble("503"), TO_WAIT),
    ],
)
def test_with_nothing_unsettled(want: str, result: Row | Trouble | None, do: str) -> None:
    assert look(record(want), result)[1].do == do


@pytest.mark.parametrize(
    ("want", "row"),
    [(DISABLED, OUR_ROW), (DISABLED, FOREIGN_ROW), (ENABLED, ENABLED_ROW), (ENABLED, FOREIGN_ROW)],
)
@pytest.mark.parametrize("kind", [DISABLE, ENABLE])
def test_a_row_as_wanted_is_watched_while_anything_is_unsettled(want: str, row: Row, kind: str) -> None:
    assert look(record(want, replace(UNSETTLED, kind=kind)), row)[1].do == TO_WATCH


def test_an_attempt_is_on_record_when_it_is_to_be_sent() -> None:
    after, decision = look(record(DISABLED), ENABLED_ROW)
    assert decision.attempt == Attempt("f" * 16, DISABLE, "row-1", NOW, ME)
    assert after.attempts == (decision.attempt,)


def test_an_enable_waits_for_the_row_to_be_up_and_a_disable_does_not() -> None:
    after, decision = look(record(ENABLED), OUR_ROW, may_enable=False)
    assert (decision.do, after.attempts) == (TO_WAIT_FOR_UP, ())
    assert look(record(DISABLED), ENABLED_ROW, may_enable=False)[1].do == TO_SEND


@pytest.mark.parametrize(("want", "row"), [(DISABLED, ENABLED_ROW), (ENABLED, OUR_ROW)])
def test_nothing_is_sent_while_a_given_up_write_may_still_be(want: str, row: Row) -> None:
    after, decision = look(record(want), row, is_busy=True)
    assert (decision.do, after.attempts) == (TO_WAIT, ())


def test_a_second_enable_waits_for_the_firsts_timeout() -> None:
    first = Attempt("e", ENABLE, "row-1", Instant("boot-1", 995.0), ME, NOW)
    assert look(record(ENABLED, first), OUR_ROW)[1].do == TO_WAIT
    late = replace(first, sent=Instant("boot-1", 989.0))
    after, decision = look(record(ENABLED, late), OUR_ROW)
    assert decision.do == TO_SEND
    assert len(after.attempts) == 2, "both stay attempts"


@pytest.mark.parametrize(("age", "do"), [(12.0, TO_SEND), (12.1, TO_WAIT)])
@pytest.mark.parametrize(("want", "row"), [(DISABLED, ENABLED_ROW), (ENABLED, OUR_ROW)])
def test_nothing_is_sent_on_an_old_reading(want: str, row: Row, age: float, do: str) -> None:
    """A process that was frozen, or waited for the lock, reads again: keep read and write adjacent."""
    seen = Seen(row, Instant("boot-1", NOW.seconds - age), UTC)
    after, decision = consider(record(want), seen, situation(), POLICY)
    assert decision.do == do
    assert len(after.attempts) == (do == TO_SEND)


# what is known


@pytest.mark.parametrize(
    ("want", "row", "known"),
    [
        (DISABLED, OUR_ROW, Known(OURS, 5, True)),
        (DISABLED, FOREIGN_ROW, Known(FOREIGN, 5, True)),
        (DISABLED, ENABLED_ROW, Known(ENABLED, 5, False)),
        (ENABLED, ENABLED_ROW, Known(ENABLED, 5, True)),
        (ENABLED, OUR_ROW, Known(OURS, 5, False)),
        (ENABLED, FOREIGN_ROW, Known(FOREIGN, 5, True)),
        (ENABLED, None, Known(UNKNOWN, 5, False)),
    ],
)
def test_known_is_what_this_generation_has_read(want: str, row: Row | None, known: Known) -> None:
    assert look(record(want), row)[0].known == known


def test_our_disable_over_a_remembered_reason_is_final() -> None:
    after, decision = look(record(ENABLED, foreign=Foreign("RAM swap", UTC)), OUR_ROW)
    assert after.known == Known(OURS, 5, True)
    assert decision.do == DONE


def test_trouble_changes_nothing_but_the_clock_of_the_lost() -> None:
    before = record(ENABLED, replace(UNSETTLED, let_go=None), known=Known(OURS, 4), foreign=Foreign("x", UTC))
    after, _ = look(before, Trouble("403", is_permanent=True))
    assert after == replace(before, attempts=(replace(UNSETTLED, let_go=NOW),))


def test_trouble_settles_nothing() -> None:
    assert look(record(ENABLED, SETTLEABLE), Trouble("503"))[0].attempts == (SETTLEABLE,)
    assert look(record(ENABLED, SETTLEABLE), ENABLED_ROW)[0].attempts == ()


@pytest.mark.parametrize(("sent", "is_settled"), [(400.0, False), (400.1, True)])
def test_what_counts_is_when_the_read_was_sent(sent: float, is_settled: bool) -> None:
    """Not when it was answered, nor when it is taken in: the row may have been looked at early."""
    seen = Seen(ENABLED_ROW, Instant("boot-1", sent), UTC)
    after, _ = consider(record(ENABLED, SETTLEABLE), seen, situation(), POLICY)
    assert (after.attempts == ()) is is_settled


def test_a_read_of_our_token_settles_nothing() -> None:
    """It proves that the request has landed, not that it will not land again."""
    row = replace(OUR_ROW, reason=str(marker.make("nova-compute", "c1", UTC, "0" * 16)))
    unsettled = replace(UNSETTLED, token="0" * 16)
    assert look(record(DISABLED, unsettled), row)[0].attempts == (unsettled,)


def test_the_rows_id_is_noted() -> None:
    assert look(record(ENABLED, row_id="old"), ENABLED_ROW)[0].row_id == "row-1"
    assert look(record(ENABLED, row_id="old"), None)[0].row_id == "old"


# what is remembered


@pytest.mark.parametrize("reason", ["RAM swap", None, "", "AUTO: x"])
@pytest.mark.parametrize("want", [DISABLED, ENABLED])
@pytest.mark.parametrize("attempt", [UNSETTLED, SETTLEABLE])
def test_a_foreign_reason_is_remembered_while_a_disable_is_unsettled(
    reason: str | None, want: str, attempt: Attempt
) -> None:
    """Also when this very read settles it."""
    after, _ = look(record(want, attempt), replace(FOREIGN_ROW, reason=reason))
    assert after.foreign == Foreign(reason, UTC)


def test_a_foreign_reason_is_not_remembered_when_no_disable_can_fall_on_it() -> None:
    assert look(record(ENABLED), FOREIGN_ROW)[0].foreign is None
    enable = replace(UNSETTLED, kind=ENABLE)
    assert look(record(ENABLED, enable), FOREIGN_ROW)[0].foreign is None


@pytest.mark.parametrize("want", [DISABLED, ENABLED])
def test_an_enabled_row_ends_the_memory_and_ours_keeps_it(want: str) -> None:
    foreign = Foreign("RAM swap", UTC)
    assert look(record(want, UNSETTLED, foreign=foreign), ENABLED_ROW)[0].foreign is None
    assert look(record(want, UNSETTLED, foreign=foreign), OUR_ROW)[0].foreign == foreign
    assert look(record(want, foreign=foreign), OUR_ROW)[0].foreign == foreign
    assert look(record(want, UNSETTLED, foreign=foreign), Trouble("503"))[0].foreign == foreign
    assert look(record(want, UNSETTLED, foreign=foreign), None)[0].foreign == foreign


def test_a_memory_follows_the_words_as_they_change() -> None:
    before = record(ENABLED, UNSETTLED, foreign=Foreign("old words", UTC))
    assert look(before, FOREIGN_ROW)[0].foreign == Foreign("RAM swap", UTC)


# answers


SENT = Attempt("f" * 16, DISABLE, "row-1", NOW, ME)


def answered(
    before: Record, answer: Answer, took: float = 0.05, attempt: Attempt = SENT, **more: Any
) -> Record:
    generation = more.pop("generation", 5)
    return settle(before, attempt, answer, took, situation(**more), generation)


@pytest.mark.parametrize(
    ("kind", "want", "known"),
    [
        (DISABLE, DISABLED, Known(OURS, 5, True)),
        (ENABLE, ENABLED, Known(ENABLED, 5, True)),
        (DISABLE, ENABLED, Known(OURS, 5, False)),
        (ENABLE, DISABLED, Known(ENABLED, 5, False)),
    ],
)
def test_a_success_removes_the_attempt_and_counts_as_the_read(kind: str, want: str, known: Known) -> None:
    attempt = replace(SENT, kind=kind)
    after = answered(record(want, UNSETTLED, attempt), Answer(APPLIED), attempt=attempt)
    assert after.attempts == (UNSETTLED,), "another attempt's success settles nothing but itself"
    assert after.known == known


def test_a_refusal_removes_the_attempt_and_is_no_read() -> None:
    after = answered(record(DISABLED, SENT, known=Known(ENABLED, 5)), Answer(REFUSED, "403", permanent=True))
    assert after.attempts == ()
    assert after.known == Known(ENABLED, 5)


@pytest.mark.parametrize(
    ("answer", "took"),
    [
        (Answer(IN_DOUBT, "timeout"), 10.0),
        (Answer(IN_DOUBT, "500"), 0.1),
        (Answer(APPLIED), 30.1),
        (Answer(REFUSED), 30.1),
    ],
)
def test_a_doubtful_or_slow_answer_keeps_the_attempt_and_lets_it_go(answer: Answer, took: float) -> None:
    before = record(DISABLED, SENT, known=Known(ENABLED, 5))
    after = answered(before, answer, took)
    assert after == replace(before, attempts=(replace(SENT, let_go=NOW),))


def test_an_answer_within_thirty_seconds_is_definite() -> None:
    assert answered(record(DISABLED, SENT), Answer(APPLIED), 30.0).attempts == ()


def test_an_attempt_is_not_let_go_while_a_thread_may_still_send_it() -> None:
    before = record(DISABLED, SENT)
    assert answered(before, Answer(IN_DOUBT), 10.0, is_busy=True) == before


@pytest.mark.parametrize("answer", [Answer(APPLIED), Answer(REFUSED)])
def test_after_a_take_over_only_the_own_attempt_is_removed(answer: Answer) -> None:
    before = record(ENABLED, UNSETTLED, SENT, known=Known(ENABLED, 5, True))
    assert answered(before, answer, generation=4) == replace(before, attempts=(UNSETTLED,))


def test_after_a_take_over_a_doubt_changes_nothing() -> None:
    before = record(ENABLED, UNSETTLED, SENT)
    assert answered(before, Answer(IN_DOUBT), 10.0, generation=4) == before


def test_a_row_that_is_missing_has_the_status_none() -> None:
    assert look(record(ENABLED), None)[1].status == NONE
