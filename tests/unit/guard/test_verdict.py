# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ocf_agents.guard import marker
from ocf_agents.guard.record import DISABLE, DISABLED, ENABLE, ENABLED, FOREIGN, OURS, UNKNOWN, Foreign
from ocf_agents.guard.row import Row
from ocf_agents.guard.verdict import LEAVE, NONE, RETRY, Policy, judge, quote, status_of

POLICY = Policy("nova-compute", "c1")
MARKER = str(marker.make("nova-compute", "c1", "2026-11-30T11:23:23Z", "0123456789abcdef"))
REMEMBERED = Foreign("RAM swap", "2026-11-30T11:23:23Z")
ROWS = {
    ENABLED: Row("r", disabled=False),
    OURS: Row("r", disabled=True, reason=MARKER),
    FOREIGN: Row("r", disabled=True, reason="disk swap"),
}


@pytest.mark.parametrize(
    ("want", "status", "foreign", "do"),
    [
        (DISABLED, ENABLED, None, DISABLE),
        (DISABLED, ENABLED, REMEMBERED, DISABLE),
        (DISABLED, OURS, None, LEAVE),
        (DISABLED, OURS, REMEMBERED, LEAVE),
        (DISABLED, FOREIGN, None, LEAVE),
        (DISABLED, FOREIGN, REMEMBERED, LEAVE),
        (ENABLED, ENABLED, None, LEAVE),
        (ENABLED, ENABLED, REMEMBERED, LEAVE),
        (ENABLED, OURS, None, ENABLE),
        (ENABLED, OURS, REMEMBERED, LEAVE),
        (ENABLED, FOREIGN, None, LEAVE),
        (ENABLED, FOREIGN, REMEMBERED, LEAVE),
        (DISABLED, UNKNOWN, None, RETRY),
        (ENABLED, UNKNOWN, REMEMBERED, RETRY),
        (DISABLED, NONE, REMEMBERED, RETRY),
        (ENABLED, NONE, None, RETRY),
    ],
)
def test_the_table(want: str, status: str, foreign: Foreign | None, do: str) -> None:
    assert judge(want, status, ROWS.get(status), foreign, POLICY).do == do


@pytest.mark.parametrize("want", [DISABLED, ENABLED])
def test_our_late_disable_on_somebodys_own_is_left_loudly(want: str) -> None:
    verdict = judge(want, OURS, ROWS[OURS], REMEMBERED, POLICY)
    assert verdict.is_warning
    assert "RAM swap" in verdict.why
    assert "2026-11-30T11:23:23Z" in verdict.why


def test_a_start_warns_with_the_reason_that_it_leaves() -> None:
    verdict = judge(ENABLED, FOREIGN, ROWS[FOREIGN], None, POLICY)
    assert verdict.is_warning
    assert "disk swap" in verdict.why


def test_a_stop_that_finds_a_foreign_disable_warns_of_nothing_and_keeps_the_words() -> None:
    verdict = judge(DISABLED, FOREIGN, ROWS[FOREIGN], None, POLICY)
    assert not verdict.is_warning
    assert "disk swap" in verdict.why


@pytest.mark.parametrize(
    ("row", "status"),
    [
        (None, NONE),
        (Row("r", disabled=False), ENABLED),
        (Row("r", disabled=False, reason=MARKER), ENABLED),
        (Row("r", disabled=False, reason=""), ENABLED),
        (Row("r", disabled=True, reason=MARKER), OURS),
        (Row("r", disabled=True), FOREIGN),
        (Row("r", disabled=True, reason=""), FOREIGN),
        (Row("r", disabled=True, reason="AUTO: Connection to libvirt lost: 1"), FOREIGN),
        (Row("r", disabled=True, reason=MARKER + " "), FOREIGN),
        (Row("r", disabled=True, reason="x " + MARKER), FOREIGN),
        (Row("r", disabled=True, reason=MARKER.replace("host=c1", "host=c2")), FOREIGN),
        (Row("r", disabled=True, reason=MARKER.replace("=nova-compute", "=nova-compute:1")), FOREIGN),
    ],
)
def test_only_the_status_and_an_exact_marker_decide(row: Row | None, status: str) -> None:
    """Cases 7 and 8: the reason of an enabled row is nothing; a missing one is somebody's."""
    assert status_of(row, POLICY) == status


@pytest.mark.parametrize(
    ("prefixes", "reason", "is_released"),
    [
        ((), "Masakari", False),
        (("Masakari",), "Masakari detected host failed.", True),
        (("Masakari",), "masakari detected host failed.", False),
        (("Masakari",), " Masakari", False),
        (("Masakari",), "see Masakari", False),
        (("Masakari",), None, False),
        (("Masakari",), "", False),
        (("",), "RAM swap", False),
        (("",), "", False),
        (("", "evac"), "evacuated", True),
    ],
)
def test_enable_reasons_release_by_prefix_and_never_everything(
    prefixes: tuple[str, ...], reason: str | None, is_released: bool
) -> None:
    policy = Policy("nova-compute", "c1", enable_reasons=prefixes)
    assert policy.releases(reason) is is_released
    row = Row("r", disabled=True, reason=reason)
    assert (judge(ENABLED, FOREIGN, row, None, policy).do == ENABLE) is is_released
    assert judge(DISABLED, FOREIGN, row, None, policy).do == LEAVE


def test_a_remembered_reason_that_may_be_undone_holds_nothing_back() -> None:
    policy = Policy("nova-compute", "c1", enable_reasons=("Masakari",))
    remembered = Foreign("Masakari detected host failed.", "2026-11-30T11:23:23Z")
    assert judge(ENABLED, OURS, ROWS[OURS], remembered, policy).do == ENABLE
    assert judge(ENABLED, OURS, ROWS[OURS], REMEMBERED, policy).do == LEAVE


def test_disable_on_stop_governs_new_disables_only() -> None:
    policy = Policy("nova-compute", "c1", disable_on_stop=False)
    assert judge(DISABLED, ENABLED, ROWS[ENABLED], None, policy).do == LEAVE
    assert judge(ENABLED, OURS, ROWS[OURS], None, policy).do == ENABLE


def test_enable_on_start_false_leaves_everything_disabled() -> None:
    policy = Policy("nova-compute", "c1", enable_on_start=False, enable_reasons=("disk",))
    for status in (OURS, FOREIGN):
        verdict = judge(ENABLED, status, ROWS[status], None, policy)
        assert verdict.do == LEAVE
        assert verdict.is_warning
    assert judge(DISABLED, ENABLED, ROWS[ENABLED], None, policy).do == DISABLE


def test_no_reason_reads_differently_from_an_empty_one() -> None:
    assert quote(None) != quote("")
