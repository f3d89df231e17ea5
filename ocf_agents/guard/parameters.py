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
        " The request is sent by a helper process; the stop does not wait for it."
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
        "Reasons of other automata that a start may undo",
        "Comma-separated beginnings of disabled reasons. A service that somebody else disabled with"
        " such a reason is enabled at start as if this resource had disabled it."
        " Example: 'Masakari detected host failed.'",
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
        "How long a stopped service is tried to be disabled",
        "How long the helper of a stop goes on trying to disable the service when the API does not answer.",
        reloadable=True,
        minimum=1,
    ),
    Parameter(
        "head_start",
        Duration,
        "3s",
        "How long a stop lets the disable go first",
        "How long a stop of a living service waits for the answer to the disable before it stops the"
        " service. A compute that can still answer is disabled in a few milliseconds; a dead one"
        " keeps the API busy for a minute.",
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
        " apply it. A request without an answer is watched for that long.",
        reloadable=True,
        minimum=1,
    ),
)
