# SPDX-License-Identifier: Apache-2.0
"""The parameters of every agent that looks at a service on this host. Loaded by every monitor."""

from __future__ import annotations

from ocf_agents.ocf.parameters import Duration, Parameter

PARAMETERS = (
    Parameter(
        "hang_timeout",
        Duration,
        "2m",
        "After how long a service that does nothing has failed",
        "A monitor fails when, for this long and in at least three looks, no task of the service has been"
        " switched and no CPU time been used: a healthy one is never so still, however idle it is. A parent"
        " of workers is judged by its workers. A time such as 90s or 5m; 0 turns it off.",
        reloadable=True,
        minimum=0,
    ),
)
