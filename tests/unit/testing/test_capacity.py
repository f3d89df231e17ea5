# SPDX-License-Identifier: Apache-2.0
"""An API with a capacity serves so many at a time, lets some wait, and refuses the rest."""

from __future__ import annotations

import http.client
import time
from concurrent.futures import ThreadPoolExecutor

from ocf_agents.testing.compute_api import Capacity, ComputeApi, faults

SMALL = Capacity(workers=2, seconds=0.2, queue=1, retry_after=7.0)


def ask(api: ComputeApi) -> tuple[int, str | None]:
    connection = http.client.HTTPConnection("127.0.0.1", api.compute.port, timeout=10)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.getheader("Retry-After")
    finally:
        connection.close()


def ask_at_once(api: ComputeApi, count: int) -> list[tuple[int, str | None]]:
    with ThreadPoolExecutor(count) as pool:
        return sorted(pool.map(lambda _: ask(api), range(count)), key=str)


def test_who_finds_no_place_is_told_when_to_come_back() -> None:
    with ComputeApi(capacity=SMALL) as api:
        api.fail(faults.answer_late(1.0), times=None)
        assert ask_at_once(api, 8) == [(200, None)] * 3 + [(503, "7")] * 5


def test_a_place_that_is_left_is_given_to_the_next() -> None:
    with ComputeApi(capacity=SMALL) as api:
        for _ in range(4):
            assert ask_at_once(api, 3) == [(200, None)] * 3


def test_a_request_that_waits_takes_the_time_of_two() -> None:
    with ComputeApi(capacity=SMALL) as api:
        began = time.monotonic()
        ask_at_once(api, 3)
        assert time.monotonic() - began >= 0.4


def test_a_refusal_need_not_say_when_to_come_back() -> None:
    with ComputeApi(capacity=Capacity(workers=1, seconds=0.0, queue=0, retry_after=None)) as api:
        api.fail(faults.answer_late(1.0), times=None)
        assert ask_at_once(api, 3) == [(200, None), (503, None), (503, None)]


def test_without_a_capacity_all_are_served() -> None:
    with ComputeApi() as api:
        assert ask_at_once(api, 20) == [(200, None)] * 20


def test_a_capacity_tells_its_rate() -> None:
    assert Capacity(workers=4, seconds=0.2).rate == 20.0
