# SPDX-License-Identifier: Apache-2.0
"""A secret is found however it is spelt."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote_plus, urlencode

import pytest

from ocf_agents.testing.conformance.spelling import spellings

SECRET = 'a \u00e4 + /canary?>~"4711'


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        quote_plus(SECRET),
        urlencode({"password": SECRET}),
        json.dumps({"password": SECRET}),
        SECRET.encode().hex(),
        f"0x{SECRET.encode().hex().upper()}00",
        *(
            base64.b64encode(f"{'u' * n}{SECRET}{'v' * m}".encode()).decode()
            for n in range(4)
            for m in range(4)
        ),
        base64.urlsafe_b64encode(f"u{SECRET}".encode()).decode(),
    ],
)
def test_it_is_found_in_each_encoding_at_each_place(text: str) -> None:
    assert any(spelling in text for spelling in spellings(SECRET))


def test_another_secret_is_not_found() -> None:
    other = base64.b64encode(b"user:another-canary-4712").decode()
    assert not any(spelling in other for spelling in spellings(SECRET))


def test_what_is_too_short_to_be_told_is_not_looked_for() -> None:
    assert all(len(spelling) >= 6 for spelling in spellings("abc"))
