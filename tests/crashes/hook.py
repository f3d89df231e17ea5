# SPDX-License-Identifier: Apache-2.0
"""Runs the agent, or its helper, and kills it at a chosen call. A program of its own: see `victim`.

    python3 -I hook.py DIRECTORY SCRIPT ARGUMENT...

Every call that changes something outside the process is a point, counted from 1: files written,
synced, renamed, removed, locked; directories; processes started and signalled; connections and
what is sent on them. The points of each process are listed in DIRECTORY/points/ROLE-PID. A role is
an action's name, or `helper-disabled`, `helper-enabled` for a helper that was sent to see to that.

DIRECTORY/plan.json names one point at which something happens, once: `when` is `before` or `after`
(SIGKILL), or an error's name that the call fails with. It becomes `fired.json` at that moment.

`os` is patched before anything else is imported, so that a library's `from os import rename` is
caught as well. No shell, no debugger, no root.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, NoReturn

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
FILE_CALLS = (
    *("write", "pwrite", "fsync", "fdatasync", "ftruncate", "truncate", "rename", "replace", "unlink"),
    *("remove", "rmdir", "mkdir", "link", "symlink", "chmod", "fchmod", "chown", "fchown", "kill", "killpg"),
)
LINE_CALLS = ("connect", "send", "sendall", "sendto", "sendmsg")

_open, _write, _rename, _kill = os.open, os.write, os.rename, os.kill


class Points:
    """Counts the calls of this process."""

    def __init__(self, directory: str, role: str) -> None:
        import threading

        self.directory = directory
        self.role = role
        self.count = 0
        self.lock = threading.RLock()
        self.plan = self._plan()
        name = os.path.join(directory, "points", f"{role}-{os.getpid()}")
        self.list = _open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _plan(self) -> dict[str, Any] | None:
        try:
            with open(os.path.join(self.directory, "plan.json"), encoding="utf-8") as file:
                plan = json.load(file)
        except FileNotFoundError:
            return None
        return plan if plan["role"] == self.role else None

    def wrap(
        self, owner: Any, name: str, *, is_point: Callable[[tuple[Any, ...]], Any] = lambda arguments: True
    ) -> None:
        call = getattr(owner, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            if not is_point(arguments):
                return call(*arguments, **options)
            with self.lock:
                self.count += 1
                is_it = self.plan is not None and self.plan["point"] == self.count and self._claim()
                _write(self.list, f"{self.count} {name} {_shown(arguments)}\n".encode())
            if is_it:
                return self._strike(lambda: call(*arguments, **options))
            if self._is_persistent(name, arguments):
                raise self._error()
            return call(*arguments, **options)

        setattr(owner, name, counted)

    def _claim(self) -> bool:
        try:
            _rename(os.path.join(self.directory, "plan.json"), os.path.join(self.directory, "fired.json"))
        except FileNotFoundError:
            return False  # another process of this role came first
        return True

    def _strike(self, call: Callable[[], Any]) -> NoReturn:
        when = self.plan["when"] if self.plan else ""
        if when == "after":
            call()
        if when in ("before", "after"):
            _kill(os.getpid(), 9)
        raise self._error()

    def _is_persistent(self, name: str, arguments: tuple[Any, ...]) -> bool:
        """A plan without a point fails each call of a name, on files whose name holds a text."""
        plan = self.plan
        if plan is None or plan["point"] or plan["call"] != name:
            return False
        return plan["text"] in _shown(arguments)

    def _error(self) -> OSError:
        import errno

        assert self.plan is not None
        number = getattr(errno, self.plan["when"])
        return OSError(number, os.strerror(number))


def _shown(arguments: tuple[Any, ...]) -> str:
    for argument in arguments:
        if isinstance(argument, (str, bytes)) and argument[:1] not in (b"{", "{"):
            return repr(os.path.basename(argument[:200]))
        if isinstance(argument, int) and not isinstance(argument, bool):
            try:
                return repr(os.path.basename(os.readlink(f"/proc/self/fd/{argument}")))
            except OSError:
                return str(argument)
    return ""


def _role(arguments: list[str]) -> str:
    """What this process does, from its arguments: SCRIPT ACTION, or helper.py MODULE ORDER."""
    if len(arguments) > 2 and arguments[0].endswith("helper.py"):
        return "helper-" + json.loads(arguments[2])["errand"]["want"]
    return arguments[1] if len(arguments) > 1 else "none"


def _install(points: Points) -> None:
    import _posixsubprocess
    import fcntl
    import signal
    import socket

    for name in FILE_CALLS:
        points.wrap(os, name)
    points.wrap(os, "open", is_point=lambda arguments: len(arguments) > 1 and arguments[1] & WRITING)
    points.wrap(fcntl, "flock")
    points.wrap(_posixsubprocess, "fork_exec")
    if hasattr(signal, "pidfd_send_signal"):
        points.wrap(signal, "pidfd_send_signal")
    for name in LINE_CALLS:
        _add_method(points, socket.socket, name)


def _add_method(points: Points, kind: Any, name: str) -> None:
    """Sockets inherit these from C: shadow them in the class that libraries use."""
    setattr(kind, name, _method(getattr(kind, name)))
    points.wrap(kind, name)


def _method(original: Any) -> Any:
    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        return original(self, *arguments, **options)

    return method


def _keep_tracebacks(directory: str) -> None:
    """A helper's standard error is /dev/null: its last words would be lost."""
    import threading
    import traceback

    def keep(kind: Any, value: Any, trace: Any) -> None:
        with open(os.path.join(directory, "tracebacks"), "a", encoding="utf-8") as file:
            file.write("".join(traceback.format_exception(kind, value, trace)))

    sys.excepthook = keep
    threading.excepthook = lambda args: keep(args.exc_type, args.exc_value, args.exc_traceback)


def main(directory: str, arguments: list[str]) -> None:
    import runpy

    points = Points(directory, _role(arguments))
    _keep_tracebacks(directory)
    _install(points)
    # The interpreter that a helper is started with: a first line of its own leads back here.
    sys.executable = os.path.join(directory, "python")
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
