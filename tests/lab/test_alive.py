# SPDX-License-Identifier: Apache-2.0
"""A nova-compute that is there and does not work, and a healthy one while its message bus is away."""

from __future__ import annotations

import signal
import time

from labkit.control import Control
from labkit.errors import wait_for
from labkit.report import Entry
from labkit.resource import Resource
from labkit.settings import PASSWORD
from words import HOLD, LONG, assert_in_service, assert_stays_in_service, await_answer, deep_codes, recovered

OUTAGE = 120 if LONG else 25
"""Seconds for which the message bus is away."""

UNBIND = """\
import sys, amqp
connection = amqp.Connection(sys.argv[1], userid="lab", password=sys.argv[2])
connection.connect()
connection.channel().queue_unbind(sys.argv[3], exchange="nova", routing_key=sys.argv[3])
connection.close()
"""


def test_stopped_by_a_signal(compute: Resource, story: Entry) -> None:
    """SIGSTOP; Pacemaker recovers it."""
    process = compute.process
    assert process is not None
    mark, begin = compute.journal.mark(), time.monotonic()
    process.signal(signal.SIGSTOP)
    failure, stop, start = recovered(compute, mark, 120)
    assert failure.code == 1
    assert "stopped" in (failure.reason or "")
    assert (stop.code, start.code) == (0, 0)
    story.notes.append(f"noticed at level 0, running again after {time.monotonic() - begin:.0f} s")
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)


def test_its_queue_is_unbound(watched: Resource, control: Control, story: Entry) -> None:
    """It runs, reports, and no message reaches it; Pacemaker recovers it."""
    where = f"{control.node.address}:5672"
    mark, begin = watched.journal.mark(), time.monotonic()
    control.node.run(control.venv.bin("python"), "-c", UNBIND, where, PASSWORD, f"compute.{watched.host}")
    failure, stop, start = recovered(watched, mark, 120)
    assert failure.code == 1
    assert "message bus" in (failure.reason or ""), failure.reason
    assert (stop.code, start.code) == (0, 0)
    story.notes.append(f"noticed at level 10, running again after {time.monotonic() - begin:.0f} s")
    await_answer(watched, control, 60)
    assert_in_service(watched)
    assert_stays_in_service(watched, HOLD)


def test_the_message_bus_is_away(watched: Resource, control: Control, story: Entry) -> None:
    """RabbitMQ ends and comes back; nothing is restarted for it."""
    control.rabbit.stop()
    try:
        time.sleep(OUTAGE)
        assert watched.process is not None
        assert 190 in deep_codes(watched), "degraded, and Pacemaker shows it"
    finally:
        control.rabbit.start()
    await_answer(watched, control, 120)
    assert [action.name for action in watched.actions if action.name != "monitor"] == []
    story.notes.append(f"away for {OUTAGE} s: degraded, no restart")
    wait_for("the row to be up", lambda: watched.row.is_up, 90)
    assert_in_service(watched)
