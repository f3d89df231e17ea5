# SPDX-License-Identifier: Apache-2.0
"""Asks a service over its own message bus whether it answers: `baseapi.ping`, one question.

Each RPC server of oslo.service-based OpenStack has it, without any configuration, and answers in
milliseconds (`oslo_rpc_server_ping` needs an option that is off by default). The message is written
by hand, since oslo.messaging takes most of a second to load; AMQP is py-amqp's.
"""

from __future__ import annotations

import json
import socket
import ssl
import time
import uuid
from typing import Any, NamedTuple

from ocf_agents.ocf.patience import Impatient, wait_for
from ocf_agents.openstack.transport import Broker, Transport

ANSWERED = "answered"
SILENT = "silent"
NOBODY = "nobody"
UNREACHABLE = "unreachable"
UNASKED = "unasked"
HEADROOM = 1.0
"""Seconds beyond the timeout after which a library that waits for something else is left alone."""


class Pong(NamedTuple):
    """What became of a question.

    outcome: ANSWERED; SILENT (delivered, no answer in time); NOBODY (no queue for it);
    UNREACHABLE (no broker can be spoken to from here); UNASKED (the broker refuses us, or a library is
    missing).
    """

    outcome: str
    text: str


class _Unreachable(Exception):
    pass


def ping(transport: Transport, exchange: str, topic: str, host: str, seconds: float) -> Pong:
    """Asks `TOPIC.HOST` once, within `seconds` and HEADROOM. Never raises."""
    try:
        return wait_for(lambda: _ping(transport, exchange, f"{topic}.{host}", seconds), seconds + HEADROOM)
    except Impatient:
        return Pong(UNREACHABLE, f"the message bus did not answer within {seconds:g} s")
    except ImportError as error:
        return Pong(UNASKED, f"the Python module {error.name} is missing: install python3-amqp")
    except Exception as error:  # a name that no bus can have, say; its text might hold a password
        return Pong(UNASKED, f"the message bus cannot be asked ({type(error).__name__})")


def _ping(transport: Transport, exchange: str, key: str, seconds: float) -> Pong:
    import amqp

    end = time.monotonic() + seconds
    try:
        connection, is_blocked = _connect(transport, end)
    except _Unreachable as error:
        return Pong(UNREACHABLE, str(error))
    except (amqp.AccessRefused, amqp.NotAllowed) as error:
        return Pong(UNASKED, f"the message bus refuses the service's own user: {type(error).__name__}")
    try:
        pong = _ask(connection, exchange, key, end, seconds)
    except amqp.NotFound:
        return Pong(NOBODY, f"the message bus has no exchange {exchange}")
    except amqp.AccessRefused as error:
        return Pong(UNASKED, f"the message bus refuses the question: {type(error).__name__}")
    except (OSError, amqp.AMQPError) as error:
        return Pong(UNREACHABLE, f"the message bus was lost: {_describe(error)}")
    finally:
        _close(connection)
    if pong.outcome == SILENT and is_blocked:
        return Pong(UNREACHABLE, "the message bus takes no messages now (an alarm of its memory or disk)")
    return pong


def _connect(transport: Transport, end: float) -> tuple[Any, list[str]]:
    """A connection to the first broker that answers, and where it will say that it takes no messages."""
    import amqp

    problems = []
    for number, broker in enumerate(transport.brokers):
        shares = len(transport.brokers) - number + 1  # one is left to ask in
        share = (end - time.monotonic()) / shares
        try:
            return _open(transport, broker, max(0.1, share))
        except (amqp.AccessRefused, amqp.NotAllowed):
            raise
        except (OSError, amqp.AMQPError) as error:
            problems.append(f"{broker.host}:{broker.port}: {_describe(error)}")
    raise _Unreachable(f"no message bus at {'; '.join(problems)}")


def _close(connection: Any) -> None:  # noqa: ANN401
    """In order, if that is quick: a broker writes a warning for each client that just vanishes."""
    try:
        connection.close()
    except Exception:  # whatever the library or the peer makes of the end, the answer is there
        connection.collect()


def _open(transport: Transport, broker: Broker, seconds: float) -> tuple[Any, list[str]]:
    import amqp

    blocked: list[str] = []

    where = f"[{broker.host}]" if ":" in broker.host else broker.host
    connection = amqp.Connection(
        host=f"{where}:{broker.port}",
        userid=broker.user,
        password=broker.password,
        virtual_host=transport.virtual_host,
        ssl=_tls(transport, broker) if transport.is_tls else False,
        connect_timeout=seconds,
        read_timeout=seconds,
        write_timeout=seconds,
        heartbeat=0,
        on_blocked=blocked.append,
    )
    connection.connect()
    return connection, blocked


def _tls(transport: Transport, broker: Broker) -> dict[str, Any]:
    """As oslo.messaging does: the peer is checked only where a CA is given."""
    given = {"ca_certs": transport.ca, "certfile": transport.certificate, "keyfile": transport.key}
    facts: dict[str, Any] = {name: path for name, path in given.items() if path}
    if not transport.ca:
        return {**facts, "cert_reqs": ssl.CERT_NONE}
    return {**facts, "cert_reqs": ssl.CERT_REQUIRED, "server_hostname": broker.host}


def _ask(connection: Any, exchange: str, key: str, end: float, seconds: float) -> Pong:  # noqa: ANN401
    import amqp

    channel = connection.channel()
    answers: list[str] = []
    returned: list[str] = []
    queue = f"ping_{uuid.uuid4().hex}"
    channel.queue_declare(queue, durable=False, exclusive=True, auto_delete=True)
    channel.basic_consume(queue, no_ack=True, callback=lambda message: answers.append(message.body))
    channel.events["basic_return"].add(lambda *facts: returned.append(str(facts[1])))
    message = amqp.Message(
        _question(queue),
        content_type="application/json",
        content_encoding="utf-8",
        delivery_mode=1,
        expiration=str(max(1, int(1000 * seconds))),
    )
    channel.basic_publish(message, exchange=exchange, routing_key=key, mandatory=True)
    while not answers and not returned:
        left = end - time.monotonic()
        if left <= 0:
            return Pong(SILENT, f"{key} did not answer within {seconds:g} s")
        try:
            connection.drain_events(timeout=left)
        except socket.timeout:
            continue
    return Pong(ANSWERED, "") if answers else Pong(NOBODY, f"nobody listens for {key} on the message bus")


def _question(queue: str) -> str:
    inner = {
        "method": "ping",
        "namespace": "baseapi",
        "version": "1.0",
        "args": {"arg": "ping"},
        "_msg_id": uuid.uuid4().hex,
        "_reply_q": queue,
        "_timeout": None,
        "_unique_id": uuid.uuid4().hex,
    }
    return json.dumps({"oslo.version": "2.0", "oslo.message": json.dumps(inner)})


def _describe(error: Exception) -> str:
    """An error of the network in its own words, one of the broker by its name and reply."""
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return f"{type(error).__name__} {getattr(error, 'reply_text', '')}".strip()
