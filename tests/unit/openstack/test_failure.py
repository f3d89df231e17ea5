# SPDX-License-Identifier: Apache-2.0
"""Errors in one line, without a secret."""

from __future__ import annotations

import base64
import html
import json
import os
import ssl
from types import SimpleNamespace
from typing import Callable
from urllib.parse import quote, quote_plus

import pytest

from ocf_agents.openstack.failure import (
    HINTS,
    LONGEST,
    LONGEST_WAIT,
    Failure,
    Redactor,
    explain,
    seconds_to_wait,
)


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_secrets_are_hidden_the_longest_first() -> None:
    redact = Redactor(["abc", "", "abcdef"])
    assert redact("abcdef abc") == "*** ***"


@pytest.mark.parametrize("spell", [quote, quote_plus, json.dumps, repr, html.escape, in_base64])
def test_secrets_are_hidden_as_peers_may_spell_them(spell: Callable[[str], str]) -> None:
    secret = "p/@:%20'\"canary$é\\ &<>"
    assert "canary" in spell(secret) or spell is in_base64
    shown = Redactor([secret])(f"you said {spell(secret)}")
    assert "***" in shown
    assert "canary" not in shown


def test_a_secret_that_is_no_text_is_hidden_too() -> None:
    assert Redactor([os.fsdecode(b"p\xff")])("x" + os.fsdecode(b"p\xff")) == "x***"


def test_a_secret_may_become_known_later() -> None:
    redact = Redactor(["abc"])
    redact.hide("token", "")
    assert redact("abc token") == "*** ***"


def test_a_password_in_a_url_may_hold_an_at_sign() -> None:
    assert Redactor()("at https://user:p@ss@host:1/x") == "at https://***@host:1/x"


def test_credentials_in_urls_are_hidden() -> None:
    assert (
        Redactor()("at https://user:pass@host:1/x and http://ok/y@z")
        == "at https://***@host:1/x and http://ok/y@z"
    )


def test_a_text_is_one_bounded_line() -> None:
    text = Redactor()("a\nb\x00c\td\u2028e" + "x" * 1000)
    assert text.startswith("a b c d e")
    assert len(text) == LONGEST
    assert text.endswith("...")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("9" * 30, LONGEST_WAIT),
        ("9" * 5000, LONGEST_WAIT),
        ("\u0663", None),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2015 07:27:00 GMT", 0.0),
        ("999999999", LONGEST_WAIT),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_WAIT),
        ("Wed, 99 Oct 2015 07:27:00 GMT", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str, seconds: float | None) -> None:
    assert seconds_to_wait({"Retry-After": value}, now=1445412480.0) == seconds


def test_no_retry_after_is_none() -> None:
    assert seconds_to_wait({}) is None


def test_an_unknown_exception_after_the_send_may_have_reached_the_api() -> None:
    failure = explain(KeyError("x"), "PUT http://n/", sent=True)
    assert failure.text == "PUT http://n/: the answer makes no sense (KeyError)"
    assert (failure.reached, failure.permanent) == (True, False)
    assert not explain(KeyError("x"), "", sent=False).reached


@pytest.mark.parametrize("status", [401, 403, 404, 406])
def test_what_to_do_stands_before_a_url_however_long(status: int) -> None:
    error = KeyError("x")
    error.http_status = status  # type: ignore[attr-defined]
    doing = f"logging in at https://{'long.' * 50}example/v3"
    text = explain(error, doing, sent=False).text
    assert text == f"{HINTS[status]}: {doing}: answered {status}"


def test_an_untrusted_certificate_is_that_of_the_failed_request() -> None:
    error = ssl.SSLCertVerificationError()
    error.verify_message = "expired"
    doing = "finding the compute service in the catalog of https://keystone/v3"
    said = "set cacert: the TLS certificate of {} is not trusted (expired)"
    assert explain(error, doing, sent=False).text == said.format("https://keystone/v3")
    error.request = SimpleNamespace(url="https://nova/v2.1/os-services?host=n1")  # type: ignore[attr-defined]
    assert explain(error, doing, sent=False).text == said.format("https://nova/v2.1/os-services")


@pytest.mark.parametrize(
    ("code", "message"),
    [(10, "certificate has expired"), (64, "IP address mismatch, certificate is not valid for '::1'.")],
)
def test_a_certificate_that_no_ca_file_makes_good_is_not_answered_with_cacert(
    code: int, message: str
) -> None:
    error = ssl.SSLCertVerificationError()
    error.verify_code, error.verify_message = code, message
    text = explain(error, "logging in at https://keystone/v3", sent=False).text
    assert text == f"{message.rstrip('.')}: the TLS certificate of https://keystone/v3 is not good"


def test_a_failure_stays_what_it_is() -> None:
    failure = Failure("x", permanent=True)
    assert explain(failure, "y", sent=True) is failure


def test_a_missing_openstacksdk_is_permanent_and_says_so() -> None:
    failure = explain(ModuleNotFoundError("No module named 'openstack'"), "reading", sent=False)
    assert failure.permanent
    assert failure.text == "reading: openstacksdk is missing or broken (No module named 'openstack')"


def test_errors_that_point_at_each_other_end() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert explain(one, "x", sent=True).text == "x: the answer makes no sense (ValueError)"
