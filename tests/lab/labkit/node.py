# SPDX-License-Identifier: Apache-2.0
"""A machine of the lab: namespaces of its own around one PID 1, on the file system of this machine.

A node shares the root file system, but /etc, /var/lib and /var/log are overlays (its disk, which survives a
power loss), and /run and /dev/shm are its own and empty at each boot. It has its own host name and machine
id, and a boot id and a CLOCK_BOOTTIME that are new at each boot. Killing PID 1 ends every process of the node
at once, as a power loss does.
"""

from __future__ import annotations

import json
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.errors import LabError, wait_for
from labkit.layout import LAB, PRIVATE, REPO, Layout
from labkit.network import Network

CHECKOUT = Path("/run/lab/checkout")
OFFERED = Path("/run/lab/agents")
BOOT_ID = "/proc/sys/kernel/random/boot_id"
AGENTS = "/usr/lib/ocf/resource.d"
TOOLS = "/usr/sbin"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRON = {"PATH": PATH, "LANG": "C.UTF-8", "HOME": "/root"}
ENTER_ALL = ("--mount", "--uts", "--ipc", "--net", "--pid", "--time", "--root", "--wd")


@dataclass(frozen=True)
class Folder:
    """A directory that a node has at each boot (what tmpfiles.d would make)."""

    path: str
    mode: int = 0o755
    user: str = "root"
    group: str = "root"


class Node:
    """One machine; `start`, `kill` (power loss) and `run` are what can be done with it."""

    private: Sequence[str] = PRIVATE
    """The directories that it has for itself."""

    systemd: Sequence[str] = ()
    """The options of systemd where it is PID 1."""

    more_namespaces: Sequence[str] = ()
    """What unshare(1) and nsenter(1) are told besides the usual."""

    def __init__(self, layout: Layout, network: Network, name: str, folders: Iterable[Folder] = ()) -> None:
        self.name = name
        self.address = network.addresses[name]
        self.network = network
        self.home = layout.home(name)
        self.layout = layout
        self.folders = [Folder("/run/lock", 0o1777), *folders]

    # its disk, to be written while it is off

    def disk(self, path: str) -> Path:
        """Where a path below /etc, /var/lib or /var/log of this node lies for the outside."""
        return self.home / "disk" / path.lstrip("/")

    def folder(self, path: str, *, fresh: bool = False) -> Path:
        """Make a directory of its disk, like this machine's own; `fresh` hides the files of that one."""
        for part in [*reversed(Path(path).parents), Path(path)]:
            target = self.disk(str(part))
            if target.exists():
                continue
            target.mkdir(parents=True)
            if part.is_dir():
                like = part.stat()
                os.chown(target, like.st_uid, like.st_gid)
                target.chmod(like.st_mode & 0o7777)
            if fresh and str(part) == path:
                os.setxattr(target, "trusted.overlay.opaque", b"y")
        return self.disk(path)

    def write(
        self, path: str, text: str, *, mode: int = 0o644, user: str | int = "root", group: str | int = "root"
    ) -> None:
        """Put a file on its disk."""
        self.folder(str(Path(path).parent))
        target = self.disk(path)
        target.write_text(text, encoding="utf-8")
        target.chmod(mode)
        shutil.chown(target, user, group)

    def _identify(self) -> None:
        """Who it is: the machine id lasts, the boot id is new each time."""
        self.write("/etc/hostname", f"{self.name}\n")
        names = "".join(f"{address} {name}\n" for name, address in self.network.addresses.items())
        self.write("/etc/hosts", f"127.0.0.1 localhost\n{names}")
        if not self.disk("/etc/machine-id").exists():
            self.write("/etc/machine-id", f"{secrets.token_hex(16)}\n", mode=0o444)
        (self.home / "boot-id").write_text(f"{uuid.uuid4()}\n", encoding="ascii")

    def _plan(self) -> dict[str, object]:
        overlays = []
        for directory in self.private:
            work = self.home / "work" / directory.strip("/").replace("/", "-")
            work.mkdir(parents=True, exist_ok=True)
            overlays.append([directory, str(self.folder(directory)), str(work)])
        return {
            "hostname": self.name,
            "overlays": overlays,
            "tmpfs": [["/run", "0755"], ["/dev/shm", "1777"]],
            "binds": [*self._lent(), [str(self.home / "boot-id"), BOOT_ID]],
            "merges": self._laid_over(),
            "folders": [[f.path, oct(f.mode), f.user, f.group] for f in self.folders],
            "systemd": self.systemd,
        }

    def _lent(self) -> list[list[str]]:
        """What of this machine it has at another place: the checkout, and the agents."""
        self.layout.offered.mkdir(parents=True, exist_ok=True)
        return [[str(REPO), str(CHECKOUT)], [str(self.layout.offered), str(OFFERED)]]

    def _laid_over(self) -> list[list[str]]:
        """What has a layer over it: the checkout's agents are laid there, and the lab's fence agent."""
        layers = ((AGENTS, self.layout.layer), (TOOLS, self.layout.tools))
        for _, layer in layers:
            layer.mkdir(parents=True, exist_ok=True)
        return [[directory, str(layer)] for directory, layer in layers if os.path.isdir(directory)]

    # power

    def start(self) -> None:
        """Boot; returns when it can be entered."""
        if self.is_up:
            return
        self.home.mkdir(parents=True, exist_ok=True)
        self._identify()
        plan = self.home / "plan.json"
        plan.write_text(json.dumps(self._plan(), indent=1), encoding="utf-8")
        self._note(self._boot(plan))

    def _boot(self, plan: Path) -> int:
        said, ready = os.pipe()
        boottime = int(time.clock_gettime(time.CLOCK_BOOTTIME))
        command = [
            *self._before_boot(),
            "nsenter",
            f"--net={self.network.namespace(self.name)}",
            "--",
            "unshare",
            "--mount",
            "--uts",
            "--ipc",
            *self.more_namespaces,
        ]
        command += ["--pid", "--time", f"--boottime=-{boottime}", "--fork", "--kill-child", "--mount-proc"]
        command += ["/usr/bin/python3", "-I", str(LAB / "labkit" / "init.py"), str(plan), str(ready)]
        with open(self.home / "init.log", "ab") as log, open(os.devnull, "rb") as nothing:
            outer = subprocess.Popen(
                command,
                stdin=nothing,
                stdout=log,
                stderr=log,
                env=ENVIRON,
                pass_fds=[ready],
                start_new_session=True,
            )
        os.close(ready)
        with open(said, "rb") as answer:
            if answer.read(5) != b"ready":
                raise LabError(f"{self.name} did not boot: see {self.home / 'init.log'}")
        outer.returncode = 0  # the node outlives us: nobody waits for it
        return int(
            Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text(encoding="ascii").split()[0]
        )

    def _before_boot(self) -> list[str]:
        """What runs the command that boots it."""
        return []

    def _note(self, pid: int) -> None:
        """In one move: others may be looking whether it is up."""
        fresh = self.home / "init.json.new"
        fresh.write_text(json.dumps({"pid": pid, "start": started(pid)}), encoding="ascii")
        fresh.replace(self.home / "init.json")

    @property
    def pid(self) -> int | None:
        """PID 1 of the node as this machine numbers it, proven by its start time; None while it is off."""
        try:
            noted = json.loads((self.home / "init.json").read_text(encoding="ascii"))
        except OSError:
            return None
        pid = int(noted["pid"])
        return pid if noted["start"] == started(pid) else None

    @property
    def is_up(self) -> bool:
        return self.pid is not None

    def kill(self) -> None:
        """Power loss."""
        pid = self.pid
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            wait_for(f"the end of {self.name}", lambda: not self.is_up, 30)

    # inside it

    @property
    def root(self) -> Path:
        """The running node's own view of the file system, from outside."""
        return Path(f"/proc/{self._living()}/root")

    def path(self, path: str) -> Path:
        """A file as the running node sees it."""
        return self.root / path.lstrip("/")

    def _living(self) -> int:
        pid = self.pid
        if pid is None:
            raise LabError(f"{self.name} is down")
        return pid

    def entering(self, *argv: str) -> list[str]:
        """The command line that runs `argv` in all of the node's namespaces."""
        return ["nsenter", f"--target={self._living()}", *ENTER_ALL, *self.more_namespaces, "--", *argv]

    def run(
        self,
        *argv: str,
        check: bool = True,
        timeout: float = 120,
        environ: Mapping[str, str] | None = None,
        text: str = "",
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the node; `text` is its input. Raises LabError with its words if it fails and must
        not."""
        done = subprocess.run(
            self.entering(*argv),
            check=False,
            input=text,
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**ENVIRON, **(environ or {})},
        )
        if check and done.returncode != 0:
            words = (done.stderr.strip() or done.stdout.strip())[-2000:]
            raise LabError(f"{self.name}: {' '.join(argv)}: exit {done.returncode}: {words}")
        return done

    def spawn(
        self,
        argv: Iterable[str],
        log: Path,
        environ: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> Process:
        """Start a daemon in the node: own session, PID 1's child, output appended to `log`."""
        drop = [] if user is None else ["setpriv", *_identity(self, user), "--"]
        script = 'log=$1; shift; setsid "$@" >>"$log" 2>&1 </dev/null & echo $!'
        done = self.run("/bin/sh", "-c", script, "sh", str(log), *drop, *argv, environ=environ)
        return Process.of(self, int(done.stdout))

    def listens(self, port: int) -> bool:
        """Is there a TCP socket that listens on the port?"""
        wanted = f":{port:04X}"
        tables = (Path(f"/proc/{self._living()}/net/{name}") for name in ("tcp", "tcp6"))
        rows = (
            line.split() for table in tables for line in table.read_text(encoding="ascii").splitlines()[1:]
        )
        return any(row[1].endswith(wanted) and row[3] == "0A" for row in rows)


@dataclass(frozen=True)
class Process:
    """A process by its node's own numbers; the start time tells it from a later one of that pid."""

    node: Node
    pid: int
    start: int | None

    @classmethod
    def of(cls, node: Node, pid: int) -> Process:
        return cls(node, pid, started(pid, node.path("/proc")))

    @property
    def is_alive(self) -> bool:
        return (
            self.node.is_up
            and self.start is not None
            and started(self.pid, self.node.path("/proc")) == self.start
        )

    def signal(self, number: int) -> None:
        """Send a signal, if it still lives."""
        if self.is_alive:
            self.node.run("/bin/kill", f"-{number}", str(self.pid), check=False)

    def end(self, grace: float = 30) -> None:
        """TERM, and KILL after `grace` seconds; returns when it is gone."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            wait_for(f"the end of {self.pid}", lambda: not self.is_alive, grace)
        except LabError:
            self.signal(signal.SIGKILL)
            wait_for(f"the end of {self.pid}", lambda: not self.is_alive, 10)


def started(pid: int, proc: Path = Path("/proc")) -> int | None:
    """When a process started (ticks since boot); None when it is gone or a zombie."""
    try:
        fields = (proc / str(pid) / "stat").read_bytes().rpartition(b") ")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _identity(node: Node, user: str) -> list[str]:
    """setpriv's options for a user of the node (its own passwd, not this machine's)."""
    for line in node.path("/etc/passwd").read_text(encoding="utf-8").splitlines():
        entry = line.split(":")
        if entry[0] == user:
            return [f"--reuid={entry[2]}", f"--regid={entry[3]}", "--clear-groups"]
    return [f"--reuid={pwd.getpwnam(user).pw_uid}", f"--regid={pwd.getpwnam(user).pw_gid}", "--clear-groups"]
