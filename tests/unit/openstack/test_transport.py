# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ocf_agents.openstack.transport import BadTransport, Broker, Transport, parse


@pytest.mark.parametrize(
    ("url", "brokers"),
    [
        ("rabbit://u:p@h:1234/", [Broker("h", 1234, "u", "p")]),
        ("rabbit://u:p@h", [Broker("h", 5672, "u", "p")]),
        ("rabbit://h", [Broker("h")]),
        ("rabbit://", [Broker("localhost")]),
        ("rabbit://u:p@[fd00::1]:5671/v", [Broker("fd00::1", 5671, "u", "p")]),
        ("rabbit://u:p@[fd00::1]", [Broker("fd00::1", 5672, "u", "p")]),
        ("rabbit://u:p%40%2F%3A@h:1", [Broker("h", 1, "u", "p@/:")]),
        ("rabbit://a:b@h1:1,c:d@h2:2/v", [Broker("h1", 1, "a", "b"), Broker("h2", 2, "c", "d")]),
        ("kombu://u:p@h:1", [Broker("h", 1, "u", "p")]),
    ],
)
def test_the_brokers_of_a_url(url: str, brokers: list[Broker]) -> None:
    assert list(parse(url).brokers) == brokers


@pytest.mark.parametrize(
    ("url", "virtual_host"),
    [
        ("rabbit://h", "/"),
        ("rabbit://h/", "/"),
        ("rabbit://h/nova", "nova"),
        ("rabbit://h/%2Fnova?x=1", "/nova"),
    ],
)
def test_the_virtual_host_of_a_url(url: str, virtual_host: str) -> None:
    assert parse(url).virtual_host == virtual_host


def test_tls_is_told_by_the_section_and_overruled_by_the_query() -> None:
    section = {"ssl": "True", "ssl_ca_file": "/ca.pem"}
    assert parse("rabbit://h", section) == Transport((Broker("h"),), "/", True, "/ca.pem")
    assert not parse("rabbit://h?ssl=0", section).is_tls
    assert parse("rabbit://h/?ssl=1&ssl_cert_file=/c&ssl_key_file=/k").certificate == "/c"
    assert not parse("rabbit://h").is_tls


@pytest.mark.parametrize(
    "url", ["", "amqp://h", "kafka://h", "h:5672", "rabbit://h:x", "rabbit://[::1", "rabbit://h:0"]
)
def test_what_is_no_rabbit_is_refused(url: str) -> None:
    with pytest.raises(BadTransport):
        parse(url)


def test_no_text_holds_a_password() -> None:
    transport = parse("rabbit://u:s3cr3t@h:1")
    assert "s3cr3t" not in repr(transport)
    with pytest.raises(BadTransport) as caught:
        parse("u:s3cr3t@h://")
    assert "s3cr3t" not in str(caught.value)
