# SPDX-License-Identifier: Apache-2.0
"""Nova's two times, and when they contradict each other."""

from __future__ import annotations

import pytest

from ocf_agents.openstack.nova_conf import BadConfiguration
from ocf_agents.openstack.reporting import Reporting, from_options


def test_novas_own_defaults_hold_for_what_is_not_set() -> None:
    assert from_options({}) == (10, 60)
    assert from_options({"report_interval": " 20 ", "x": "90", "service_down_time": "$x"}) == (20, 90)


@pytest.mark.parametrize("value", ["10s", "", "1.5"])
def test_what_is_no_number_is_refused_by_its_name(value: str) -> None:
    with pytest.raises(BadConfiguration, match="report_interval in Nova's configuration"):
        from_options({"report_interval": value})


@pytest.mark.parametrize(
    ("interval", "down_time", "said"),
    [
        (10, 60, None),
        (59, 60, None),
        (60, 60, "service_down_time = 150"),
        (120, 60, "service_down_time = 300"),
        (0, 60, "never reports"),
    ],
)
def test_a_contradiction_is_told_with_its_mend(interval: int, down_time: int, said: str | None) -> None:
    problem = Reporting(interval, down_time).contradiction()
    assert (problem is None) is (said is None)
    assert (said or "") in (problem or "")
