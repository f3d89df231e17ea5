# SPDX-License-Identifier: Apache-2.0
"""Words that the stories have in common."""

from __future__ import annotations

from .world import World

HOLD = 300.0


def until_sent(world: World, count: int) -> None:
    """Goes on until so many writes have been sent, all told."""
    world.run(7200.0, lambda: len(world.cloud.requests) >= count)
    assert len(world.cloud.requests) == count


def assert_enabled_at_rest(world: World) -> None:
    """The service runs, its row is enabled, nothing is unsettled and nobody has work left (invariant 3)."""
    assert world.service is not None
    assert world.cloud.row is not None
    assert not world.cloud.row.disabled
    assert world.disk.record().is_quiet
    assert world.helpers() == []


def sent(world: World) -> list[str]:
    """The kinds of the writes that were sent."""
    return [request.kind for request in world.cloud.requests]


def reason(world: World) -> str | None:
    """The row's disabled_reason now."""
    assert world.cloud.row is not None
    return world.cloud.row.reason
