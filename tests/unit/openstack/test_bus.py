# SPDX-License-Identifier: Apache-2.0
"""The question is asked over real TCP; the lab asks a real nova-compute over a real RabbitMQ."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from ocf_agents.openstack import bus, transport
from ocf_agents.openstack.bus import Pong, ping
from ocf_agents.openstack.transport import Transport
from ocf_agents.testing.compute.certificates import Authority
from ocf_agents.testing.message_bus import MessageBus

SECRET = "s3cr3t-w0rd"


def ask(*ports: int, seconds: float = 5.0, **more: object) -> Pong:
    brokers = tuple(transport.Broker("127.0.0.1", port, "nova", SECRET) for port in ports)
    return ping(Transport(brokers, **more), "nova", "compute", "cmp-7", seconds)  # type: ignore[arg-type]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_a_service_that_answers_is_asked_by_its_exchange_and_host() -> None:
    with MessageBus(password=SECRET) as broker:
        assert ask(broker.port).outcome == bus.ANSWERED
    assert broker.keys == ["nova/compute.cmp-7"]
    (question,) = broker.messages
    assert (question["namespace"], question["method"], question["version"]) == ("baseapi", "ping", "1.0")


@pytest.mark.parametrize(
    ("does", "outcome", "said"),
    [
        ("silent", bus.SILENT, "compute.cmp-7 did not answer within 0.5 s"),
        ("nobody", bus.NOBODY, "nobody listens for compute.cmp-7"),
        ("no exchange", bus.NOBODY, "no exchange nova"),
        ("hangs", bus.UNREACHABLE, "no message bus at 127.0.0.1"),
        ("blocks", bus.UNREACHABLE, "takes no messages"),
        ("breaks", bus.UNREACHABLE, "vhost is down"),
        ("is down", bus.UNREACHABLE, "vhost is down"),
    ],
)
def test_each_other_end_has_its_own_name(does: str, outcome: str, said: str) -> None:
    with MessageBus(does, SECRET) as broker:
        pong = ask(broker.port, seconds=0.5)
    assert pong.outcome == outcome, pong
    assert said in pong.text


def test_a_bus_that_is_down_is_told_apart_from_a_service_that_is() -> None:
    port = free_port()
    pong = ask(port)
    assert pong.outcome == bus.UNREACHABLE
    assert f"127.0.0.1:{port}: Connection refused" in pong.text


def test_the_next_broker_is_asked_where_one_is_down() -> None:
    with MessageBus(password=SECRET) as broker:
        assert ask(free_port(), broker.port).outcome == bus.ANSWERED


def test_the_next_broker_is_asked_where_one_is_broken() -> None:
    with MessageBus("is down", SECRET) as broken, MessageBus(password=SECRET) as broker:
        assert ask(broken.port, broker.port).outcome == bus.ANSWERED


@pytest.mark.parametrize("host", ["a..b", "x" * 70, "\udcff"])
def test_a_broker_that_no_name_server_can_know_is_no_traceback(host: str) -> None:
    where = Transport((transport.Broker(host, 5672, "nova", SECRET),))
    assert ping(where, "nova", "compute", "cmp-7", 2.0).outcome in (bus.UNASKED, bus.UNREACHABLE)
    assert ping(where, "nova", "compute", "h" * 300, 2.0).outcome in (bus.UNASKED, bus.UNREACHABLE)


def test_a_bus_that_refuses_the_user_says_nothing_about_the_service() -> None:
    with MessageBus(password="another") as broker:
        pong = ask(broker.port)
    assert pong.outcome == bus.UNASKED
    assert SECRET not in pong.text


def test_a_bus_that_says_nothing_costs_no_more_than_its_time() -> None:
    with MessageBus("hangs") as broker:
        begin = time.monotonic()
        ask(broker.port, broker.port, seconds=0.5)
        assert time.monotonic() - begin < 0.5 + bus.HEADROOM + 3.0


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "amqp", None)
    pong = ask(9)
    assert pong.outcome == bus.UNASKED
    assert "amqp" in pong.text


def test_tls_checks_the_peer_where_a_ca_is_given(tmp_path: Path) -> None:
    good, other = (
        Authority(folder) for folder in (tmp_path / "good", tmp_path / "other") if not folder.mkdir()
    )
    with MessageBus(password=SECRET, tls=good.server_context()) as broker:
        assert ask(broker.port, is_tls=True).outcome == bus.ANSWERED
        assert ask(broker.port, is_tls=True, ca=str(good.ca_file)).outcome == bus.ANSWERED
        assert ask(broker.port, is_tls=True, ca=str(other.ca_file)).outcome == bus.UNREACHABLE
        assert ask(broker.port, seconds=1.0).outcome == bus.UNREACHABLE
