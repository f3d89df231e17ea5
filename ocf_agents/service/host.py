# SPDX-License-Identifier: Apache-2.0
"""The host's boot: its identity and the time since it."""

from __future__ import annotations

import os
import time

BOOT_ID_PATH = "/proc/sys/kernel/random/boot_id"


def boot_id(path: str = BOOT_ID_PATH) -> str:
    """The kernel's random id of this boot. Raises OSError where /proc is not mounted."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 64).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)


def boottime() -> float:
    """Seconds since boot, suspended time included (CLOCK_BOOTTIME): no one can set it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
