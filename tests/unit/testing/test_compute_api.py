# SPDX-License-Identifier: Apache-2.0
"""The embedded API misbehaves as ordered, and tells what came. What it does otherwise: tests/contract."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocf_agents.testing.compute.keystone import Endpoint
from ocf_agents.testing.compute_api import ComputeApi, Fault, ServiceRow, faults

TIMED_OUT = (TimeoutError, socket.timeout)  # one and the same from Python 3.10 on


@pytest.fixture
def api() -> Iterator[ComputeApi]:
    with ComputeApi(rpc_timeout=0.5) as api:
        api.add("n1")
        yield api


@pytest.fixture
def row(api: ComputeApi) -> ServiceRow:
    return api.row("n1")


@pytest.fixture
def nova(api: ComputeApi) -> Nova:
    return Nova(api)


class Nova:
    """Raw requests of an administrator."""

    def __init__(self, api: ComputeApi) -> None:
        self.api = api
        account = api.account
        domain = {"id": "default"}
        user = {"name": account.username, "password": account.password, "domain": domain}
        project = {"name": account.project, "domain": domain}
        identity = {"methods": ["password"], "password": {"user": user}}
        body = json.dumps({"auth": {"identity": identity, "scope": {"project": project}}})
        connection = http.client.HTTPConnection("127.0.0.1", api.identity.port, timeout=10)
        connection.request("POST", "/v3/auth/tokens", body)
        self.token = connection.getresponse().getheader("X-Subject-Token") or ""
        connection.close()
        api.forget()

    def send(
        self, method: str, path: str, body: object = None, *, timeout: float = 10.0
    ) -> tuple[int, bytes]:
        """Status and body; the connection is closed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.api.compute.port, timeout=timeout)
        headers = {"X-Auth-Token": self.token, "OpenStack-API-Version": "compute 2.53"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def disable(self, row: ServiceRow, *, timeout: float = 10.0) -> tuple[int, bytes]:
        body = {"status": "disabled", "disabled_reason": "x"}
        return self.send("PUT", f"/v2.1/os-services/{row.id}", body, timeout=timeout)


def test_requests_are_told_with_method_path_status_time_and_body(
    api: ComputeApi, nova: Nova, row: ServiceRow
) -> None:
    nova.disable(row)
    (request,) = api.requests
    assert (request.method, request.path, request.status) == ("PUT", f"/v2.1/os-services/{row.id}", 200)
    assert request.body == {"status": "disabled", "disabled_reason": "x"}
    assert api.wait_for(lambda: request.t1 is not None and request.t1 > request.t0)
    assert (request.applied, api.count("PUT"), api.count("GET"), api.count("PUT", "os-services")) == (
        1,
        1,
        0,
        1,
    )
    assert str(request).startswith(f"PUT /v2.1/os-services/{row.id} -> 200 in 0.")


def test_no_password_is_kept(api: ComputeApi) -> None:
    Nova(api)
    api.forget()
    Nova(api)
    assert all(request.body is None for request in api.requests)


def test_a_late_answer_is_applied_at_once(api: ComputeApi, nova: Nova, row: ServiceRow) -> None:
    api.fail(faults.answer_late(0.5))
    begun = time.monotonic()
    watch = threading.Thread(target=nova.disable, args=(row,))
    watch.start()
    assert api.wait_for(lambda: row.disabled, 0.4)
    watch.join()
    assert time.monotonic() - begun >= 0.5


def test_a_commit_without_an_answer(api: ComputeApi, nova: Nova, row: ServiceRow) -> None:
    api.fail(faults.commit_and_never_answer())
    with pytest.raises(TIMED_OUT):
        nova.disable(row, timeout=0.3)
    assert row.disabled
    assert api.requests[0].status is None


def test_a_commit_after_the_client_has_gone(api: ComputeApi, nova: Nova, row: ServiceRow) -> None:
    api.fail(faults.commit_late(0.5))
    with pytest.raises(TIMED_OUT):
        nova.disable(row, timeout=0.2)
    assert not row.disabled
    assert api.wait_for(lambda: row.disabled)


def test_a_request_that_is_applied_twice(api: ComputeApi, nova: Nova, row: ServiceRow) -> None:
    api.fail(faults.apply_twice(0.3))
    assert nova.disable(row)[0] == 200
    api.services.set_status(row, False, None)
    assert api.wait_for(lambda: row.disabled)
    assert api.wait_for(lambda: api.requests[0].applied == 2)
    assert api.count() == 1


def test_a_silent_peer_applies_nothing(api: ComputeApi, nova: Nova, row: ServiceRow) -> None:
    api.fail(faults.never_apply())
    with pytest.raises(TIMED_OUT):
        nova.disable(row, timeout=0.3)
    assert not row.disabled


@pytest.mark.parametrize(("applied", "fault"), [(False, faults.reset()), (True, faults.reset(applied=True))])
def test_a_reset_is_one(api: ComputeApi, nova: Nova, row: ServiceRow, applied: bool, fault: Fault) -> None:
    api.fail(fault)
    with pytest.raises(ConnectionResetError):
        nova.disable(row)
    assert row.disabled == applied


def test_a_close_is_an_orderly_one(api: ComputeApi, nova: Nova, row: ServiceRow) -> None:
    api.fail(faults.close())
    with pytest.raises(http.client.RemoteDisconnected):
        nova.disable(row)


def test_half_a_body_is_half(api: ComputeApi, nova: Nova, row: ServiceRow) -> None:
    api.fail(faults.half_a_body())
    with pytest.raises(http.client.IncompleteRead):
        nova.disable(row)
    assert row.disabled


def test_a_dripping_body_comes_whole_in_the_end(api: ComputeApi, nova: Nova) -> None:
    api.fail(faults.drip(0.005))
    begun = time.monotonic()
    status, body = nova.send("GET", "/v2.1/os-services")
    assert (status, len(json.loads(body)["services"])) == (200, 1)
    assert time.monotonic() - begun >= 0.005 * len(body)


@pytest.mark.parametrize("code", [401, 403, 404, 408, 409, 500, 502, 503])
def test_a_status_code_applies_nothing_unless_told_to(
    api: ComputeApi, nova: Nova, row: ServiceRow, code: int
) -> None:
    api.fail(faults.status(code))
    assert nova.disable(row)[0] == code
    assert not row.disabled
    api.fail(faults.status(code, applied=True))
    assert nova.disable(row)[0] == code
    assert row.disabled


def test_502_is_a_page_of_a_proxy(api: ComputeApi, nova: Nova) -> None:
    api.fail(faults.status(502))
    assert nova.send("GET", "/v2.1/os-services")[1].startswith(b"<html>")


def test_answers_that_are_no_rows(api: ComputeApi, nova: Nova, row: ServiceRow) -> None:
    for fault in (faults.empty(), faults.not_json(), faults.stub_row(), faults.two_rows()):
        api.fail(fault)
    listings = [nova.send("GET", "/v2.1/os-services")[1] for _ in range(5)]
    assert listings[0] == b""
    assert listings[1].startswith(b"<html>")
    stub, twins, healthy = (json.loads(one)["services"] for one in listings[2:])
    assert stub == [{"binary": "nova-compute", "host": "n1", "status": "UNKNOWN"}]
    assert [one["id"] for one in twins] == [row.id, "ffffffff" + row.id[8:]]
    assert [one["id"] for one in healthy] == [row.id]


@pytest.mark.parametrize("value", [None, [], {"services": None}, "x", 5])
def test_json_that_is_no_row(api: ComputeApi, nova: Nova, value: object) -> None:
    api.fail(faults.wrong_json(value))
    status, body = nova.send("GET", "/v2.1/os-services")
    assert (status, json.loads(body)) == (200, value)


def test_a_huge_answer_is_the_right_one_and_blanks(api: ComputeApi, nova: Nova, row: ServiceRow) -> None:
    api.fail(faults.huge(1 << 20))
    body = nova.send("GET", "/v2.1/os-services")[1]
    assert len(body) > 1 << 20
    assert [one["id"] for one in json.loads(body)["services"]] == [row.id]


def test_a_token_may_end_between_an_answer_and_the_next_request(
    api: ComputeApi, nova: Nova, row: ServiceRow
) -> None:
    api.fail(faults.and_then(api.keystone.expire_tokens), method="GET")
    assert nova.send("GET", "/v2.1/os-services")[0] == 200
    assert nova.disable(row)[0] == 401
    assert not row.disabled


def test_an_endpoint_may_be_of_one_interface_only(api: ComputeApi) -> None:
    api.account.token_mark = "t-"
    api.keystone.endpoints = [
        Endpoint("compute", "nova", "RegionOne", "http://inside/v2.1", "internal"),
        Endpoint("compute", "nova", "RegionTwo", "http://there/v2.1"),
    ]
    assert Nova(api).token.startswith("t-")
    (service,) = api.keystone.catalog()
    shown = [(one["interface"], one["region"]) for one in service["endpoints"]]
    everywhere = [(interface, "RegionTwo") for interface in ("public", "internal", "admin")]
    assert shown == [("internal", "RegionOne"), *everywhere]


def test_a_fault_hits_what_it_names_as_often_as_it_says(api: ComputeApi, nova: Nova, row: ServiceRow) -> None:
    rule = api.fail(faults.status(500), method="PUT", path=row.id, times=2, skip=1)
    assert nova.send("GET", "/v2.1/os-services")[0] == 200
    assert [nova.disable(row)[0] for _ in range(4)] == [200, 500, 500, 200]
    assert len(rule.used) == 2


def test_a_fault_for_one_service_leaves_the_other_alone(api: ComputeApi, nova: Nova) -> None:
    api.fail(faults.status(500), service="identity", times=None)
    assert nova.send("GET", "/v2.1/os-services")[0] == 200
    api.heal()
    assert Nova(api).token


def test_a_dead_server_refuses_and_comes_back_on_its_port(
    api: ComputeApi, nova: Nova, row: ServiceRow
) -> None:
    api.compute.stop()
    with pytest.raises(ConnectionRefusedError):
        nova.disable(row)
    api.compute.start()
    assert nova.disable(row)[0] == 200


def test_a_dead_server_keeps_its_port_until_it_is_closed(api: ComputeApi) -> None:
    place = ("127.0.0.1", api.compute.port)
    api.compute.stop()
    with socket.socket() as stranger, pytest.raises(OSError, match="Address already in use"):
        stranger.bind(place)
    api.close()
    with socket.socket() as stranger:
        stranger.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # its last connections may still be told
        stranger.bind(place)


def test_a_server_that_dies_forgets_what_it_has_not_applied(
    api: ComputeApi, nova: Nova, row: ServiceRow
) -> None:
    api.fail(faults.commit_late(0.5))

    def send() -> None:
        with pytest.raises(http.client.RemoteDisconnected):
            nova.disable(row)

    client = threading.Thread(target=send)
    client.start()
    assert api.wait_for(lambda: api.count() == 1)
    api.compute.stop()
    client.join(5)
    time.sleep(0.7)
    assert not client.is_alive()
    assert not row.disabled


def test_a_black_hole_takes_the_connection_and_nothing_else(
    api: ComputeApi, nova: Nova, row: ServiceRow
) -> None:
    api.compute.mute()
    with pytest.raises(TIMED_OUT):
        nova.disable(row, timeout=0.3)
    assert (api.count(), row.disabled) == (0, False)
    api.compute.start()
    assert nova.disable(row)[0] == 200


def test_a_dead_compute_that_looks_up_delays_the_answer_and_not_the_change(
    api: ComputeApi, nova: Nova, row: ServiceRow
) -> None:
    api.services.rpc_timeout = 2.0
    api.services.stop(row)
    begun = time.monotonic()
    watch = threading.Thread(target=nova.disable, args=(row,))
    watch.start()
    assert api.wait_for(lambda: row.disabled)
    assert watch.is_alive(), "not answered yet"
    watch.join()
    assert time.monotonic() - begun >= 2.0


def test_a_row_follows_its_process(api: ComputeApi) -> None:
    row = api.add("n2", alive=False, up=False)
    running = threading.Event()
    api.follow(row, running.is_set, first_report=0.0, each=0.02)
    assert not api.services.is_up(row)
    running.set()
    assert api.wait_for(lambda: api.services.is_up(row))
    running.clear()
    assert api.wait_for(lambda: not row.alive)
    assert api.services.is_up(row)  # as far as Nova knows


def test_regions_have_rows_of_their_own() -> None:
    with ComputeApi(regions=("One", "Two")) as api:
        one, two = api.add("n1"), api.add("n1", region="Two")
        assert api.rows == [one]
        assert api.regions["Two"].services.rows == [two]
        assert api.regions["One"].url != api.regions["Two"].url


def test_closing_leaves_no_port_and_no_wait_behind() -> None:
    api = ComputeApi()
    api.start()
    ports = (api.identity.port, api.compute.port)
    lingering = socket.create_connection(("127.0.0.1", ports[1]))
    begun = time.monotonic()
    api.close()
    assert time.monotonic() - begun < 1.0
    lingering.settimeout(5)
    with lingering:
        assert is_over(lingering)
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_it_runs_from_the_command_line() -> None:
    command = [sys.executable, "-m", "ocf_agents.testing.compute_api", "--host", "n1"]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root, text=True) as process:
        assert process.stdout is not None
        told = dict(process.stdout.readline().strip().split("=", 1) for _ in range(4))
        port = int(told["auth_url"].split(":")[2].partition("/")[0])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/v3")
        assert connection.getresponse().status == 200
        connection.close()
        assert process.stdout.readline().startswith("GET /v3 -> 200 in ")
        process.terminate()
    assert set(told) == {"auth_url", "username", "password", "project_name"}


def is_over(connection: socket.socket) -> bool:
    """True when the other side has closed or reset it; TimeoutError when it did not."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
