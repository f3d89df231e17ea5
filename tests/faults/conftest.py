# SPDX-License-Identifier: Apache-2.0
"""A place for one node, and the watch on its secrets."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from ocf_agents.testing.compute_api import ComputeApi

from . import stage
from .stage import Stage
from .watch import Watch

MakeStage = Callable[..., Stage]


@pytest.fixture
def mark() -> str:
    """What all secrets of a test have in them."""
    return f"canary{secrets.token_hex(4)}"


@pytest.fixture
def api(mark: str) -> Iterator[ComputeApi]:
    with ComputeApi(report_interval=1.0, account=stage.secrets(mark)) as api:
        yield api


@pytest.fixture
def make_stage(mark: str, tmp_path: Path) -> Iterator[MakeStage]:
    """Makes nodes; afterwards nothing of them runs, and no secret is anywhere."""
    made: list[Stage] = []
    known: list[Path] = []
    with Watch(mark) as watch:

        def make(api: ComputeApi, *secret_files: Path, **more: Any) -> Stage:
            known.extend(secret_files)
            made.append(Stage(tmp_path / f"node-{len(made)}", api, watch, **more))
            return made[-1]

        yield make
        for one in made:
            one.close(*known)
    assert watch.seen, "the watch has seen who may have the secrets"
    assert not watch.findings, "\n".join(watch.findings)


@pytest.fixture
def here(api: ComputeApi, make_stage: MakeStage) -> Stage:
    """A node of that cloud."""
    return make_stage(api, api_timeout="20s")
