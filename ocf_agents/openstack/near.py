# SPDX-License-Identifier: Apache-2.0
"""Names of hosts that were probably meant. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def misses(host: str, names: Iterable[str]) -> list[str]:
    """Those of the names that differ from the host's in case or domain only, sorted."""
    return sorted(name for name in names if _short(name) == _short(host))


def _short(name: str) -> str:
    return name.partition(".")[0].lower()
