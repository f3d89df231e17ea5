# SPDX-License-Identifier: Apache-2.0
"""Other people's texts and times, as a terminal may show them."""

from __future__ import annotations

import calendar
import time

_STEPS = ((172800.0, 86400.0, "days"), (7200.0, 3600.0, "hours"), (120.0, 60.0, "min"), (0.0, 1.0, "s"))


def clean(text: str) -> str:
    """The text in one line, without what would move a terminal's cursor: escapes are shown as such."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def quoted(reason: str | None) -> str:
    """A disabled reason, as people read it."""
    if reason is None:
        return "no reason given"
    return f"'{clean(reason)}'" if reason else "an empty reason"


def lasting(seconds: float) -> str:
    """A span of time, as people say it."""
    for least, unit, name in _STEPS:
        if seconds >= least:
            return f"{seconds / unit:.0f} {name}"
    return "0 s"


def counted(number: int, noun: str) -> str:
    """A number of things: `1 warning`, `2 warnings`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def ago(at: str, now: float | None = None) -> str:
    """How long ago a UTC time like 2026-11-30T11:23:23Z was; empty when it is none."""
    try:
        then = calendar.timegm(time.strptime(at, "%Y-%m-%dT%H:%M:%SZ"))
    except (ValueError, OverflowError):
        return ""
    passed = (time.time() if now is None else now) - then
    return f"{lasting(passed)} ago" if passed >= 0 else f"{lasting(-passed)} ahead of this host's clock"


def since(at: str, now: float | None = None) -> str:
    """A UTC time, and how long ago that was."""
    passed = ago(at, now)
    return f"{clean(at)} ({passed})" if passed else clean(at)
