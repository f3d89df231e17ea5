# SPDX-License-Identifier: Apache-2.0
"""The network between the agents and the cloud, as bad as a story wants it.

An HTTP proxy with an address of its own on the switch, in front of keystone and of nova-api. It runs in
threads of the stories' process, so that a story can say at any moment what becomes of the next request: a
`Rule`. What no rule speaks of goes through. Only the agents of `test_network.py` come this way (auth_url, and
the catalog's admin endpoint); nova-compute, the other stories and the cloud itself do not.

What came, what was done with it, and each time that the cloud got it is in `Proxy.passages`, and in the file
network.jsonl beside the cloud's own request logs, in the order of its happening.
"""

from __future__ import annotations

import itertools
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer

from labkit.errors import wait_for
from labkit.network import Network
from labkit.wsgi import PEER

DISABLE, ENABLE, READ, LOGIN = "disable", "enable", "read", "login"
LONGEST = 600.0
"""Seconds after which a request that nobody asks for any more is forgotten."""


@dataclass(frozen=True)
class Arrival:
    """The cloud got a request at `at`, had answered it at `end` (epoch seconds); status 0: it has not."""

    at: float
    end: float
    status: int


@dataclass(eq=False)
class Passage:
    """One request of an agent, as the agent sent it. `told` is the status that the agent was given, if any.

    `kind` is one of the constants above for what the guard does, else ''.
    """

    service: str
    peer: str
    method: str
    path: str
    kind: str
    begin: float
    token: str = field(default="", repr=False)
    fate: str = "through"
    arrivals: list[Arrival] = field(default_factory=list)
    told: int | None = None

    def __str__(self) -> str:
        landed = ", ".join(f"{a.status} after {a.at - self.begin:.2f} s" for a in self.arrivals) or "never"
        return f"{self.service} {self.method} {self.path}: {self.fate}; told {self.told}; arrived: {landed}"


class Gone(Exception):
    """The story is over: what was kept back is thrown away."""


@dataclass
class Rule:
    """What becomes of the next `times` requests of that kind, for `seconds` at the longest.

    A fate that waits does so until `let_go`, or for `delay` seconds.
    """

    kind: str
    fate: Fate
    times: int = 1
    seconds: float = LONGEST
    delay: float = LONGEST
    caught: list[Passage] = field(default_factory=list)
    made: float = field(default_factory=time.monotonic)
    gate: threading.Event = field(default_factory=threading.Event)
    is_over: bool = False

    def applies_to(self, passage: Passage) -> bool:
        is_due = len(self.caught) < self.times and time.monotonic() - self.made < self.seconds
        return is_due and passage.kind == self.kind and not self.is_over

    def wait(self) -> None:
        """Until the story lets go, or the delay is over. Raises Gone when the story is."""
        self.gate.wait(self.delay)
        if self.is_over:
            raise Gone

    def let_go(self) -> None:
        """What was kept back goes on."""
        self.gate.set()

    def wait_until_caught(self, timeout: float = 30) -> Passage:
        """The first request that it caught."""
        return wait_for(f"a {self.kind} to be caught", lambda: next(iter(self.caught), None), timeout)

    def landed(self, times: int = 1, timeout: float = 30) -> Arrival:
        """Wait until the cloud has got the first request that it caught so many times; the last of them.

        Nova saves a row at once, and may answer a minute later: the answer is not waited for.
        """
        passage = self.wait_until_caught(timeout)
        wait_for(f"the {self.kind} to land", lambda: len(passage.arrivals) >= times, timeout, every=0.01)
        return passage.arrivals[times - 1]


class Exchange:
    """One request in the proxy's hands, and what can be done with it."""

    def __init__(self, line: socket.socket, request: bytes, passage: Passage, proxy: Proxy) -> None:
        self.line, self.request, self.passage, self.proxy = line, request, passage, proxy

    def deliver(self) -> bytes:
        """Bring it to the cloud; the answer, or that of a proxy without a server behind it."""
        at, answer = time.time(), b""
        try:
            with socket.create_connection(self.proxy.upstreams[self.passage.service], LONGEST) as line:
                line.sendall(self.request)
                self.passage.arrivals.append(Arrival(at, at, 0))
                place = len(self.passage.arrivals) - 1
                for piece in iter(lambda: line.recv(65536), b""):
                    answer += piece
        except OSError:
            return answer or unavailable_answer()
        arrival = Arrival(at, time.time(), status_of(answer))
        self.passage.arrivals[place] = arrival
        self.proxy.note(self.passage, arrived=arrival.at, status=arrival.status)
        return answer

    def answer(self, data: bytes) -> None:
        """Give the agent its answer, if it still waits."""
        with suppress(OSError):
            self.line.sendall(data)
            self.passage.told = status_of(data)

    def answer_slowly(self, data: bytes, pause: float) -> None:
        """The same, a byte each `pause` seconds, for as long as the agent listens."""
        self.passage.told = status_of(data)
        with suppress(OSError):
            for byte in data:
                self.line.sendall(bytes([byte]))
                time.sleep(pause)

    def keep_silent(self) -> None:
        """Until the agent gives up."""
        self.line.settimeout(LONGEST)
        with suppress(OSError):
            while self.line.recv(4096):
                pass

    def reset(self) -> None:
        """A TCP reset."""
        self.line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.line.close()


Fate = Callable[[Exchange, Rule], None]

# Fates


def late(exchange: Exchange, rule: Rule) -> None:
    """Kept back, and delivered although nobody waits for it any more."""
    rule.wait()
    exchange.answer(exchange.deliver())


def answer_lost(exchange: Exchange, rule: Rule) -> None:
    """Delivered; the agent hears nothing."""
    exchange.deliver()
    exchange.keep_silent()


def lost(exchange: Exchange, rule: Rule) -> None:
    """Never delivered; the agent hears nothing."""
    exchange.keep_silent()


def repeated(exchange: Exchange, rule: Rule) -> None:
    """Delivered, the answer lost on the way back, and delivered again later: a proxy that tries twice."""
    exchange.deliver()
    rule.wait()
    exchange.answer(exchange.deliver())


def reset(exchange: Exchange, rule: Rule) -> None:
    """Never delivered; a reset."""
    exchange.reset()


def answer_reset(exchange: Exchange, rule: Rule) -> None:
    """Delivered; a reset in the place of the answer."""
    exchange.deliver()
    exchange.reset()


def half_an_answer(exchange: Exchange, rule: Rule) -> None:
    """Delivered; the answer breaks off in the middle of its body."""
    answer = exchange.deliver()
    head, _, body = answer.partition(b"\r\n\r\n")
    exchange.answer(head + b"\r\n\r\n" + body[: len(body) // 2])


def slow_drip(exchange: Exchange, rule: Rule) -> None:
    """Delivered; the answer comes a byte at a time, and would take minutes."""
    exchange.answer_slowly(exchange.deliver(), pause=0.5)


def unavailable(exchange: Exchange, rule: Rule) -> None:
    """503 and Retry-After: nothing is behind the proxy."""
    exchange.answer(unavailable_answer(retry_after=2))


def gateway_timeout(exchange: Exchange, rule: Rule) -> None:
    """Delivered; the proxy does not wait and says 504."""
    exchange.deliver()
    exchange.answer(_answer("504 Gateway Time-out"))


def after(what: Callable[[Passage], None]) -> Fate:
    """Delivered once `what` was done."""

    def delivered_after(exchange: Exchange, rule: Rule) -> None:
        what(exchange.passage)
        exchange.answer(exchange.deliver())

    return delivered_after


class Proxy:
    """Listens at `address` for each service of `upstreams` (its port there is that of the real one)."""

    def __init__(
        self, network: Network, name: str, upstreams: Mapping[str, tuple[str, int]], log: Path
    ) -> None:
        self.network = network
        self.name = name
        self.address = network.addresses[name]
        self.upstreams = dict(upstreams)
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.passages: list[Passage] = []
        self.rules: list[Rule] = []
        self.lock = threading.Lock()
        self.ids = itertools.count(1)
        self.servers: list[ThreadingTCPServer] = []

    def rule(
        self,
        kind: str,
        fate: Fate,
        *,
        times: int = 1,
        seconds: float = LONGEST,
        delay: float = LONGEST,
    ) -> Rule:
        """A new rule, asked after those that are there already."""
        made = Rule(kind, fate, times, seconds, delay)
        with self.lock:
            self.rules.append(made)
        return made

    def clear(self) -> None:
        """Everything goes through again; what was kept back is thrown away."""
        with self.lock:
            rules, self.rules = self.rules, []
        for rule in rules:
            rule.is_over = True
            rule.let_go()

    def of(self, address: str, since: float = 0.0) -> list[Passage]:
        """What the agent on the node of that address has sent since then."""
        return [p for p in list(self.passages) if p.peer == address and p.begin >= since]

    # up and down

    def start(self) -> None:
        threads = [threading.Thread(target=self._serve, args=(s,), daemon=True) for s in self.upstreams]
        for thread in threads:
            thread.start()
        wait_for("the proxy to listen", lambda: len(self.servers) == len(self.upstreams), 10)

    def stop(self) -> None:
        self.clear()
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def _serve(self, service: str) -> None:
        """In the proxy's own network, with the threads that it starts."""
        self.network.enter(self.name)
        server = _Server((self.address, self.upstreams[service][1]), _Handler)
        server.service, server.proxy = service, self
        self.servers.append(server)
        server.serve_forever(poll_interval=0.2)

    # one request

    def take(self, line: socket.socket, peer: str, service: str) -> None:
        """From a request's first byte to its end, whatever becomes of it."""
        request = read_request(line)
        if request is None:
            return
        passage = as_passage(request, service, peer)
        rule = self._rule_for(passage)
        self.note(passage, fate=passage.fate, peer=peer, method=passage.method, path=passage.path)
        exchange = Exchange(line, forwarded(request, peer), passage, self)
        if rule is None:
            exchange.answer(exchange.deliver())
        else:
            with suppress(Gone):
                rule.fate(exchange, rule)
        self.note(passage, told=passage.told)

    def _rule_for(self, passage: Passage) -> Rule | None:
        with self.lock:
            self.passages.append(passage)
            rule = next((rule for rule in self.rules if rule.applies_to(passage)), None)
            if rule is not None:
                passage.fate = rule.fate.__name__.replace("_", " ")
                rule.caught.append(passage)
            return rule

    def note(self, passage: Passage, **what: object) -> None:
        line = {"at": time.time(), "id": self.passages.index(passage), "service": passage.service, **what}
        os.write(self.log, json.dumps(line).encode() + b"\n")


class _Server(ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128
    service: str
    proxy: Proxy


class _Handler(BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        self.server.proxy.take(self.request, self.client_address[0], self.server.service)


# HTTP, as little of it as is needed: one request a connection


def read_request(line: socket.socket) -> bytes | None:
    """Head and body; None when the peer says nothing or leaves in the middle."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = line.recv(65536)
        if not piece:
            return None
        data += piece
    length = int(headers_of(data).get("content-length", "0"))
    rest = data.index(b"\r\n\r\n") + 4 + length - len(data)
    while rest > 0:
        piece = line.recv(rest)
        if not piece:
            return None
        data, rest = data + piece, rest - len(piece)
    return data


def headers_of(message: bytes) -> dict[str, str]:
    lines = message.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
    return {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def as_passage(request: bytes, service: str, peer: str) -> Passage:
    method, path = request.split(b"\r\n", 1)[0].decode("latin-1").split()[:2]
    token = headers_of(request).get("x-auth-token", "")
    return Passage(service, peer, method, path, kind_of(method, path, request), time.time(), token)


def kind_of(method: str, path: str, request: bytes) -> str:
    if method == "POST" and path.endswith("/auth/tokens"):
        return LOGIN
    if not path.startswith("/v2.1/os-services"):
        return ""
    if method != "PUT":
        return READ
    return DISABLE if json.loads(request.partition(b"\r\n\r\n")[2])["status"] == "disabled" else ENABLE


def forwarded(request: bytes, peer: str) -> bytes:
    """The request as it goes on: who sent it, and nothing kept alive."""
    first, rest = request.split(b"\r\n", 1)
    return b"\r\n".join((first, f"{PEER}: {peer}\r\nConnection: close".encode(), rest))


def status_of(answer: bytes) -> int:
    """0 for a broken one."""
    words = answer.split(b"\r\n", 1)[0].split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def unavailable_answer(retry_after: int | None = None) -> bytes:
    extra = "" if retry_after is None else f"Retry-After: {retry_after}\r\n"
    return _answer("503 Service Unavailable", extra)


def _answer(status: str, extra: str = "") -> bytes:
    page = f"<html><body><h1>{status}</h1></body></html>\n"
    head = f"HTTP/1.0 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n{extra}"
    return f"{head}\r\n{page}".encode()
