# SPDX-License-Identifier: Apache-2.0
"""Lines in an SVG, drawn by hand: the same numbers give the same file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 860, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 260, 40, 44
FONT = "font-family='sans-serif' font-size='13'"
COLOURS = ("#0b5fa5", "#c2410c", "#15803d", "#7e22ce", "#525252", "#b91c1c")

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """One curve. `is_dashed` marks what is for comparison."""

    name: str
    points: Sequence[Point]
    is_dashed: bool = False


@dataclass
class Chart:
    """Curves over time, from 0 to `right` seconds. y goes from 0, or with `is_log` from 1, to `top`."""

    title: str
    right: float
    top: float
    x_ticks: Sequence[float]
    y_ticks: Sequence[float]
    is_log: bool = False
    lines: list[Line] = field(default_factory=list)

    def draw(self, offset: float) -> list[str]:
        """SVG elements, so far down."""
        parts = [
            f"<g transform='translate(0 {offset:.0f})'>",
            _text(LEFT, 22, self.title, "start", bold=True),
        ]
        for tick in self.x_ticks:
            x = self._x(tick)
            parts += [_rule(x, TOP, x, HEIGHT - BOTTOM), _text(x, HEIGHT - BOTTOM + 18, f"{tick:g} s")]
        for tick in self.y_ticks:
            y = self._y(tick)
            parts += [_rule(LEFT, y, WIDTH - RIGHT, y), _text(LEFT - 8, y + 4, f"{tick:g}", "end")]
        for number, line in enumerate(self.lines):
            parts += self._draw_line(line, number)
        return [*parts, "</g>"]

    def _draw_line(self, line: Line, number: int) -> list[str]:
        colour = COLOURS[number % len(COLOURS)]
        style = f"stroke='{colour}' stroke-width='2'" + (" stroke-dasharray='5 4'" if line.is_dashed else "")
        path = " ".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in line.points if x <= self.right)
        x, y = WIDTH - RIGHT + 14, TOP + 12 + 22 * number
        return [
            f"<polyline points='{path}' fill='none' {style}/>",
            f"<line x1='{x}' y1='{y}' x2='{x + 22}' y2='{y}' {style}/>",
            _text(x + 28, y + 4, line.name, "start"),
        ]

    def _x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * value / self.right

    def _y(self, value: float) -> float:
        share = math.log(max(1.0, value)) / math.log(self.top) if self.is_log else value / self.top
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * min(1.0, share)


def draw(charts: Sequence[Chart], title: str) -> str:
    """A whole file, the charts one below the other."""
    height = HEIGHT * len(charts)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height}' "
        f"viewBox='0 0 {WIDTH} {height}' role='img'>",
        "<!-- SPDX-License-Identifier: Apache-2.0 -->",
        f"<title>{title}</title>",
        "<rect width='100%' height='100%' fill='white'/>",
    ]
    for number, chart in enumerate(charts):
        parts += chart.draw(HEIGHT * number)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(x: float, y: float, text: str, anchor: str = "middle", *, bold: bool = False) -> str:
    weight = " font-weight='bold'" if bold else ""
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' {FONT}{weight} fill='#222'>{text}</text>"


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='#ddd'/>"
