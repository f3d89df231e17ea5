# SPDX-License-Identifier: Apache-2.0
"""Stops and starts in every order and at any distance; an API that is slow, lying or gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ocf_agents.guard import marker
from ocf_agents.guard.record import DISABLE, DISABLED, ENABLE, ENABLED, FOREIGN, OURS, UNKNOWN, Known, encode
from ocf_agents.guard.row import Unreadable

from .story import HOLD, assert_enabled_at_rest, sent, until_sent
from .world import Actor, Fate, World

# stop


def test_a_stop_disables_with_a_marker_and_a_start_enables(world: World) -> None:
    world.stop()
    assert world.cloud.is_ours, "the head start lets the disable land while the service lives"
    assert world.start().is_success
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)
    assert sent(world) == [DISABLE, ENABLE]


@pytest.mark.parametrize("trouble", ["hangs", "refuses", "is gone"])
def test_stop_never_waits_for_the_api(world: World, trouble: str) -> None:
    if trouble == "is gone":
        world.cloud.trouble = Unreadable("connection refused")
    else:
        world.cloud.fates.append(Fate.lost() if trouble == "hangs" else Fate.refused())
    before = world.now
    world.stop(takes=1.0)
    assert world.now - before < 1.0 + 3.0 + 0.1


def test_a_stop_of_a_dead_service_waits_for_nothing(world: World) -> None:
    world.kill_service()
    world.cloud.fates.append(Fate.slow(60.0))
    before = world.now
    world.stop()
    assert world.now - before < 0.1
    world.run(120)
    assert world.cloud.is_ours


def test_the_head_start_ends_when_there_is_nothing_to_send(world: World) -> None:
    world.cloud.operator(disabled=True, reason="RAM swap")
    before = world.now
    world.stop(takes=1.0)
    assert world.now - before < 2.0
    assert sent(world) == []


def test_a_stop_tries_until_the_api_is_back(world: World) -> None:
    world.cloud.trouble = Unreadable("503")
    world.stop()
    world.run(1800)
    world.cloud.trouble = None
    world.run(120)
    assert world.cloud.is_ours
    assert sent(world) == [DISABLE]


def test_a_helper_ends_at_its_deadline(world: World) -> None:
    world.options["disable_deadline"] = 600.0
    world.cloud.trouble = Unreadable("503")
    world.stop()
    world.run(500)
    assert len(world.helpers()) == 1
    world.run(150)
    assert world.helpers() == []


def test_a_stop_that_cannot_have_the_lock_still_disables(world: World) -> None:
    """It goes on; its helper writes the intent when the lock is free, for the generation that was read."""
    world.disk.locked_until = world.now + 30.0
    before = world.now
    world.stop(takes=1.0)
    assert world.now - before < 1.0 + 3.0 + 2 * 2.0 + 0.5
    assert world.disk.record().generation == 7
    world.run(60)
    assert world.cloud.is_ours
    assert (world.disk.record().want, world.disk.record().generation) == (DISABLED, 8)


def test_a_late_intent_gives_way_to_a_start_that_came_first(world: World) -> None:
    """The helper of a stop without the lock finds that the generation which it was told has passed."""
    world.disk.locked_until = world.now + 8.0
    world.stop()
    assert world.start().is_success
    world.keep_running(100)
    assert world.disk.record().want == ENABLED
    assert sent(world) == []
    assert world.cloud.row is not None
    assert not world.cloud.row.disabled


def test_a_late_intent_is_not_written_over_a_newer_one(world: World) -> None:
    """The same, and the helper comes to the lock only after the start has finished."""
    world.disk.locked_until = world.now + 8.0
    world.on("helper of stop", "update", lambda helper: helper.sleep(120.0))
    world.stop()
    assert world.start().is_success
    generation = world.disk.record().generation
    world.keep_running(300)
    assert world.disk.record().generation == generation
    assert sent(world) == []
    assert_enabled_at_rest(world)


def test_a_start_that_cannot_have_the_lock_fails_with_the_reason(world: World) -> None:
    world.stop()
    world.run(400)
    world.disk.locked_until = world.now + 1000.0
    conclusion = world.start()
    assert not conclusion.is_success
    assert "locked" in conclusion.text


@pytest.mark.parametrize("fault", ["/var/lib/ocf-agents: No space left on device", "Read-only file system"])
def test_a_disk_that_fails_fails_a_start_but_never_a_stop(world: World, fault: str) -> None:
    world.disk.fault = fault
    world.stop()
    assert world.service is None
    assert any(fault in text for text in world.notes.warnings)
    assert sent(world) == [], "intent before deed"
    conclusion = world.start()
    assert not conclusion.is_success
    assert fault in conclusion.text


def test_a_stop_that_cannot_start_a_helper_still_stops(world: World) -> None:
    world.cannot_spawn = True
    world.stop()
    assert world.service is None
    assert any("helper" in text for text in world.notes.warnings)


def test_two_stops_at_once_send_one_disable(world: World) -> None:
    world.begin_stop("stop 1")
    world.begin_stop("stop 2")
    world.run(30)
    assert sent(world) == [DISABLE]
    assert world.cloud.is_ours


def test_a_stop_beside_a_living_helper_changes_and_spawns_nothing(world: World) -> None:
    world.cloud.trouble = Unreadable("503")
    world.stop("stop 1")
    world.run(5)
    before, helpers = world.disk.record(), world.helpers()
    assert len(helpers) == 1
    world.stop("stop 2")
    assert world.helpers() == helpers
    assert world.disk.record().generation == before.generation
    assert len(world.errands) == 1


def test_a_stop_after_a_dead_helper_takes_over(world: World) -> None:
    world.cloud.trouble = Unreadable("503")
    world.stop("stop 1")
    world.helpers()[0].kill()
    before = world.disk.record().generation
    world.cloud.trouble = None
    world.stop("stop 2")
    world.run(10)
    assert world.disk.record().generation == before + 1
    assert world.cloud.is_ours


def test_a_disable_that_takes_a_minute_is_never_sent_twice_at_a_time(world: World) -> None:
    """Nova believes the dead service up: applied at once, answered after 60 s (facts)."""
    world.kill_service()
    world.cloud.fates.append(Fate.lost(0.01))
    world.stop()
    world.run(200)
    assert sent(world) == [DISABLE]


# stop and start close together


@pytest.mark.parametrize("fate", [Fate(), Fate.lost(0.01), Fate.lost(8.0), Fate.lost(40.0), Fate.slow(60.0)])
@pytest.mark.parametrize("gap", [0.0, 0.1, 1.0, 5.0])
def test_stop_and_start_close_together(world: World, gap: float, fate: Fate) -> None:
    world.cloud.fates.append(fate)
    world.stop()
    world.run(gap)
    assert world.start().is_success
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)


@pytest.mark.parametrize("fate", [Fate(), Fate.lost(0.01), Fate.lost(8.0), Fate.slow(60.0)])
def test_start_and_stop_close_together(world: World, fate: Fate) -> None:
    """The enable is under way when the stop comes: a late enable is undone by the same step."""
    world.stop("stop 1")
    world.run(100)
    world.cloud.fates.append(fate)
    begun = world.begin_start()
    until_sent(world, 2)
    begun.kill()
    world.stop("stop 2")
    world.run(3 * HOLD)
    assert world.cloud.is_ours
    assert world.disk.record().attempts == ()


def test_a_late_enable_after_a_stop_is_undone_as_long_as_it_may_land(world: World) -> None:
    world.stop("stop 1")
    world.run(100)
    world.cloud.fates.append(Fate.lost(200.0))
    begun = world.begin_start()
    until_sent(world, 2)
    begun.kill()
    world.stop("stop 2")
    world.run(100)
    assert world.cloud.is_ours
    world.run(3 * HOLD)
    assert sent(world) == [DISABLE, ENABLE, DISABLE]
    assert world.cloud.is_ours


def test_a_disable_that_a_proxy_sends_twice(world: World) -> None:
    world.cloud.fates.append(Fate.lost(0.01, 120.0))
    world.stop()
    world.run(30)
    assert world.start().is_success
    world.keep_running(2 * HOLD)
    assert world.cloud.requests[0].landed == 2
    assert_enabled_at_rest(world)


def test_a_slow_success_settles_nothing(world: World) -> None:
    """An answer after 45 s may be a proxy's second try: the first may still land."""
    world.cloud.fates.append(Fate((0.01, 200.0), 45.0))
    world.stop()
    world.run(60)
    assert world.disk.record().attempts != ()
    assert world.start().is_success
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)


# start


def test_a_service_that_does_not_start_is_not_enabled(world: World) -> None:
    world.stop()
    world.run(10)
    assert not world.start(serves=False).is_success
    world.run(600)
    assert sent(world) == [DISABLE]
    assert world.cloud.is_ours


def test_a_service_that_dies_while_the_cloud_is_waited_for_is_not_enabled(world: World) -> None:
    world.stop()
    world.run(100)
    begun = world.begin_start()
    world.run(5)
    world.kill_service()
    world.run(240, lambda: begun.has_ended)
    assert not begun.result.is_success
    assert "died" in begun.result.text
    world.run(600)
    assert sent(world) == [DISABLE]


def test_start_waits_for_the_row_to_be_up_before_it_enables(world: World) -> None:
    """Enabled between RPC and `up`, the host would get no instance for most of a minute (facts)."""
    world.stop()
    world.run(200)
    begun = world.begin_start()
    until_sent(world, 2)
    assert world.service_born is not None
    assert world.now - world.service_born >= 13.0
    world.run(10, lambda: begun.has_ended)
    assert begun.result.is_success
    assert not begun.result.is_warning


def test_an_up_that_is_left_from_the_process_before_is_not_believed(world: World) -> None:
    world.stop()
    world.run(1)
    world.begin_start()
    until_sent(world, 2)
    assert world.service_born is not None
    assert world.now - world.service_born >= 13.0


def test_a_row_that_is_never_up_is_enabled_before_the_timeout_with_a_warning(world: World) -> None:
    world.stop()
    world.run(200)
    begun = world.begin_start(seconds=100.0)
    world.run(2)
    world.cloud._report = lambda: None  # type: ignore[method-assign]
    world.run(100, lambda: begun.has_ended)
    assert begun.result.is_success
    assert begun.result.is_warning
    assert world.cloud.row is not None
    assert not world.cloud.row.disabled


def test_a_row_that_fencing_forced_down_is_enabled_at_once_with_a_warning(world: World) -> None:
    world.stop()
    world.run(200)
    world.cloud.force_down()
    before = world.now
    conclusion = world.start()
    assert conclusion.is_success
    assert conclusion.is_warning
    assert "forced down" in conclusion.text
    assert world.now - before < 5.0
    assert world.cloud.row is not None
    assert not world.cloud.row.disabled
    assert world.cloud.row.forced_down


def test_a_start_fails_while_the_row_is_still_ours(world: World) -> None:
    world.stop()
    world.run(200)
    world.cloud.fates.extend([Fate.lost()] * 60)
    before = world.now
    conclusion = world.start(seconds=120.0)
    assert not conclusion.is_success
    assert world.now - before <= 121.5


@pytest.mark.parametrize("is_known", [True, False])
def test_the_api_is_down_at_start(world: World, is_known: bool) -> None:
    """With our own disable known, running is of no use; without, the cluster may start before its API."""
    if is_known:
        world.stop()
        world.run(100)
    world.cloud.trouble = Unreadable("503 from a proxy")
    if not is_known:
        world.kill_service()
    before = world.now
    conclusion = world.start(seconds=60.0)
    assert conclusion.is_success is not is_known
    assert conclusion.is_warning is not is_known
    assert "503 from a proxy" in conclusion.text
    assert world.now - before <= 61.5
    if not is_known:
        world.cloud.trouble = None
        world.keep_running(200)
        assert_enabled_at_rest(world)


def test_the_api_is_down_at_start_and_a_disable_is_unsettled(world: World) -> None:
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.run(3)
    world.cloud.trouble = Unreadable("503")
    assert not world.start(seconds=60.0).is_success


def test_the_api_is_down_at_the_very_first_start(world: World) -> None:
    """Case 44: the cluster starts what the API needs."""
    world.disk.lose()
    world.kill_service()
    world.cloud.trouble = Unreadable("connection refused")
    conclusion = world.start(seconds=60.0)
    assert conclusion.is_success
    assert conclusion.is_warning


def test_a_start_gives_up_at_once_on_what_waiting_cannot_heal(world: World) -> None:
    world.stop()
    world.run(100)
    world.cloud.trouble = Unreadable("401: wrong password", permanent=True)
    before = world.now
    conclusion = world.start()
    assert not conclusion.is_success
    assert "401" in conclusion.text
    assert world.now - before < 5.0


def test_a_start_waits_for_an_api_that_comes_back(world: World) -> None:
    """Case 45."""
    world.stop()
    world.run(100)
    world.cloud.trouble = Unreadable("503")

    def mend() -> None:
        world.cloud.trouble = None

    world.later(40.0, mend)
    assert world.start(seconds=90.0).is_success
    world.keep_running(10)
    assert_enabled_at_rest(world)
    assert sent(world) == [DISABLE, ENABLE]


def test_no_row_yet_is_success_with_a_warning_and_watched(world: World) -> None:
    """Case 9: a host that registers late, and disabled by Nova's own setting, is left."""
    world.disk.lose()
    world.kill_service()
    row, world.cloud.row = world.cloud.row, None
    conclusion = world.start(seconds=60.0)
    assert conclusion.is_success
    assert conclusion.is_warning
    assert row is not None
    world.cloud.recreate("row-9", disabled=True, reason="New compute service disabled due to config option.")
    world.keep_running(3 * HOLD)
    assert sent(world) == []
    assert world.disk.record().is_quiet


@pytest.mark.parametrize("when", ["start", "while the helper watches"])
def test_a_row_that_is_made_anew_voids_what_was_sent_to_the_old_one(world: World, when: str) -> None:
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.run(3)
    if when == "start":
        world.cloud.recreate("row-2")
    assert world.start().is_success
    if when != "start":
        assert world.disk.record().attempts != ()
        world.cloud.recreate("row-2")
        world.keep_running(100)
    assert world.disk.record().attempts == ()
    world.cloud.land(world.cloud.requests[0])
    world.keep_running(HOLD)
    assert_enabled_at_rest(world)
    assert world.disk.record().row_id == "row-2"


# generations and takeover


def test_the_generation_only_grows(world: World) -> None:
    seen = [world.disk.record().generation]
    for number in range(3):
        world.stop(f"stop {number}")
        seen.append(world.disk.record().generation)
        world.start(f"start {number}")
        seen.append(world.disk.record().generation)
        world.keep_running(HOLD)
        seen.append(world.disk.record().generation)
    assert seen == sorted(seen)
    assert seen[-1] == 7 + 6


def test_a_lost_record_starts_with_a_generation_that_no_old_helper_has(world: World) -> None:
    """Otherwise a helper that was frozen before the loss could take the new record for its own."""
    starts = set()
    for number in range(20):
        world.disk.lose()
        world.start(f"start {number}")
        starts.add(world.disk.record().generation)
    assert len(starts) >= 19


def test_a_helper_that_was_frozen_for_days_does_nothing(world: World) -> None:
    """It had read `enabled` for its stop; meanwhile the service was started again."""
    frozen: list[Actor] = []

    def freeze(helper: Actor) -> None:
        frozen.append(helper)
        helper.is_unkillable = True
        helper.sleep(3 * 86400.0)

    world.on("helper of stop", "was read", freeze)
    world.stop()
    world.run(3)
    assert world.start().is_success
    world.keep_running(4 * 86400.0, interval=600.0)
    assert frozen[0].has_ended
    assert sent(world) == []
    assert_enabled_at_rest(world)


@pytest.mark.parametrize("point", ["was read", "update"])
def test_a_helper_that_was_frozen_on_its_reading_reads_again(world: World, point: str) -> None:
    """Same generation, but the reading is old: somebody may have disabled the host meanwhile."""
    if point == "update":
        world.on("helper of stop", point, lambda _: None)  # its registration
    world.on("helper of stop", point, lambda helper: helper.sleep(600.0))
    world.stop()
    world.run(60)
    world.cloud.operator(disabled=True, reason="RAM swap")
    world.run(900)
    assert world.helpers() == []
    assert sent(world) == []
    assert world.cloud.row is not None
    assert world.cloud.row.reason == "RAM swap"


def test_a_reading_is_not_taken_in_for_another_generation(world: World) -> None:
    seen: list[str | None] = []

    def overtake(_: Actor) -> None:
        record = world.disk.record()
        known = Known(UNKNOWN, record.generation)
        after = replace(record, generation=record.generation + 1, want=ENABLED, known=known)
        world.disk.text = encode(after)
        seen.append(world.disk.text)

    world.on("helper of stop", "was read", overtake)
    world.kill_service()
    world.stop()
    world.run(60)
    assert world.disk.text == seen[0]
    assert world.helpers() == []


def test_a_take_over_ends_only_recorded_processes(world: World) -> None:
    world.cloud.fates.append(Fate.lost())
    world.begin_stop()
    until_sent(world, 1)
    helper = world.helpers()[0]
    bystander = world.actor("bystander", lambda actor: actor.sleep(1000.0))
    world.run(5)
    assert world.start().is_success
    assert {p for p in world.ended} == {helper.process}
    assert bystander.is_alive
    assert not helper.is_alive


def test_a_take_over_lets_the_answer_under_way_be_seen(world: World) -> None:
    """The old helper may then remove its own attempt: no doubt is left, and no watch is needed."""
    world.cloud.fates.append(Fate((0.01,), 2.0))
    stop = world.begin_stop()
    until_sent(world, 1)
    stop.kill()
    world.kill_service()
    begun = world.begin_start()
    world.run(100, lambda: begun.has_ended)
    assert begun.result.is_success
    assert world.helpers() == []
    assert_enabled_at_rest(world)


@pytest.mark.parametrize("status", [FOREIGN, OURS, ENABLED])
def test_a_start_that_was_overtaken_during_its_request_reports_no_success(world: World, status: str) -> None:
    """What the newer action has read is not what this start was to reach."""
    world.stop()
    world.run(400)

    def overtake(_: Actor) -> None:
        record = world.disk.record()
        known = Known(status, record.generation + 1, is_final=True)
        world.disk.text = encode(
            replace(record, generation=record.generation + 1, want=DISABLED, known=known)
        )

    world.on("start", "answered", overtake)
    conclusion = world.start()
    assert not conclusion.is_success
    assert "took over" in conclusion.text


def test_there_is_one_helper_at_a_time(world: World) -> None:
    for number in range(4):
        world.cloud.fates.append(Fate.lost(20.0))
        world.stop(f"stop {number}")
        world.run(2)
        assert len(world.helpers()) <= 1
        world.start(f"start {number}")
        world.run(2)
        assert len(world.helpers()) <= 1
    world.keep_running(3 * HOLD)
    assert_enabled_at_rest(world)


def test_a_start_is_not_ended_by_the_helper_that_it_leaves(world: World) -> None:
    """Its request is stuck in a thread and its own end takes a while: its helper waits for that, no more."""
    world.stop()
    world.run(400)
    world.cloud.fates.append(Fate((0.01,), None, busy_for=600.0))
    conclusion = world.start()
    assert conclusion.is_success, conclusion.text
    assert len(world.helpers()) == 1
    world.keep_running(3 * HOLD)
    assert_enabled_at_rest(world)


def test_nothing_is_sent_beside_a_write_that_may_still_be_sent(world: World) -> None:
    world.cloud.fates.append(Fate((), None, busy_for=120.0))
    world.stop()
    world.run(100)
    assert sent(world) == [DISABLE]
    world.run(200)
    assert sent(world) == [DISABLE, DISABLE]
    assert world.cloud.is_ours


# a row that moves with the resource


def test_a_moving_row_gets_nothing_after_the_stop_has_returned() -> None:
    with World(moves=True) as world:
        world.at_rest()
        world.cloud.trouble = Unreadable("503")
        world.stop()
        world.run(1)
        assert world.helpers() == []
        world.cloud.trouble = None
        world.run(600)
        assert sent(world) == []


def test_every_start_of_a_moving_row_looks_once_more_after_hold() -> None:
    """The node before may have sent a disable that this node's record does not know."""
    with World(moves=True) as world:
        world.at_rest()
        world.kill_service()
        assert world.start().is_success
        assert len(world.helpers()) == 1
        reason = str(marker.make("nova-compute", "c1", "2026-11-30T11:23:23Z", "0123456789abcdef"))
        world.later(200.0, lambda: world.cloud.operator(disabled=True, reason=reason))
        world.keep_running(3 * HOLD)
        assert_enabled_at_rest(world)
        assert world.violations == []


# parameters


def test_disable_on_stop_false_sends_nothing_new() -> None:
    with World(disable_on_stop=False) as world:
        world.at_rest()
        world.stop()
        world.run(60)
        assert sent(world) == []
        assert world.errands == []
        assert world.start().is_success


def test_disable_on_stop_false_still_finishes_what_is_unsettled() -> None:
    """An enable of before lands late on a row that shall not be disabled anew: it is watched, not undone."""
    with World(disable_on_stop=False) as world:
        world.at_rest()
        world.policy = type(world.policy)("nova-compute", "c1")
        world.cloud.fates.append(Fate.lost(100.0))
        world.stop("stop 1")
        world.policy = type(world.policy)("nova-compute", "c1", disable_on_stop=False)
        world.run(2)
        world.start()
        world.stop("stop 2")
        assert len(world.helpers()) == 1
        world.run(3 * HOLD)
        assert world.disk.record().attempts == ()
        assert world.cloud.is_ours
        assert sent(world) == [DISABLE]


def test_enable_on_start_false_leaves_our_disable_with_a_warning() -> None:
    with World(enable_on_start=False) as world:
        world.at_rest()
        world.stop()
        world.run(5)
        conclusion = world.start()
        assert conclusion.is_success
        assert conclusion.is_warning
        assert "enable_on_start" in conclusion.text
        assert sent(world) == [DISABLE]
