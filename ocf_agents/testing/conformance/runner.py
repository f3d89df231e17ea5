# SPDX-License-Identifier: Apache-2.0
"""The other side of the keeper: run actions, look at what they left, end it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ocf_agents.testing.run import exit_reason

KEEPER = Path(__file__).with_name("keeper.py")


@dataclass(frozen=True)
class Call:
    """One action to run. user: (uid, gid), None for the present one. trace: programs, deeds or empty."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    user: tuple[int, int] | None = None
    trace: str = ""


@dataclass(frozen=True)
class Ran:
    """What an action came to.

    code: the exit code; negative: ended by that signal; 127 with the reason on stderr: could not be run.
    is_open: a moment after its end somebody still had its outputs. seen: the needles that were seen
    in the arguments of processes. programs: the arguments of each program that a traced call began, its own
    first; None for other calls, and where the system does not let us see them. deeds: of a call that is
    traced for `deeds`, `{"file": path}` for what it opened to write, `{"peer": address}` whom it spoke to.
    """

    code: int
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool
    is_open: bool
    seen: tuple[str, ...] = ()
    programs: Sequence[Sequence[str]] | None = None
    deeds: Sequence[Mapping[str, str]] | None = None

    @property
    def reason(self) -> str | None:
        """The exit reason as Pacemaker keeps it."""
        return exit_reason(self.stderr)


@dataclass(frozen=True)
class Process:
    """A process that an action left behind. is_root: it has no parent but the keeper, as a daemon."""

    pid: int
    command: str
    is_root: bool

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command[:60] or 'nameless'})"


@dataclass
class Bystander:
    """A stranger to the agent. lived: whether nobody ended it; known afterwards."""

    pid: int
    lived: bool = True


class Runner:
    """Runs actions below a keeper, which lives as long as this context.

    lent: descriptors that the keeper, and nobody below it, keeps open until all that it started has ended.
    """

    def __init__(self, lent: Sequence[int] = ()) -> None:
        self._asked, self._lent = 0, lent

    def __enter__(self) -> Runner:
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(KEEPER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            pass_fds=self._lent,
            start_new_session=True,  # an interrupt from the terminal is for who asks
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def run(
        self,
        calls: Sequence[Call],
        timeout: float,
        *,
        kill_after: float | None = None,
        needles: Sequence[str] = (),
    ) -> list[Ran]:
        """Run these at once; SIGKILL to a group after `timeout` or `kill_after` seconds."""
        request = {
            "do": "run",
            "calls": [
                {
                    "argv": list(one.argv),
                    "env": dict(one.env),
                    "cwd": one.cwd,
                    "user": one.user,
                    "trace": one.trace,
                }
                for one in calls
            ],
            "timeout": timeout,
            "kill_after": kill_after,
            "needles": list(needles),
        }
        reply = self._ask(request)
        return [Ran(**result, seen=tuple(reply["seen"])) for result in reply["results"]]

    def processes(self) -> list[Process]:
        """What lives of all that was ever started here."""
        return [Process(**one) for one in self._ask({"do": "list"})]

    def signal(self, pids: Sequence[int], number: int) -> None:
        """Send a signal to those that live of all that was ever started here."""
        self._ask({"do": "signal", "pids": list(pids), "number": int(number)})

    def deafen(self, pids: Sequence[int]) -> bool:
        """Keep all signals but SIGKILL from these, for good. False where the system does not allow that."""
        return bool(self._ask({"do": "deafen", "pids": list(pids)}))

    @contextmanager
    def bystander(self) -> Iterator[Bystander]:
        """A process that has nothing to do with the agent; it is ended afterwards."""
        one = Bystander(self._ask({"do": "invite"}))
        try:
            yield one
        finally:
            one.lived = bool(self._ask({"do": "dismiss", "pid": one.pid}))

    def _ask(self, request: Mapping[str, Any]) -> Any:  # noqa: ANN401 (JSON)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asked += 1
        self._process.stdin.write(json.dumps({**request, "id": self._asked}).encode() + b"\n")
        self._process.stdin.flush()
        while line := self._process.stdout.readline():
            reply = json.loads(line)
            if reply["id"] == self._asked:  # an older one was interrupted
                return reply["answer"]
        raise RuntimeError("the keeper of the agent's processes has ended")
