# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Callable

import pytest

from ocf_agents.guard.record import (
    DISABLE,
    DISABLED,
    ENABLE,
    ENABLED,
    FOREIGN,
    OURS,
    OVERDUE_AFTER,
    VERSION,
    Attempt,
    Foreign,
    Helper,
    Instant,
    Known,
    Process,
    Record,
    Unusable,
    decode,
    encode,
)

PROCESS = Process(4711, 123456, "boot-1")
FULL = Record(
    VERSION,
    "nova-compute:0",
    "machine",
    "c1",
    row_id="row-1",
    want=DISABLED,
    generation=42,
    attempts=(
        Attempt(
            "0123456789abcdef", DISABLE, "row-1", Instant("boot-1", 12.5), PROCESS, Instant("boot-1", 14.0)
        ),
        Attempt("fedcba9876543210", ENABLE, "row-1", Instant("boot-1", 15.0), PROCESS),
        Attempt("", DISABLE, None, Instant("boot-0", 3.0), let_go=Instant("boot-0", 3.0)),
    ),
    known=Known(FOREIGN, 42, True),
    foreign=Foreign('RAM swap \U0001f600 " \\ \n \0 \ud800', "2026-11-30T11:23:23Z"),
    reconciler=Helper(PROCESS, 42, 3700.0),
    stopped=Instant("boot-1", 99.0),
)


@pytest.mark.parametrize(
    "record",
    [
        FULL,
        replace(FULL, foreign=Foreign(None, "2026-11-30T11:23:23Z")),
        replace(FULL, foreign=Foreign("", "2026-11-30T11:23:23Z")),
        replace(FULL, foreign=None, reconciler=None, stopped=None, attempts=(), row_id=None, want=ENABLED),
        replace(FULL, known=Known(OURS, 41)),
    ],
)
def test_what_was_written_is_read(record: Record) -> None:
    assert decode(encode(record)) == record


def test_a_person_can_read_it() -> None:
    text = encode(FULL)
    assert text.isascii()
    assert text.endswith("}\n")
    assert '"want": "disabled"' in text
    assert text.count("\n") > 10


BAD_TEXTS = [
    "",
    " ",
    "\0" * 700,
    encode(FULL)[: len(encode(FULL)) // 2],
    encode(FULL)[:-3],
    encode(FULL) + "x",
    "null",
    "[]",
    "42",
    '"text"',
    "{}",
    "[" * 100_000,
    '{"a":' * 50_000,
    '{"version": 1}',
    "NaN",
    "\ufeff" + encode(FULL),
    "\ufffd\ufffd",
    "9" * 5000,
]


@pytest.mark.parametrize("text", BAD_TEXTS, ids=range(len(BAD_TEXTS)))
def test_no_other_text_is_a_record(text: str) -> None:
    with pytest.raises(Unusable):
        decode(text)


def test_every_prefix_of_a_record_is_unusable() -> None:
    """A torn write is never taken for a shorter record."""
    text = encode(FULL).rstrip()
    for length in range(len(text)):
        with pytest.raises(Unusable):
            decode(text[:length])


def damaged(change: Callable[[Any], None]) -> str:
    data = json.loads(encode(FULL))
    change(data)
    return json.dumps(data)


def put(*path: object) -> Callable[[Any], None]:
    *keys, last, value = path

    def change(data: Any) -> None:
        for key in keys:
            data = data[key]
        data[last] = value

    return change


WRONG = [True, False, None, -1, 0, 1.5, 10**400, "x", [], {}, ["x"], {"x": 1}]
TYPED: list[tuple[tuple[object, ...], tuple[type, ...]]] = [
    (("version",), (int,)),
    (("resource",), (str,)),
    (("machine_id",), (str,)),
    (("host",), (str,)),
    (("row_id",), (str, type(None))),
    (("want",), ()),
    (("generation",), ()),
    (("attempts",), ()),
    (("attempts", 0), ()),
    (("attempts", 0, "token"), (str,)),
    (("attempts", 0, "kind"), ()),
    (("attempts", 0, "row_id"), (str, type(None))),
    (("attempts", 0, "sent"), ()),
    (("attempts", 0, "sent", "boot_id"), (str,)),
    (("attempts", 0, "sent", "seconds"), (int, float)),
    (("attempts", 0, "client"), (type(None),)),
    (("attempts", 0, "client", "pid"), (int,)),
    (("attempts", 0, "client", "start"), (int,)),
    (("attempts", 0, "client", "boot_id"), (str,)),
    (("attempts", 0, "let_go"), (type(None),)),
    (("known",), ()),
    (("known", "status"), ()),
    (("known", "generation"), (int,)),
    (("known", "is_final"), (bool,)),
    (("foreign",), (type(None),)),
    (("foreign", "reason"), (str, type(None))),
    (("foreign", "at"), (str,)),
    (("reconciler",), (type(None),)),
    (("reconciler", "process"), ()),
    (("reconciler", "process", "pid"), (int,)),
    (("reconciler", "generation"), (int,)),
    (("reconciler", "until"), (int, float)),
    (("stopped",), (type(None),)),
    (("stopped", "seconds"), (int, float)),
]


@pytest.mark.parametrize(("path", "kinds"), TYPED, ids=str)
def test_a_field_of_a_wrong_type_is_unusable(path: tuple[object, ...], kinds: tuple[type, ...]) -> None:
    """Booleans are no numbers, and a number beyond all bounds is none either."""
    wrong = [v for v in WRONG if type(v) not in kinds or v == 10**400]
    wrong = [v for v in wrong if not (path == ("attempts",) and v == [])]
    assert len(wrong) >= 8
    for value in wrong:
        with pytest.raises(Unusable):
            decode(damaged(put(*path, value)))


@pytest.mark.parametrize(
    "key",
    [key for key in json.loads(encode(FULL)) if key not in ("row_id", "foreign", "reconciler", "stopped")],
)
def test_a_missing_field_is_unusable(key: str) -> None:
    with pytest.raises(Unusable):
        decode(damaged(lambda data: data.pop(key)))


@pytest.mark.parametrize("value", ["Infinity", "-Infinity", "NaN", "1e999"])
def test_a_time_that_is_no_number_is_unusable(value: str) -> None:
    with pytest.raises(Unusable):
        decode(encode(FULL).replace("12.5", value))


@pytest.mark.parametrize("key", ["process", "generation", "until"])
def test_a_helper_that_is_half_on_record_is_unusable(key: str) -> None:
    with pytest.raises(Unusable):
        decode(damaged(lambda data: data["reconciler"].pop(key)))


@pytest.mark.parametrize("now", [Instant("boot-1", 3700.0 + OVERDUE_AFTER + 0.1), Instant("boot-2", 5.0)])
def test_a_helper_is_overdue_well_after_its_deadline_and_in_another_boot(now: Instant) -> None:
    assert Helper(PROCESS, 42, 3700.0).is_overdue(now)


def test_a_helper_has_time_to_leave_at_its_deadline() -> None:
    assert not Helper(PROCESS, 42, 3700.0).is_overdue(Instant("boot-1", 3700.0 + OVERDUE_AFTER))


@pytest.mark.parametrize("version", [0, 2, 99, -1])
def test_another_version_is_unusable(version: int) -> None:
    with pytest.raises(Unusable, match="version"):
        decode(damaged(put("version", version)))


@pytest.mark.parametrize("generation", [0, -1, -7])
def test_a_record_has_a_generation_from_one_on(generation: int) -> None:
    """Zero means that there is no record: one that says so about itself lies."""
    with pytest.raises(Unusable):
        decode(damaged(put("generation", generation)))


def test_a_complaint_is_short() -> None:
    with pytest.raises(Unusable) as caught:
        decode(damaged(put("want", "x" * 100_000)))
    assert len(str(caught.value)) < 200


# what a record says


def test_an_empty_record_knows_nothing() -> None:
    empty = Record.empty("nova-compute", "machine", "c1")
    assert empty.is_empty
    assert not empty.is_quiet
    assert not empty.has_unsettled_disable


QUIET = replace(FULL, want=ENABLED, attempts=(), known=Known(ENABLED, 42, True))


def test_a_record_is_quiet_when_its_own_generation_has_read_the_row_and_leaves_it() -> None:
    assert QUIET.is_quiet
    assert replace(QUIET, known=Known(FOREIGN, 42, True)).is_quiet


@pytest.mark.parametrize(
    "record",
    [
        replace(QUIET, want=DISABLED),
        replace(QUIET, known=Known(ENABLED, 41, True)),
        replace(QUIET, known=Known(OURS, 42, False)),
        replace(QUIET, attempts=FULL.attempts[:1]),
        replace(QUIET, attempts=FULL.attempts[1:2]),
    ],
)
def test_anything_open_makes_it_not_quiet(record: Record) -> None:
    assert not record.is_quiet


def test_presumed_disables_count_as_unsettled() -> None:
    assert FULL.attempts[2].is_presumed
    assert replace(FULL, attempts=FULL.attempts[2:]).has_unsettled_disable
    assert not replace(FULL, attempts=FULL.attempts[1:2]).has_unsettled_disable


def test_an_attempt_is_removed_by_its_token_alone() -> None:
    assert FULL.without("0123456789abcdef").attempts == FULL.attempts[1:]
    assert FULL.without("something else").attempts == FULL.attempts


def test_instants_of_two_boots_have_no_distance() -> None:
    assert Instant("a", 5.0).after(Instant("a", 2.0)) == 3.0
    assert Instant("b", 5.0).after(Instant("a", 2.0)) is None
