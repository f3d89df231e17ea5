# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time
from pathlib import Path

from ocf_agents.service.host import boot_id, boottime


def test_the_boot_id_is_the_kernels() -> None:
    assert boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert len(boot_id()) == 36


def test_the_time_since_boot_runs() -> None:
    first = boottime()
    time.sleep(0.02)
    assert 0.01 < boottime() - first < 5
