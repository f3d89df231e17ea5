# SPDX-License-Identifier: Apache-2.0
"""Where the message bus of a service is, read as oslo.messaging reads it.

transport_url is a list of brokers: `rabbit://user:password@host:port,user:password@[::1]:port/vhost`.
What [oslo_messaging_rabbit] says about TLS may stand in its query as well, and then wins. Texts never
hold a password.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

DEFAULT_PORT = 5672
SCHEMES = ("rabbit", "kombu")
TRUE = ("true", "1", "t", "on", "yes", "y")


class BadTransport(Exception):
    """This is no transport_url of RabbitMQ; the text says why."""


@dataclass(frozen=True)
class Broker:
    """One broker: where, and as whom."""

    host: str
    port: int = DEFAULT_PORT
    user: str = "guest"
    password: str = field(default="guest", repr=False)


@dataclass(frozen=True)
class Transport:
    """A message bus. `ca`, `certificate` and `key` are paths, or None for the system's, and for none."""

    brokers: tuple[Broker, ...]
    virtual_host: str = "/"
    is_tls: bool = False
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    @property
    def ports(self) -> set[int]:
        """The brokers' ports."""
        return {broker.port for broker in self.brokers}


def parse(url: str, options: Mapping[str, str] | None = None) -> Transport:
    """The bus of a transport_url and the options of [oslo_messaging_rabbit]. Raises BadTransport."""
    scheme, separator, rest = url.strip().partition("://")
    if not separator or scheme not in SCHEMES:
        raise BadTransport("transport_url is not one of RabbitMQ (rabbit://...)")
    rest, _, query = rest.partition("?")
    places, _, path = rest.partition("/")
    facts = {**(options or {}), **dict(parse_qsl(query))}
    return Transport(
        brokers=tuple(_broker(place) for place in places.split(",") if place) or (Broker("localhost"),),
        virtual_host=unquote(path) or "/",
        is_tls=facts.get("ssl", facts.get("rabbit_use_ssl", "")).strip().lower() in TRUE,
        ca=facts.get("ssl_ca_file") or None,
        certificate=facts.get("ssl_cert_file") or None,
        key=facts.get("ssl_key_file") or None,
    )


def _broker(place: str) -> Broker:
    who, _, where = place.rpartition("@")
    user, _, password = who.partition(":")
    host, port = _split_port(where)
    return Broker(host, port, unquote(user) or "guest", unquote(password) or "guest")


def _split_port(where: str) -> tuple[str, int]:
    """Host and port; an IPv6 address stands in brackets."""
    if where.startswith("["):
        host, bracket, port = where[1:].partition("]")
        if not bracket or port[:1] not in ("", ":"):
            raise BadTransport("transport_url has an address without its closing bracket")
        port = port[1:]
    else:
        host, _, port = where.partition(":")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise BadTransport(f"transport_url has {port[:20]!r} for a port")
    return host or "localhost", int(port or DEFAULT_PORT)
