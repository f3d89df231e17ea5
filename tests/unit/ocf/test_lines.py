# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ocf_agents.ocf.lines import REASON_BYTES, one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", b"plain"),
        ("%s %n {x} \\n", b"%s %n {x} \\n"),
        ("two\nlines\r\n\tand a tab", b"two lines and a tab"),
        ("bell \a, escape \x1b[31m", b"bell \\x07, escape \\x1b[31m"),
        ("\udcff surrogate", b"\\udcff surrogate"),
        ("gr\u00fcn", "gr\u00fcn".encode()),
        ("", b""),
    ],
)
def test_a_text_becomes_one_literal_line(text: str, line: bytes) -> None:
    assert one_line(text, REASON_BYTES) == line


def test_a_text_that_fits_is_not_cut() -> None:
    assert one_line("x" * 127, 127) == b"x" * 127


def test_a_long_text_is_cut_between_words_and_says_so() -> None:
    line = one_line("word " * 1000, REASON_BYTES)
    assert len(line) <= REASON_BYTES
    assert line.endswith(b"word...")


def test_a_long_word_is_cut_at_the_bound() -> None:
    assert one_line("x" * 5000, REASON_BYTES) == b"x" * 124 + b"..."


@pytest.mark.parametrize("shift", range(4))
def test_a_cut_never_halves_a_character(shift: int) -> None:
    line = one_line("a" * shift + "\u20ac" * 100, REASON_BYTES)
    assert line.decode("utf-8").endswith("\u20ac...")
    assert len(line) <= REASON_BYTES
