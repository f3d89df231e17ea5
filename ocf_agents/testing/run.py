# SPDX-License-Identifier: Apache-2.0
"""Run an agent as Pacemaker's executor does (2.1): its arguments, environment, umask, group and pipes."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

UMASK = 0o026
REASON_PREFIX = "ocf-exit-reason:"
REASON_LENGTH = 128
DEFAULT_TIMEOUT = 60.0
CHUNK = 65536
EXECUTOR_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LC_ALL": "C",
    "OCF_ROOT": "/usr/lib/ocf",
    "OCF_RA_VERSION_MAJOR": "1",
    "OCF_RA_VERSION_MINOR": "1",
    "OCF_EXIT_REASON_PREFIX": REASON_PREFIX,
    "OCF_OUTPUT_FORMAT": "xml",
    "OCF_RESKEY_crm_feature_set": "3.16.2",
    "OCF_RESKEY_CRM_meta_on_node": "node1",
}


@dataclass(frozen=True)
class Result:
    """What one action came to.

    code: the exit code; negative: ended by that signal. timed_out: Pacemaker's timeout ended it.
    reason: the last exit reason on stderr as Pacemaker keeps it, or None. seconds: from the call
    until the process had ended, whatever its children do.
    """

    code: int
    reason: str | None
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool = False


@dataclass
class Pacemaker:
    """One resource on one node: `Pacemaker(path, parameters={...}).run("start")`.

    agent_path: the executable. parameters: without the `OCF_RESKEY_` prefix. instance: the resource's
    name. environment: more variables, for all actions; one set to None is removed.
    """

    agent_path: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    instance: str = "resource"
    environment: Mapping[str, str | None] = field(default_factory=dict)
    provider: str = "heartbeat"
    cwd: str = "/"

    def run(
        self,
        action: str,
        *,
        parameters: Mapping[str, object] | None = None,
        interval: float | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        level: int | None = None,
        env_extra: Mapping[str, str | None] | None = None,
    ) -> Result:
        """Run an action. `parameters` and `env_extra` are for this call, over those of the resource.

        interval: seconds, of a recurring monitor; a probe has none. timeout: seconds. level: its
        OCF_CHECK_LEVEL.
        """
        environ = self.environ(action, interval=interval, timeout=timeout, level=level)
        environ.update(_reskeys(parameters or {}))
        _apply(environ, env_extra or {})
        return execute([self.agent_path, action], environ, timeout, self.cwd)

    def probe(self, **more: object) -> Result:
        """A monitor without an interval."""
        return self.run("monitor", **more)  # type: ignore[arg-type]

    def monitor(self, interval: float = 10.0, **more: object) -> Result:
        """A recurring monitor."""
        return self.run("monitor", interval=interval, **more)  # type: ignore[arg-type]

    def environ(
        self, action: str, *, interval: float | None, timeout: float, level: int | None
    ) -> dict[str, str]:
        """The environment that Pacemaker gives to an action of this resource."""
        environ = dict(EXECUTOR_ENVIRONMENT)
        environ["OCF_RESOURCE_INSTANCE"] = self.instance
        environ["OCF_RESOURCE_TYPE"] = os.path.basename(self.agent_path)
        environ["OCF_RESOURCE_PROVIDER"] = self.provider
        environ["OCF_RESKEY_CRM_meta_timeout"] = _milliseconds(timeout)
        if action == "monitor" and interval is not None:
            environ["OCF_RESKEY_CRM_meta_interval"] = _milliseconds(interval)
        if level is not None:
            environ["OCF_CHECK_LEVEL"] = str(level)
        environ.update(_reskeys(self.parameters))
        _apply(environ, self.environment)
        return environ


def run(
    agent_path: str,
    action: str,
    parameters: Mapping[str, object] | None = None,
    *,
    instance: str = "resource",
    interval: float | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    level: int | None = None,
    env_extra: Mapping[str, str | None] | None = None,
) -> Result:
    """Run one action of an agent, see `Pacemaker.run`."""
    resource = Pacemaker(agent_path, parameters or {}, instance)
    return resource.run(action, interval=interval, timeout=timeout, level=level, env_extra=env_extra)


def execute(argv: list[str], environ: Mapping[str, str], timeout: float, cwd: str = "/") -> Result:
    """Run a command in a process group of its own; SIGKILL to the group when `timeout` seconds are over.

    As Pacemaker does, wait for the process and not for the end of its output: a child that keeps the
    pipes open delays nothing.
    """
    begin = time.monotonic()
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environ),
        cwd=cwd,
        umask=UMASK,
        preexec_fn=os.setpgrp,  # noqa: PLW1509 (tests: one thread that matters)
    ) as process:
        pipes = _Pipes(process)
        timed_out = not _await_end(process, pipes, begin + timeout)
        if timed_out:
            _kill_group(process.pid)
            process.wait()
        seconds = time.monotonic() - begin
        pipes.drain()
        stdout, stderr = pipes.texts()
    return Result(process.returncode, exit_reason(stderr), stdout, stderr, seconds, timed_out)


def exit_reason(stderr: str) -> str | None:
    """The last exit reason, cut as Pacemaker 2.1 cuts it."""
    _, found, rest = stderr.rpartition(REASON_PREFIX)
    return rest.partition("\n")[0][:REASON_LENGTH] if found else None


class _Pipes:
    """Both outputs of a process, read without ever waiting for their end: only for the process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._streams: tuple[IO[bytes], IO[bytes]] = (process.stdout, process.stderr)
        self._parts: dict[int, list[bytes]] = {stream.fileno(): [] for stream in self._streams}
        self._process = os.pidfd_open(process.pid)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process, selectors.EVENT_READ)
        for stream in self._streams:
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)

    def read(self, seconds: float) -> None:
        """Read what comes within `seconds`; return at the first data, and when the process ends."""
        for key, _ in self._selector.select(seconds):
            if key.fd == self._process:
                continue
            data = os.read(key.fd, CHUNK)
            if data:
                self._parts[key.fd].append(data)
            else:
                self._selector.unregister(key.fileobj)

    def drain(self) -> None:
        """Read what is there now, and close."""
        for descriptor, parts in self._parts.items():
            try:
                while data := os.read(descriptor, CHUNK):
                    parts.append(data)
            except BlockingIOError:
                pass
        self._selector.close()
        os.close(self._process)

    def texts(self) -> tuple[str, str]:
        """What was written to stdout and to stderr."""
        out, err = (b"".join(self._parts[stream.fileno()]) for stream in self._streams)
        return out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def _await_end(process: subprocess.Popen[bytes], pipes: _Pipes, end: float) -> bool:
    while process.poll() is None:
        left = end - time.monotonic()
        if left <= 0:
            return False
        pipes.read(left)
    return True


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _milliseconds(seconds: float) -> str:
    return str(int(seconds * 1000))


def _reskeys(parameters: Mapping[str, object]) -> dict[str, str]:
    return {f"OCF_RESKEY_{name}": str(value) for name, value in parameters.items()}


def _apply(environ: dict[str, str], changes: Mapping[str, str | None]) -> None:
    for name, value in changes.items():
        if value is None:
            environ.pop(name, None)
        else:
            environ[name] = value
