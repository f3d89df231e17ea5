# SPDX-License-Identifier: Apache-2.0
"""A node with a cloud of its own, handed from one test to the next as long as it is well."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .stage import Stage
from .victim import Victim


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("stage"), {})
    yield stage
    stage.close()


@pytest.fixture
def running(stage: Stage) -> Iterator[Victim]:
    """A node that runs and is enabled, with nothing unsettled."""
    victim = stage.victim
    yield victim
    stage.cloud.heal()
    victim.forget_plan()
    if victim.complaints(stays=0.0):
        stage.renew()
