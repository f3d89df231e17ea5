# SPDX-License-Identifier: Apache-2.0
"""Nova's own times, against each other and against a stop's."""

from __future__ import annotations

from pathlib import Path

import pytest

from ocf_agents.actions.advice import of_configuration, of_unit
from ocf_agents.service.systemctl import UnitState

UNIT = "nova-compute.service"


def advised(tmp_path: Path, text: str, kills_after: float | None = None) -> list[str]:
    (tmp_path / "nova.conf").write_text(f"[DEFAULT]\n{text}\n")
    arguments = [f"--config-file={tmp_path}/nova.conf", f"--config-dir={tmp_path}"]
    return of_configuration(arguments, None, 240.0, UNIT, kills_after)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ()),
        ("graceful_shutdown_timeout = 200", ()),
        ("graceful_shutdown_timeout = 600", ("is longer than the advised", "give stop timeout=660s")),
        ("graceful_shutdown_timeout = 0", ("waits without end",)),
        (
            "graceful_shutdown_timeout = soon",
            ("graceful_shutdown_timeout in Nova's configuration is 'soon'",),
        ),
        ("report_interval = 20", ()),
        ("report_interval = 120", ("120 is not less than service_down_time = 60", "service_down_time = 300")),
        ("report_interval = 120\nservice_down_time = 300", ()),
        ("report_interval = 0", ("never reports",)),
    ],
)
def test_novas_times_in_one_line_each_with_the_mend(tmp_path: Path, text: str, said: tuple[str, ...]) -> None:
    """Cases 25 and 155."""
    lines = advised(tmp_path, text)
    assert len(lines) == bool(said)
    assert all(one in lines[0] for one in said)


@pytest.mark.parametrize(
    ("kills_after", "text", "said"),
    [
        (None, "", ""),
        (200.0, "", ""),
        (65.0, "", "the 180 s of recent Nova"),
        (65.0, "graceful_shutdown_timeout = 60", ""),
        (65.0, "graceful_shutdown_timeout = 65", "graceful_shutdown_timeout = 65"),
    ],
)
def test_a_unit_that_is_killed_in_its_graceful_shutdown(
    tmp_path: Path, kills_after: float | None, text: str, said: str
) -> None:
    lines = advised(tmp_path, text, kills_after)
    assert len(lines) == bool(said)
    assert all(said in line and f"systemctl edit {UNIT}" in line for line in lines)


def test_a_configuration_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (line,) = of_configuration([f"--config-file={tmp_path}/none"], None, 240.0)
    assert "cannot read" in line


def test_a_unit_that_systemd_starts_by_itself() -> None:
    """Cases 136 and 147."""
    state = UnitState({"UnitFileState": "enabled", "Restart": "always"})
    assert [line.rpartition(": ")[2] for line in of_unit(UNIT, state)] == [
        f"systemctl disable {UNIT}",
        "[Service] Restart=no",
    ]
    assert of_unit(UNIT, UnitState({"UnitFileState": "disabled", "Restart": "no"})) == []
