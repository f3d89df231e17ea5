# SPDX-License-Identifier: Apache-2.0
"""Names that were probably meant. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def misses(host: str, names: Iterable[str]) -> list[str]:
    """Those of the names that differ from the host's in case or domain only, sorted."""
    wanted = host.lower()
    short = wanted.partition(".")[0]
    return sorted(name for name in names if name.lower() == wanted or name.lower().partition(".")[0] == short)
