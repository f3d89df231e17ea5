# SPDX-License-Identifier: Apache-2.0
"""One thing that was looked at: how it is, and what to do about it."""

from __future__ import annotations

from typing import NamedTuple

OK = "ok"
WARNING = "warning"
PROBLEM = "problem"


class Finding(NamedTuple):
    """`what` is a word or two, `text` how it is, `mend` what to do (empty where nothing need be done)."""

    level: str
    what: str
    text: str
    mend: str = ""


def ok(what: str, text: str) -> Finding:
    return Finding(OK, what, text)


def warning(what: str, text: str, mend: str) -> Finding:
    return Finding(WARNING, what, text, mend)


def problem(what: str, text: str, mend: str) -> Finding:
    return Finding(PROBLEM, what, text, mend)
