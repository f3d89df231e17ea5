# SPDX-License-Identifier: Apache-2.0
"""The operator's story, told as it happens: what `ocf-agents demo` and `make demo` show.

The agent is the real one, run as Pacemaker runs it, in real processes; the cloud is the embedded
compute API; the daemon is a stand-in. Every claim is checked. It needs no root and no network, and leaves
nothing behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Callable

from ocf_agents.testing.compute.exchange import Request
from ocf_agents.testing.compute_api import ComputeApi, faults
from ocf_agents.testing.node import Node, wait_for
from ocf_agents.testing.run import Result

HOST = "cmp-7"
MARKER = f"ocf-agents disabled: resource=nova-compute host={HOST} "
WORDS = "RAM swap, ticket 4711"
RPC_TIMEOUT = 6.0
LONG_HOLD = "12s"
PARAMETERS = {"api_timeout": "4s", "hold": "3s", "head_start": "15s"}
TIMEOUTS = {"start": 240.0, "stop": 240.0, "monitor": 30.0}


class Broken(Exception):
    """Something did not come out as told."""


class Unsuitable(Exception):
    """This machine has no place for the story; one line says why, and what to do."""


class Teller:
    """Writes the story as plain lines no wider than the terminal. It sees each request once."""

    def __init__(self, api: ComputeApi) -> None:
        self._api = api
        self._told: set[int] = set()
        self._begin = time.monotonic()
        self._width = max(40, min(100, shutil.get_terminal_size().columns)) - 1

    def chapter(self, title: str, text: str = "") -> None:
        self.line("")
        self.line(f"== {title}")
        if text:
            self.line(text)

    def line(self, text: str, indent: int = 0) -> None:
        begin = " " * indent
        for part in textwrap.wrap(
            text,
            self._width,
            initial_indent=begin,
            subsequent_indent=begin + "    " * bool(indent),
            break_on_hyphens=False,
        ) or [""]:
            print(part, flush=True)

    def event(self, text: str) -> None:
        """Something that happened, with the seconds since the beginning."""
        self.line(f"{time.monotonic() - self._begin:5.1f} s  {text}", 2)

    def requests(self) -> None:
        """The requests that came since the last look, in the order in which they were sent."""
        self._api.wait_for(lambda: all(request.status for request in self._untold()), 0.3)
        logins: list[Request] = []
        for request in self._untold():
            self._told.add(id(request))
            if "os-services" not in request.path:
                logins.append(request)
                continue
            self._logins(logins)
            self._request(request, described(request))
        self._logins(logins)

    def _untold(self) -> list[Request]:
        return [request for request in self._api.requests if id(request) not in self._told]

    def _logins(self, requests: list[Request]) -> None:
        if requests:
            parts = [f"{one.method} {one.path} {one.status or 'no answer yet'}" for one in requests]
            self._request(requests[0], ", ".join(parts))
        requests.clear()

    def _request(self, request: Request, text: str) -> None:
        self.line(f"{request.t0 - self._begin:5.1f} s  -> {text}", 2)

    def skip_requests(self) -> None:
        """Leave out the requests so far."""
        self._told.update(id(request) for request in self._api.requests)


def described(request: Request) -> str:
    """A request about the row, in words: what it was, and how it ended."""
    base, _, row_id = request.path.partition("/os-services")
    what = f"{request.method} {base}/os-services"
    if row_id:
        what += f"{row_id[:9]}..."
    if request.is_write and isinstance(request.body, dict):
        what += f" {request.body.get('status')}"
    if request.status is None:
        return f"{what}: no answer yet"
    return f"{what}: {request.status} after {(request.t1 or request.t0) - request.t0:.2f} s"


class Story:
    """The host, its cloud, and what an operator does and sees."""

    def __init__(self, node: Node, api: ComputeApi, teller: Teller) -> None:
        self.node, self.api, self.teller = node, api, teller
        self.row = api.row(HOST)

    # What people and Pacemaker do

    def act(self, action: str, *, fails: bool = False, **parameters: str) -> Result:
        """Run an action, tell it with its requests, and check its exit code: 0 unless it `fails`."""
        self.teller.event(f"nova-compute {action} ...")
        result = self.node.run(action, timeout=TIMEOUTS[action], parameters=parameters)
        self.teller.requests()
        reason = f": {result.reason}" if result.reason else ""
        self.teller.event(f"nova-compute {action}: exit code {result.code} in {result.seconds:.2f} s{reason}")
        self.check((result.code != 0) == fails and not result.timed_out, f"the {action} ends as it should")
        return result

    def operator(self, text: str, *, disabled: bool, reason: str | None = None) -> None:
        self.teller.event(f"operator: {text}")
        self.api.services.set_status(self.row, disabled, reason)

    def show(self) -> None:
        """What `openstack compute service list --long` says of the host."""
        row = self.api.services.show(self.row)
        self.teller.line("now in Nova:", 2)
        self.teller.line(f"{row['binary']}  {row['host']}  status {row['status']}  state {row['state']}", 4)
        if row["disabled_reason"]:
            self.teller.line(f"disabled reason: {row['disabled_reason']}", 4)
        self.teller.line(f"disabled by: {self.author()}", 4)

    def author(self) -> str:
        if not self.row.disabled:
            return "nobody"
        return "this resource" if (self.row.reason or "").startswith(MARKER) else "somebody else"

    def writes(self) -> int:
        return self.api.count("PUT")

    def check(self, claim: bool, text: str) -> None:
        if not claim:
            raise Broken(text)

    def wait(self, condition: Callable[[], bool], text: str, seconds: float = 30.0) -> None:
        self.check(wait_for(condition, seconds), text)

    def wait_for_helper(self) -> None:
        """Until no helper has anything left to do."""
        self.wait(lambda: not self.node.helpers(), "the helper ends when nothing may land any more", 60.0)

    def rest(self) -> None:
        """Let the helper end; its routine looks are not part of the story."""
        self.wait_for_helper()
        self.teller.skip_requests()

    # The chapters

    def starts(self) -> None:
        self.teller.chapter("Start", "Pacemaker starts nova-compute on a host that is enabled.")
        self.act("start")
        self.show()
        self.check(self.node.is_alive() and not self.row.disabled, "the host is enabled")
        self.check(self.writes() == 0, "an enabled row needs no write")
        self.rest()

    def monitors(self) -> None:
        self.teller.chapter("Monitor", "Ten monitors look at the process, and ask the cloud nothing.")
        before = self.api.count()
        results = [self.node.run("monitor") for _ in range(10)]
        milliseconds = sorted(result.seconds for result in results)[5] * 1000
        self.teller.event(f"10 times monitor: exit code {results[0].code}, about {milliseconds:.0f} ms each")
        self.teller.event(f"requests sent: {self.api.count() - before}")
        self.check(all(result.code == 0 for result in results), "a monitor of a healthy service is 0")
        self.check(self.api.count() == before, "no monitor sends a request")

    def stops(self) -> None:
        self.teller.chapter(
            "Planned stop",
            "The disable is sent ahead, while the service can still take part in it; then it is stopped.",
        )
        self.act("stop")
        self.show()
        self.check(not self.node.is_alive(), "the service is gone")
        self.check(self.row.disabled and self.author() == "this resource", "the host is disabled by us")
        self.rest()

    def starts_again(self) -> None:
        self.teller.chapter("Start again", "Our own disable is undone as soon as the cloud sees the host up.")
        self.act("start")
        self.show()
        self.check(not self.row.disabled, "the host is enabled again")
        self.check(self.row.may_be_chosen, "the scheduler may choose it, at once")
        self.rest()

    def operator_disables_and_service_crashes(self) -> None:
        self.teller.chapter(
            "An operator disables the host, then the service crashes",
            "Pacemaker recovers it. What the operator said must stay, byte for byte.",
        )
        self.operator(
            f"openstack compute service set --disable --disable-reason '{WORDS}' {HOST} nova-compute",
            disabled=True,
            reason=WORDS,
        )
        before, writes = (self.row.id, self.row.reason), self.writes()
        self.crashes()
        self.recovers()
        self.show()
        self.check(self.row.disabled, "the row stays disabled")
        self.check((self.row.id, self.row.reason) == before, "the reason stays byte for byte")
        self.check(self.writes() == writes, "nothing was written to the row")
        self.rest()
        self.check(self.row.reason == WORDS and self.writes() == writes, "nor was it later")
        self.operator(f"openstack compute service set --enable {HOST} nova-compute", disabled=False)

    def late_disable(self) -> None:
        self.teller.chapter(
            "A disable that comes late",
            "The service crashes again. This time the cloud keeps our disable, answers nothing, and"
            " applies it when nobody waits for it any more, after the next start has succeeded.",
        )
        self.crashes()
        self.act("monitor", fails=True)
        kept = self.api.fail(faults.never_apply(), method="PUT")
        self.act("stop", hold=LONG_HOLD)
        self.wait(lambda: bool(kept.used), "the helper sends the disable")
        self.teller.requests()
        self.act("start", hold=LONG_HOLD)
        self.show()
        self.check(not self.row.disabled, "the start succeeds with an enabled row")
        self.teller.line("The start has left a helper behind, to watch the request without an answer.", 2)
        self.wait(lambda: bool(self.node.helpers()), "there is a helper")
        self.api.compute.answer(kept.used[0])
        self.teller.requests()
        self.teller.event("the cloud applies the late disable")
        self.show()
        self.check(self.author() == "this resource", "the host is disabled by us")
        self.teller.line("the helper waits for a report of the host, so that it may be chosen at once")
        self.wait(lambda: not self.row.disabled, "the helper undoes the late disable")
        self.teller.requests()
        self.teller.event("the helper has undone it")
        self.show()
        self.wait_for_helper()
        self.teller.event("nothing may land any more: the helper has ended")
        self.check(not self.row.disabled and self.row.may_be_chosen, "the host is enabled at the end")
        self.teller.skip_requests()

    def api_dies(self) -> None:
        self.teller.chapter(
            "The API is dead during a stop", "The stop ends all the same, and a helper waits."
        )
        self.api.identity.stop()
        self.api.compute.stop()
        self.teller.event("the API is down: connections are refused")
        self.act("stop", head_start="1s")
        self.show()
        self.check(not self.node.is_alive(), "the service is gone all the same")
        self.check(not self.row.disabled, "nothing could be sent")
        self.api.identity.start()
        self.api.compute.start()
        self.teller.event("the API is back")
        self.wait(lambda: self.row.disabled, "the helper sends the disable when the API is back", 30.0)
        self.teller.requests()
        self.show()
        self.check(self.author() == "this resource", "it is our disable")
        self.rest()
        self.act("start")
        self.show()
        self.check(not self.row.disabled, "the host is enabled again")
        self.rest()

    def crashes(self) -> None:
        self.node.crash()
        self.teller.event("nova-compute is killed (SIGKILL)")

    def recovers(self) -> None:
        """As Pacemaker does it: the monitor fails, so stop, then start."""
        for action in ("monitor", "stop", "start"):
            self.act(action, fails=action == "monitor")

    def tell(self) -> None:
        self.starts()
        self.monitors()
        self.stops()
        self.starts_again()
        self.operator_disables_and_service_crashes()
        self.late_disable()
        self.api_dies()


def tell(agent: Path) -> bool:
    """Tell the story of an agent's file; True if it came out as told.

    Raises Unsuitable; KeyboardInterrupt also for SIGTERM.
    """
    with _interruptible(), tempfile.TemporaryDirectory(prefix="ocf-agents-demo-") as directory:
        if os.statvfs(directory).f_flag & os.ST_NOEXEC:
            raise Unsuitable(f"{directory}: no program may run there (noexec): set TMPDIR to another place")
        return tell_in(Path(directory), agent)


def tell_in(directory: Path, agent: Path) -> bool:
    """Tell it in a directory that is empty."""
    with ComputeApi(rpc_timeout=RPC_TIMEOUT) as api:
        try:
            node = Node(directory, agent, api.credentials(), HOST, **PARAMETERS)
        except ValueError as error:  # the interpreter's path
            raise Unsuitable(str(error)) from None
        row = api.add(HOST, alive=False)
        api.follow(row, node.is_alive, first_report=0.5)
        teller = Teller(api)
        teller.line(
            "The agent nova-compute is the real one, run as Pacemaker runs it. The cloud is a small one"
            " inside this program, the daemon a stand-in. Nova waits here"
            f" {RPC_TIMEOUT:.0f} s for a dead compute, not a minute; the first"
            " report of a new one comes after half a second, and a request is"
            " watched for seconds, not 5 minutes."
        )
        begin = time.monotonic()
        try:
            Story(node, api, teller).tell()
        except Broken as broken:
            teller.requests()
            teller.line("")
            teller.line(f"The story broke: not so that {broken}.")
            tell_log(node, teller)
            return False
        finally:
            node.clean_up()
        teller.line("")
        teller.line(f"All as told, in {time.monotonic() - begin:.0f} s. Nothing is left behind.")
        return True


def tell_log(node: Node, teller: Teller) -> None:
    """The agent's last words, when the story broke."""
    for path in (node.log, *node.state_dir.glob("*.history.jsonl")):
        if path.exists():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines()[-10:]:
                teller.line(line, 2)


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM and SIGINT raise KeyboardInterrupt, also where a shell started it with SIGINT ignored."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, _interrupt) for number in numbers]
    umask = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(umask)
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
