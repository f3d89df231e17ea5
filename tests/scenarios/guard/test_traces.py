# SPDX-License-Identifier: Apache-2.0
"""The traces that broke earlier drafts of the guard. D is our disable, E our enable, op the operator."""

from __future__ import annotations

import pytest

from ocf_agents.guard.record import DISABLE, ENABLE
from ocf_agents.guard.row import Unreadable

from .story import HOLD, assert_enabled_at_rest, reason, sent, until_sent
from .world import Actor, Fate, World


def test_trace_1_anothers_success_settles_nothing(world: World) -> None:
    """D(a) times out, D(b) times out, a lands and is read, start enables, b lands afterwards."""
    world.cloud.fates.extend([Fate.lost(), Fate.lost()])
    world.begin_stop()
    until_sent(world, 1)
    a = world.cloud.requests[0]
    world.on("helper of stop", "send", lambda _: world.cloud.land(a))
    until_sent(world, 2)
    b = world.cloud.requests[1]
    world.run(15)
    assert world.cloud.is_ours
    assert world.start().is_success
    world.run(20)
    world.cloud.land(b)
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)


def test_trace_2_attempts_are_carried_over_a_second_stop(world: World) -> None:
    """D(a) under way, start succeeds and watches, a stop and a start follow, D(a) lands."""
    world.cloud.fates.append(Fate.lost())
    world.stop()
    a = world.cloud.requests[0]
    world.run(2)
    assert world.start().is_success
    world.options["disable_deadline"] = 3600.0
    world.cloud.fates.append(Fate.refused())
    world.stop()
    world.run(2)
    assert world.start().is_success
    world.run(10)
    world.cloud.land(a)
    assert world.cloud.is_ours
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)


@pytest.mark.parametrize("how", ["ended by the start", "killed by somebody"])
def test_trace_3_the_end_of_a_client_is_not_the_end_of_its_request(world: World, how: str) -> None:
    """The helper has sent D(a) and is ended; start reads enabled; D(a) lands."""
    world.cloud.fates.append(Fate.lost())
    world.begin_stop()
    until_sent(world, 1)
    helper = world.helpers()[0]
    if how == "killed by somebody":
        helper.kill()
    world.run(3)
    assert world.start().is_success
    assert not helper.is_alive
    assert sent(world) == [DISABLE]
    world.cloud.land(world.cloud.requests[0])
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)


@pytest.mark.parametrize("landing", [30.0, 150.0, 290.0, 299.0])
def test_trace_4_only_a_read_after_the_window_ends_it(world: World, landing: float) -> None:
    """D(a) lands so many seconds after its client's end, late in the window, between two looks."""
    world.cloud.fates.append(Fate.lost())
    world.begin_stop()
    until_sent(world, 1)
    world.helpers()[0].kill()
    world.later(landing, lambda: world.cloud.land(world.cloud.requests[0]))
    world.run(2)
    assert world.start().is_success
    world.keep_running(2 * HOLD)
    assert world.cloud.requests[0].landed == 1
    assert_enabled_at_rest(world)


def test_trace_4_a_window_that_passed_unread_is_not_over(world: World) -> None:
    """The API is down when the window ends; D(a) landed before. The first read after it must come."""
    world.cloud.fates.append(Fate.lost(250.0))
    world.begin_stop()
    until_sent(world, 1)
    world.helpers()[0].kill()
    world.run(2)
    assert world.start().is_success
    world.cloud.trouble = Unreadable("503")
    world.keep_running(2 * HOLD)
    assert world.cloud.is_ours
    assert not world.disk.record().is_quiet
    world.cloud.trouble = None
    world.keep_running(200)
    assert_enabled_at_rest(world)


def test_trace_5_any_marker_of_ours_is_ours(world: World) -> None:
    """D(a) in effect; start is killed half-way, at whatever point; the next one enables."""
    world.stop()
    world.run(5)
    assert world.cloud.is_ours
    world.on("start", "was read", Actor.kill)
    assert world.start("start 1").text == "killed"
    assert world.start("start 2").is_success
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)


def test_trace_6_a_reason_that_was_read_is_not_laundered(world: World) -> None:
    """D(a) in doubt, op disables, start reads and leaves it, D(a) lands over it, the node crashes."""
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.run(15)
    world.cloud.operator(disabled=True, reason="RAM swap")
    conclusion = world.start()
    assert conclusion.is_success
    assert conclusion.is_warning
    assert "RAM swap" in conclusion.text
    world.cloud.land(world.cloud.requests[0])
    assert world.cloud.is_ours
    world.keep_running(30)
    world.crash()
    conclusion = world.start("start after the crash")
    assert conclusion.is_success
    assert conclusion.is_warning
    assert "RAM swap" in conclusion.text
    world.keep_running(3 * HOLD)
    assert ENABLE not in sent(world)
    assert world.cloud.is_ours
    assert world.disk.record().foreign is not None


def test_trace_6_the_memory_ends_when_a_person_enables(world: World) -> None:
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.run(15)
    world.cloud.operator(disabled=True, reason=None)
    assert world.start().is_warning
    world.cloud.land(world.cloud.requests[0])
    world.keep_running(3 * HOLD)
    assert ENABLE not in sent(world)
    world.cloud.operator(disabled=False)
    world.stop("later stop")
    world.run(5)
    assert world.cloud.is_ours
    assert world.disk.record().foreign is None
    assert world.start("later start").is_success
    assert not world.cloud.row or not world.cloud.row.disabled


def test_trace_7_an_enable_in_doubt_is_the_only_one_for_a_while(world: World) -> None:
    """E times out, op disables, E lands: no client can see that. But no further E follows op's words."""
    world.stop()
    world.run(100)
    world.cloud.fates.append(Fate.lost())
    begun = world.begin_start()
    until_sent(world, 2)
    world.run(10)
    world.cloud.operator(disabled=True, reason="RAM swap")
    world.cloud.land(world.cloud.requests[1])
    assert len(world.exempt) == 1
    world.cloud.operator(disabled=True, reason="RAM swap, and this time for good")
    world.run(300, lambda: begun.has_ended)
    assert begun.result.is_success
    world.keep_running(2 * HOLD)
    assert reason(world) == "RAM swap, and this time for good"
    assert sent(world) == [DISABLE, ENABLE]


# the corrections that the search of the present text brought


def test_a_helper_killed_between_reading_our_late_disable_and_recording_the_enable(world: World) -> None:
    """Its read may even have settled the disable: the record must not look finished."""
    world.cloud.fates.append(Fate.lost())
    world.begin_stop()
    until_sent(world, 1)
    world.helpers()[0].kill()
    world.run(2)
    assert world.start().is_success
    world.run(HOLD - 20)
    world.cloud.land(world.cloud.requests[0])
    world.on("helper of start", "update", Actor.kill)
    world.run(100)
    assert world.helpers() == []
    assert world.cloud.is_ours
    assert not world.disk.record().is_quiet
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)


@pytest.mark.parametrize("point", ["write", "written", "send", "sent"])
def test_a_helper_killed_around_its_enable_is_followed_by_another(world: World, point: str) -> None:
    world.cloud.fates.append(Fate.lost())
    world.begin_stop()
    until_sent(world, 1)
    world.helpers()[0].kill()
    world.run(2)
    assert world.start().is_success
    world.run(30)
    world.cloud.land(world.cloud.requests[0])
    world.on("helper of start", point, Actor.kill)
    world.keep_running(3 * HOLD)
    assert_enabled_at_rest(world)


def test_hold_is_counted_from_the_end_of_the_client_not_from_the_record(world: World) -> None:
    """The helper is frozen for longer than hold between its record and its send."""
    world.cloud.fates.append(Fate.lost())
    world.on("helper of stop", "send", lambda helper: helper.sleep(2 * HOLD))
    world.stop()
    until_sent(world, 1)
    assert world.start().is_success
    assert not world.disk.record().is_quiet
    world.later(200.0, lambda: world.cloud.land(world.cloud.requests[0]))
    world.keep_running(3 * HOLD)
    assert world.cloud.requests[0].landed == 1
    assert_enabled_at_rest(world)


def test_an_attempt_whose_client_lives_is_never_settled(world: World) -> None:
    """A client that cannot even be killed (state D) may send at any time: the watch goes on until its end."""
    world.cloud.fates.append(Fate.lost())
    world.on("helper of stop", "send", lambda helper: helper.sleep(4 * HOLD))
    world.stop()
    world.run(3)
    frozen = world.helpers()[0]
    frozen.is_unkillable = True
    assert world.start().is_success
    world.keep_running(3 * HOLD)
    assert frozen.is_alive
    assert not world.disk.record().is_quiet
    until_sent(world, 1)
    world.cloud.land(world.cloud.requests[0])
    world.keep_running(3 * HOLD)
    assert_enabled_at_rest(world)


def test_a_client_that_dies_while_the_lock_is_waited_for_is_counted_from_its_death(world: World) -> None:
    """Whether it lives is looked at under the lock; so must the time be."""
    world.cloud.fates.append(Fate.lost())
    world.on("helper of stop", "send", lambda helper: helper.sleep(4 * HOLD))
    world.stop()
    world.run(3)
    frozen = world.helpers()[0]
    frozen.is_unkillable = True
    deaths: list[float] = []

    def die() -> None:
        frozen.is_unkillable = False
        frozen.kill()
        deaths.append(world.now)

    def lock(_: Actor) -> None:
        world.disk.locked_until = world.now + 0.8
        world.later(0.6, die)

    world.on("start", "was read", lock)
    assert world.start().is_success
    (attempt,) = world.disk.record().attempts
    assert attempt.let_go is not None
    assert attempt.let_go.seconds >= deaths[0]


def test_a_start_leaves_a_helper_that_finishes_without_any_monitor(world: World) -> None:
    """Not everybody configures a recurring monitor."""
    world.cloud.fates.append(Fate.lost(250.0))
    world.stop()
    world.run(3)
    assert world.start().is_success
    assert world.errands[-1].want == "enabled"
    world.run(3 * HOLD)
    assert world.cloud.requests[0].landed == 1
    assert_enabled_at_rest(world)


def test_a_lost_record_hides_a_request_in_flight(world: World) -> None:
    """The disk is new, the row is enabled, and D(a) still under way: start looks once more after hold."""
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.disk.lose()
    world.crash(down=60.0)
    assert world.start().is_success
    assert world.helpers() != []
    world.run(100)
    world.cloud.land(world.cloud.requests[0])
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)


def test_a_403_is_no_reading_of_the_row(world: World) -> None:
    """The enable is refused for good: start fails with the reason, and nothing believes the row enabled."""
    world.stop()
    world.run(100)
    world.cloud.fates.append(Fate.refused("403 Forbidden: not an administrator", permanent=True))
    conclusion = world.start()
    assert not conclusion.is_success
    assert "403 Forbidden" in conclusion.text
    assert not world.disk.record().is_quiet
    assert world.disk.record().attempts == ()
    assert world.start("start with the right password").is_success
    world.keep_running(10)
    assert_enabled_at_rest(world)


def test_a_refused_disable_is_no_reading_either(world: World) -> None:
    world.cloud.fates.append(Fate.refused("403", permanent=True))
    world.stop()
    world.run(120)
    assert world.cloud.is_ours, "the helper goes on: credentials may be mended"
    assert sent(world)[:2] == [DISABLE, DISABLE]
