# SPDX-License-Identifier: Apache-2.0
"""Units by their files: names, masks, aliases, and who runs in which."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ocf_agents.service import unit
from ocf_agents.service.unit import Units, full_name
from tests.fake_systemd import FakeSystemd


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("x", "x.service"),
        ("x.service", "x.service"),
        (" x ", "x.service"),
        ("x@1", "x@1.service"),
        ("x@1.service", "x@1.service"),
        ("x.y", "x.y.service"),
        ("x@a@b", "x@a@b.service"),
        ("x\\x2dy", "x\\x2dy.service"),
    ],
)
def test_names_of_one_unit(given: str, name: str) -> None:
    """Case 148."""
    assert full_name(given) == name


@pytest.mark.parametrize(
    "given",
    [
        "",
        " ",
        ".service",
        "x@",
        "x@.service",
        "@1",
        "a b",
        "../x",
        "x/y",
        "x.socket",
        "x.timer",
        "-" * 256,
        "é",
    ],
)
def test_what_is_no_services_name(given: str) -> None:
    """Case 148."""
    with pytest.raises(ValueError):  # noqa: PT011 (its text is the value)
        full_name(given)


def test_the_first_that_exists_and_is_not_masked(tmp_path: Path) -> None:
    """Case 137."""
    systemd = FakeSystemd(tmp_path)
    assert systemd.units.find(["a.service", "b.service"]) is None
    systemd.add("b.service")
    assert systemd.units.find(["a.service", "b.service"]) == "b.service"
    systemd.add("a.service")
    assert systemd.units.find(["a.service", "b.service"]) == "a.service"
    systemd.mask("a.service")
    assert systemd.units.find(["a.service", "b.service"]) == "b.service"
    assert systemd.units.find(["a.service"]) is None
    (systemd.root / "etc/systemd/system/b.service").write_text("")
    assert systemd.units.find(["b.service"]) is None, "an empty file is a mask too"


def test_an_alias_and_an_instance(tmp_path: Path) -> None:
    systemd = FakeSystemd(tmp_path)
    systemd.add("real.service")
    systemd.add("x@.service")
    folder = systemd.root / "etc/systemd/system"
    (folder / "alias.service").symlink_to(folder / "real.service")
    assert systemd.units.find(["alias.service"]) == "real.service"
    assert systemd.units.find(["x@1.service"]) == "x@1.service"


def test_where_systemd_runs(tmp_path: Path) -> None:
    systemd = FakeSystemd(tmp_path)
    assert systemd.units.is_booted()
    systemd.hide()
    assert not systemd.units.is_booted()


def test_the_id_of_a_run(tmp_path: Path) -> None:
    systemd = FakeSystemd(tmp_path)
    assert systemd.units.tells_runs()
    assert systemd.units.run_id("x.service") is None
    systemd.run_id("x.service", "0123abcd")
    assert systemd.units.run_id("x.service") == "0123abcd"
    assert not Units(str(tmp_path)).tells_runs()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0::/system.slice/nova-compute.service\n", "nova-compute.service"),
        ("9:name=systemd:/system.slice/x.service\n4:memory:/y.service\n0::/\n", "x.service"),
        ("0::/user.slice/user-0.slice/user@0.service/app.slice/z.service/inner\n", "z.service"),
        ("0::/user.slice/user-0.slice/session-3.scope\n", ""),
        ("4:memory:/system.slice/x.service\n", ""),
        ("", ""),
    ],
)
def test_the_unit_of_a_control_group(text: str, name: str) -> None:
    assert unit._unit_in(text) == name


def test_our_own_unit_is_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an agent or a shell has started runs where they run."""
    units = {"self": "runner.service", 11: "runner.service", 12: "cron.service", 13: "ours.service", 14: ""}
    monkeypatch.setattr(unit, "unit_of", lambda pid: units.get(pid, "other.service"))
    assert [pid for pid in (11, 12, 13, 14, 15) if unit.is_of_another(pid, "ours.service")] == [15]


def test_a_process_that_is_gone_is_in_no_unit() -> None:
    assert unit.unit_of(2**22 + 1) == ""
    assert unit.unit_of(os.getpid()) == unit.unit_of("self")
