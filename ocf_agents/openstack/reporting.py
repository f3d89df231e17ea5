# SPDX-License-Identifier: Apache-2.0
"""How often a service reports to the cloud, and after how long without a report it is down, as configured.

Nova: each `report_interval` the service has nova-conductor write its row; nova-api calls a row down
whose last report is older than `service_down_time`, by its own configuration and clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ocf_agents.openstack.nova_conf import BadConfiguration, resolve

REPORT_INTERVAL = 10
SERVICE_DOWN_TIME = 60
NOVAS_FACTOR = 2.5


class Reporting(NamedTuple):
    """Nova's two times, in seconds; an interval of 0 means that it never reports."""

    interval: int
    down_time: int

    def contradiction(self) -> str | None:
        """Why a row in good health would look down now and then (case 155); None where it would not.

        The rule is Nova's own: where service_down_time is not longer than report_interval, each of its
        programs takes 2.5 times report_interval instead, by what its own file says.
        """
        if self.interval <= 0:
            return f"report_interval = {self.interval}: nova-compute never reports, its row is always down"
        if self.interval < self.down_time:
            return None
        longer = int(self.interval * NOVAS_FACTOR)
        return (
            f"report_interval = {self.interval} is not less than service_down_time = {self.down_time}: set"
            f" service_down_time = {longer} here and for nova-api and nova-scheduler, or report more often"
        )


def from_options(options: Mapping[str, str]) -> Reporting:
    """From the section DEFAULT of Nova's configuration. Raises BadConfiguration for what is no number."""
    return Reporting(
        seconds("report_interval", options, REPORT_INTERVAL),
        seconds("service_down_time", options, SERVICE_DOWN_TIME),
    )


def seconds(name: str, options: Mapping[str, str], default: int) -> int:
    """An option that is a whole number of seconds. Raises BadConfiguration for another."""
    if name not in options:
        return default
    text = resolve(name, options).strip()
    try:
        return int(text)
    except ValueError:
        raise BadConfiguration(
            f"{name} in Nova's configuration is {text[:40]!a}: give a number of seconds"
        ) from None
