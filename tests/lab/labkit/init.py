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
    systemd    its options, if systemd is to be PID 1; none: this file only reaps
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


def give_devices() -> None:
    """A /dev and a /sys of the node's own: systemd writes to both."""
    new = "/run/lab/dev"
    os.makedirs(new)
    mount("-t", "tmpfs", "-o", "mode=755,nosuid", "lab", new)
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        with open(f"{new}/{name}", "x", encoding="ascii"):
            mount("--bind", f"/dev/{name}", f"{new}/{name}")
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(target, f"{new}/{name}")
    for name, kind, options in (("shm", "tmpfs", "mode=1777"), ("pts", "devpts", "newinstance,ptmxmode=666")):
        os.mkdir(f"{new}/{name}")
        mount("-t", kind, "-o", options, "lab", f"{new}/{name}")
    os.symlink("pts/ptmx", f"{new}/ptmx")
    mount("--move", new, "/dev")
    mount("-t", "sysfs", "-o", "ro", "lab", "/sys")
    mount("-t", "cgroup2", "-o", "nsdelegate", "lab", "/sys/fs/cgroup")


def become_systemd(options: list[str]) -> None:
    """systemd with the units of /etc and /run alone: nothing that this machine would start at boot."""
    environ = {
        "container": "lab",
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "SYSTEMD_UNIT_PATH": "/etc/systemd/system:/run/systemd/system:/run/systemd/transient",
        "SYSTEMD_GENERATOR_PATH": "/nonexistent",
        "SYSTEMD_ENVIRONMENT_GENERATOR_PATH": "/nonexistent",
    }
    program = "/lib/systemd/systemd"
    os.execve(program, [program, "--system", *options], environ)


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
    if plan["systemd"]:
        give_devices()
    ready = int(sys.argv[2])
    os.write(ready, b"ready")
    os.close(ready)
    if plan["systemd"]:
        become_systemd(plan["systemd"])
    reap()


if __name__ == "__main__":
    main()
