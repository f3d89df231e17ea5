# SPDX-License-Identifier: Apache-2.0
"""Asking systemd, through `systemctl`: no shell, no pager, no question, and never longer than there is time.

Loaded by start and stop, and by a monitor only when files do not tell.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ocf_agents.ocf.deadline import Deadline

OPTIONS = ("--no-pager", "--no-ask-password")
ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SYSTEMD_COLORS": "0"}
PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "MainPID",
    "InvocationID",
    "Result",
    "NeedDaemonReload",
    "UnitFileState",
    "Restart",
    "TimeoutStopUSec",
)
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
QUICK_SECONDS = 10.0
RETRY_SECONDS = 0.3
SHARE = 0.25
LOST_BUS = (
    "Connection reset",
    "Connection refused",
    "Connection timed out",
    "Failed to connect to bus",
    "Failed to get D-Bus connection",
    "Disconnected from bus",
    "Message recipient disconnected",
    "Transport endpoint is not connected",
    "Broken pipe",
    "did not receive a reply",
    "The name org.freedesktop.systemd1 was not provided",
)


class NoAnswer(Exception):
    """systemd did not answer: no systemctl, no bus, or no time. The text says which."""


class Failed(Exception):
    """systemd refused, or the job failed. The text is systemctl's own last line."""


class UnitState:
    """What systemd says of a unit, as `systemctl show` prints it; an unknown property is empty."""

    __slots__ = ("_properties",)

    def __init__(self, properties: dict[str, str]) -> None:
        self._properties = properties

    @property
    def name(self) -> str:
        """Its own name, where it was asked for by an alias."""
        return self._properties.get("Id", "")

    @property
    def load(self) -> str:
        """loaded, not-found, masked, bad-setting, error..."""
        return self._properties.get("LoadState", "")

    @property
    def active(self) -> str:
        """active, reloading, inactive, failed, activating, deactivating..."""
        return self._properties.get("ActiveState", "")

    @property
    def result(self) -> str:
        """Why it failed: exit-code, signal, timeout...; success if it did not."""
        return self._properties.get("Result", "")

    @property
    def run_id(self) -> str:
        """The invocation id of its present or last run."""
        return self._properties.get("InvocationID", "")

    @property
    def restart(self) -> str:
        """When systemd restarts it by itself; no: never."""
        return self._properties.get("Restart", "")

    @property
    def stop_seconds(self) -> float | None:
        """After how many seconds of a stop systemd kills it; None: never, or not said."""
        return seconds_in(self._properties.get("TimeoutStopUSec", ""))

    @property
    def main_pid(self) -> int:
        """0: it has no main process, or systemd does not know it."""
        text = self._properties.get("MainPID", "")
        return int(text) if text.isascii() and text.isdigit() else 0

    @property
    def is_up(self) -> bool:
        return self.active in ("active", "reloading", "refreshing")

    @property
    def is_down(self) -> bool:
        return self.active in ("inactive", "failed")

    @property
    def is_between(self) -> bool:
        """It is on its way up or down: what it will be is not known yet (case 141)."""
        return bool(self.active) and not self.is_up and not self.is_down

    @property
    def is_at_boot(self) -> bool:
        """systemd starts it at boot."""
        return self._properties.get("UnitFileState", "") in ("enabled", "enabled-runtime", "alias")

    @property
    def is_changed_on_disk(self) -> bool:
        return self._properties.get("NeedDaemonReload", "") == "yes"


class Systemctl:
    """Calls of one action. programs: where systemctl may be. deadline: the action's."""

    def __init__(self, deadline: Deadline, programs: Sequence[str]) -> None:
        self._deadline = deadline
        self._programs = programs

    def show(self, unit: str) -> UnitState:
        """The unit's state now. Raises NoAnswer."""
        try:
            text = self._ask("show", f"--property={','.join(PROPERTIES)}", "--", unit)
        except Failed as failure:
            raise NoAnswer(str(failure)) from None
        pairs = (line.partition("=") for line in text.splitlines())
        state = UnitState({name: value.strip() for name, _, value in pairs})
        if not state.active:
            raise NoAnswer(f"systemctl says nothing of {unit}")
        return state

    def reload(self) -> None:
        """Have all unit files read again, in half of the time that is left. Raises NoAnswer, Failed."""
        self._ask("daemon-reload", seconds=self._deadline.remaining() / 2)

    def start(self, unit: str) -> None:
        """Start it and wait for the job's end. Raises NoAnswer, Failed."""
        self._ask("start", "--", unit, seconds=self._deadline.remaining())

    def stop(self, unit: str, seconds: float) -> None:
        """Stop it and wait for the job's end, `seconds` at most. Raises NoAnswer, Failed.

        The order of units is not minded. The unit is ordered before the cluster, so while the host or
        the cluster shuts down, its stop would wait for the end of the cluster, which waits for this.
        """
        self._ask("stop", "--job-mode=ignore-dependencies", "--", unit, seconds=seconds)

    def forget_failure(self, unit: str) -> None:
        """Make a failed unit inactive. Raises NoAnswer, Failed."""
        self._ask("reset-failed", "--", unit)

    def _ask(self, *words: str, seconds: float | None = None) -> str:
        """What systemctl prints. A lost bus is no answer yet: asked once more (case 140)."""
        end = time.monotonic() + (self._quick() if seconds is None else seconds)
        try:
            return self._run(words, end)
        except _LostBus:
            time.sleep(max(0.0, min(RETRY_SECONDS, end - time.monotonic())))
        try:
            return self._run(words, end)
        except _LostBus as lost:
            raise NoAnswer(str(lost)) from None

    def _quick(self) -> float:
        return min(QUICK_SECONDS, self._deadline.remaining() * SHARE)

    def _run(self, words: Sequence[str], end: float) -> str:
        command = [self._program(), *OPTIONS, *words]
        left = max(0.1, end - time.monotonic())
        try:
            done = subprocess.run(
                command,
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=ENVIRONMENT,
                cwd="/",
                timeout=left,
            )
        except subprocess.TimeoutExpired:
            raise NoAnswer(f"systemctl {words[0]} did not end within {left:.1f} s") from None
        except OSError as error:
            raise NoAnswer(f"{command[0]}: {error.strerror}") from None
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace")
        said = done.stderr.decode("utf-8", "replace").strip()
        last = said.splitlines()[-1] if said else f"exit status {done.returncode}"
        raise (_LostBus if any(sign in said for sign in LOST_BUS) else Failed)(_clean(said, last))

    def _program(self) -> str:
        for path in self._programs:
            if os.access(path, os.X_OK):
                return path
        raise NoAnswer(f"{self._programs[0]} does not exist")


def seconds_in(span: str) -> float | None:
    """A time span as systemctl prints it (`1min 30s`), in seconds; None for infinity and what is none."""
    total, words = 0.0, span.split()
    for word in words:
        number = word.rstrip("abcdefghijklmnopqrstuvwxyz")
        unit = SECONDS.get(word[len(number) :])
        if unit is None or not number.isascii() or not number.replace(".", "", 1).isdigit():
            return None
        total += float(number) * unit
    return total if words else None


class _LostBus(Exception):
    """systemctl lost its connection, or found none: systemd is restarting itself, or is gone."""


def _clean(said: str, last: str) -> str:
    """The line that says why: systemctl ends with a hint at its other commands."""
    for line in said.splitlines():
        if line.strip() and not line.startswith(("See ", "Warning:")):
            return line.strip()
    return last
