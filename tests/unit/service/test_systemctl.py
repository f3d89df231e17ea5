# SPDX-License-Identifier: Apache-2.0
"""Calls of systemctl: bounded, tried once more on a lost bus, and what they come to."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ocf_agents.ocf.deadline import Deadline
from ocf_agents.service.systemctl import Failed, NoAnswer, Systemctl, UnitState
from tests.fake_systemd import FakeSystemd

UNIT = "x.service"
LOST = "Failed to get properties: Connection reset by peer"


@pytest.fixture
def systemd(tmp_path: Path) -> FakeSystemd:
    systemd = FakeSystemd(tmp_path)
    systemd.add(UNIT, "sleep", "60")
    return systemd


def systemctl(systemd: FakeSystemd, seconds: float = 20) -> Systemctl:
    return Systemctl(Deadline(seconds), systemd.units.programs)


def test_a_state(systemd: FakeSystemd) -> None:
    systemd.say(
        UNIT, ActiveState="active", MainPID="4321", InvocationID="ab", UnitFileState="enabled", Restart="no"
    )
    state = systemctl(systemd).show(UNIT)
    assert (state.name, state.load, state.active, state.main_pid) == (UNIT, "loaded", "active", 4321)
    assert (state.run_id, state.is_at_boot, state.restart) == ("ab", True, "no")
    assert state.is_up
    assert not any((state.is_down, state.is_between, state.is_changed_on_disk))


@pytest.mark.parametrize(
    ("active", "is_up", "is_between", "is_down"),
    [
        ("active", True, False, False),
        ("reloading", True, False, False),
        ("activating", False, True, False),
        ("deactivating", False, True, False),
        ("maintenance", False, True, False),
        ("inactive", False, False, True),
        ("failed", False, False, True),
    ],
)
def test_what_a_state_means(active: str, is_up: bool, is_between: bool, is_down: bool) -> None:
    """Case 141."""
    state = UnitState({"ActiveState": active, "MainPID": "x"})
    assert (state.is_up, state.is_between, state.is_down, state.main_pid) == (is_up, is_between, is_down, 0)


def test_a_lost_bus_is_asked_once_more(systemd: FakeSystemd) -> None:
    """Case 140."""
    systemd.answer(LOST)
    assert systemctl(systemd).show(UNIT).is_down
    assert systemd.calls == ["show", "show"]
    systemd.forget_calls()
    systemd.answer(LOST, LOST, LOST)
    with pytest.raises(NoAnswer, match="reset"):
        systemctl(systemd).show(UNIT)
    assert systemd.calls == ["show", "show"]


def test_a_refusal_is_not_asked_again(systemd: FakeSystemd) -> None:
    systemd.answer("Failed to start x.service: Unit x.service is masked.")
    with pytest.raises(Failed, match="is masked"):
        systemctl(systemd).start(UNIT)
    assert systemd.calls == ["start"]


def test_no_call_takes_longer_than_there_is_time(systemd: FakeSystemd) -> None:
    systemd.answer_always("hang")
    began = time.monotonic()
    with pytest.raises(NoAnswer, match="did not end"):
        systemctl(systemd, 4).show(UNIT)
    with pytest.raises(NoAnswer, match="did not end"):
        systemctl(systemd, 4).stop(UNIT, 0.5)
    assert time.monotonic() - began < 4


def test_without_systemctl(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="does not exist"):
        Systemctl(Deadline(5), (str(tmp_path / "none"),)).show(UNIT)


def test_an_empty_answer_is_none(systemd: FakeSystemd) -> None:
    (systemd.directory / UNIT / "state").write_text("")
    with pytest.raises(NoAnswer):
        systemctl(systemd).show(UNIT)


@pytest.mark.parametrize(
    ("span", "seconds"),
    [
        ("1min 30s", 90.0),
        ("65s", 65.0),
        ("1h 2min 3s 4ms", 3723.004),
        ("1.500s", 1.5),
        ("infinity", None),
        ("", None),
        ("5 lightyears", None),
        ("s", None),
        ("1min soon", None),
    ],
)
def test_a_time_span_as_systemctl_prints_it(span: str, seconds: float | None) -> None:
    assert UnitState({"TimeoutStopUSec": span}).stop_seconds == seconds
