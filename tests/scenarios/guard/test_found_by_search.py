# SPDX-License-Identifier: Apache-2.0
"""What the search of `tests/proof` found, told as stories."""

from __future__ import annotations

from ocf_agents.guard.row import Unreadable

from .world import World


def test_a_helper_at_its_deadline_does_not_read_in_a_burst(world: World) -> None:
    """The API is down. Pauses were cut to a part of the time left: the last second had dozens of reads."""
    world.options["disable_deadline"] = 100.0
    world.cloud.trouble = Unreadable("503")
    world.stop()
    world.run(95.0)
    before = world.cloud.reads
    world.run(20.0)
    assert world.helpers() == []
    assert world.cloud.reads - before <= 2
