# SPDX-License-Identifier: Apache-2.0
"""A call that nobody waits for longer than he wants to."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from ocf_agents.openstack.errand import Errand, Overrun


def test_the_result_comes_back() -> None:
    assert Errand(lambda errand: 42).run(5.0) == 42


@pytest.mark.parametrize("seconds", [99999999999.0, float("inf")])
def test_a_time_beyond_what_the_system_counts_is_waited_for_too(seconds: float) -> None:
    assert Errand(lambda errand: 42).run(seconds) == 42


def test_an_error_comes_back() -> None:
    def fail(errand: Errand[None]) -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        Errand(fail).run(5.0)


def test_an_overrun_before_the_gate_says_so_and_closes_it() -> None:
    release, passed, ended = threading.Event(), threading.Event(), threading.Event()

    def work(errand: Errand[None]) -> None:
        errand.doing = "resolving"
        release.wait(10)
        try:
            errand.gate()
            passed.set()
        finally:
            ended.set()

    errand = Errand(work)
    begun = time.monotonic()
    with pytest.raises(Overrun) as caught:
        errand.run(0.1)
    assert time.monotonic() - begun < 2.0
    assert (caught.value.sent, caught.value.doing, errand.may_still_send) == (False, "resolving", False)
    release.set()
    assert ended.wait(5)
    assert not passed.is_set()


def test_an_overrun_behind_the_gate_may_still_send_until_the_thread_ends() -> None:
    release = threading.Event()

    def work(errand: Errand[None]) -> None:
        errand.gate()
        release.wait(10)

    errand = Errand(work)
    with pytest.raises(Overrun) as caught:
        errand.run(0.1)
    assert caught.value.sent
    assert errand.may_still_send
    release.set()
    errand._task._thread.join(5)  # type: ignore[union-attr]
    assert not errand.may_still_send


def test_the_line_is_cut_when_the_caller_leaves() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(10)
        read: list[bytes] = []

        def work(errand: Errand[None]) -> None:
            errand.gate()
            errand.answered_on(ours)
            read.append(ours.recv(1))

        errand = Errand(work)
        with pytest.raises(Overrun):
            errand.run(0.1)
        errand._task._thread.join(5)  # type: ignore[union-attr]
        assert read == [b""]
        assert not errand.may_still_send


def test_a_line_that_is_closed_already_does_no_harm() -> None:
    closed = socket.socket()
    closed.close()
    assert Errand(lambda errand: errand.answered_on(closed)).run(5.0) is None
