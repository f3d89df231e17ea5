# SPDX-License-Identifier: Apache-2.0
"""The user that a service runs as, given by name or by number."""

from __future__ import annotations

import os
import pwd


def is_number(user: str) -> bool:
    """Whether it is a user's number, and no name."""
    return user.isascii() and user.isdigit()


def entry_of(user: str) -> pwd.struct_passwd | None:
    """This host's entry for a user; empty: whoever runs the agent. None where there is none."""
    try:
        if user and not is_number(user):
            return pwd.getpwnam(user)
        return pwd.getpwuid(int(user) if user else os.geteuid())
    except (KeyError, ValueError, OverflowError):
        return None
