# SPDX-License-Identifier: Apache-2.0
"""A daemon of the lab on one of its nodes; its pid is kept in the node's /run and forgotten with the node."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from labkit.errors import LabError, wait_for
from labkit.node import Node, Process

FOLDER = "/run/lab/services"


@dataclass
class Service:
    """`is_ready` is asked once it was started; a service without one is ready as soon as it runs."""

    node: Node
    name: str
    argv: list[str]
    environ: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    is_ready: Callable[[], bool] | None = None
    patience: float = 90

    @property
    def process(self) -> Process | None:
        if not self.node.is_up:
            return None
        try:
            noted = json.loads(self.node.path(f"{FOLDER}/{self.name}").read_text(encoding="ascii"))
        except OSError:
            return None
        process = Process(self.node, noted["pid"], noted["start"])
        return process if process.is_alive else None

    def start(self, *, wait: bool = True) -> None:
        """Start it unless it runs; returns when it is ready."""
        if self.process is None:
            log = self.node.home / "log" / f"{self.name}.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            process = self.node.spawn(self.argv, log, self.environ, self.user)
            note = self.node.path(f"{FOLDER}/{self.name}")
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(json.dumps({"pid": process.pid, "start": process.start}), encoding="ascii")
        if wait:
            self.wait()

    def wait(self) -> None:
        """Wait until it is ready; LabError as soon as it died."""
        wait_for(f"{self.name} to be ready", self._came_up, self.patience)

    def _came_up(self) -> bool:
        if self.process is None:
            raise LabError(f"{self.name} died: see {self.node.home / 'log' / self.name}.log")
        return self.is_ready is None or self.is_ready()

    def stop(self) -> None:
        """End it in order."""
        process = self.process
        if process is not None:
            process.end()

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        process = self.process
        if process is not None:
            process.signal(signal.SIGKILL)
            wait_for(f"the end of {self.name}", lambda: not process.is_alive, 10)
