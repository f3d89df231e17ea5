# SPDX-License-Identifier: Apache-2.0
"""The parameters that every guarded agent has. Loaded by every monitor."""

from __future__ import annotations

from ocf_agents.ocf.parameters import Boolean, Duration, Parameter, Path, String

STATE_DIR = "/var/lib/ocf-agents"

PARAMETERS = (
    Parameter(
        "disable_on_stop",
        Boolean,
        True,
        "Disable the service in the cloud when it stops",
        "Whether a stop disables the service in the cloud, so that the scheduler chooses another host."
        " The request is sent by a helper process; a stop waits for its answer for head_start at most, and"
        " succeeds without it."
        " With false, what an earlier stop has under way is still finished.",
        reloadable=True,
    ),
    Parameter(
        "enable_on_start",
        Boolean,
        True,
        "Enable the service in the cloud when it starts",
        "Whether a start enables the service again, if it was this resource that disabled it."
        " A disable by anybody else is always left as it is.",
        reloadable=True,
    ),
    Parameter(
        "enable_reasons",
        String,
        "",
        "Reasons of other programs that a start may undo",
        "Comma-separated beginnings of disabled reasons. A service that somebody else disabled with"
        " such a reason is enabled at start as if this resource had disabled it."
        " Example: 'Masakari detected host failed.'. A comma always separates.",
        reloadable=True,
    ),
    Parameter(
        "state_dir",
        Path,
        STATE_DIR,
        "Directory of the records",
        "Where the record of who disabled the service is kept. It must survive a reboot, belong to"
        " root and be writable by nobody else.",
    ),
    Parameter(
        "disable_deadline",
        Duration,
        "1h",
        "How long to keep trying to disable after a stop",
        "How long the helper of a stop goes on trying to disable the service when the API does not answer."
        " A time such as 90s, 20m or 1h; at least 1s.",
        reloadable=True,
        minimum=1,
    ),
    Parameter(
        "head_start",
        Duration,
        "3s",
        "How long a stop waits for the disable before it ends the service",
        "How long a stop of a living service waits for the answer to the disable before it stops the"
        " service. A compute that can still answer is disabled in a few milliseconds; a dead one"
        " keeps the API busy for a minute. A time such as 3, 3s or 500ms; at most 60s.",
        reloadable=True,
        minimum=0,
        maximum=60,
    ),
    Parameter(
        "hold",
        Duration,
        "5m",
        "How long the API may keep a request",
        "The longest time for which the API, its proxies and its queues may keep a request before they"
        " apply it. A request without an answer is watched for that long. Give at least the longest timeout"
        " of any proxy or queue before the API. A time such as 5m or 300s; at least 1s.",
        reloadable=True,
        minimum=1,
    ),
)
