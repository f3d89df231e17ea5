# SPDX-License-Identifier: Apache-2.0
"""All of it, some files at a time: most of a crash test is waiting.

python3 -m tests.crashes            a sample, minutes
python3 -m tests.crashes --all      each point in all ways, hours
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

HERE = Path(__file__).parent
AT_ONCE = 3
LONGEST_FIRST = ("kills", "system_calls", "bad_records", "stopped")


def test_files() -> list[Path]:
    """The files, those that take long first."""
    names = [f"test_{name}.py" for name in LONGEST_FIRST]
    paths = sorted(HERE.glob("test_*.py"))
    return sorted(paths, key=lambda path: names.index(path.name) if path.name in names else len(names))


def run(path: Path) -> tuple[Path, int, str, float]:
    begin = time.monotonic()
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(path)]
    done = subprocess.run(
        argv, cwd=HERE.parents[1], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return path, done.returncode, done.stdout.decode("utf-8", "replace"), time.monotonic() - begin


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 when every file passed."""
    if "--all" in arguments:
        os.environ["CRASHES_ALL"] = "1"
    begin, failed, counts = time.monotonic(), [], []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in as_completed([pool.submit(run, path) for path in test_files()]):
            path, code, output, seconds = done.result()
            print(f"---- {path.name}, {seconds:.0f} s\n{output}", flush=True)
            counts += [line for line in output.splitlines() if " found, " in line]
            if code != 0:
                failed.append(path.name)
    verdict = f"{', '.join(failed)} FAILED" if failed else "all right"
    print(*counts, sep="\n")
    print(f"crashes: {verdict}, {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
