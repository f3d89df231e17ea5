# SPDX-License-Identifier: Apache-2.0
"""PID 1 of a node: makes the node's view of the file system, says that it is ready, and then only reaps.

Run as a file (`python3 -I init.py PLAN.json READY_FD`) in new mount, pid, uts, ipc and time namespaces.
The plan:

    hostname   the node's name
    overlays   [[directory, upper, work], ...]: private and lasting, like a disk
    tmpfs      [[directory, mode], ...]: private and gone with the node
    binds      [[source, target], ...], made after the tmpfs; a missing target directory is created
    merges     [[directory, layer], ...]: a read-only layer laid over a directory
    folders    [[directory, mode, user, group], ...], made last
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def view(plan: dict[str, list[list[str]]]) -> None:
    for directory, upper, work in plan["overlays"]:
        mount(
            "-t", "overlay", "lab", "-o", f"lowerdir={directory},upperdir={upper},workdir={work}", directory
        )
    for directory, mode in plan["tmpfs"]:
        mount("-t", "tmpfs", "-o", f"mode={mode}", "lab", directory)
    for source, target in plan["binds"]:
        if os.path.isdir(source):
            os.makedirs(target, exist_ok=True)
        mount("--bind", source, target)
    for directory, layer in plan["merges"]:
        mount("-t", "overlay", "lab", "-o", f"lowerdir={layer}:{directory}", directory)
    for directory, mode, user, group in plan["folders"]:
        os.makedirs(directory, exist_ok=True)
        os.chmod(directory, int(mode, 8))
        shutil.chown(directory, user, group)


def reap() -> None:
    """Wait for every orphan of this node, for as long as the node lives."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            signal.sigwait([signal.SIGCHLD])


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    os.umask(0o022)
    os.chdir("/")
    socket.sethostname(plan["hostname"])
    view(plan)
    ready = int(sys.argv[2])
    os.write(ready, b"ready")
    os.close(ready)
    reap()


if __name__ == "__main__":
    main()
