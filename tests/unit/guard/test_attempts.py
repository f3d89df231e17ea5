# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from ocf_agents.guard import attempts
from ocf_agents.guard.record import DISABLE, ENABLE, Attempt, Instant, Process, Record
from ocf_agents.guard.verdict import Policy

HOLD = 300.0
CLIENT = Process(10, 20, "boot-1")
POLICY = Policy("nova-compute", "c1", hold=HOLD, api_timeout=10.0)


def at(seconds: float, boot: str = "boot-1") -> Instant:
    return Instant(boot, seconds)


def attempt(token: str = "a", **more: object) -> Attempt:
    return replace(Attempt(token, DISABLE, "row-1", at(100.0), CLIENT), **more)  # type: ignore[arg-type]


def with_attempts(*many: Attempt) -> Record:
    return replace(Record.empty("nova-compute", "machine", "c1"), generation=1, attempts=many)


# let go


def test_the_clock_does_not_run_while_the_client_lives() -> None:
    record = with_attempts(attempt())
    assert attempts.let_go(record, at(1000.0), lambda client: client == CLIENT) == record


def test_the_clock_runs_from_when_the_client_was_first_found_gone() -> None:
    """Never from the record: it may have been frozen between writing and sending."""
    record = attempts.let_go(with_attempts(attempt()), at(1000.0), lambda _: False)
    assert record.attempts[0].let_go == at(1000.0)
    assert attempts.let_go(record, at(2000.0), lambda _: False) == record


def test_an_attempt_without_a_known_client_runs_from_when_it_is_first_seen() -> None:
    record = attempts.let_go(with_attempts(attempt(client=None)), at(1000.0), lambda _: True)
    assert record.attempts[0].let_go == at(1000.0)


def test_another_boot_restarts_the_clock() -> None:
    before = with_attempts(attempt(let_go=at(900.0)), attempt("b", let_go=at(950.0, "boot-0")))
    after = attempts.let_go(before, at(5.0, "boot-2"), lambda _: True)
    assert [a.let_go for a in after.attempts] == [at(5.0, "boot-2"), at(5.0, "boot-2")]


# settle


@pytest.mark.parametrize(
    ("waited", "is_settled"), [(0.0, False), (299.9, False), (300.0, False), (300.1, True)]
)
def test_a_read_sent_more_than_hold_after_the_letting_go_settles(waited: float, is_settled: bool) -> None:
    record = with_attempts(attempt(let_go=at(1000.0)))
    settled = attempts.settle(record, "row-1", at(1000.0 + waited), HOLD)
    assert (settled.attempts == ()) is is_settled


def test_an_attempt_that_was_not_let_go_is_never_settled() -> None:
    record = with_attempts(attempt())
    assert attempts.settle(record, "row-1", at(1e9), HOLD) == record


def test_time_of_another_boot_settles_nothing() -> None:
    record = with_attempts(attempt(let_go=at(1.0, "boot-0")))
    assert attempts.settle(record, "row-1", at(1e9), HOLD) == record


def test_a_read_from_before_the_letting_go_settles_nothing() -> None:
    record = with_attempts(attempt(let_go=at(1000.0)))
    assert attempts.settle(record, "row-1", at(10.0), HOLD) == record


def test_each_attempt_is_settled_by_itself() -> None:
    old, young = attempt("old", let_go=at(0.0)), attempt("young", let_go=at(200.0))
    assert attempts.settle(with_attempts(old, young), "row-1", at(400.0), HOLD).attempts == (young,)


def test_an_attempt_on_another_row_is_void() -> None:
    record = with_attempts(attempt(), attempt("b", row_id="row-2"))
    assert [a.token for a in attempts.settle(record, "row-2", at(101.0), HOLD).attempts] == ["b"]


def test_without_a_row_nothing_is_void() -> None:
    record = with_attempts(attempt())
    assert attempts.settle(record, None, at(101.0), HOLD) == record


def test_a_presumed_attempt_is_of_any_row() -> None:
    record = attempts.presume(with_attempts(), at(0.0))
    assert attempts.settle(record, "row-9", at(100.0), HOLD) == record
    assert attempts.settle(record, "row-9", at(300.1), HOLD).attempts == ()


# presume


def test_a_presumed_disable_was_let_go_just_now_and_is_only_one() -> None:
    record = attempts.presume(attempts.presume(with_attempts(attempt()), at(0.0)), at(50.0))
    assert [a.is_presumed for a in record.attempts] == [False, True]
    assert record.attempts[1].kind == DISABLE
    assert record.attempts[1].let_go == at(50.0)


# pace


@pytest.mark.parametrize(("age", "is_paced"), [(0.0, True), (10.0, True), (10.1, False)])
def test_another_of_the_same_kind_waits_for_the_first_ones_timeout(age: float, is_paced: bool) -> None:
    record = with_attempts(attempt(kind=ENABLE))
    assert attempts.is_paced(record, ENABLE, at(100.0 + age), POLICY) is is_paced
    assert not attempts.is_paced(record, DISABLE, at(100.0 + age), POLICY)


def test_a_presumed_attempt_holds_nothing_back() -> None:
    assert not attempts.is_paced(attempts.presume(with_attempts(), at(100.0)), DISABLE, at(100.0), POLICY)


def test_an_attempt_of_another_boot_holds_nothing_back() -> None:
    assert not attempts.is_paced(with_attempts(attempt()), DISABLE, at(100.0, "boot-2"), POLICY)


# the next settlement


def test_the_next_settlement_is_the_earliest() -> None:
    record = with_attempts(attempt(let_go=at(100.0)), attempt("b", let_go=at(50.0)), attempt("c"))
    assert attempts.next_settlement(record, at(150.0), POLICY) == 200.0
    assert attempts.next_settlement(record, at(1000.0), POLICY) == 0.0


def test_without_a_running_clock_there_is_none() -> None:
    assert attempts.next_settlement(with_attempts(attempt()), at(1.0), POLICY) is None
    assert attempts.next_settlement(with_attempts(), at(1.0), POLICY) is None
