# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import threading

import pytest

from ocf_agents.ocf.patience import Impatient, Task, wait_for


def test_the_result_of_work_is_given_whatever_the_patience() -> None:
    assert wait_for(lambda: 42, 5) == 42
    assert wait_for(lambda: 42, math.inf) == 42
    assert wait_for(lambda: None, 5) is None


def test_what_the_work_raises_is_raised() -> None:
    def fail() -> None:
        raise KeyError("no such thing")

    with pytest.raises(KeyError):
        wait_for(fail, 5)


@pytest.mark.parametrize("seconds", [0.05, 0.0, -1.0])
def test_work_that_takes_longer_is_left_alone_and_its_result_can_be_had_later(seconds: float) -> None:
    release = threading.Event()
    task = Task(lambda: release.wait(20))
    with pytest.raises(Impatient):
        task.result(seconds)
    assert task.is_running
    release.set()
    assert task.result(20) is True
    assert not task.is_running
