# SPDX-License-Identifier: Apache-2.0
"""A root of its own to install into: a small Debian in a directory, entered with chroot."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

AGENT = "/usr/lib/ocf/resource.d/heartbeat/nova-compute"
STATE = "/var/lib/ocf-agents"
ROOT_USER, NOBODY, LIKE_HACLUSTER = 0, 65534, 189
"""The last one has no line in the root's passwd: Pacemaker's own user may have any number."""

Done = subprocess.CompletedProcess[str]


def run(*command: str | Path, check: bool = True, **options: object) -> Done:
    """A program of the host's; what it said is in the failure. Output and errors are one text."""
    done: Done = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
        **options,  # type: ignore[call-overload]
    )
    assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}"
    return done


class Root:
    """A Debian in the directory `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def copy(self, name: str) -> Root:
        other = self.path.parent / name
        run("cp", "-a", "--reflink=auto", self.path, other)
        return Root(other)

    def enter(
        self,
        *command: str,
        user: int = ROOT_USER,
        environ: Mapping[str, str] | None = None,
        has_network: bool = False,
        check: bool = True,
    ) -> Done:
        """A program of the root's own, in name spaces of its own: nothing that it starts outlives it."""
        spaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={self.path}/proc"]
        spaces += [] if has_network else ["--net"]
        variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", **(environ or {})}
        words = [f"{name}={value}" for name, value in variables.items()]
        enter = ["chroot", f"--userspec={user}:{user}", str(self.path), "env", "-i", *words]
        return run(*spaces, *enter, *command, check=check)

    def dpkg(self, *words: str | Path) -> str:
        """dpkg of the root's own; packages of the host are given as paths."""
        for package in words:
            if isinstance(package, Path):
                run("cp", package, self.path / "root")
        given = [f"/root/{word.name}" if isinstance(word, Path) else word for word in words]
        return self.enter("dpkg", *given, environ={"DEBIAN_FRONTEND": "noninteractive"}).stdout

    def agent(
        self, action: str, uid: int = ROOT_USER, environ: Mapping[str, str] | None = None, **parameters: str
    ) -> Done:
        """An action of the installed agent, in the environment that the cluster would give."""
        variables = {
            "OCF_ROOT": "/usr/lib/ocf",
            "OCF_RESOURCE_INSTANCE": "nova-compute",
            "OCF_RESKEY_CRM_meta_timeout": "20000",
            **{f"OCF_RESKEY_{name}": value for name, value in parameters.items()},
            **(environ or {}),
        }
        return self.enter(AGENT, action, user=uid, environ=variables, check=False)

    def inside(self, path: str) -> Path:
        """Where a path of the root's is on the host."""
        return self.path / path.lstrip("/")

    def write_record(self) -> bytes:
        """A record as an agent would leave it, for what packages may do to it: its content."""
        folder = self.inside(STATE)
        folder.mkdir(mode=0o700, exist_ok=True)
        content = b'{"a": "record of this host"}\n'
        (folder / "nova-compute.json").write_bytes(content)
        (folder / "nova-compute.history.jsonl").write_bytes(content * 3)
        return content

    def has_record(self, content: bytes) -> bool:
        folder = self.inside(STATE)
        expected = {"nova-compute.json": content, "nova-compute.history.jsonl": content * 3}
        return all((folder / name).exists() for name in expected) and all(
            (folder / name).read_bytes() == data for name, data in expected.items()
        )
