# SPDX-License-Identifier: Apache-2.0
"""Rows through the real openstacksdk: one call is one request, bounded, and every answer means something."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

import pytest

from ocf_agents.guard.row import APPLIED, REFUSED, UNKNOWN, Unreadable
from ocf_agents.openstack.cloud import CloudSettings
from ocf_agents.openstack.rows import GRACE, ComputeRows
from ocf_agents.testing.compute_api import ComputeApi, Fault, ServiceRow, faults
from tests.unit.openstack.conftest import HOST, MakeRows

SLACK = 3.0  # for a busy machine; the faults last for minutes


@contextmanager
def takes_at_most(seconds: float) -> Iterator[None]:
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds


def unreadable(rows: ComputeRows) -> Unreadable:
    """The refusal of a read: one line, bounded."""
    with pytest.raises(Unreadable) as caught:
        rows.read()
    assert "\n" not in caught.value.text
    assert 10 < len(caught.value.text) < 420
    return caught.value


# Requests


def test_a_read_from_nothing_takes_four_requests_and_the_next_one(api: ComputeApi, rows: ComputeRows) -> None:
    assert rows.read() is not None
    assert [(one.method, one.service) for one in api.requests] == [
        ("GET", "identity"),
        ("POST", "identity"),
        ("GET", "compute"),
        ("GET", "compute"),
    ]
    rows.read()
    assert api.count() == 5


def test_a_read_names_binary_and_host_and_a_microversion(api: ComputeApi, rows: ComputeRows) -> None:
    rows.read()
    request = api.requests[-1]
    assert request.query == {"binary": "nova-compute", "host": HOST}
    assert request.headers["openstack-api-version"] == "compute 2.69"


def test_all_rows_are_one_request_and_those_of_other_services_are_left_out(
    api: ComputeApi, rows: ComputeRows, row: ServiceRow
) -> None:
    api.add("node2", disabled=True, up=False, alive=False)
    api.add("Node1")
    api.add("node3", "nova-conductor")
    api.add("node4")
    api.nova.down_cells.add("node4")
    rows.read()
    api.forget()
    census = rows.read_all()
    assert [(one.method, one.query) for one in api.requests] == [("GET", {"binary": "nova-compute"})]
    assert census.own == rows.read()
    assert sorted(census.others) == ["Node1", "node2", "node4"]
    assert census.others["node4"] is None, "its cell does not answer"
    two = census.others["node2"]
    assert two is not None
    assert (two.disabled, two.up) == (True, False)
    api.services.remove(row)
    assert rows.read_all().own is None


def test_all_rows_are_as_unreadable_as_one(api: ComputeApi, rows: ComputeRows) -> None:
    api.add(HOST)
    with pytest.raises(Unreadable, match="delete the wrong one"):
        rows.read_all()
    api.fail(faults.status(403), service="compute", path="os-services")
    with pytest.raises(Unreadable, match="role admin") as caught:
        rows.read_all()
    assert caught.value.permanent


def test_an_older_nova_is_asked_with_2_53() -> None:
    with ComputeApi(maximum=(2, 60)) as api:
        api.add(HOST)
        rows = ComputeRows(settings_of(api), HOST)
        assert rows.read() is not None
        assert api.requests[-1].headers["openstack-api-version"] == "compute 2.53"


def test_a_nova_before_2_53_is_refused_for_good() -> None:
    with ComputeApi(maximum=(2, 52)) as api:
        api.add(HOST)
        problem = unreadable(ComputeRows(settings_of(api), HOST))
        assert problem.permanent
        assert "2.53" in problem.text


def test_a_write_is_one_request(api: ComputeApi, rows: ComputeRows, row: ServiceRow) -> None:
    rows.read()
    api.forget()
    assert rows.disable(row.id, "maintenance").outcome == APPLIED
    assert rows.enable(row.id).outcome == APPLIED
    assert [one.body for one in api.requests] == [
        {"status": "disabled", "disabled_reason": "maintenance"},
        {"status": "enabled"},
    ]


@pytest.mark.parametrize(
    "fault",
    [
        faults.commit_and_never_answer(),
        faults.never_apply(),
        faults.reset(),
        faults.reset(applied=True),
        faults.close(applied=True),
        faults.half_a_body(),
        faults.status(500),
        faults.status(502),
        faults.status(503, retry_after="0"),
        faults.status(504),
        faults.status(401),
        faults.status(408),
        faults.status(409),
        faults.status(429),
        faults.redirect("http://127.0.0.1:1/"),
        faults.redirect("http://127.0.0.1:1/", 307),
    ],
)
def test_a_write_is_never_sent_twice_whatever_comes_back(
    api: ComputeApi, make_rows: MakeRows, row: ServiceRow, fault: Fault
) -> None:
    rows = impatient(make_rows())
    api.fail(fault, method="PUT", times=None)
    rows.disable(row.id, "maintenance")
    time.sleep(0.2)
    assert api.count("PUT") == 1


def test_a_write_without_a_read_before_it_finds_its_way(
    api: ComputeApi, rows: ComputeRows, row: ServiceRow
) -> None:
    assert rows.disable(row.id, "maintenance").outcome == APPLIED
    assert (row.disabled, row.reason) == (True, "maintenance")
    assert api.count("PUT") == 1


@pytest.mark.parametrize("timeout", [99999999999.0, 1e300, float("inf")])
def test_no_timeout_is_too_long_for_a_call(api: ComputeApi, row: ServiceRow, timeout: float) -> None:
    rows = ComputeRows(settings_of(api), HOST, timeout=timeout)
    assert rows.timeout == 60.0
    assert rows.read() is not None
    assert rows.disable(row.id, "maintenance").outcome == APPLIED


# Rows


def test_a_row_is_read_whole(rows: ComputeRows, api: ComputeApi, row: ServiceRow) -> None:
    api.services.set_status(row, True, "RAM swap")
    read = rows.read()
    assert read is not None
    assert (read.id, read.disabled, read.reason, read.up, read.forced_down) == (
        row.id,
        True,
        "RAM swap",
        True,
        False,
    )
    assert read.beat


def test_no_such_service_is_none(make_rows: MakeRows) -> None:
    assert make_rows(host="Node1").read() is None
    assert make_rows(host="node").read() is None


def test_only_the_exact_row_counts_when_the_filter_was_ignored(api: ComputeApi, rows: ComputeRows) -> None:
    others = [{"binary": "nova-compute", "host": f"{HOST}.a.net"}, {"binary": "nova-conductor", "host": HOST}]
    api.fail(faults.listing(others))  # case 49
    api.fail(faults.listing(others), path="os-services")
    rows.read()
    api.fail(faults.listing(others), path="os-services")
    assert rows.read() is None


@pytest.mark.parametrize("reason", [None, "", "AUTO: Connection to libvirt lost: 1"])
def test_a_reason_is_taken_as_it_is(
    api: ComputeApi, rows: ComputeRows, row: ServiceRow, reason: str | None
) -> None:
    api.services.set_status(row, True, reason)  # case 7
    read = rows.read()
    assert read is not None
    assert read.reason == reason


def test_a_missing_reason_is_none(api: ComputeApi, rows: ComputeRows) -> None:
    record = {"binary": "nova-compute", "host": HOST, "id": "1f", "status": "disabled", "state": "down"}
    api.fail(faults.listing([record]), path="os-services")  # case 7
    read = rows.read()
    assert read is not None
    assert (read.disabled, read.reason, read.up, read.forced_down, read.beat) == (
        True,
        None,
        False,
        False,
        "",
    )


def test_forced_down_is_read(api: ComputeApi, rows: ComputeRows, row: ServiceRow) -> None:
    api.services.set_forced_down(row, True)
    read = rows.read()
    assert read is not None
    assert (read.forced_down, read.up) == (True, False)


def test_a_row_of_a_cell_that_is_down_is_unreadable_not_absent(api: ComputeApi, rows: ComputeRows) -> None:
    api.nova.down_cells.add(HOST)  # case 53
    problem = unreadable(rows)
    assert "UNKNOWN" in problem.text
    assert not problem.permanent


def test_a_stub_row_is_unreadable(api: ComputeApi, rows: ComputeRows) -> None:
    api.fail(faults.stub_row(), path="os-services")
    assert not unreadable(rows).permanent


def test_two_rows_are_unreadable_and_named(api: ComputeApi, rows: ComputeRows, row: ServiceRow) -> None:
    api.fail(faults.two_rows(), path="os-services")  # case 55
    text = unreadable(rows).text
    assert text.startswith("delete the wrong one of Nova's 2 rows of nova-compute on node1 (")
    assert row.id in text


@pytest.mark.parametrize(
    "record",
    [
        {"status": "enabled"},
        {"id": 7, "status": "enabled"},
        {"id": "", "status": "enabled"},
        {"id": "1f"},
        {"id": "1f", "status": None},
        {"id": "1f", "status": "Enabled"},
    ],
)
def test_a_record_that_does_not_say_enough_is_unreadable(
    api: ComputeApi, rows: ComputeRows, record: dict[str, object]
) -> None:
    api.fail(faults.listing([{"binary": "nova-compute", "host": HOST, **record}]), path="os-services")
    unreadable(rows)


@pytest.mark.parametrize("body", [{}, {"services": None}, {"services": ["x"]}, {"services": {}}, []])
def test_a_listing_of_another_shape_is_unreadable(api: ComputeApi, rows: ComputeRows, body: object) -> None:
    api.fail(faults.status(200, body=body), path="os-services")
    unreadable(rows)


# What a failed read says


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (faults.status(500), "answered 500 (Fault 500.)"),
        (faults.status(502), "answered 502"),
        (faults.status(404), "answered 404"),
        (faults.status(409), "answered 409"),
        (faults.not_json(), "the body is no JSON"),
        (faults.empty(), "the body is empty"),
        (faults.half_a_body(), "broke off"),
        (faults.reset(), "the connection broke"),
        (faults.close(), "the connection broke"),
        (faults.redirect("https://elsewhere.example/"), "sent to https://elsewhere.example/"),
    ],
)
def test_a_read_that_failed_says_url_and_reason_and_heals(
    api: ComputeApi, rows: ComputeRows, fault: Fault, said: str
) -> None:
    api.fail(fault, path="os-services")
    problem = unreadable(rows)
    assert f"GET {api.compute.origin}/v2.1/os-services" in problem.text
    assert said in problem.text
    assert not problem.permanent
    assert rows.read() is not None


def test_forbidden_is_permanent_and_says_what_to_grant(api: ComputeApi, rows: ComputeRows) -> None:
    api.account.roles.remove("admin")
    problem = unreadable(rows)
    assert problem.permanent
    assert problem.text.startswith(f"the cloud user needs the role admin: GET {api.compute.origin}")
    assert "answered 403" in problem.text


def test_a_wrong_password_is_permanent_and_read_again_once_mended(api: ComputeApi, rows: ComputeRows) -> None:
    api.account.password, right = "rotated", api.account.password
    problem = unreadable(rows)
    assert problem.permanent
    assert problem.text == f"check the credentials: logging in at {api.auth_url}: answered 401"
    api.account.password = right
    assert rows.read() is not None


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_keystone_sends_nobody_elsewhere(api: ComputeApi, rows: ComputeRows, code: int) -> None:
    with ComputeApi() as elsewhere:
        there = f"{elsewhere.auth_url}/auth/tokens"
        api.fail(faults.redirect(there, code), service="identity", times=None)
        text = unreadable(rows).text
        assert text == f"logging in at {api.auth_url}: answered {code}, sent to {there}"
        assert elsewhere.count() == 0
    api.heal()
    assert rows.read() is not None


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_novas_versions_send_nobody_elsewhere(api: ComputeApi, rows: ComputeRows, code: int) -> None:
    with ComputeApi() as elsewhere:
        elsewhere.keystone.check = lambda request: None  # type: ignore[method-assign]
        elsewhere.add(HOST)
        api.fail(faults.redirect(f"{elsewhere.compute.origin}/v2.1", code), path="/v2.1$", times=None)
        assert rows.read() is not None
        assert elsewhere.count() == 0


@pytest.mark.parametrize("fault", [faults.wrong_json([]), faults.not_json(), faults.empty()])
def test_keystone_that_answers_no_token_is_said(api: ComputeApi, rows: ComputeRows, fault: Fault) -> None:
    api.fail(fault, service="identity", times=None)
    text = unreadable(rows).text
    assert text.startswith(f"logging in at {api.auth_url}: ")
    assert "no token" in text or "makes no sense" in text


def test_a_missing_path_of_keystone_names_the_url(api: ComputeApi, make_rows: MakeRows) -> None:
    rows = make_rows(auth_url=f"{api.identity.origin}/v2.0")  # case 43
    assert f"{api.identity.origin}/v2.0" in unreadable(rows).text


@pytest.mark.parametrize("value", ["7", " 7 "])
def test_retry_after_comes_along(api: ComputeApi, rows: ComputeRows, row: ServiceRow, value: str) -> None:
    api.fail(faults.status(503, retry_after=value), path="os-services", times=2)
    assert unreadable(rows).retry_after == 7.0
    assert rows.enable(row.id).retry_after == 7.0


def test_retry_after_of_keystone_comes_along(api: ComputeApi, rows: ComputeRows) -> None:
    api.fail(faults.status(503, retry_after="3"), method="POST", path="tokens")
    problem = unreadable(rows)
    assert (problem.retry_after, problem.permanent) == (3.0, False)


def test_a_nova_that_does_not_tell_its_version_is_asked_all_the_same(
    api: ComputeApi, rows: ComputeRows
) -> None:
    api.fail(faults.status(503), path="/v2.1/?$", times=2)
    assert rows.read() is not None
    assert api.requests[-1].headers["openstack-api-version"] == "compute 2.53"


# What a write's answer means


@pytest.mark.parametrize(
    ("fault", "outcome", "committed"),
    [
        (faults.answer_late(0.2), APPLIED, True),
        (faults.apply_twice(), APPLIED, True),
        (faults.commit_and_never_answer(), UNKNOWN, True),
        (faults.never_apply(), UNKNOWN, False),
        (faults.reset(), UNKNOWN, False),
        (faults.reset(applied=True), UNKNOWN, True),
        (faults.close(), UNKNOWN, False),
        (faults.half_a_body(), UNKNOWN, True),
        (faults.not_json(applied=True), UNKNOWN, True),
        (faults.empty(applied=False), UNKNOWN, False),
        (faults.empty(applied=False, code=204), UNKNOWN, False),
        (faults.status(200, body={"service": {"status": "enabled"}}), UNKNOWN, False),
        (faults.status(200, body={"services": []}), UNKNOWN, False),
        (faults.redirect("http://127.0.0.1:1/"), UNKNOWN, False),
        (faults.status(408), UNKNOWN, False),
        (faults.status(500), UNKNOWN, False),
        (faults.status(502, applied=True), UNKNOWN, True),
        (faults.status(503), UNKNOWN, False),
        (faults.status(400), REFUSED, False),
        (faults.status(401), REFUSED, False),
        (faults.status(403), REFUSED, False),
        (faults.status(404), REFUSED, False),
        (faults.status(409), REFUSED, False),
        (faults.status(429), REFUSED, False),
    ],
)
def test_what_an_answer_means(
    api: ComputeApi, make_rows: MakeRows, row: ServiceRow, fault: Fault, outcome: str, committed: bool
) -> None:
    rows = impatient(make_rows())
    api.fail(fault, method="PUT")
    with takes_at_most(1.0 + GRACE + SLACK):
        answer = rows.disable(row.id, "maintenance")
    assert answer.outcome == outcome, answer
    assert api.wait_for(lambda: row.disabled == committed, 1.0)
    assert row.id in answer.text
    assert not rows.busy()


def test_a_client_that_has_gone_does_not_stop_a_late_commit(
    api: ComputeApi, make_rows: MakeRows, row: ServiceRow
) -> None:
    rows = impatient(make_rows())
    api.fail(faults.commit_late(1.5), method="PUT")
    assert rows.disable(row.id, "late").outcome == UNKNOWN
    assert not row.disabled
    assert not rows.busy()
    assert api.wait_for(lambda: row.disabled)


def test_a_nova_that_waits_for_a_dead_compute_has_saved_first(
    api: ComputeApi, make_rows: MakeRows, row: ServiceRow
) -> None:
    rows = impatient(make_rows())
    api.services.stop(row)  # killed, and still believed up
    assert rows.disable(row.id, "maintenance").outcome == UNKNOWN
    assert (row.disabled, row.reason) == (True, "maintenance")


def test_403_is_permanent_for_a_write_and_401_is_not(
    api: ComputeApi, rows: ComputeRows, row: ServiceRow
) -> None:
    rows.read()
    api.fail(faults.status(403), method="PUT")
    assert rows.enable(row.id).permanent
    api.fail(faults.status(401), method="PUT")
    assert not rows.enable(row.id).permanent


def test_a_token_that_ends_between_read_and_write_is_renewed_by_the_next_read(
    api: ComputeApi, rows: ComputeRows, row: ServiceRow
) -> None:
    rows.read()
    api.keystone.expire_tokens()
    answer = rows.disable(row.id, "maintenance")
    assert (answer.outcome, answer.permanent, row.disabled) == (REFUSED, False, False)
    assert rows.read() is not None
    assert rows.disable(row.id, "maintenance").outcome == APPLIED
    assert api.count("PUT") == 2


def test_a_read_with_a_token_that_has_ended_gets_a_new_one(api: ComputeApi, rows: ComputeRows) -> None:
    rows.read()
    api.keystone.expire_tokens()
    assert rows.read() is not None


def test_401_after_a_rotation_is_permanent(api: ComputeApi, rows: ComputeRows) -> None:
    rows.read()
    api.account.password = "rotated"
    api.keystone.expire_tokens()
    assert unreadable(rows).permanent


# Dead, deaf and dripping


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How often and how long the thread of a call has slept: a clock would measure the machine's load."""
    slept: list[float] = []
    sleep = time.sleep

    def note(seconds: float) -> None:
        if threading.current_thread().name == "task":
            slept.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", note)
    return slept


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The port of each connection that a call has tried."""
    ports: list[object] = []
    resolve = socket.getaddrinfo

    def note(host: object, port: object, *rest: object, **named: object) -> object:
        if threading.current_thread().name == "task":
            ports.append(port)
        return resolve(host, port, *rest, **named)  # type: ignore[arg-type,call-overload]

    monkeypatch.setattr(socket, "getaddrinfo", note)
    return ports


def test_a_dead_nova_refuses_at_once(
    api: ComputeApi, rows: ComputeRows, row: ServiceRow, waits: list[float], looked_up: list[object]
) -> None:
    rows.read()
    api.compute.stop()
    looked_up.clear()
    with takes_at_most(2 * SLACK):
        assert "Connection refused" in unreadable(rows).text
    with takes_at_most(2 * SLACK):
        answer = rows.enable(row.id)
    assert (answer.outcome, answer.permanent) == (REFUSED, False)
    assert "Connection refused" in answer.text
    assert (waits, looked_up) == ([], [api.compute.port] * 2)  # each was tried once, and not after a while
    api.compute.start()
    assert rows.read() is not None


def test_a_dead_keystone_refuses_at_once_and_the_write_is_never_sent(
    api: ComputeApi, rows: ComputeRows, row: ServiceRow, waits: list[float]
) -> None:
    api.identity.stop()
    with takes_at_most(2 * SLACK):
        assert f"logging in at {api.auth_url}: no connection" in unreadable(rows).text
    with takes_at_most(2 * SLACK):
        assert rows.enable(row.id).outcome == REFUSED
    assert waits == []
    assert api.count("PUT") == 0


def test_a_black_hole_is_left_in_time(api: ComputeApi, make_rows: MakeRows, row: ServiceRow) -> None:
    rows = impatient(make_rows())
    api.compute.mute()
    with takes_at_most(2 * (1.0 + GRACE + SLACK)):
        assert "no answer in time" in unreadable(rows).text
        assert rows.enable(row.id).outcome == UNKNOWN
    assert not rows.busy()


def test_a_black_hole_instead_of_keystone_is_left_in_time(
    api: ComputeApi, make_rows: MakeRows, row: ServiceRow
) -> None:
    rows = make_rows(timeout=1.0)
    api.identity.mute()
    with takes_at_most(2 * (1.0 + GRACE + SLACK)):
        assert api.auth_url in unreadable(rows).text
        assert rows.enable(row.id).outcome == REFUSED
    assert not rows.busy()
    api.identity.start()
    assert rows.read() is not None


def test_a_body_that_drips_is_cut(api: ComputeApi, make_rows: MakeRows, row: ServiceRow) -> None:
    rows = impatient(make_rows())
    api.fail(faults.drip(0.5), method="PUT")
    with takes_at_most(1.0 + GRACE + SLACK):
        assert rows.disable(row.id, "maintenance").outcome == UNKNOWN
    time.sleep(0.1)
    assert not rows.busy()


def test_a_head_that_drips_keeps_the_rows_busy_until_it_ends(
    api: ComputeApi, make_rows: MakeRows, row: ServiceRow
) -> None:
    rows = impatient(make_rows())
    api.fail(faults.drip(0.5, head=True), method="PUT")
    with takes_at_most(1.0 + GRACE + SLACK):
        assert rows.disable(row.id, "maintenance").outcome == UNKNOWN
    assert rows.busy()
    api.compute.stop()
    assert wait_until(lambda: not rows.busy())


def test_a_read_that_drips_ends_in_time_and_leaves_nobody_busy(api: ComputeApi, make_rows: MakeRows) -> None:
    rows = make_rows(timeout=1.0)
    api.fail(faults.drip(0.5, head=True), path="os-services")
    with takes_at_most(1.0 + GRACE + SLACK):
        assert "no answer" in unreadable(rows).text
    assert not rows.busy()
    assert rows.read() is not None


def test_a_name_server_that_does_not_answer_is_left_in_time_and_nothing_is_sent_later(
    api: ComputeApi, make_rows: MakeRows, row: ServiceRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    resolve = socket.getaddrinfo

    def hang(host: object, *rest: object, **named: object) -> object:
        if threading.current_thread().name == "task":
            release.wait(20)
        return resolve(host, *rest, **named)  # type: ignore[arg-type]

    rows = make_rows(timeout=1.0)
    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with takes_at_most(1.0 + GRACE + SLACK):
        answer = rows.disable(row.id, "maintenance")
    assert answer.outcome == REFUSED  # it had not been sent, and the gate is closed
    assert not rows.busy()
    release.set()
    assert api.wait_for(lambda: api.count("POST") == 1)
    time.sleep(0.5)
    assert api.count("PUT") == 0


def test_a_write_that_hangs_in_the_name_server_keeps_the_rows_busy(
    api: ComputeApi, make_rows: MakeRows, row: ServiceRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    resolve = socket.getaddrinfo

    def hang(host: object, *rest: object, **named: object) -> object:
        if threading.current_thread().name == "task":
            release.wait(20)
        return resolve(host, *rest, **named)  # type: ignore[arg-type]

    rows = impatient(make_rows())
    monkeypatch.setattr(socket, "getaddrinfo", hang)
    answer = rows.disable(row.id, "maintenance")
    assert answer.outcome == UNKNOWN  # it passed the gate, and goes out now:
    assert rows.busy()
    release.set()
    assert api.wait_for(lambda: row.disabled)
    assert wait_until(lambda: not rows.busy())


# No secret, no noise


def test_a_peer_that_sends_everything_back_does_not_reveal_the_password(
    api: ComputeApi, make_rows: MakeRows
) -> None:
    api.account.password = "canary-$%#'\"{x}"
    rows = make_rows(password=api.account.password)
    echo = {"error": {"message": f"you said {api.account.password} to http://user:canary-url@host/"}}
    api.fail(faults.status(400, body=echo), path="os-services")
    text = unreadable(rows).text
    assert "answered 400" in text
    assert "canary" not in text


def test_no_line_reaches_stderr(
    api: ComputeApi, make_rows: MakeRows, row: ServiceRow, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = make_rows(timeout=1.0)
    api.fail(faults.status(503), service="compute", times=3)
    unreadable(rows)
    api.identity.stop()
    unreadable(make_rows())
    rows.enable(row.id)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


SCRIPT = """
import sys
from ocf_agents.openstack.cloud import CloudSettings
from ocf_agents.openstack.rows import ComputeRows
auth_url, username, password, project_name = sys.argv[1:]
settings = CloudSettings(auth_url=auth_url, username=username, password=password, project_name=project_name)
print(ComputeRows(settings, "node1", timeout=60).read().id)
"""


def test_warnings_of_the_libraries_do_no_harm_even_as_errors(api: ComputeApi, row: ServiceRow) -> None:
    command = [sys.executable, "-W", "error", "-c", SCRIPT, *api.credentials().values()]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    shown = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (shown.stdout, shown.stderr) == (f"{row.id}\n", "")


def impatient(rows: ComputeRows) -> ComputeRows:
    """Rows that know their way and wait for a second from now on."""
    rows.read()
    rows.timeout = 1.0
    return rows


def settings_of(api: ComputeApi) -> CloudSettings:
    given: dict[str, Any] = api.credentials()
    return CloudSettings(**given)


def wait_until(condition: Callable[[], bool], seconds: float = 3.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False
