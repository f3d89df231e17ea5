# SPDX-License-Identifier: Apache-2.0
"""Who holds a host."""

from __future__ import annotations

import pytest

from ocf_agents.cli.hold import holder


@pytest.mark.parametrize("by", [None, "", "  "])
def test_who_is_not_named_is_who_typed_before_sudo(by: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "zoe")
    assert holder(by) == "zoe"


def test_who_is_named_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "zoe")
    assert holder(" the night shift ") == "the night shift"
