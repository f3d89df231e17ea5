# SPDX-License-Identifier: Apache-2.0
"""Nodes on which one case after the other is played, several at a time."""

from __future__ import annotations

import queue
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Generic, TypeVar

from ocf_agents.testing.compute_api import ComputeApi

from .victim import Victim

T = TypeVar("T")
WORKERS = 5


class Stage:
    """One node with a cloud of its own, running and enabled, with nothing unsettled.

    A case that ends well leaves it so; `renew` makes another one after a case that did not.
    """

    def __init__(self, root: Path, parameters: Mapping[str, object]) -> None:
        self.root, self.parameters = root, parameters
        self._count = 0
        self._set_up()

    def _set_up(self) -> None:
        self._count += 1
        self.cloud = ComputeApi(report_interval=1.0)
        self.cloud.start()
        self.victim = Victim(self.root / f"n{self._count}", self.cloud, "cmp-7", **self.parameters)
        self.victim.act("start")
        assert self.victim.complaints() == []

    def renew(self) -> None:
        self.close()
        self._set_up()

    def close(self) -> None:
        self.victim.destroy()
        self.cloud.close()
        shutil.rmtree(self.victim.root, ignore_errors=True)


@dataclass(frozen=True)
class Job(Generic[T]):
    """Something to be done on a stage whose node has these parameters."""

    work: Callable[[Stage], T]
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def kind(self) -> tuple[tuple[str, object], ...]:
        return tuple(sorted(self.parameters.items()))


def play(jobs: Sequence[Job[T]], workers: int = WORKERS) -> list[T | AssertionError]:
    """What each job came to, in their order; a job that fails an assertion gets a new stage behind it."""
    results: dict[int, T | AssertionError] = {}
    tasks: queue.SimpleQueue[tuple[int, Job[T]]] = queue.SimpleQueue()
    for task in enumerate(jobs):
        tasks.put(task)
    with tempfile.TemporaryDirectory() as directory:
        threads = [
            threading.Thread(target=_work, args=(Path(directory) / str(number), tasks, results))
            for number in range(min(workers, len(jobs)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return [results[number] for number in range(len(jobs))]


def _work(
    root: Path, tasks: queue.SimpleQueue[tuple[int, Job[T]]], results: dict[int, T | AssertionError]
) -> None:
    stages: dict[object, Stage] = {}
    try:
        while True:
            try:
                number, job = tasks.get_nowait()
            except queue.Empty:
                return
            if job.kind not in stages:
                stages[job.kind] = Stage(root / str(len(stages)), job.parameters)
            stage = stages[job.kind]
            try:
                results[number] = job.work(stage)
            except AssertionError as error:
                results[number] = error
                stage.renew()
    finally:
        for stage in stages.values():
            stage.close()
