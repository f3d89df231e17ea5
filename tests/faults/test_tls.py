# SPDX-License-Identifier: Apache-2.0
"""Every action while the cloud's certificates are not as they should be.

What is tried in full: see test_nova.py.
"""

from __future__ import annotations

import ssl
from datetime import timedelta
from pathlib import Path
from typing import Callable

from ocf_agents.testing.compute.certificates import Authority

from .stage import Stage
from .story import Trouble, play_all


def speak(context: ssl.SSLContext | None) -> Callable[[Stage], object]:
    """Both listeners of the cloud speak so to whoever connects from now on."""

    def strike(stage: Stage) -> None:
        for listener in (stage.api.identity, stage.api.compute):
            listener.tls = context

    return strike


def test_tls(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("ours", "other", "stories")]
    for folder in folders:
        folder.mkdir()
    ours, other = Authority(folders[0]), Authority(folders[1])
    good = speak(ours.server_context())
    troubles = [
        Trouble(name, says, speak(context), good, authority=ours)
        for name, says, context in (
            ("another authority", "set cacert: the TLS certificate of https://127", other.server_context()),
            (
                "expired",
                "certificate has expired: the TLS certificate of https://127",
                ours.server_context(age=timedelta(days=3)),
            ),
            (
                "another host's",
                "IP address mismatch.*: the TLS certificate",
                ours.server_context(("localhost", "192.0.2.1")),
            ),
            ("plain HTTP", "TLS failed", None),
        )
    ]
    play_all(troubles, folders[2])
