"""The roofline: operations a second of every function, against operations for each byte of its arguments and results.

Left of the roof's edge a function waits for its numbers to come and go, right of it for arithmetic. Limits and functions are
measured in the same run, on one core.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

LEFT, RIGHT, TOP, BOTTOM = 60, 640, 40, 400
"""The frame of the figure, in its own pixels."""
WORDS = {
    "cache": "cache",
    "memory": "memory",
    "vectors": "fused multiply-adds, vectors",
    "numbers": "fused multiply-adds, one number",
}


class Axes:
    """Both logarithmic."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.low = (math.floor(math.log2(x[0])), math.floor(math.log2(y[0])))
        self.high = (max(self.low[0] + 1, math.ceil(math.log2(x[1]))), max(self.low[1] + 1, math.ceil(math.log2(y[1]))))

    def x(self, value: float) -> float:
        return LEFT + (RIGHT - LEFT) * (math.log2(value) - self.low[0]) / (self.high[0] - self.low[0])

    def y(self, value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (math.log2(value) - self.low[1]) / (self.high[1] - self.low[1])


def figure(data: dict[str, Any]) -> str:
    """An SVG figure of a bench's rows and limits."""
    limits, rows = data["limits"], [row for row in data["rows"] if row["operations"] > 0]
    robots = list(dict.fromkeys(row["robot"] for row in rows))
    speeds = [_speed(row, kind) for row in rows for kind in ("batch", "one")]
    axes = Axes((min(map(_intensity, rows)), max(map(_intensity, rows))), (min(speeds), max(*speeds, limits["vectors"])))
    label = "Operations a second against operations for each byte"
    parts = [f'<svg class="roofline" viewBox="0 0 {RIGHT + 20} {BOTTOM + 44}" role="img" aria-label="{label}">']
    parts += [*_grid(axes), *_legend(robots)]
    for row in rows:
        at, robot = axes.x(_intensity(row)), robots.index(row["robot"])
        for kind in ("one", "batch"):
            speed = _speed(row, kind)
            words = f"{row['robot']} {row['function']}, {'one call' if kind == 'one' else 'batch'}: {speed:.1f} Gop/s"
            dot = f'<circle class="{kind} robot{robot}" cx="{at:.1f}" cy="{axes.y(speed):.1f}" r="3.5">'
            parts.append(f"{dot}<title>{words}</title></circle>")
    parts += _roofs(axes, limits)
    caption = "Batches (full) and single calls from Python (hollow), below what the core can do. Point at a dot for its name."
    return f"<figure>{''.join([*parts, '</svg>'])}<figcaption>{caption}</figcaption></figure>\n"


def _intensity(row: dict[str, Any]) -> float:
    """Operations for each byte that comes or goes."""
    return float(row["operations"]) / float(row["bytes"])


def _speed(row: dict[str, Any], kind: str) -> float:
    """Gop/s."""
    return 1e-3 * float(row["operations"]) / float(row[kind])


def _grid(axes: Axes) -> Iterator[str]:
    for power in range(axes.low[0], axes.high[0] + 1):
        at = axes.x(2.0**power)
        yield f'<line class="grid" x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{BOTTOM}"/>'
        yield f'<text class="tick" x="{at:.1f}" y="{BOTTOM + 16}">{_power(power)}</text>'
    for power in range(axes.low[1], axes.high[1] + 1):
        at = axes.y(2.0**power)
        yield f'<line class="grid" x1="{LEFT}" y1="{at:.1f}" x2="{RIGHT}" y2="{at:.1f}"/>'
        yield f'<text class="name" x="{LEFT - 6}" y="{at + 4:.1f}">{_power(power)}</text>'
    yield f'<text class="tick" x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 36}">operations for each byte in and out</text>'
    yield f'<text class="name" x="{LEFT + 20}" y="{TOP - 8}">Gop/s</text>'


def _power(power: int) -> str:
    return f"{2**power}" if power >= 0 else f"1/{2**-power}"


def _roofs(axes: Axes, limits: dict[str, float]) -> Iterator[str]:
    """Slopes up to the arithmetic of vectors, and where numbers one by one end."""
    low, high = 2.0 ** axes.low[0], 2.0 ** axes.high[0]
    floor = 2.0 ** axes.low[1]
    for name in ("cache", "memory"):
        start, edge = max(low, floor / limits[name]), limits["vectors"] / limits[name]
        ends = [(start, start * limits[name]), (edge, limits["vectors"])]
        (x0, y0), (x1, y1) = [(axes.x(x), axes.y(y)) for x, y in ends]
        turned = math.degrees(math.atan2(y1 - y0, x1 - x0))
        yield f'<line class="roof" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>'
        where = f'x="{x0 + 8:.1f}" y="{y0 - 6:.1f}" transform="rotate({turned:.1f} {x0:.1f} {y0:.1f})"'
        yield f'<text class="limit" {where}>{WORDS[name]}: {limits[name]:.0f} GB/s</text>'
    for name in ("vectors", "numbers"):
        start = limits[name] / limits["cache"]
        y = axes.y(limits[name])
        yield f'<line class="roof" x1="{max(axes.x(start), LEFT):.1f}" y1="{y:.1f}" x2="{axes.x(high):.1f}" y2="{y:.1f}"/>'
        yield f'<text class="limit end" x="{RIGHT}" y="{y - 5:.1f}">{WORDS[name]}: {limits[name]:.0f} Gop/s</text>'


def _legend(robots: list[str]) -> Iterator[str]:
    for k, robot in enumerate(robots):
        at = LEFT + 130 * k + 60
        yield f'<circle class="batch robot{k}" cx="{at}" cy="14" r="4.5"/><text x="{at + 9}" y="18">{robot}</text>'
