# SPDX-License-Identifier: Apache-2.0
"""Run all benchmarks, or those of a group; the exit code is 1 when something is past its bound."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

AGENT = Path(__file__).resolve().parents[1] / "heartbeat" / "nova-compute"
Bench = Callable[[Path, Path], "list[str]"]


def times() -> list[Bench]:
    """How long monitor and stop take."""
    from benchmarks import levels, monitor, sockets, stop

    return [monitor.bench, levels.bench, sockets.bench, stop.bench]


def scale() -> list[Bench]:
    """Many hosts at once."""
    from benchmarks import crowd, scale

    return [scale.bench, crowd.bench]


GROUPS = {"times": times, "scale": scale}


def main(group: str = "times") -> int:
    """One after the other: they would disturb each other."""
    begin = time.monotonic()
    failures: list[str] = []
    os.umask(0o022)
    for bench in GROUPS[group]():
        with tempfile.TemporaryDirectory(prefix="ocf-agents-bench-") as directory:
            failures += bench(AGENT, Path(directory))
    print(f"\n{time.monotonic() - begin:.0f} s in all.")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:2]))
