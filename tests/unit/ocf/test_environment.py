# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ocf_agents.ocf.environment import Environment


def test_an_empty_environment_is_enough() -> None:
    environment = Environment({}, "monitor", "nova-compute")
    assert environment.instance == "nova-compute"
    assert environment.check_level == 0
    assert environment.is_probe
    assert environment.ocf_version == (1, 0)
    assert environment.run_dir == "/run/resource-agents"
    assert environment.timeout is None
    assert environment.exit_reason_prefix == "ocf-exit-reason:"
    assert environment.warnings == []


@pytest.mark.parametrize(
    ("text", "level"),
    [(None, 0), ("", 0), ("0", 0), ("5", 0), ("10", 10), ("15", 10), ("20", 20), (" 20 ", 20), ("9999", 20)],
)
def test_a_check_level_falls_to_the_next_lower_one(text: str | None, level: int) -> None:
    environment = Environment({} if text is None else {"OCF_CHECK_LEVEL": text}, "monitor")
    assert environment.check_level == level
    assert environment.warnings == []


@pytest.mark.parametrize("text", ["10s", "deep", "-10", "1e1", "\udcff", "9" * 100])
def test_a_check_level_that_is_no_number_is_0_with_one_warning(text: str) -> None:
    environment = Environment({"OCF_CHECK_LEVEL": text}, "monitor")
    assert environment.check_level == 0
    assert len(environment.warnings) == 1
    assert "OCF_CHECK_LEVEL" in environment.warnings[0]


@pytest.mark.parametrize(
    ("milliseconds", "seconds"),
    [("20000", 20.0), ("999", 0.999), ("0", 0.0), ("abc", None), ("", None), ("-5", None), ("20s", None)],
)
def test_the_timeout_is_in_milliseconds_and_nonsense_is_none(
    milliseconds: str, seconds: float | None
) -> None:
    environment = Environment({"OCF_RESKEY_CRM_meta_timeout": milliseconds}, "stop")
    assert environment.timeout == seconds


def test_an_absurd_timeout_stays_a_time_that_the_kernel_can_wait() -> None:
    timeout = Environment({"OCF_RESKEY_CRM_meta_timeout": "9" * 18}, "stop").timeout
    assert timeout is not None
    assert timeout < 365 * 86400


@pytest.mark.parametrize(
    ("action", "interval", "is_probe"),
    [
        ("monitor", None, True),
        ("monitor", "0", True),
        ("monitor", "10000", False),
        ("monitor", "", True),
        ("start", None, False),
        ("start", "0", False),
    ],
)
def test_a_probe_is_a_monitor_without_an_interval(action: str, interval: str | None, is_probe: bool) -> None:
    environ = {} if interval is None else {"OCF_RESKEY_CRM_meta_interval": interval}
    assert Environment(environ, action).is_probe is is_probe


@pytest.mark.parametrize(
    ("major", "minor", "version"),
    [("1", "1", (1, 1)), ("1", "0", (1, 0)), ("1", "x", (1, 0)), ("2", "0", (2, 0)), ("x", "1", (0, 1))],
)
def test_the_version_is_the_callers(major: str, minor: str, version: tuple[int, int]) -> None:
    environ = {"OCF_RA_VERSION_MAJOR": major, "OCF_RA_VERSION_MINOR": minor}
    assert Environment(environ, "start").ocf_version == version


def test_a_clone_keeps_its_name() -> None:
    assert Environment({"OCF_RESOURCE_INSTANCE": "nova-compute:0"}, "start").instance == "nova-compute:0"


@pytest.mark.parametrize(("given", "used"), [("/x/y", "/x/y"), ("", None), ("relative", None)])
def test_the_run_directory_is_absolute(given: str, used: str | None) -> None:
    environment = Environment({"HA_RSCTMP": given}, "start")
    assert environment.run_dir == (used or "/run/resource-agents")
