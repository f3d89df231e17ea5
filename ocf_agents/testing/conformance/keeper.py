# SPDX-License-Identifier: Apache-2.0
"""The process that runs an agent's actions, and keeps all that they leave behind.

A program of its own (`python3 -I keeper.py`), spoken to in JSON lines. It is the subreaper of what it runs:
a daemon that an agent puts into the background becomes its child, and is known to it whatever session,
name or environment it has. When its standard input ends, it kills them all; so whatever becomes of a
check, nothing that it started lives on, and nothing of it waits for the end of an action.

Requests, each with an `id` that comes back as `{"id", "answer"}`, and their answers:

- `{"do": "run", "calls": [CALL...], "timeout": s, "kill_after": s or null, "needles": [text...]}`: run
  these at once. A CALL is `{"argv", "env", "cwd", "user": [uid, gid] or null, "trace": TRACE}`. Answers
  `{"results": [{"code", "stdout", "stderr", "seconds", "timed_out", "is_open", "programs", "deeds"}...],
  "seen": [text...]}`. `is_open`: somebody else still had the outputs a moment after the end. `programs`:
  where TRACE is "programs" or "deeds" and not empty, the arguments of each program that began,
  `[[text...]...]`; null where that could not be seen. `deeds`: where TRACE is "deeds", what was written and
  who was spoken to, see tracer.py. `seen`: the needles that were in the arguments of any process below this
  one meanwhile.
- `{"do": "list"}`: answers the living processes below this one as `[{"pid", "command", "is_root"}...]`.
  `is_root`: its parent is this one, so it was put into the background.
- `{"do": "signal", "pids": [n...], "number": n}`: a signal to those of them that live below this one.
- `{"do": "deafen", "pids": [n...]}`: from now on they, and what they begin, get no signal but SIGKILL.
  Answers true; false where the system does not allow that (ptrace).
- `{"do": "invite"}`: begin a bystander, a process that has nothing to do with any agent, is not listed and
  gets no signal from here; answers its pid. `{"do": "dismiss", "pid": n}`: end it; answers whether it had
  lived until then.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Callable

sys.path.insert(0, str(Path(__file__).parents[3]))  # this package, and not another installation of it
from ocf_agents.testing.conformance import ptrace

del sys.path[0]

TRACER = Path(__file__).with_name("tracer.py")
BYSTANDER = "/bin/cat"
"""It ends when its input does, which nobody but this process holds."""
PR_SET_CHILD_SUBREAPER = 36
UMASK = 0o026
"""That of Pacemaker's executor."""
POLL_SECONDS = 0.004
GRACE_SECONDS = 0.5
"""How long after the end of an action its outputs may be open."""
STOP_SECONDS = 2.0
"""How long a process may take to stop that got SIGSTOP."""
CHUNK = 65536
LONGEST_OUTPUT = 4 << 20


class Run:
    """One action that runs, in a process group of its own."""

    def __init__(self, call: dict[str, Any], deadline: float) -> None:
        user = call.get("user") or [None, None]
        self.begin = time.monotonic()
        self.deadline = deadline
        self.end: float | None = None
        self.code = 127
        self.timed_out = False
        self.process: subprocess.Popen[bytes] | None = None
        self.streams: dict[int, bytearray] = {}
        self.open: set[int] = set()
        self.error = ""
        self.trace: int | None = None
        self.programs = bytearray()
        argv: list[str] = call["argv"]
        passed: tuple[int, ...] = ()
        told: int | None = None
        if call.get("trace"):
            self.trace, told = os.pipe()
            os.set_blocking(self.trace, False)
            argv, passed = [sys.executable, "-I", str(TRACER), str(told), call["trace"], *argv], (told,)
        try:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=call["env"],
                cwd=call["cwd"],
                umask=UMASK,
                user=user[0],
                group=user[1],
                extra_groups=None if user[0] is None else [],
                preexec_fn=os.setpgrp,  # noqa: PLW1509 (there is one thread)
                pass_fds=passed,
            )
        except OSError as error:  # no such interpreter, not executable
            self.error, self.end = str(error), self.begin
            return
        finally:
            if told is not None:
                os.close(told)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self.streams[stream.fileno()] = bytearray()
        self.open = set(self.streams)

    def read(self) -> None:
        """All that is there now."""
        for descriptor in list(self.open):
            with contextlib.suppress(BlockingIOError):
                while data := os.read(descriptor, CHUNK):
                    if len(self.streams[descriptor]) < LONGEST_OUTPUT:
                        self.streams[descriptor] += data
                self.open.discard(descriptor)
        if self.trace is not None:
            with contextlib.suppress(BlockingIOError):
                while data := os.read(self.trace, CHUNK):
                    self.programs += data

    def kill(self) -> None:
        """SIGKILL to the group."""
        if self.process is not None and self.end is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def result(self) -> dict[str, Any]:
        texts = [bytes(text).decode("utf-8", "surrogateescape") for text in self.streams.values()]
        stdout, stderr = texts or ["", self.error]
        assert self.end is not None
        return {
            "code": self.code,
            "stdout": stdout,
            "stderr": stderr,
            "seconds": self.end - self.begin,
            "timed_out": self.timed_out,
            "is_open": bool(self.open),
            "programs": self.told(list),
            "deeds": self.told(dict),
        }

    def told(self, kind: type) -> list[Any] | None:
        """The arguments of each program (lists), or the deeds (dicts); None where we could not see them."""
        lines = bytes(self.programs).splitlines()
        found = [json.loads(line) for line in lines if line.endswith((b"]", b"}", b"null"))]
        seen = [one for one in found if isinstance(one, kind)]
        return None if self.trace is None or None in found else seen

    def close(self) -> None:
        if self.trace is not None:
            os.close(self.trace)
        if self.process is None:
            return
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def perform(request: dict[str, Any]) -> dict[str, Any]:
    """Run the calls of a request at once, to their end."""
    begin = time.monotonic()
    kill_after = request.get("kill_after")
    runs = [Run(call, begin + request["timeout"]) for call in request["calls"]]
    needles = [needle.encode("utf-8", "surrogateescape") for needle in request.get("needles", [])]
    seen: set[bytes] = set()
    while any(run.end is None for run in runs):
        seen.update(look_for(needles))
        for run in runs:
            run.read()
        note_ends(runs)
        now = time.monotonic()
        for run in runs:
            if run.end is None and now >= run.deadline:
                run.timed_out = True
                run.kill()
            elif kill_after is not None and now >= begin + kill_after:
                run.kill()
        if is_alone():
            raise SystemExit(1)
        time.sleep(POLL_SECONDS)
    seen.update(look_for(needles))
    await_closed(runs)
    results = [run.result() for run in runs]
    for run in runs:
        run.close()
        for words in run.told(list) or []:
            line = " ".join(words).encode("utf-8", "surrogateescape")
            seen.update(needle for needle in needles if needle in line)
    return {"results": results, "seen": sorted(needle.decode("utf-8", "surrogateescape") for needle in seen)}


def await_closed(runs: list[Run]) -> None:
    end = time.monotonic() + GRACE_SECONDS
    while True:
        for run in runs:
            run.read()
        reap()
        if not any(run.open for run in runs) or time.monotonic() > end:
            return
        time.sleep(POLL_SECONDS)


def is_alone() -> bool:
    """True when who asks has ended: nobody holds the other end of the input."""
    poller = select.poll()
    poller.register(0, 0)
    return bool(poller.poll(0))


def note_ends(runs: list[Run]) -> None:
    ended = reap()
    for run in runs:
        if run.end is None and run.process is not None and run.process.pid in ended:
            run.end = time.monotonic()
            run.code = run.process.returncode = ended[run.process.pid]


def reap() -> dict[int, int]:
    """The children that have ended, with their exit codes; a signal's is negative.

    Those who are deaf are let go on, without what they stopped for.
    """
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | ptrace.WALL)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        if os.WIFSTOPPED(status):
            ptrace.go_on(pid)
            continue
        ended[pid] = os.waitstatus_to_exitcode(status)


def look_for(needles: list[bytes]) -> set[bytes]:
    if not needles:
        return set()
    lines = [arguments_of(pid) for pid in descendants()]
    return {needle for needle in needles if any(needle in line for line in lines)}


def descendants() -> list[int]:
    """The living processes below this one."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            parent = parent_of(int(name))
            if parent is not None:
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return sorted(found)


def parent_of(pid: int) -> int | None:
    """The parent of a living process; None of one that is dead."""
    state, parent = stat_of(pid)
    return None if state in (b"Z", b"X") else int(parent)


def is_at_rest(pid: int) -> bool:
    """Stopped by a signal or a debugger, or dead."""
    return stat_of(pid)[0] in (b"T", b"t", b"Z", b"X")


def stat_of(pid: int) -> tuple[bytes, bytes]:
    """State and parent of a process; X of one that is not there."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return b"X", b"0"
    return state, parent


def arguments_of(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").strip()
    except OSError:
        return b""


def listed() -> list[dict[str, Any]]:
    reap()
    here = os.getpid()
    return [
        {
            "pid": pid,
            "command": arguments_of(pid).decode("utf-8", "surrogateescape"),
            "is_root": parent_of(pid) == here,
        }
        for pid in descendants()
        if pid not in BYSTANDERS
    ]


def send(pids: list[int], number: int) -> None:
    """A signal to those that are below this one. Nobody else reaps them, so a pid is what it was.

    After SIGSTOP they have stopped: on a busy machine that takes its time.
    """
    ours = set(pids) & set(descendants()) - set(BYSTANDERS)
    for pid in ours:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
    end = time.monotonic() + STOP_SECONDS
    while number == signal.SIGSTOP and not all(map(is_at_rest, ours)) and time.monotonic() < end:
        time.sleep(POLL_SECONDS)


def deafen(pids: list[int]) -> bool:
    """From now on these get no signal but SIGKILL. False if that is not allowed."""
    try:
        for pid in set(pids) & set(descendants()):
            for name in os.listdir(f"/proc/{pid}/task"):
                ptrace.call(ptrace.SEIZE, int(name), ptrace.FAMILY)
    except (ProcessLookupError, FileNotFoundError):
        return True  # it ends by itself
    except OSError:
        return False
    return True


BYSTANDERS: dict[int, subprocess.Popen[bytes]] = {}


def invite() -> int:
    """A process of its own session that does nothing; its pid."""
    process = subprocess.Popen(
        [BYSTANDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={},
        start_new_session=True,
    )
    BYSTANDERS[process.pid] = process
    return process.pid


def dismiss(pid: int) -> bool:
    """End a bystander. True if it lived until now."""
    reap()
    lives = parent_of(pid) == os.getpid()
    process = BYSTANDERS.pop(pid)
    assert process.stdin is not None
    process.stdin.close()
    send([pid], signal.SIGCONT)
    send([pid], signal.SIGKILL)
    while parent_of(pid) is not None:
        time.sleep(POLL_SECONDS)
    reap()
    process.returncode = 0  # reaped, whatever it was
    return lives


def kill_all() -> None:
    """Kill what is below this process, again and again until there is nothing."""
    for pid in list(BYSTANDERS):
        dismiss(pid)
    end = time.monotonic() + 10
    while (pids := descendants()) and time.monotonic() < end:
        send(pids, signal.SIGKILL)
        reap()
        time.sleep(POLL_SECONDS)


DEEDS: dict[str, Callable[[dict[str, Any]], object]] = {
    "run": perform,
    "list": lambda request: listed(),
    "signal": lambda request: send(request["pids"], request["number"]),
    "deafen": lambda request: deafen(request["pids"]),
    "invite": lambda request: invite(),
    "dismiss": lambda request: dismiss(request["pid"]),
}


def answer(request: dict[str, Any]) -> object:
    return DEEDS[request["do"]](request)


def lines_of(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a stream; children are reaped while there are none."""
    os.set_blocking(stream.fileno(), False)
    selector = selectors.DefaultSelector()
    selector.register(stream, selectors.EVENT_READ)
    rest = b""
    while True:
        reap()
        if not selector.select(0.02):
            continue
        data = os.read(stream.fileno(), CHUNK)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from lines


def main() -> None:
    """Serve until the input ends."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise SystemExit("this kernel has no subreapers")
    for name in os.listdir("/proc/self/fd"):  # what was lent to this process is for nobody else
        with contextlib.suppress(OSError):
            if int(name) > 2:
                os.set_inheritable(int(name), False)
    try:
        for line in lines_of(sys.stdin.buffer):
            request = json.loads(line)
            sys.stdout.write(json.dumps({"id": request["id"], "answer": answer(request)}) + "\n")
            sys.stdout.flush()
    finally:
        kill_all()


if __name__ == "__main__":
    main()
