# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest

from .world import World


@pytest.fixture
def world() -> Iterator[World]:
    """A service that has run for long, enabled, with a settled record. Invariants 1 and 2 are watched."""
    with World() as made:
        yield made.at_rest()
        assert made.violations == []
