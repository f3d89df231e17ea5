# SPDX-License-Identifier: Apache-2.0
"""How the embedded rows live: reports, belief, RPC and the Placement trait, as measured on Nova."""

from __future__ import annotations

import pytest

from ocf_agents.testing.compute.services import RPC_SECONDS, Services


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def services(clock: Clock) -> Services:
    return Services(clock=clock)


def test_a_process_that_serves_stays_up(services: Services, clock: Clock) -> None:
    row = services.add("n")
    clock.now += 1000
    assert services.is_up(row)
    assert row.seen == 2000.0


def test_a_dead_process_looks_up_for_the_down_time(services: Services, clock: Clock) -> None:
    row = services.add("n")
    clock.now += 13
    services.stop(row)
    clock.now += 57  # the last report was 3 s before the death
    assert services.is_up(row)
    clock.now += 1
    assert not services.is_up(row)


def test_a_row_is_up_five_seconds_after_rpc_answers(services: Services, clock: Clock) -> None:
    row = services.add("n", alive=False, up=False)
    services.start(row)
    clock.now += 4.9
    assert not services.is_up(row)
    clock.now += 0.1
    assert services.is_up(row)


def test_a_row_without_any_report_is_down(services: Services) -> None:
    assert not services.is_up(services.add("n", alive=False, up=False))


def test_forced_down_is_down_whatever_reports(services: Services) -> None:
    row = services.add("n")
    services.set_forced_down(row, True)
    assert not services.is_up(row)
    assert services.show(row)["state"] == "down"


def test_a_write_to_a_live_compute_takes_an_rpc_and_sets_the_trait(services: Services) -> None:
    row = services.add("n")
    assert services.set_status(row, True, "x") == RPC_SECONDS
    assert (row.trait, row.may_be_chosen) == (True, False)
    services.set_status(row, False, None)
    assert row.may_be_chosen


def test_a_write_to_a_dead_compute_blocks_only_while_nova_believes_it_up(
    services: Services, clock: Clock
) -> None:
    row = services.add("n")
    services.stop(row)
    assert services.set_status(row, True, "x") == services.rpc_timeout
    assert row.disabled
    clock.now += 61
    assert services.set_status(row, False, None) == 0.0


def test_a_disable_that_was_queued_for_a_dead_compute_comes_true_when_it_returns(
    services: Services, clock: Clock
) -> None:
    row = services.add("n")
    services.stop(row)
    services.set_status(row, True, "x")
    clock.now += 61
    services.set_status(row, False, None)
    services.start(row)
    assert (row.status, row.trait, row.may_be_chosen) == ("enabled", True, False)


def test_an_enable_between_rpc_and_the_first_report_leaves_the_trait(
    services: Services, clock: Clock
) -> None:
    row = services.add("n", disabled=True, reason="x", alive=False, up=False)
    services.start(row)
    services.set_status(row, False, None)
    assert not row.may_be_chosen
    clock.now += 5
    services.set_status(row, False, None)
    assert row.may_be_chosen


def test_an_enable_while_the_compute_is_down_is_right_from_its_start(services: Services) -> None:
    row = services.add("n", disabled=True, reason="x", alive=False, up=False)
    services.set_status(row, False, None)
    services.start(row)
    assert row.may_be_chosen


def test_a_row_that_is_recreated_has_a_new_id_and_is_enabled(services: Services) -> None:
    old = services.add("n", disabled=True, reason="x")
    new = services.recreate(old)
    assert (new.id != old.id, new.disabled, new.reason) == (True, False, None)
    assert (services.by_id(old.id), services.by_id(new.id)) == (None, new)


def test_reports_and_writes_move_updated_at(services: Services) -> None:
    row = services.add("n", alive=False, up=False)
    assert services.show(row)["updated_at"] is None
    services.report(row)
    reported = row.updated
    assert reported is not None
    row.updated = None
    services.set_forced_down(row, False)
    assert row.updated is not None
