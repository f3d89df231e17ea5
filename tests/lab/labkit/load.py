# SPDX-License-Identifier: Apache-2.0
"""A machine that is busy with something else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

LOOP = """\
import sys, time
end, share = time.monotonic() + float(sys.argv[1]), float(sys.argv[2])
while time.monotonic() < end:
    rest = time.monotonic() + 0.1 * share
    while time.monotonic() < rest:
        pass
    time.sleep(0.1 * (1 - share))
"""


@contextmanager
def load(share: float, seconds: float) -> Iterator[None]:
    """Keep each processor busy for that share of the time, until the end of the block, `seconds` at most."""
    command = ["/usr/bin/python3", "-I", "-c", LOOP, str(seconds), str(share)]
    loops = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
