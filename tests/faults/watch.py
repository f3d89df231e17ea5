# SPDX-License-Identifier: Apache-2.0
"""Looks for a secret where none may be: arguments, environments, files, texts.

All secrets of a test have one mark in them, so that a part of one is found as well.
"""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

EACH = 0.02
YOUNG = 5
SELDOM = 25
TRUSTED = (b"/agent/nova-compute", b"/helper.py")
"""Ends of the programs that need the secrets, and are given them by their environment."""


def traces(mark: str) -> list[bytes]:
    """The mark as it looks in plain text, and in base64 at each of its three positions."""
    found = [mark.encode()]
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + mark.encode())
        found.append(encoded[(4 * before + 2) // 3 : len(mark) * 4 // 3 - 1])
    return found


class Watch:
    """Samples /proc while it is entered. `findings` says where the mark was seen."""

    def __init__(self, mark: str) -> None:
        self._traces = traces(mark)
        self._ages: dict[int, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="watch", daemon=True)
        self.findings: list[str] = []
        self.seen: set[bytes] = set()

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def shows(self, data: bytes) -> bool:
        """True when the mark is in it."""
        return any(trace in data for trace in self._traces)

    def check_text(self, where: str, text: str) -> None:
        """What was written somewhere."""
        if self.shows(text.encode("utf-8", "surrogateescape")):
            self.findings.append(f"{where}: {text}")

    def check_files(self, folder: Path, *known: Path) -> None:
        """All files below a folder, but those that were given a secret."""
        for path in files(folder):
            if path not in known and self.shows(path.read_bytes()):
                self.findings.append(f"{path} (mode {path.stat().st_mode & 0o7777:o})")

    def _sample(self) -> None:
        while not self._stop.wait(EACH):
            pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}
            self._ages = {pid: self._ages.get(pid, -1) + 1 for pid in pids}
            for pid, age in self._ages.items():
                if age < YOUNG or age % SELDOM == 0:  # a process may become another program in its youth
                    self._look(pid)

    def _look(self, pid: int) -> None:
        before, environment, after = read(pid, "cmdline"), read(pid, "environ"), read(pid, "cmdline")
        if self.shows(before):
            self.findings.append(f"arguments of process {pid}: {before!r}")
        if before != after or not before:
            return
        if not self.shows(environment):
            return
        self.seen.add(before)
        if not any(word.endswith(TRUSTED) for word in before.split(b"\0")):
            self.findings.append(f"environment of process {pid}: {before!r}")


def read(pid: int, name: str) -> bytes:
    """A file of a process in /proc; nothing when it has gone or is somebody else's."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def files(folder: Path) -> Iterator[Path]:
    """All regular files below a folder, links not followed."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path
