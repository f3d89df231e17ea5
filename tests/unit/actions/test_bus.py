# SPDX-License-Identifier: Apache-2.0
"""Judging is pure: what a row of answers amounts to."""

from __future__ import annotations

from pathlib import Path

import pytest

from ocf_agents.actions.bus import Limits, Misses, find, judge
from ocf_agents.actions.health import DEGRADED, DOWN, UNKNOWN, UP
from ocf_agents.openstack import bus
from ocf_agents.openstack.bus import Pong
from ocf_agents.openstack.nova_conf import BadConfiguration
from ocf_agents.openstack.transport import BadTransport

LIMITS = Limits(timeout=5.0, misses=3, grace=60.0)
A, S, N, U, X = bus.ANSWERED, bus.SILENT, bus.NOBODY, bus.UNREACHABLE, bus.UNASKED


def judged(outcomes: list[str], apart: float = 10.0) -> list[str]:
    misses, found = Misses(), []
    for number, outcome in enumerate(outcomes):
        misses, health = judge(misses, Pong(outcome, "why"), 1000.0 + apart * number, LIMITS)
        found.append(health.status)
    return found


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([A, A], [UP, UP]),
        ([S, S, S, S], [UNKNOWN, UNKNOWN, DOWN, DOWN]),
        ([S, N, S], [UNKNOWN, UNKNOWN, DOWN]),
        ([S, S, A, S, S, A], [UNKNOWN, UNKNOWN, UP, UNKNOWN, UNKNOWN, UP]),
        ([X] * 9, [UNKNOWN] * 9),
        ([S, S, X, S], [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]),
        ([U, U, U, U, A], [UNKNOWN, UNKNOWN, DEGRADED, DEGRADED, UP]),
        ([U, *[S] * 5], [UNKNOWN] * 6),
        ([U, *[S] * 9], [UNKNOWN] * 8 + [DOWN, DOWN]),
        ([S, S, U, S, S], [UNKNOWN] * 5),
    ],
    ids=[
        "it answers",
        "three misses in a row",
        "whatever kind of miss",
        "every third question is answered",
        "it cannot be asked",
        "what was not asked ends a row of misses",
        "the bus is away and comes back",
        "grace after the bus was away",
        "no answer after the grace",
        "misses before the bus went away do not count",
    ],
)
def test_a_row_of_answers_amounts_to(outcomes: list[str], expected: list[str]) -> None:
    assert judged(outcomes) == expected


def test_a_bus_that_was_away_never_makes_a_service_fail() -> None:
    assert DOWN not in judged([U] * 100)
    assert DOWN not in judged([U, S] * 50), "each outage begins a new grace"


def conf(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "nova.conf").write_text(text)
    return [f"--config-file={tmp_path}/nova.conf", f"--config-dir={tmp_path}"]


def test_the_bus_is_the_one_of_the_services_own_configuration(tmp_path: Path) -> None:
    text = (
        "[DEFAULT]\nmy_ip = 10.0.0.9\ntransport_url = rabbit://n:p@$my_ip:5671/v\ncontrol_exchange = other\n"
        "[oslo_messaging_rabbit]\nssl = true\nssl_ca_file = /ca.pem\n"
    )
    where, exchange = find(conf(tmp_path, text), None)
    (broker,) = where.brokers
    assert (broker.host, broker.port, where.virtual_host, where.is_tls, where.ca) == (
        "10.0.0.9",
        5671,
        "v",
        True,
        "/ca.pem",
    )
    assert exchange == "other"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[DEFAULT]\n", "no transport_url"),
        ("[DEFAULT]\ntransport_url = fake:/\n", "not one of RabbitMQ"),
        ("[DEFAULT]\ntransport_url = rabbit://u:s3cr3t@$nowhere\n", "transport_url in Nova's configuration"),
        ("[DEFAULT]\ntransport_url = rabbit://u:s3cr3t@h:port\n", "port"),
    ],
)
def test_a_bus_that_cannot_be_found_is_told_without_the_password(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises((BadTransport, BadConfiguration)) as caught:
        find(conf(tmp_path, text), None)
    assert said in str(caught.value)
    assert "s3cr3t" not in str(caught.value)
