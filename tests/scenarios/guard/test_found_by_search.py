# SPDX-License-Identifier: Apache-2.0
"""What the search of `tests/proof` found, told as stories."""

from __future__ import annotations

import pytest

from ocf_agents.guard.row import Unreadable

from .world import World


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
