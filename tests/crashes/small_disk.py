# SPDX-License-Identifier: Apache-2.0
"""Stop and start on a full and on a read-only disk; a program of its own, in a mount namespace.

    unshare --user --map-root-user --mount python3 -m tests.crashes.small_disk DIRECTORY

Prints one line for each finding; nothing but the last word `done` when all is right.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ocf_agents.guard import marker

from .stage import Stage
from .victim import Victim

BOUND = 12.0


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def fill(directory: Path) -> None:
    """To the last byte."""
    with (directory / "filler").open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


def stopped_anyway(victim: Victim, word: str) -> None:
    """The service is gone, in time; nothing was sent, since no intent could be written; it is said why."""
    result = victim.run("stop", timeout=40)
    assert (result.code, victim.daemons()) == (0, []), result
    assert result.seconds < BOUND, result
    assert victim.wait_for_quiet()
    assert not victim.row.disabled, "sent without an intent on disk"
    assert word in victim.log.read_text(), victim.log.read_text()


def not_started(victim: Victim, word: str) -> None:
    result = victim.run("start", timeout=40)
    assert result.code == 1, result
    assert (result.reason or "").startswith("the record cannot be used"), result
    assert word in victim.log.read_text()
    assert "Traceback" not in result.stderr + victim.log.read_text()
    assert not victim.daemons(), "no service where its row cannot be guarded"


def full(victim: Victim) -> None:
    fill(victim.state_dir)
    stopped_anyway(victim, "No space left on device")
    not_started(victim, "No space left on device")
    (victim.state_dir / "filler").unlink()
    victim.act("start")
    assert victim.complaints() == []


def full_while_disabled(victim: Victim) -> None:
    victim.act("stop")
    assert victim.wait_for_quiet()
    fill(victim.state_dir)
    not_started(victim, "No space left on device")
    found = marker.parse(victim.row.reason)
    assert found is not None, "an unrecorded enable was sent"
    (victim.state_dir / "filler").unlink()
    victim.act("start")
    assert victim.complaints() == []


def read_only(victim: Victim) -> None:
    mount("-o", "remount,bind,ro", str(victim.state_dir))
    stopped_anyway(victim, "Read-only file system")
    not_started(victim, "Read-only file system")
    mount("-o", "remount,bind,rw", str(victim.state_dir))
    victim.act("start")
    assert victim.complaints() == []


def no_inodes(victim: Victim) -> None:
    made = []
    for number in range(1000):
        try:
            (victim.state_dir / f"filler{number}").touch()
        except OSError:
            break
        made.append(number)
    assert len(made) < 1000
    stopped_anyway(victim, "No space left on device")
    for number in made:
        (victim.state_dir / f"filler{number}").unlink()
    victim.act("start")
    assert victim.complaints() == []


def main(directory: str) -> None:
    root = Path(directory)
    state = root / "small"
    state.mkdir()
    mount("-t", "tmpfs", "-o", "size=128k,nr_inodes=64,mode=0700", "tmpfs", str(state))
    stage = Stage(root, {"state_dir": state})
    try:
        for story in (full, full_while_disabled, read_only, no_inodes):
            story(stage.victim)
            print(story.__name__, flush=True)
    finally:
        stage.close()
        subprocess.run(["umount", str(state)], check=False)
    shutil.rmtree(root / "n1", ignore_errors=True)
    print("done", os.getuid())


if __name__ == "__main__":
    main(sys.argv[1])
