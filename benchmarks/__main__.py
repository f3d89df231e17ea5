# SPDX-License-Identifier: Apache-2.0
"""Run all benchmarks; the exit code is 1 when a median is past its bound."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from benchmarks import monitor, stop

AGENT = Path(__file__).resolve().parents[1] / "heartbeat" / "nova-compute"


def main() -> int:
    """All of them, one after the other: they would disturb each other."""
    begin = time.monotonic()
    failures: list[str] = []
    os.umask(0o022)
    for bench in (monitor.bench, stop.bench):
        with tempfile.TemporaryDirectory(prefix="ocf-agents-bench-") as directory:
            failures += bench(AGENT, Path(directory))
    print(f"\n{time.monotonic() - begin:.0f} s in all, medians within one run.")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
