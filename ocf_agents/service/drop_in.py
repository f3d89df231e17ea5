# SPDX-License-Identifier: Apache-2.0
"""The cluster's part of a unit: a drop-in below /run, there while the cluster runs the service.

- Before= the cluster's own units: at a host's shutdown systemd stops in the reverse order, so the cluster
  ends the service, while there is a network, and systemd does not end it first (cases 142, 143).
- Restart=no: what crashed is the cluster's to start again, not systemd's as well (case 147).
- StartLimitIntervalSec=0: how often it is started is the cluster's decision too.
- KillMode=process: a guest may live in the unit's control group, and a stop must not end it (case
  139). What else a stop leaves of the service the agent ends itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from . import runfile

MODE = 0o644
FOLDER_MODE = 0o755
TEMPLATE = """\
# Written by a resource agent while the cluster runs this unit; it is taken away when the cluster stops it.
[Unit]
Before=pacemaker.service pacemaker_remote.service
StartLimitIntervalSec=0

[Service]
Restart=no
KillMode=process
"""


def content(environment: Mapping[str, str]) -> str:
    """The drop-in's text; `environment` is what the service gets besides what its unit says."""
    lines = [f'Environment="{_escape(f"{name}={value}")}"\n' for name, value in sorted(environment.items())]
    return TEMPLATE + "".join(lines)


def place(path: str, text: str) -> bool:
    """Have the file say that, mode 0644 (case 149); False when it does already (case 145). Raises OSError."""
    data = text.encode("utf-8", "surrogateescape")
    if runfile.read(path) == data and os.stat(path).st_mode & 0o7777 == MODE:
        return False
    folder = os.path.dirname(path)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder)
        os.chmod(folder, FOLDER_MODE)
    runfile.replace(path, data, MODE, is_synced=False)
    return True


def remove(path: str) -> bool:
    """Take the file away, and its folder if nobody else uses it; False when there is none. Raises OSError."""
    runfile.tidy(path)
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(path))
    return True


def _escape(text: str) -> str:
    """As systemd reads a quoted word: C's escapes, and percent signs doubled (systemd.syntax(7))."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return "".join(
        letter if letter >= " " and letter != "\x7f" else f"\\x{ord(letter):02x}" for letter in text
    )
