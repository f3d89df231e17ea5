# SPDX-License-Identifier: Apache-2.0
"""Measured times side by side, each with its bound."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field


@dataclass
class Measure:
    """What was measured under one name. `bound`: the median's limit in seconds; None: for comparison only."""

    name: str
    seconds: list[float] = field(default_factory=list)
    bound: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def is_within(self) -> bool:
        return self.bound is None or self.median <= self.bound


def report(title: str, measures: list[Measure], unit: str = "ms") -> list[str]:
    """Print a table; the names of those past their bounds. unit: ms or s."""
    factor, digits = (1000.0, 1) if unit == "ms" else (1.0, 2)
    print(f"\n{title}\n")
    print(f"  {'':<34}{'runs':>5}{'median':>9}{'p90':>9}{'bound':>9}  {unit}")
    for measure in measures:
        p90 = sorted(measure.seconds)[int(0.9 * (len(measure.seconds) - 1) + 0.5)]
        bound = "-" if measure.bound is None else f"{measure.bound * factor:.{digits}f}"
        print(
            f"  {measure.name:<34}{len(measure.seconds):>5}{measure.median * factor:>9.{digits}f}"
            f"{p90 * factor:>9.{digits}f}{bound:>9}  {'' if measure.is_within else 'PAST ITS BOUND'}",
            flush=True,
        )
    return [f"{title}: {measure.name}" for measure in measures if not measure.is_within]
