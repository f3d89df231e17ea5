# SPDX-License-Identifier: Apache-2.0
"""What an HTTP answer says."""

from __future__ import annotations

import pytest

from ocf_agents.openstack.failure import HINTS, Failure
from ocf_agents.openstack.reply import LARGEST, Reply, read_reply

DOING = "GET http://n/os-services"


class Response:
    """As much of a response of requests as is read."""

    def __init__(self, pieces: list[bytes], headers: dict[str, str] | None = None) -> None:
        self.pieces, self.headers, self.status_code, self.closed = pieces, headers or {}, 200, False

    def iter_content(self, size: int) -> list[bytes]:
        return self.pieces

    def close(self) -> None:
        self.closed = True


def test_a_body_is_read_and_the_response_closed() -> None:
    response = Response([b'{"a"', b": 1}"], {"Content-Length": "8"})
    assert read_reply(response, DOING).json() == {"a": 1}
    assert response.closed


def test_a_body_that_is_shorter_than_promised_broke_off() -> None:
    reply = read_reply(Response([b'{"a": 1}'], {"Content-Length": "9"}), DOING)
    with pytest.raises(Failure, match="broke off"):
        reply.json()


def test_a_packed_body_may_be_longer_than_the_header_says() -> None:
    headers = {"Content-Length": "500", "Content-Encoding": "gzip"}
    assert read_reply(Response([b"{}"], headers), DOING).json() == {}


def test_a_body_without_end_is_left() -> None:
    piece = b"x" * (1 << 20)
    with pytest.raises(Failure, match="larger than 8 MiB"):
        read_reply(Response([piece] * (LARGEST // len(piece) + 2)), DOING).json()


@pytest.mark.parametrize("body", [b"[]", b"null", b"1", b"{", b"\xff", b"[" * 100000])
def test_a_body_that_is_no_object_is_a_failure(body: bytes) -> None:
    with pytest.raises(Failure, match="no JSON"):
        Reply(DOING, 200, {}, body).json()


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (400, b'{"badRequest": {"code": 400, "message": "no"}}', "answered 400 (no)"),
        (500, b'{"computeFault": {"message": 5}}', "answered 500"),
        (502, b"<html>", "answered 502"),
        (418, b'["x"]', "answered 418"),
    ],
)
def test_an_error_tells_the_apis_own_words(status: int, body: bytes, text: str) -> None:
    assert Reply(DOING, status, {}, body).text() == f"{DOING}: {text}"


@pytest.mark.parametrize(("status", "hint"), HINTS.items())
def test_what_to_do_stands_first(status: int, hint: str) -> None:
    body = b'{"forbidden": {"message": "no"}}'
    assert Reply(DOING, status, {}, body).text() == f"{hint}: {DOING}: answered {status} (no)"
    assert Reply(DOING, status, {}, b"").text() == f"{hint}: {DOING}: answered {status}"
