# SPDX-License-Identifier: Apache-2.0
"""Looks for secrets where none belong: in processes while the stories run, on the nodes' disks after them."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from labkit.node import Node

EVERY = 0.1
"""Seconds between two looks at the processes of a node: less than the shortest action takes."""

PACEMAKERS_OWN = ("var/lib/pacemaker/",)
"""A parameter is kept in the cluster's configuration: the agent has to warn, and cannot help it."""

PACEMAKERS_LINE = re.compile(rb"^\w{3} \d\d \d\d:\d\d:\d\d\.\d+ \S+ pacemaker-based ")
"""The daemon that keeps the configuration writes down each change of it."""


@dataclass
class Watch:
    """Sees the command lines of all processes of the nodes, and what nova-compute is given as environment.

    Each process is looked at until it has become what it is: a fork is seen again after its exec.
    """

    nodes: Sequence[Node]
    secrets: list[bytes]
    found: set[str] = field(default_factory=set)
    command_lines: set[bytes] = field(default_factory=set)
    services: int = 0
    _is_over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        if self._thread:
            self._thread.join(10)

    def _watch(self) -> None:
        while not self._is_over.wait(EVERY):
            for node in self.nodes:
                with suppress(OSError):  # a node may go down, a process may end
                    self._look(node)

    def _look(self, node: Node) -> None:
        if not node.is_up:
            return
        for entry in node.path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    self._look_at(node, entry)

    def _look_at(self, node: Node, entry: Path) -> None:
        line = (entry / "cmdline").read_bytes()
        words = line.split(b"\0")
        if line not in self.command_lines:
            self.command_lines.add(line)
            self._search(f"{node.name}: command line of {words[0]!r}", line)
        if len(words) > 1 and words[1].endswith(b"/bin/nova-compute"):
            self.services += 1
            self._search(f"{node.name}: environment of nova-compute", (entry / "environ").read_bytes())

    def _search(self, where: str, text: bytes) -> None:
        if any(secret in text for secret in self.secrets):
            self.found.add(where)


def files_with(secrets: Iterable[bytes], folder: Path, but: str = "") -> Iterator[str]:
    """The files below that hold one of the secrets, by their paths there; `but` is left out."""
    wanted = re.compile(b"|".join(map(re.escape, secrets)))
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not but or Path(parent, name) != folder / but]
        for path in (Path(parent, name) for name in names):
            if path.is_file() and not path.is_symlink() and wanted.search(path.read_bytes()):
                yield str(path.relative_to(folder))


def is_pacemakers_own(path: str, folder: Path, secrets: Iterable[bytes]) -> bool:
    """Whether a file holds the secret because Pacemaker keeps its configuration there, or a copy of it."""
    if path.startswith(PACEMAKERS_OWN):
        return True
    if path != "var/log/pacemaker/pacemaker.log":
        return False
    bad = [line for line in (folder / path).read_bytes().splitlines() if any(s in line for s in secrets)]
    return all(PACEMAKERS_LINE.match(line) for line in bad)
