# SPDX-License-Identifier: Apache-2.0
"""What was decided and why: one JSON line each, what an operator reads the morning after.

Best effort: a history that cannot be written changes no decision. Bounded: at `MAX_SIZE` the file
moves to `.1`, over the one before.
"""

from __future__ import annotations

import json
import os
import stat
import time

from ocf_agents.guard import names

MAX_SIZE = 262144
_MAX_TEXT = 500


class History:
    """The history of one instance, in the records' directory."""

    def __init__(self, directory: str, instance: str) -> None:
        self.path = os.path.join(directory, names.history(instance))

    def add(self, action: str, generation: int, read: str, decided: str, why: str) -> None:
        """Appends one decision: by which action, in which generation, on what reading, and why."""
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "pid": os.getpid(),
            "action": action,
            "generation": generation,
            "read": read,
            "decided": decided,
            "why": why[:_MAX_TEXT],
        }
        try:
            self._append((json.dumps(line) + "\n").encode())
        except OSError:
            return

    def _append(self, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = os.open(self.path, flags, 0o600)
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or status.st_uid != os.geteuid():
                return
            if status.st_size > MAX_SIZE:
                os.rename(self.path, self.path + ".1")
            os.write(file, data)
        finally:
            os.close(file)
