# SPDX-License-Identifier: Apache-2.0
"""People, other tools and Nova itself act on the row before, during and after a stop and a start."""

from __future__ import annotations

import pytest

from ocf_agents.guard import marker
from ocf_agents.guard.record import DISABLE, ENABLE

from .story import HOLD, assert_enabled_at_rest, reason, sent
from .world import Fate, World

TOKEN = "0123456789abcdef"
WORDS = ["RAM swap", None, "", "AUTO: Connection to libvirt lost: 1", "Masakari detected host failed."]
OTHERS = [
    str(marker.make("nova-compute-b", "c1", "2026-11-30T11:23:23Z", TOKEN)),
    str(marker.make("nova-compute", "c2", "2026-11-30T11:23:23Z", TOKEN)),
    str(marker.make("nova-compute", "c1", "2026-11-30T11:23:23Z", TOKEN)) + " ",
    "see " + str(marker.make("nova-compute", "c1", "2026-11-30T11:23:23Z", TOKEN)),
]


@pytest.mark.parametrize("words", WORDS + OTHERS)
def test_a_disable_of_before_survives_stop_and_start(world: World, words: str | None) -> None:
    world.cloud.operator(disabled=True, reason=words)
    world.stop()
    world.run(60)
    conclusion = world.start()
    assert conclusion.is_success
    assert conclusion.is_warning
    world.keep_running(2 * HOLD)
    assert reason(world) == words
    assert sent(world) == []


@pytest.mark.parametrize("words", WORDS + OTHERS)
def test_a_disable_over_ours_survives_the_start(world: World, words: str | None) -> None:
    world.stop()
    world.run(10)
    assert world.cloud.is_ours
    world.cloud.operator(disabled=True, reason=words)
    assert world.start().is_success
    world.keep_running(2 * HOLD)
    assert reason(world) == words
    assert sent(world) == [DISABLE]


@pytest.mark.parametrize("words", WORDS)
def test_a_disable_while_the_start_waits_survives_it(world: World, words: str | None) -> None:
    world.stop()
    world.run(100)
    begun = world.begin_start()
    world.run(6)
    world.cloud.operator(disabled=True, reason=words)
    world.run(240, lambda: begun.has_ended)
    assert begun.result.is_success
    world.keep_running(2 * HOLD)
    assert reason(world) == words
    assert ENABLE not in sent(world)


@pytest.mark.parametrize("words", WORDS)
def test_a_disable_while_a_helper_watches_survives_it(world: World, words: str | None) -> None:
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.run(3)
    assert world.start().is_success
    world.run(20)
    world.cloud.operator(disabled=True, reason=words)
    world.keep_running(3 * HOLD)
    assert reason(world) == words
    assert sent(world) == [DISABLE]


def test_an_operator_who_enables_while_we_are_down_is_undone_only_by_the_next_stop(world: World) -> None:
    world.stop()
    world.run(400)
    world.cloud.operator(disabled=False)
    world.run(600)
    assert sent(world) == [DISABLE]
    assert world.start().is_success
    assert sent(world) == [DISABLE]
    assert_enabled_at_rest(world)


def test_a_foreign_reason_is_remembered_even_when_it_is_empty(world: World) -> None:
    """An empty reason is a reason: our late disable that fell on it is left, loudly."""
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.run(3)
    world.cloud.operator(disabled=True, reason=None)
    world.run(30)
    world.cloud.land(world.cloud.requests[0])
    conclusion = world.start()
    assert conclusion.is_success
    assert conclusion.is_warning
    world.keep_running(3 * HOLD)
    assert sent(world) == [DISABLE]
    assert world.cloud.is_ours


def test_a_helper_remembers_what_it_reads_for_the_start_that_follows(world: World) -> None:
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.run(15)
    world.cloud.operator(disabled=True, reason="RAM swap")
    world.run(60)
    foreign = world.disk.record().foreign
    assert foreign is not None
    assert foreign.reason == "RAM swap"
    world.cloud.land(world.cloud.requests[0])
    conclusion = world.start()
    assert conclusion.is_warning
    assert "RAM swap" in conclusion.text
    assert ENABLE not in sent(world)


def test_a_memory_is_kept_over_stops_and_starts(world: World) -> None:
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.run(3)
    world.cloud.operator(disabled=True, reason="RAM swap")
    world.run(60)
    world.cloud.land(world.cloud.requests[0])
    for number in range(3):
        assert world.start(f"start {number}").is_warning
        world.keep_running(2 * HOLD)
        world.stop(f"stop {number}")
        world.run(2 * HOLD)
    assert sent(world) == [DISABLE]


def test_a_person_who_overwrites_our_late_disable_ends_the_memory(world: World) -> None:
    world.cloud.fates.append(Fate.lost())
    world.stop()
    world.run(15)
    world.cloud.operator(disabled=True, reason="RAM swap")
    world.run(60)
    world.cloud.land(world.cloud.requests[0])
    world.run(2 * HOLD)
    world.cloud.operator(disabled=True, reason="disk swap")
    assert world.start().is_success
    assert world.disk.record().foreign is None
    assert reason(world) == "disk swap"


def test_enable_reasons_release_another_automats_disable() -> None:
    with World(enable_reasons=("Masakari detected host failed.",)) as world:
        world.at_rest()
        world.stop()
        world.run(10)
        world.cloud.operator(disabled=True, reason="Masakari detected host failed. At 11:23")
        assert world.start().is_success
        world.keep_running(10)
        assert_enabled_at_rest(world)
        assert world.violations == []


def test_a_releasable_disable_that_cannot_be_undone_fails_the_start() -> None:
    """It counts as ours; so does its failure."""
    with World(enable_reasons=("Masakari",)) as world:
        world.at_rest()
        world.kill_service()
        world.cloud.operator(disabled=True, reason="Masakari detected host failed.")
        world.cloud.fates.extend([Fate.refused("409")] * 60)
        conclusion = world.start(seconds=90.0)
        assert not conclusion.is_success
        assert "409" in conclusion.text


def test_a_release_covers_no_other_reason() -> None:
    with World(enable_reasons=("Masakari", "")) as world:
        world.at_rest()
        world.stop()
        world.run(10)
        world.cloud.operator(disabled=True, reason="RAM swap")
        assert world.start().is_warning
        assert reason(world) == "RAM swap"


def test_the_marker_is_enough_when_the_record_was_lost(world: World) -> None:
    """Case 13."""
    world.stop()
    world.run(10)
    world.disk.lose()
    world.crash()
    assert world.start().is_success
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)


@pytest.mark.parametrize("text", ["", "\0" * 300, '{"version": 1, "resource"', '{"version": 99}', "[]"])
def test_a_bad_record_proves_nothing(world: World, text: str) -> None:
    """Case 105: the row decides, as if there were no record."""
    world.stop()
    world.run(10)
    world.disk.text = text
    assert world.start().is_success
    world.keep_running(2 * HOLD)
    assert_enabled_at_rest(world)


def test_the_markers_of_a_renamed_resource_are_foreign(world: World) -> None:
    world.stop()
    world.run(10)
    before = reason(world)
    with World(resource="nova-compute-renamed") as renamed:
        renamed.at_rest()
        renamed.disk.lose()
        renamed.kill_service()
        renamed.cloud.operator(disabled=True, reason=before)
        assert renamed.start().is_warning
        renamed.keep_running(2 * HOLD)
        assert reason(renamed) == before
        assert sent(renamed) == []
