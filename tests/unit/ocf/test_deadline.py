# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ocf_agents.ocf.deadline import Deadline, usable_seconds


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_runs_down_and_never_below_zero() -> None:
    clock = Clock()
    deadline = Deadline(10, clock)
    assert (deadline.remaining(), deadline.expired()) == (10, False)
    assert (deadline.bound(3), deadline.bound(30)) == (3, 10)
    clock.now += 11
    assert (deadline.remaining(), deadline.expired(), deadline.bound(3)) == (0, True, 0)


@pytest.mark.parametrize(
    ("timeout", "usable"),
    [
        (0, 1.0),
        (0.999, 1.0),
        (1.2, 1.0),
        (3, 2.5),
        (10, 9.5),
        (20, 19.0),
        (60, 57.0),
        (100, 95.0),
        (600, 595.0),
    ],
)
def test_the_margin_leaves_time_for_a_reason_and_never_less_than_a_second(
    timeout: float, usable: float
) -> None:
    assert usable_seconds(timeout) == pytest.approx(usable)
