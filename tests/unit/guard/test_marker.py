# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random

import pytest

from ocf_agents.guard import marker

AT = "2026-11-30T11:23:23Z"
TOKEN = "0123456789abcdef"
ODD_NAMES = [
    "nova-compute",
    "nova-compute:0",
    "a b",
    "a=b host=c",
    "ümläut",
    "計算",
    "\U0001f600",
    "x" * 300,
    "計" * 100,
    "tab\there",
    "line\nbreak",
    "nul\0byte",
    "\udcff\udc80",
    "50%",
    "~",
    "",
]


def text(resource: str = "nova-compute", host: str = "c1") -> str:
    return str(marker.make(resource, host, AT, TOKEN))


@pytest.mark.parametrize("name", [name for name in ODD_NAMES if name])
def test_what_was_made_is_recognised(name: str) -> None:
    found = marker.parse(text(name, name))
    assert found is not None
    assert found.belongs_to(name, name)
    assert (found.at, found.token) == (AT, TOKEN)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_the_text_is_what_nova_takes(name: str) -> None:
    """1 to 255 characters, no four-byte one (Nova answers 500), no line break."""
    made = text(name, name)
    assert 1 <= len(made) <= marker.MAX_LENGTH
    assert made.isascii()
    assert made.isprintable()


@pytest.mark.parametrize("name", ["AUTO: x", "", *ODD_NAMES])
def test_it_never_begins_as_novas_own(name: str) -> None:
    """Case 5: libvirt's driver undoes only what begins so."""
    assert not text(name, name).startswith("AUTO: ")


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t + " ",
        lambda t: " " + t,
        lambda t: t + "\n",
        lambda t: t[:-1],
        lambda t: t + "0",
        lambda t: t.upper(),
        lambda t: t.replace("token=0123456789abcdef", "token=0123456789ABCDEF"),
        lambda t: t.replace("token=0", "token=\u0660"),
        lambda t: t.replace("at=2026", "at=\uff12\uff10\uff12\uff16"),
        lambda t: t.replace("disabled", "Disabled"),
        lambda t: t.replace(" host=", "  host="),
        lambda t: "AUTO: " + t,
        lambda t: t + "; " + t,
        lambda t: t.replace("resource=nova-compute", "resource="),
        lambda t: t.replace("resource=nova-compute", "resource=nova compute"),
        lambda t: t.replace("ocf-agents", "ocf\u2010agents"),
    ],
)
def test_only_exactly_a_marker_is_one(change: object) -> None:
    assert callable(change)
    changed = change(text())
    assert changed != text()
    assert marker.parse(changed) is None


@pytest.mark.parametrize(
    "reason", [None, "", "RAM swap", "AUTO: Connection to libvirt lost: 1", "\0", "x" * 255]
)
def test_other_reasons_are_none(reason: str | None) -> None:
    assert marker.parse(reason) is None


@pytest.mark.parametrize(
    ("resource", "host"),
    [
        ("nova-compute:1", "c1"),
        ("nova-compute", "c10"),
        ("nova-comput", "c1"),
        ("Nova-compute", "c1"),
        ("nova-compute", "C1"),
    ],
)
def test_anothers_marker_is_not_ours(resource: str, host: str) -> None:
    found = marker.parse(text())
    assert found is not None
    assert not found.belongs_to(resource, host)


def test_different_names_are_written_differently() -> None:
    generator = random.Random(1)
    alphabet = "ab~%:.é 0"
    names = {"".join(generator.choices(alphabet, k=generator.randint(1, 100))) for _ in range(3000)}
    names |= {marker.name("x" * 300), "x" * 300, "x" * 301, "x" * 80, "x" * 81}
    assert len({marker.name(name) for name in names}) == len(names)


def test_a_short_name_cannot_look_like_a_long_ones_digest() -> None:
    assert marker.name(marker.name("x" * 300)) != marker.name("x" * 300)
