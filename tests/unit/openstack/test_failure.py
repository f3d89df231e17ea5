# SPDX-License-Identifier: Apache-2.0
"""Errors in one line, without a secret."""

from __future__ import annotations

import ssl
from types import SimpleNamespace

import pytest

from ocf_agents.openstack.failure import HINTS, LONGEST, Failure, Redactor, explain, seconds_to_wait


def test_secrets_are_hidden_the_longest_first() -> None:
    redact = Redactor(["abc", "", "abcdef"])
    assert redact("abcdef abc") == "*** ***"


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
        ("9" * 30, None),
        ("\u0663", None),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2015 07:27:00 GMT", 0.0),
        ("999999999", 86400.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86400.0),
        ("Wed, 99 Oct 2015 07:27:00 GMT", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str, seconds: float | None) -> None:
    assert seconds_to_wait({"Retry-After": value}, now=1445412480.0) == seconds


def test_no_retry_after_is_none() -> None:
    assert seconds_to_wait({}) is None


def test_an_unknown_exception_after_the_send_may_have_reached_the_api() -> None:
    failure = explain(KeyError("x"), "PUT http://n/", sent=True)
    assert (failure.text, failure.reached, failure.permanent) == ("PUT http://n/: KeyError: 'x'", True, False)
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
    assert explain(one, "x", sent=True).text == "x: ValueError: one"
