# SPDX-License-Identifier: Apache-2.0
"""A message bus of one queue: as much of AMQP 0-9-1 as a question and its answer need, over real TCP.

with MessageBus() as bus:
    ...                                     # nova.conf: transport_url = bus.url
    bus.does = "silent"
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
from types import TracebackType

METHOD, HEADER, BODY, END = 1, 2, 3, b"\xce"


def short(text: str) -> bytes:
    return struct.pack("B", len(text)) + text.encode()


def long(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


class MessageBus:
    """What it `does` with a question: "answer", "silent", "nobody" listens, "no exchange", "hangs",
    "blocks" (takes no messages: an alarm), "breaks" (an error of its own), "is down" (the same at once).

    `password`: what a user must give. `host`: its address, of IPv4 or IPv6. `keys` are the routing keys
    that it was asked for, `messages` the questions.
    """

    def __init__(
        self,
        does: str = "answer",
        password: str = "guest",  # noqa: S107 (the broker's own default)
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.does, self.password, self.tls = does, password, tls
        self.keys: list[str] = []
        self.messages: list[dict[str, object]] = []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family)
        self._lines: list[socket.socket] = []

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        """Its transport_url, with a user who is let in."""
        return f"rabbit://guest:{self.password}@127.0.0.1:{self.port}/"

    def __enter__(self) -> MessageBus:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for line in (self._listener, *self._lines):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
                self._lines.append(line)
                line = self.tls.wrap_socket(line, server_side=True) if self.tls else line
            except OSError:
                if self._listener.fileno() < 0:
                    return
                continue
            self._lines.append(line)
            threading.Thread(target=self._serve_quietly, args=(line,), daemon=True).start()

    def _serve_quietly(self, line: socket.socket) -> None:
        try:
            Session(self, line).serve()
        except (OSError, EOFError, ValueError):
            line.close()


class Session:
    """One client's connection."""

    def __init__(self, bus: MessageBus, line: socket.socket) -> None:
        self.bus, self.line, self.file = bus, line, line.makefile("rb")

    def serve(self) -> None:
        if self.bus.does == "hangs":
            self.file.read()
            return
        assert self._read(8) == b"AMQP\0\0\x09\x01"
        self._send(0, 10, 10, b"\0\x09" + long(b"") + long(b"PLAIN AMQPLAIN") + long(b"en_US"))
        while True:
            self._take(*self._frame())

    def _take(self, channel: int, key: tuple[int, int], data: bytes) -> None:
        if key == (10, 11):
            if self.bus.password.encode() not in data:
                self._send(0, 10, 50, struct.pack(">H", 403) + short("ACCESS_REFUSED") + b"\0\0\0\0")
                return
            self._send(0, 10, 30, struct.pack(">HIH", 100, 131072, 0))
        elif key == (10, 40) and self.bus.does == "is down":
            self._send(0, 10, 50, struct.pack(">H", 541) + short("vhost is down") + b"\0\0\0\0")
        elif key == (10, 40):
            self._send(0, 10, 41, short(""))
        elif key == (10, 50):
            self._send(0, 10, 51, b"")
        elif key == (20, 10):
            self._send(channel, 20, 11, long(b""))
        elif key == (50, 10):
            self._send(channel, 50, 11, short(self._strings(data[2:], 1)[0]) + b"\0" * 8)
        elif key == (60, 20):
            self._send(channel, 60, 21, short("tag"))
        elif key == (60, 40):
            self._publish(channel, data)

    def _publish(self, channel: int, data: bytes) -> None:
        exchange, routing_key = self._strings(data[2:], 2)
        self._frame(HEADER)
        body = self._frame(BODY)[2]
        self.bus.keys.append(f"{exchange}/{routing_key}")
        question = json.loads(json.loads(body)["oslo.message"])
        self.bus.messages.append(question)
        if self.bus.does == "blocks":
            self._send(0, 10, 60, short("low on memory"))
        elif self.bus.does == "breaks":
            self._send(0, 10, 50, struct.pack(">H", 541) + short("vhost is down") + b"\0\0\0\0")
        elif self.bus.does == "answer":
            answer = json.dumps({"oslo.version": "2.0", "oslo.message": json.dumps({"result": "pong"})})
            self._send(
                channel, 60, 60, short("tag") + b"\0" * 7 + b"\1\0" + short("") + short(question["_reply_q"])
            )
            self._content(channel, answer.encode())
        elif self.bus.does == "nobody":
            place = short(exchange) + short(routing_key)
            self._send(channel, 60, 50, struct.pack(">H", 312) + short("NO_ROUTE") + place)
            self._content(channel, body)
        elif self.bus.does == "no exchange":
            self._send(
                channel, 20, 40, struct.pack(">H", 404) + short("NOT_FOUND") + struct.pack(">HH", 60, 40)
            )

    def _strings(self, data: bytes, count: int) -> list[str]:
        found = []
        for _ in range(count):
            found.append(data[1 : 1 + data[0]].decode())
            data = data[1 + data[0] :]
        return found

    def _frame(self, kind: int = METHOD) -> tuple[int, tuple[int, int], bytes]:
        found, channel, size = struct.unpack(">BHI", self._read(7))
        data = self._read(size)
        assert (found, self._read(1)) == (kind, END)
        if kind != METHOD:
            return channel, (0, 0), data
        return channel, struct.unpack(">HH", data[:4]), data[4:]

    def _send(self, channel: int, kind: int, method: int, data: bytes) -> None:
        self._write(METHOD, channel, struct.pack(">HH", kind, method) + data)

    def _content(self, channel: int, body: bytes) -> None:
        self._write(HEADER, channel, struct.pack(">HHQH", 60, 0, len(body), 0))
        self._write(BODY, channel, body)

    def _write(self, kind: int, channel: int, data: bytes) -> None:
        self.line.sendall(struct.pack(">BHI", kind, channel, len(data)) + data + END)

    def _read(self, size: int) -> bytes:
        data = self.file.read(size)
        if len(data) < size:
            raise EOFError
        return data
