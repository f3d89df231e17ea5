# SPDX-License-Identifier: Apache-2.0
"""What stops no start and yet ends badly: one line each, with what to do. For validate-all at level 10.

None of it is an error: the standard has validate-all judge the parameters, and these are other files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ocf_agents.ocf.deadline import usable_seconds
from ocf_agents.openstack import reporting
from ocf_agents.openstack.nova_conf import BadConfiguration, options_of_section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ocf_agents.service.systemctl import UnitState

GRACEFUL_SHUTDOWN = 180
"""Seconds that recent Nova gives itself where its configuration says nothing (case 25)."""
SPARE = 60
"""Seconds of a stop for all but Nova's own part of it."""
MARGIN = 10


def of_unit(unit: str, state: UnitState) -> list[str]:
    """systemd and the cluster must not start the same service in turn (cases 136, 147)."""
    lines = []
    if state.is_at_boot:
        lines.append(f"{unit} starts at boot, before the cluster can tell: systemctl disable {unit}")
    if state.restart not in ("", "no"):
        lines.append(
            f"{unit} has Restart={state.restart}: when the cluster does not run it, systemd restarts it;"
            f" systemctl edit {unit}: [Service] Restart=no"
        )
    return lines


def of_configuration(
    arguments: Sequence[str],
    home: str | None,
    stop_timeout: float,
    unit: str = "",
    kills_after: float | None = None,
) -> list[str]:
    """Nova's own times, against each other and against a stop's. Times in seconds.

    stop_timeout: the advised one. What stop has in the cluster is not known here: an action is told its own.
    kills_after: systemd's patience with `unit`; None: endless, or there is no unit.
    """
    try:
        options = options_of_section("DEFAULT", arguments, home)
        problem = reporting.from_options(options).contradiction()
        graceful = reporting.seconds("graceful_shutdown_timeout", options, GRACEFUL_SHUTDOWN)
    except BadConfiguration as error:
        return [str(error)]
    is_given = "graceful_shutdown_timeout" in options
    told = f"graceful_shutdown_timeout = {graceful} in Nova's configuration"
    lines = [f"in Nova's configuration {problem}"] if problem else []
    if graceful <= 0:
        lines.append(f"{told} waits without end: a stop may kill it when its time is over; give some seconds")
    elif graceful > usable_seconds(stop_timeout):
        lines.append(
            f"{told} is longer than the advised timeout of stop ({stop_timeout:g} s): give stop"
            f" timeout={graceful + SPARE}s, or a stop kills it"
        )
    if kills_after is not None and graceful >= kills_after:
        whose = told if is_given else f"the {graceful} s of recent Nova"
        lines.append(
            f"{unit} has TimeoutStopSec={kills_after:g}, not more than {whose}: systemd kills it in its"
            f" graceful shutdown; systemctl edit {unit}: [Service] TimeoutStopSec={graceful + MARGIN}"
        )
    return lines
