# SPDX-License-Identifier: Apache-2.0
"""Serves one WSGI application, a thread for each request, and writes down every request with its times.

Run as a file by the cloud's interpreter: `python -I wsgi.py MODULE ADDRESS PORT LOG`. It listens once the
application is loaded, so that a listening port means a ready service. One JSON line when a request begins,
and one when it ends (`agent` is the User-Agent, `at` epoch seconds, `id` the server's pid and a number):

    {"id": "9-7", "at": 1.123, "begin": {"peer": "10.99.0.1", "agent": "..", "method": "PUT", "path": "/..."}}
    {"id": "9-7", "at": 1.177, "status": 200}
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

PEER = "X-Lab-Peer"
"""Header of a request that came through the lab's proxy: who sent it there."""

PEER_VARIABLE = "HTTP_" + PEER.upper().replace("-", "_")

Application = Callable[[dict[str, Any], Callable[..., Any]], Any]


class Recorder:
    """Wraps an application."""

    def __init__(self, application: Application, path: str) -> None:
        self.application = application
        self.log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.ids = itertools.count(1)

    def note(self, **what: object) -> None:
        os.write(self.log, json.dumps({"at": time.time(), **what}).encode() + b"\n")

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        request = f"{os.getpid()}-{next(self.ids)}"
        query = environ.get("QUERY_STRING")
        begin = {
            "peer": environ.get(PEER_VARIABLE) or environ["REMOTE_ADDR"],
            "agent": environ.get("HTTP_USER_AGENT", ""),
            "method": environ["REQUEST_METHOD"],
            "path": environ["PATH_INFO"] + (f"?{query}" if query else ""),
        }
        self.note(id=request, begin=begin)
        status = [0]

        def start(line: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            status[0] = int(line.split(maxsplit=1)[0])
            return start_response(line, headers, exc_info) if exc_info else start_response(line, headers)

        body = self.application(environ, start)
        try:
            return [b"".join(body)]
        finally:
            if hasattr(body, "close"):
                body.close()
            self.note(id=request, status=status[0])


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 128

    def server_bind(self) -> None:
        """Bind without the resolver, which wsgiref asks for the server's name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()


class Handler(WSGIRequestHandler):
    def address_string(self) -> str:
        return str(self.client_address[0])

    def log_message(self, format: str, *args: Any) -> None:
        """The recorder logs."""


def main() -> None:
    module, address, port, log = sys.argv[1:5]
    sys.argv[1:] = []
    threading.current_thread().name = module
    application = importlib.import_module(module).application
    server = Server((address, int(port)), Handler)
    server.set_app(Recorder(application, log))
    server.serve_forever(poll_interval=60)


if __name__ == "__main__":
    main()
