# SPDX-License-Identifier: Apache-2.0
"""An operator's hold: its form, and when one may be set or taken away."""

from __future__ import annotations

import pytest

from ocf_agents.guard import marker
from ocf_agents.guard.record import DISABLED, ENABLED, Foreign, Record
from ocf_agents.guard.row import Row
from ocf_agents.guard.verdict import Policy, status_of
from ocf_agents.operator import hold
from ocf_agents.operator.hold import NOTHING, REFUSE, SEND, Hold
from ocf_agents.operator.trouble import BadInput

AT = "2026-11-30T11:23:23Z"
HELD = hold.make("zoe", AT, "RAM swap, ticket 4711")
MARKER = str(marker.make("nova-compute", "cmp-7", AT, "5b964e4f5116da1e"))


def row(reason: str | None = None, *, disabled: bool = True, up: bool = True) -> Row:
    return Row("id", disabled, reason, up)


def record(want: str = ENABLED, foreign: Foreign | None = None) -> Record:
    return Record(1, "nova-compute", "m", "cmp-7", want=want, generation=5, foreign=foreign)


def to_hold(one: Row, known: Record | None = None, resource: str | None = "nova-compute") -> hold.Step:
    return hold.to_hold(one, HELD, resource, "cmp-7", known)


def to_release(one: Row, known: Record | None = None) -> hold.Step:
    return hold.to_release(one, "nova-compute", "cmp-7", known, "nova-compute")


def test_its_text_is_read_back_as_it_was() -> None:
    assert str(HELD) == "ocf-agents hold: by=zoe at=2026-11-30T11:23:23Z: RAM swap, ticket 4711"
    assert hold.parse(str(HELD)) == HELD


def test_no_guard_takes_it_for_its_own_and_none_takes_a_marker_for_a_hold() -> None:
    policy = Policy("nova-compute", "cmp-7")
    assert status_of(row(str(HELD)), policy) == "foreign"
    assert marker.parse(str(HELD)) is None
    assert hold.parse(MARKER) is None


@pytest.mark.parametrize("words", ["a " + MARKER, MARKER, "at=1: x", "a: b: c"])
def test_no_words_can_make_it_something_else(words: str) -> None:
    made = hold.make("zoe", AT, words)
    assert hold.parse(str(made)) == made
    assert marker.parse(str(made)) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", "needs words"),
        ("  ", "needs words"),
        ("x" * 250, "too long by"),
        ("a\x1bb", "control character"),
        ("😀", "cannot store"),
    ],
)
def test_words_that_nova_would_refuse_are_refused_before(words: str, expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        hold.make("zoe", AT, words)


def test_the_longest_that_is_taken_has_255_characters() -> None:
    room = 255 - len(str(hold.make("zoe", AT, "x"))) + 1
    assert len(str(hold.make("zoe", AT, "x" * room))) == 255
    with pytest.raises(BadInput):
        hold.make("zoe", AT, "x" * (room + 1))


def test_a_name_with_blanks_is_written_so_that_it_is_read_back() -> None:
    made = hold.make("Zoë B", AT, "RAM")
    assert hold.parse(str(made)) == made


def test_an_enabled_row_and_our_own_marker_become_a_hold() -> None:
    assert to_hold(row(disabled=False)).do == SEND
    assert to_hold(row(MARKER)).do == SEND
    assert to_hold(row(MARKER), resource=None).do == SEND, (
        "from another machine the marker of the host is enough"
    )


@pytest.mark.parametrize(
    "reason",
    [
        None,
        "",
        "RAM",
        "AUTO: Connection to libvirt lost",
        str(marker.make("other", "cmp-7", AT, "5b964e4f5116da1e")),
        str(marker.make("nova-compute", "cmp-8", AT, "5b964e4f5116da1e")),
    ],
)
def test_what_somebody_else_disabled_is_left_to_them(reason: str | None) -> None:
    step = to_hold(row(reason))
    assert (step.do, step.is_forcible) == (REFUSE, True)
    assert "somebody else disabled it" in step.text
    step = to_release(row(reason))
    assert (step.do, step.is_forcible) == (REFUSE, False)


def test_ones_own_hold_gets_new_words_and_anothers_is_left() -> None:
    assert to_hold(row(str(HELD))).do == NOTHING
    assert to_hold(row(str(Hold("zoe", AT, "other words")))).do == SEND
    assert to_hold(row(str(Hold("bob", AT, "disk")))).text == f"bob holds it since {AT}: 'disk'"


def test_a_person_whose_words_a_late_disable_covers_is_somebody_else() -> None:
    known = record(foreign=Foreign("RAM", AT))
    assert to_hold(row(MARKER), known).do == REFUSE
    assert "'RAM'" in to_hold(row(MARKER), known).text
    assert to_release(row(MARKER), known).do == REFUSE


def test_a_hold_is_released_and_nothing_is_done_to_an_enabled_row() -> None:
    assert to_release(row(str(HELD))).do == SEND
    assert to_release(row(str(HELD)), record()).do == SEND
    assert to_release(row(disabled=False)).do == NOTHING


def test_a_hold_that_a_late_disable_covers_is_released_too() -> None:
    assert to_release(row(MARKER), record(foreign=Foreign(str(HELD), AT))).do == SEND


def test_our_own_marker_is_no_hold() -> None:
    step = to_release(row(MARKER))
    assert (step.do, step.is_forcible) == (REFUSE, False)
    assert "the next start enables it" in step.text


@pytest.mark.parametrize(
    ("one", "known"),
    [(row(str(HELD), up=False), None), (row(str(HELD)), record(DISABLED))],
    ids=["down", "stopped"],
)
def test_a_host_that_is_down_is_not_enabled_without_force(one: Row, known: Record | None) -> None:
    step = to_release(one, known)
    assert (step.do, step.is_forcible) == (REFUSE, True)
    assert "evacuator" in step.text


def test_enable_reasons_that_would_undo_a_hold_are_noticed() -> None:
    assert hold.would_be_undone(HELD, Policy("r", "h", enable_reasons=("ocf-agents",)))
    assert not hold.would_be_undone(HELD, Policy("r", "h", enable_reasons=("Masakari",)))
