# SPDX-License-Identifier: Apache-2.0
"""The connection look of level 10 on a host of 50,000 sockets and a process of 64,000 descriptors.

Files in a directory stand for /proc: so many need limits that few machines have. Beside it, what only
reads the same: cat for the tables, find for the descriptors' targets.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Callable

from benchmarks.table import Measure, report
from ocf_agents.service.proc import ProcTable
from ocf_agents.service.sockets import owns_connection_to

RUNS = 7
SOCKETS, DESCRIPTORS = 50_000, 64_000
PORT, OTHER = 5672, 5671
FACTOR = 2.0
PID = 100
LINE = (
    "%5d: 0100007F:%04X 0100007F:%04X 01 00000000:00000000 00:00000000 00000000  1000        0 %d"
    " 1 0000000000000000 20 4 30 10 -1"
)


def bench(agent: Path, directory: Path) -> list[str]:
    """Measure, print, and name what is past its bound."""
    process = make(directory)
    table = ProcTable(str(directory))
    if owns_connection_to(table, [PID], [OTHER]) is not True:
        return ["sockets: a connection that is there is not found"]
    tables = [str(process / "net" / name) for name in ("tcp", "tcp6")]
    works = {
        "connection look, nothing found": lambda: owns_connection_to(table, [PID], [PORT]) is False,
        "cat of the tables": lambda: reads(["cat", *tables]),
        "cat, and find of the descriptors": lambda: (
            reads(["cat", *tables]) and reads(["find", str(process / "fd"), "-printf", "%l\n"])
        ),
    }
    measures = {name: Measure(name) for name in works}
    for turn in range(RUNS + 1):
        for name, work in works.items():
            seconds = timed(work)
            if seconds is None:
                return [f"sockets: {name} went wrong"]
            if turn:  # the first run warms the caches
                measures[name].seconds.append(seconds)
    ours, _, bare = measures.values()
    ours.bound = FACTOR * bare.median
    title = f"{SOCKETS} sockets, {DESCRIPTORS} descriptors (bound: {FACTOR:g} times reading them bare)"
    failures = report(title, list(measures.values()))
    print(f"  ratio {ours.median / bare.median:.2f}")
    return failures


def make(directory: Path) -> Path:
    """The process's files. All connections are another's and go to PORT, but for one of its own, to OTHER."""
    process = directory / str(PID)
    for name in ("net", "fd"):
        (process / name).mkdir(parents=True)
    lines = [LINE % (number, number % 65536, PORT, 10**6 + number) for number in range(SOCKETS - 1)]
    lines.append(LINE % (SOCKETS, 1, OTHER, DESCRIPTORS - 1))
    (process / "net" / "tcp").write_text("\n".join(["  sl  local_address rem_address   st", *lines, ""]))
    (process / "net" / "tcp6").write_text("  sl  local_address\n")
    for number in range(DESCRIPTORS):
        (process / "fd" / str(number)).symlink_to(f"socket:[{number}]")
    return process


def reads(command: list[str]) -> bool:
    """Whether the command has read all it should."""
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL, timeout=60).returncode == 0


def timed(work: Callable[[], bool]) -> float | None:
    """Seconds; None where the work failed."""
    begin = time.monotonic()
    is_done = work()
    return time.monotonic() - begin if is_done else None
