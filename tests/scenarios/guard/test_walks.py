# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from .walk import Walk

WALKS_IN_A_BATCH = 25


@pytest.mark.parametrize("batch", range(12))
def test_whatever_happens_the_invariants_hold(batch: int) -> None:
    """A failure names the seed; see `walk` for how to replay it."""
    for seed in range(batch * WALKS_IN_A_BATCH, (batch + 1) * WALKS_IN_A_BATCH):
        walk = Walk(seed).run()
        assert walk.faults == [], f"seed {seed}: " + "\n".join(walk.story)
