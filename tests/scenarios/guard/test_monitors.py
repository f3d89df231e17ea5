# SPDX-License-Identifier: Apache-2.0
"""What a recurring monitor owes the record: a helper where none lives, and adoption."""

from __future__ import annotations

import pytest

from ocf_agents.guard.record import DISABLE, DISABLED, ENABLE, ENABLED
from ocf_agents.guard.row import Unreadable

from .story import HOLD, assert_enabled_at_rest, sent, until_sent
from .world import Actor, Fate, World


def unsettled_after_start(world: World) -> None:
    """A start that succeeded while a disable of ours may still land; its helper is dead."""
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.run(3)
    assert world.start().is_success
    for helper in world.helpers():
        helper.kill()
    world.run(0.1)


def test_a_monitor_replaces_a_dead_helper_once(world: World) -> None:
    unsettled_after_start(world)
    generation = world.disk.record().generation
    world.monitor()
    world.run(1)
    assert len(world.helpers()) == 1
    spawned = len(world.errands)
    world.keep_running(60)
    assert len(world.errands) == spawned
    assert world.disk.record().generation == generation
    world.cloud.land(world.cloud.requests[0])
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)


def test_a_monitor_of_a_settled_service_starts_nothing_and_asks_nobody(world: World) -> None:
    service = world.service
    assert service is not None
    world.do("monitor", lambda actor, guard: guard.tend(service))
    assert world.errands == []
    assert world.cloud.reads == 0


def test_a_monitor_sends_no_request_itself(world: World) -> None:
    """Invariant 7."""
    unsettled_after_start(world)
    reads, writes = world.cloud.reads, len(world.cloud.requests)
    service = world.service
    assert service is not None
    world.do("monitor", lambda actor, guard: guard.tend(service))
    assert (world.cloud.reads, len(world.cloud.requests)) == (reads, writes)


def test_a_monitor_cannot_fail(world: World) -> None:
    unsettled_after_start(world)
    world.disk.fault = "Input/output error"
    world.monitor()
    world.disk.fault = ""
    world.cannot_spawn = True
    world.monitor()
    assert any("helper" in text for text in world.notes.warnings)


@pytest.mark.parametrize("order", ["monitor, stop", "stop, monitor"])
def test_a_monitors_helper_gives_way_to_a_stop(world: World, order: str) -> None:
    unsettled_after_start(world)
    service = world.service
    assert service is not None
    for what in order.split(", "):
        if what == "stop":
            world.begin_stop("later stop")
        else:
            world.begin("monitor", lambda actor, guard: guard.tend(service))
    world.run(60)
    assert world.cloud.is_ours
    assert world.disk.record().want == DISABLED
    assert len(world.helpers()) <= 1


def test_a_service_that_somebody_started_by_hand_is_adopted(world: World) -> None:
    world.stop()
    world.run(400)
    world.run_service()
    world.keep_running(200)
    assert world.disk.record().want == ENABLED
    assert_enabled_at_rest(world)
    assert sent(world) == [DISABLE, ENABLE]


def test_adoption_waits_for_the_row_to_be_up(world: World) -> None:
    world.stop()
    world.run(400)
    world.run_service()
    world.monitor()
    until_sent(world, 2)
    assert world.service_born is not None
    assert world.now - world.service_born >= 13.0


def test_adoption_does_not_wait_for_the_stops_helper(world: World) -> None:
    """It takes over as a start would: the helper of the stop would disable a running service later."""
    world.cloud.trouble = Unreadable("503")
    world.stop()
    world.run(5)
    assert len(world.helpers()) == 1
    world.run_service()
    world.keep_running(30)
    assert world.disk.record().want == ENABLED
    assert len(world.helpers()) == 1
    world.cloud.trouble = None
    world.keep_running(300)
    assert sent(world) == []
    assert_enabled_at_rest(world)


def test_adoption_is_of_a_generation_of_its_own(world: World) -> None:
    world.stop()
    world.run(400)
    generation = world.disk.record().generation
    world.run_service()
    world.monitor()
    world.run(5)
    assert world.disk.record().generation == generation + 1


def test_a_service_that_is_older_than_the_end_of_the_stop_is_not_adopted(world: World) -> None:
    """The stop was killed before the service had ended: a next stop will come, and no enable before it."""
    old = world.service
    world.on("stop", "wait for word", lambda actor: actor.kill())
    world.stop()
    assert world.service == old
    world.keep_running(60)
    assert world.disk.record().want == DISABLED
    assert ENABLE not in sent(world)


def test_nothing_is_adopted_during_a_stop(world: World) -> None:
    """A stop clears the mark of the stop before it, in its first section."""
    world.stop("stop 1")
    world.run(400)
    world.run_service()
    world.run(1)
    service = world.service
    assert service is not None
    world.begin_stop("stop 2", takes=20.0)
    world.run(2)
    world.do("monitor", lambda actor, guard: guard.tend(service))
    world.run(60)
    assert world.disk.record().want == DISABLED
    assert world.cloud.is_ours
    assert ENABLE not in sent(world)


def test_a_stop_overtakes_an_adoption_that_was_sent_before_it(world: World) -> None:
    """The monitor has decided to adopt; the stop comes before its helper has the lock."""
    world.stop("stop 1")
    world.run(400)
    world.run_service()
    service = world.service
    assert service is not None
    world.do("monitor", lambda actor, guard: guard.tend(service))
    world.stop("stop 2")
    world.run(600)
    assert world.disk.record().want == DISABLED
    assert world.cloud.is_ours
    assert ENABLE not in sent(world)


@pytest.mark.parametrize("order", ["stop, monitor", "monitor, stop"])
def test_nothing_is_adopted_during_a_stop_that_finds_a_living_helper(world: World, order: str) -> None:
    """Such a stop changes nothing else, not even the generation; the mark of the stop before it goes."""
    world.cloud.trouble = Unreadable("503")
    world.stop("stop 1")
    world.run(5)
    world.run_service()
    world.run(1)
    service = world.service
    assert service is not None
    for what in order.split(", "):
        if what == "stop":
            world.begin_stop("stop 2", takes=30.0)
        else:
            world.begin("monitor", lambda actor, guard: guard.tend(service))
        world.run(0.1)
    world.run(20)
    assert world.service == service
    assert world.disk.record().want == DISABLED
    assert world.disk.record().stopped is None
    world.run(60)
    assert world.disk.record().stopped is not None


def test_a_process_older_than_the_end_of_the_stop_is_not_adopted(world: World) -> None:
    """One that the stop did not know, or did not end: the next action decides about it."""
    old = world.service
    world.stop()
    world.run(400)
    world.service = old
    world.keep_running(60)
    assert world.disk.record().want == DISABLED
    assert ENABLE not in sent(world)


def test_of_two_helpers_at_once_one_leaves(world: World) -> None:
    unsettled_after_start(world)
    service = world.service
    assert service is not None
    for number in range(3):
        world.begin(f"monitor {number}", lambda actor, guard: guard.tend(service))
    world.run(3)
    assert len(world.errands) >= 4
    assert len(world.helpers()) == 1


def test_a_service_that_runs_after_a_reboot_is_adopted(world: World) -> None:
    world.stop()
    world.run(10)
    world.crash()
    world.run(20)
    world.run_service()
    world.keep_running(400)
    assert_enabled_at_rest(world)


def test_an_operators_disable_survives_adoption(world: World) -> None:
    world.stop()
    world.run(400)
    world.cloud.operator(disabled=True, reason="RAM swap")
    world.run_service()
    world.keep_running(400)
    assert sent(world) == [DISABLE]
    assert world.cloud.row is not None
    assert world.cloud.row.reason == "RAM swap"
    assert world.disk.record().is_quiet


def test_a_helper_for_a_service_that_died_enables_nothing(world: World) -> None:
    unsettled_after_start(world)
    world.monitor()
    world.run(1)
    world.kill_service()
    world.cloud.land(world.cloud.requests[0])
    world.run(2 * HOLD)
    assert world.helpers() == []
    assert ENABLE not in sent(world)


def test_a_reload_gives_the_helper_the_new_parameters(world: World) -> None:
    world.cloud.trouble = Unreadable("503")
    world.stop()
    world.run(5)
    before = world.helpers()
    world.do("reload-agent", lambda actor, guard: guard.refresh(None))
    world.run(2)
    after = world.helpers()
    assert len(before) == len(after) == 1
    assert before != after
    world.cloud.trouble = None
    world.run(120)
    assert world.cloud.is_ours


def test_a_reload_without_a_helper_starts_none(world: World) -> None:
    world.do("reload-agent", lambda actor, guard: guard.refresh(world.service))
    assert world.errands == []


@pytest.mark.parametrize("want", [ENABLED, DISABLED])
def test_helpers_do_not_pile_up_behind_a_lock_that_is_never_free(world: World, want: str) -> None:
    if want == ENABLED:
        unsettled_after_start(world)
    else:
        world.stop()
        world.run(400)
        world.run_service()
    world.disk.locked_until = world.now + 1000.0
    world.keep_running(900)
    assert len(world.helpers()) <= 2
    world.keep_running(600)
    assert_enabled_at_rest(world)


def stop_for_ever(helper: Actor) -> None:
    """SIGSTOP: it lives, can be killed, and does nothing any more."""
    helper.sleep(1e9)


def test_a_monitor_replaces_a_helper_that_is_stopped_for_ever(world: World) -> None:
    """It counts as one at work until it is overdue, and is ended then."""
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.run(3)
    world.on("helper of start", "read", stop_for_ever)
    assert world.start().is_success
    world.run(3)
    stopped = world.helpers()
    assert len(stopped) == 1
    world.cloud.land(world.cloud.requests[0])
    spawned = len(world.errands)
    world.keep_running(3600.0)
    assert (world.helpers(), len(world.errands)) == (stopped, spawned)
    world.keep_running(60.0 + 2 * HOLD)
    assert not stopped[0].is_alive
    assert_enabled_at_rest(world)


def test_of_two_that_replace_a_stopped_helper_one_leaves(world: World) -> None:
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.run(3)
    world.on("helper of start", "read", stop_for_ever)
    assert world.start().is_success
    world.run(3700.0)
    world.cloud.trouble = Unreadable("503")
    service = world.service
    assert service is not None
    for number in range(3):
        world.begin(f"monitor {number}", lambda actor, guard: guard.tend(service))
    world.run(5)
    assert len(world.helpers()) == 1
    assert world.helpers()[0].name.startswith("helper of monitor")


def test_a_second_stop_replaces_a_helper_that_is_stopped_for_ever(world: World) -> None:
    world.on("helper of stop", "read", stop_for_ever)
    world.stop()
    world.run(3700.0)
    assert not world.cloud.is_ours
    world.stop("second stop")
    world.run(60.0)
    assert world.cloud.is_ours
    assert world.helpers() == []


def test_a_helper_that_is_stopped_with_the_lock_is_ended_by_the_next_stop(world: World) -> None:
    """A start cannot have the lock, and fails; the stop that follows needs none to send its helper."""

    def stop_with_the_lock(helper: Actor) -> None:
        world.disk.locked_until = 1e9
        try:
            helper.sleep(1e9)
        finally:
            world.disk.locked_until = 0.0

    world.on("helper of stop", "write", lambda _: None)  # its registration
    world.on("helper of stop", "write", stop_with_the_lock)
    world.stop()
    world.run(3700.0)
    assert not world.start().is_success
    world.stop("second stop")
    world.run(60.0)
    assert world.cloud.is_ours
    assert world.start("second start").is_success
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)
