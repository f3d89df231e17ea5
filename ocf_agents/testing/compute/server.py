# SPDX-License-Identifier: Apache-2.0
"""A small HTTP server in threads that can be told to misbehave."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer, ThreadingTCPServer
from typing import Any, Callable

from ocf_agents.testing.compute.capacity import Capacity, Gate
from ocf_agents.testing.compute.exchange import Request, RequestLog, Response
from ocf_agents.testing.compute.faults import Fault, FaultTable

Service = Callable[[Request], Response]


class Listener:
    """One address on which one service answers.

    `stop` refuses connections (a dead API), `start` takes the same port again; from the first start
    to `close` the port is kept, so that nobody else answers there. `mute` accepts nothing while it
    stays open: the kernel shakes hands, nobody ever reads (a black hole).
    """

    def __init__(
        self,
        name: str,
        answer: Service,
        log: RequestLog,
        faults: FaultTable,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        capacity: Capacity | None = None,
    ) -> None:
        self.gate = Gate(capacity)
        self.name, self.host, self.port, self.tls = name, host, port, tls
        self.answer, self.log, self.faults = answer, log, faults
        self.closing = threading.Event()
        self._server: _Server | None = None
        self._muted: socket.socket | None = None
        self._seat: socket.socket | None = None

    @property
    def origin(self) -> str:
        """Scheme, host and port, as in a URL."""
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._server is not None

    def start(self) -> None:
        """Listen; on the port of before, if there was one."""
        self.unmute()
        if self._server is not None:
            return
        self.closing.clear()
        self._keep_port()
        self._server = _Server(self)
        threading.Thread(target=self._server.accept_all, name=f"{self.name}-accept", daemon=True).start()

    def stop(self) -> None:
        """Close the port and all connections; what waits to be applied is forgotten."""
        self.unmute()
        if self._server is None:
            return
        self.closing.set()
        server, self._server = self._server, None
        server.close_all()

    def close(self) -> None:
        """Stop, and give the port away."""
        self.stop()
        if self._seat is not None:
            self._seat.close()
            self._seat = None

    def _keep_port(self) -> None:
        """A socket that is bound and never listens: who connects is refused."""
        if self._seat is None:
            self._seat = socket.socket()
            self._seat.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._seat.bind((self.host, self.port))
            self.port = int(self._seat.getsockname()[1])

    def mute(self) -> None:
        """Become a black hole: connections are made by the kernel, and nothing is ever read."""
        self.stop()
        self._muted = socket.create_server((self.host, self.port), backlog=128)

    def unmute(self) -> None:
        """No black hole any more (and nothing else either, until `start`)."""
        if self._muted is not None:
            self._muted.close()
            self._muted = None


class _Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        self._is_closed = False
        super().__init__((listener.host, listener.port), _Handler)

    def accept_all(self) -> None:
        while True:
            try:
                connection, address = self.socket.accept()
            except OSError:
                if self._is_closed:
                    return
                continue
            self.process_request(connection, address)

    def finish_request(
        self,
        request: Any,  # noqa: ANN401 - the base class
        client_address: object,
    ) -> None:
        connection = request
        try:
            if self.listener.tls is not None:
                request.settimeout(10)
                connection = self.listener.tls.wrap_socket(request, server_side=True)
                connection.settimeout(None)
            with self._open_lock:
                self._open.add(connection)
            if not self._is_closed:
                _Handler(connection, client_address, self)
        except (OSError, ValueError):
            return
        finally:
            with self._open_lock:
                self._open.discard(connection)
            connection.close()

    def close_all(self) -> None:
        self._is_closed = True
        _shut(self.socket)
        self.server_close()
        with self._open_lock:
            for connection in list(self._open):
                _shut(connection)


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = None

    def __init__(self, request: socket.socket, client_address: object, server: BaseServer) -> None:
        assert isinstance(server, _Server)
        self.listener = server.listener
        super().__init__(request, client_address, server)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the log of requests says it."""

    def serve(self) -> None:
        """Read one request and treat it as the table of faults says."""
        request = self._read()
        fault = self.listener.faults.take(request)
        self.listener.log.add(request)
        gate = self.listener.gate
        if not gate.enter():
            assert gate.capacity is not None
            self._send(request, gate.capacity.refusal(), Fault())
            return
        try:
            self._pause(gate.capacity.seconds if gate.capacity else 0.0)
            self._treat(request, fault)
        finally:
            if gate.capacity:
                gate.leave()

    def _treat(self, request: Request, fault: Fault) -> None:
        response = self._apply(request, fault)
        self._pause(fault.after)
        self._send(request, response, fault)
        if fault.late:
            self._pause(fault.between)
            self._run(request, fault.late, fault.between)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = serve

    def _read(self) -> Request:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length) if length else b""
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.listener.name, self.command, self.path, headers, body, time.monotonic())

    def _apply(self, request: Request, fault: Fault) -> Response:
        self._pause(fault.before)
        answered = self._run(request, fault.applies, fault.between)
        response = fault.answer or answered or Response(200, b"")
        return fault.rewrite(response) if fault.rewrite else response

    def _run(self, request: Request, times: int, between: float) -> Response | None:
        response = None
        for turn in range(times):
            if turn:
                self._pause(between)
            response = self.listener.answer(request)
            request.applied += 1
            self.listener.log.touch()
        return response

    def _pause(self, seconds: float) -> None:
        if seconds > 0 and self.listener.closing.wait(seconds):
            raise ConnectionAbortedError("the server stops")

    def _send(self, request: Request, response: Response, fault: Fault) -> None:
        if request.headers.get("connection", "").lower() == "close":
            response = Response(response.status, response.body, {**response.headers, "Connection": "close"})
        length = len(response.payload())
        data = response.encode()
        if self.command == "HEAD":
            data, length = data[: len(data) - length], 0
        self.listener.log.answering(request, response.status if fault.sends_all else None)
        try:
            self._put(data, length, fault)
        except OSError:
            self.close_connection = True
            self.listener.log.answering(request, None)
            return
        if fault.sends_all:
            self.listener.log.answered(request)

    def _put(self, data: bytes, payload: int, fault: Fault) -> None:
        if fault.send == "whole":
            self.wfile.write(data)
            return
        self.close_connection = True
        if fault.send == "half":
            self.wfile.write(data[: len(data) - payload // 2 - 1])
        elif fault.send.startswith("drip"):
            at_once = 0 if fault.send == "drip-head" else len(data) - payload
            self._drip(data, at_once, fault.pace)
        elif fault.send == "reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    def _drip(self, data: bytes, at_once: int, pace: float) -> None:
        self.wfile.write(data[:at_once])
        for position in range(at_once, len(data)):
            self._pause(pace)
            self.wfile.write(data[position : position + 1])
