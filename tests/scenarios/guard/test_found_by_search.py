# SPDX-License-Identifier: Apache-2.0
"""What the search of `tests/proof` found, told as stories."""

from __future__ import annotations

import pytest

from ocf_agents.guard.row import Unreadable

from .story import HOLD, until_sent
from .world import Actor, Fate, World


@pytest.mark.parametrize("seed", range(1, 8))
def test_a_helper_at_its_deadline_does_not_read_in_a_burst(seed: int) -> None:
    """The API is down. Each pause was cut to a part of the time left: ever more reads, ever closer."""
    with World(seed=seed) as world:
        world.at_rest()
        world.options["disable_deadline"] = 100.0
        world.cloud.trouble = Unreadable("503")
        world.stop()
        world.run(93.0)
        before = world.cloud.reads
        world.run(20.0)
        assert world.helpers() == []
        assert world.cloud.reads - before <= 2


@pytest.mark.parametrize("point", ["write", "written"])
def test_who_is_killed_before_he_has_warned_leaves_it_to_the_next_one(world: World, point: str) -> None:
    """Our late disable fell on a person's reason. The record said that this was told before it was."""
    world.cloud.fates.append(Fate.lost())
    world.stop()
    until_sent(world, 1)
    world.cloud.operator(disabled=True, reason="RAM swap")
    assert world.start().is_warning
    world.cloud.land(world.cloud.requests[0])
    world.notes.warnings.clear()
    killed = world.helpers()
    world.on("helper of start", point, Actor.kill)
    world.run(60)
    assert [helper.is_alive for helper in killed] == [False]
    assert world.notes.warnings == []
    world.keep_running(2 * HOLD)
    assert world.cloud.is_ours
    assert len([text for text in world.notes.warnings if "RAM swap" in text]) == 1
    assert world.disk.record().is_quiet
