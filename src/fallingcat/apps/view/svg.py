"""Figures in SVG: heat maps, eigenvalues, bars, curves. Colours come from the page, so they are right in the dark too.

All texts are escaped here. Figures are about 420 units wide, so that letters stay readable on a phone.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.model.report import printable

Array = NDArray[np.float64]

WIDTH = 420.0
MOST_LABELS = 44
"""Rows of a matrix at most that get a label each; in larger matrices only blocks do."""
KEY = 150.0
"""The least width of the shades below a map."""
MOST_POINTS = 500
"""Largest number of points of a curve: more cannot be distinguished in a drawing."""


def _text(x: float, y: float, words: str, size: float = 11.0, anchor: str = "start", kind: str = "", more: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.6g}" y="{y:.6g}" font-size="{size:.3g}" text-anchor="{anchor}"{style}{more}>{safe(words)}</text>'


def _upward(x: float, y: float, words: str, size: float) -> str:
    """Text that begins at a point and goes up."""
    return _text(0.0, 0.0, words, size, kind="soft", more=f' transform="translate({x:.6g} {y:.6g}) rotate(-90)"')


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    return f'<path d="M{x1:.6g} {y1:.6g}L{x2:.6g} {y2:.6g}" class="{kind}"/>'


def safe(words: str, limit: int = 80) -> str:
    """Text inside SVG."""
    return html.escape(printable(words, limit))


def svg(width: float, height: float, parts: Iterable[str], words: str) -> str:
    """The element around the parts of a drawing; words say what is seen, for those who cannot see it."""
    box = f'viewBox="0 0 {width:.6g} {height:.6g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{safe(words, 200)}">{"".join(parts)}</svg>'


# ---------------------------------------------------------------------------------------------------------------------
# Matrices


def heat_map(
    values: ArrayLike,
    labels: Sequence[str] = (),
    *,
    columns: Sequence[str] = (),
    blocks: Sequence[tuple[str, int]] = (),
    levels: Sequence[float] | None = None,
    signed: bool = False,
    words: str = "a matrix",
) -> str:
    """A matrix in shades. labels: one to a row; columns: short ones, one to a column. blocks: names and
    sizes of groups of rows, columns alike.

    levels: upper bounds of the shades, eight of them, or four of each sign when signed; powers of ten below the largest
    entry otherwise. Zero is drawn as empty.
    """
    M = np.asarray(values, dtype=float)
    count = 4 if signed else 8
    most = float(np.max(np.abs(M), initial=0.0)) or 1.0
    power = np.ceil(np.log10(most) - 1e-9)
    bounds = list(levels) if levels is not None else [float(10.0 ** (power + k - count + 1)) for k in range(count)]
    size = 8.5 if len(M) > 26 else 10.5 if len(M) > 14 else 12.0
    shown = [label if len(label) <= 20 else label[:19] + "…" for label in labels] if len(M) <= MOST_LABELS else []
    left = 10.0 + (max(map(len, shown)) * size * 0.56 if shown else 34.0 if blocks else 0.0)
    # A square matrix has the names of its rows over its columns, too, written upward.
    upward = shown if shown and not columns and M.shape[0] == M.shape[1] else []
    top = 10.0 + max(map(len, upward)) * size * 0.5 if upward else 20.0 if blocks or columns else 6.0
    cell = min((WIDTH - left - 6.0) / max(M.shape[1], 1), 34.0 if len(M) <= 10 else 20.0)
    bottom = top + cell * len(M)
    parts = [f'<g transform="translate({left:.6g} {top:.6g}) scale({cell:.6g})">', *_cells(M, bounds, signed), "</g>"]
    letters = min(size, cell * 1.05)
    parts += [_text(left - 5, top + cell * (k + 0.5) + size * 0.35, n, letters, "end") for k, n in enumerate(shown)]
    parts += [_text(left + cell * (k + 0.5), top - 6.0, n, 10.0, "middle", "soft") for k, n in enumerate(columns)]
    parts += [_upward(left + cell * (k + 0.5) + letters * 0.3, top - 4.0, n, 0.86 * letters) for k, n in enumerate(upward)]
    parts += _block_lines(blocks, left, top, cell, named=bool(shown))
    parts += _key(bounds, signed, left, bottom + 12.0, cell * M.shape[1])
    return svg(WIDTH, bottom + 42.0, parts, words)


def _cells(M: Array, bounds: Sequence[float], signed: bool) -> Iterator[str]:
    """Runs of equal shade, one path for each shade."""
    rows, columns = M.shape
    yield f'<path class="cell0" d="M0 0h{columns}v{rows}h-{columns}z"/>'
    shade = np.searchsorted(np.array(bounds), np.abs(M) * (1.0 - 1e-12), side="left") + 1
    shade = np.minimum(shade, len(bounds)) * (M != 0.0)
    if signed:
        shade = np.where(M < 0.0, -shade, shade)
    for level in (int(x) for x in np.unique(shade) if x):
        path = []
        for i, row in enumerate(shade == level):
            edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(int), [0]])))
            path += [f"M{a} {i}h{b - a}v1H{a}z" for a, b in edges.reshape(-1, 2)]
        kind = f"h{level}" if not signed else f"p{level}" if level > 0 else f"n{-level}"
        yield f'<path class="{kind}" d="{"".join(path)}"/>'


def _block_lines(blocks: Sequence[tuple[str, int]], left: float, top: float, cell: float, named: bool) -> list[str]:
    parts = []
    total = sum(size for _, size in blocks) * cell
    at = 0.0
    for name, size in blocks:
        middle = at + size * cell / 2.0
        if not named:
            parts.append(_text(left + middle, top - 6.0, name, 11.0, "middle", "soft"))
            parts.append(_text(left - 6.0, top + middle + 4.0, name, 11.0, "end", "soft"))
        at += size * cell
        if at < total - 1e-6:
            parts.append(
                _line(left + at, top, left + at, top + total, "zero") + _line(left, top + at, left + total, top + at, "zero")
            )
    return parts  # fmt: skip


def _key(bounds: Sequence[float], signed: bool, left: float, y: float, width: float) -> list[str]:
    """The shades and the numbers they end at, as wide as the map if that is wide enough to be read."""
    shades = [f"h{k + 1}" for k in range(len(bounds))]
    ends = [_short(b) for b in bounds]
    if signed:
        shades = [f"n{k}" for k in range(len(bounds), 0, -1)] + [f"p{k + 1}" for k in range(len(bounds))]
        ends = [f"−{b}" for b in ends[::-1]] + ends
    count = len(shades)
    wide = min(44.0, (WIDTH - left - 10.0) / count, max(width, KEY) / count)
    crowded = max(map(len, ends)) * 4.8 + 4.0 > wide
    parts = []
    for k, (shade, end) in enumerate(zip(shades, ends, strict=True)):
        parts.append(
            f'<rect x="{left + k * wide:.6g}" y="{y:.6g}" width="{wide - 1.5:.6g}" height="8" rx="1.5" class="{shade}"/>'
        )
        at = left + (k if signed and k < len(bounds) else k + 1) * wide - 0.75
        if not crowded or (min(k, count - 1 - k) if signed else count - 1 - k) % 2 == 0:  # the outermost are always labelled
            parts.append(_text(at, y + 19.0, end, 8.5, "middle", "tick"))
    return parts


def _short(x: float) -> str:
    """A level in few characters."""
    return (
        f"{x:.2g}"
        if 1e-3 <= x < 1.0
        else f"{x:g}"
        if 1.0 <= x < 1e4
        else f"{x:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    )


# ---------------------------------------------------------------------------------------------------------------------
# Axes


@dataclass(frozen=True)
class Scale:
    """A linear map from values to positions in the drawing."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, x: float) -> float:
        return self.start + (x - self.low) / (self.high - self.low) * (self.end - self.start)


def spread(values: ArrayLike, margin: float = 0.06, least: float = 1e-12) -> tuple[float, float]:
    """Bounds around the finite values, with a margin."""
    x = np.asarray(values, dtype=float)
    x = x[np.isfinite(x)]
    low, high = (float(x.min()), float(x.max())) if x.size else (0.0, 1.0)
    air = margin * max(high - low, least) or 1.0
    return low - air, high + air


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two bounds."""
    rough = (high - low) / about
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * min((1.0, 2.0, 5.0, 10.0), key=lambda m: abs(np.log(m * power / rough)))
    first = np.ceil(low / step)
    return [float(k * step) + 0.0 for k in np.arange(first, np.floor(high / step) + 1)]  # 0, not -0


def _axes(x: Scale, y: Scale, xlabel: str, ylabel: str) -> list[str]:
    bottom, top = y.start, y.end
    parts = []
    for t in ticks(x.low, x.high):
        parts += [_line(x(t), bottom, x(t), top), _text(x(t), bottom + 14.0, f"{t:.6g}", 10.0, "middle", "tick")]
    for t in ticks(y.low, y.high):
        parts += [_line(x.start, y(t), x.end, y(t)), _text(x.start - 5.0, y(t) + 3.5, f"{t:.6g}", 10.0, "end", "tick")]
    parts.append(_text((x.start + x.end) / 2, bottom + 30.0, xlabel, 11.0, "middle"))
    parts.append(_text(x.start - 40.0, top - 9.0, ylabel, 11.0))
    return parts


def complex_plane(values: ArrayLike, words: str = "eigenvalues", unit: str = "1/s") -> str:
    """Points in the complex plane; the more lie on each other, the larger the dot."""
    z = np.asarray(values, dtype=complex)
    reach = max(float(np.max(np.abs(z), initial=0.0)), 1e-6)
    wide = 1.12 * max(float(np.max(np.abs(z.real), initial=0.0)), 0.3 * reach)
    tall = 1.12 * max(float(np.max(np.abs(z.imag), initial=0.0)), 0.3 * reach)
    x, y = Scale(-wide, wide, 52.0, WIDTH - 10.0), Scale(-tall, tall, 262.0, 26.0)
    parts = _axes(x, y, f"real part, {unit}", f"imaginary part, {unit}")
    parts += [_line(x(0), y.start, x(0), y.end, "zero"), _line(x.start, y(0), x.end, y(0), "zero")]
    labels: list[tuple[float, float]] = []
    for point, many in sorted(_gathered(z, 1e-3 * reach), key=lambda found: -found[1]):
        side = 2 if point.real > 1e-3 * reach else 4 if point.real < -1e-3 * reach else 1
        radius = 3.6 + 1.6 * np.log2(many)
        place = f'cx="{x(point.real):.5g}" cy="{y(point.imag):.5g}" r="{radius:.3g}"'
        title = f"<title>{point.real:.4g} {point.imag:+.4g}i, {many} times</title>"
        parts.append(f'<circle {place} class="f{side}" opacity="0.8">{title}</circle>')
        label = (x(point.real) + radius + 3.0, y(point.imag) - radius)
        if many > 1 and all(abs(label[0] - a) > 18.0 or abs(label[1] - b) > 10.0 for a, b in labels):
            labels.append(label)
            parts.append(_text(*label, f"×{many}", 9.5, "start", "tick"))
    return svg(WIDTH, 300.0, parts, words)  # fmt: skip


def _gathered(z: NDArray[np.complex128], near: float) -> list[tuple[complex, int]]:
    """Points with how many lie there."""
    left, found = list(z), []
    while left:
        close = [w for w in left if abs(w - left[0]) <= near]
        found.append((complex(np.mean(close)), len(close)))
        left = [w for w in left if abs(w - found[-1][0]) > near and w not in close]
    return found


def bars(names: Sequence[str], values: Sequence[float], unit: str = "", most: int = 24, words: str = "bars") -> str:
    """Horizontal bars, the longest first; beyond `most`, the rest is one bar."""
    order = sorted(range(len(values)), key=lambda k: -values[k])
    rows = [(names[k], float(values[k])) for k in order]
    if len(rows) > most:
        rest = rows[most - 1 :]
        rows = [*rows[: most - 1], (f"the other {len(rest)}", sum(v for _, v in rest))]
    shown = [(n if len(n) <= 22 else n[:21] + "…", v) for n, v in rows]
    longest, total = max((v for _, v in shown), default=0.0) or 1.0, sum(v for _, v in shown) or 1.0
    left = 14.0 + max((len(n) for n, _ in shown), default=0) * 6.2
    room, step = WIDTH - left - 104.0, 19.0
    parts = []
    for k, (name, value) in enumerate(shown):
        y = 4.0 + k * step
        parts.append(_text(left - 6.0, y + 11.0, name, 11.0, "end"))
        parts.append(f'<rect x="{left:.5g}" y="{y + 1:.5g}" width="{room * value / longest:.5g}" height="13" rx="2" class="f1"/>')
        label = f"{value:.3g} {unit}  {value / total:.0%}"
        parts.append(_text(left + room * value / longest + 6.0, y + 11.5, label, 10.0, "start", "tick"))
    return svg(WIDTH, 8.0 + step * len(shown), parts, words)


def lines(
    x: ArrayLike,
    series: Mapping[str, ArrayLike],
    *,
    xlabel: str = "time, s",
    ylabel: str = "",
    cursor: bool = False,
    words: str = "curves",
) -> str:
    """Curves over a common axis, named above. cursor: a line that follows the player of the page, for x in seconds."""
    t = np.asarray(x, dtype=float)
    curves = {name: np.asarray(y, dtype=float) for name, y in series.items()}
    sx = Scale(float(t[0]), float(t[-1]) if t[-1] > t[0] else float(t[0]) + 1.0, 52.0, WIDTH - 10.0)
    top = 44.0 if len(curves) > 1 or ylabel else 16.0
    sy = Scale(*spread(np.concatenate(list(curves.values()))), top + 190.0, top)
    parts = _axes(sx, sy, xlabel, ylabel)
    at = 52.0
    for k, (name, y) in enumerate(curves.items()):
        kind = k % 5 + 1
        points = "L".join(f"{sx(a):.5g} {sy(b):.5g}" for a, b in zip(*_thinned(t, y), strict=True) if np.isfinite(b))
        parts.append(f'<path d="M{points}" class="curve s{kind}"/>')
        if len(curves) > 1:
            parts.append(
                f'<rect x="{at:.5g}" y="10" width="12" height="3" class="f{kind}"/>' + _text(at + 16.0, 15.0, name, 10.5)
            )
            at += 30.0 + 6.0 * len(name)
    if cursor:
        data = f'data-t0="{sx.low:.6g}" data-t1="{sx.high:.6g}" data-x0="{sx.start:.6g}" data-x1="{sx.end:.6g}"'
        parts.append(f'<path class="cursor" {data} d="M0 {sy.start:.5g}V{sy.end:.5g}" transform="translate({sx.start:.5g} 0)"/>')
    return svg(WIDTH, top + 228.0, parts, words)


def _thinned(t: Array, y: Array) -> tuple[Array, Array]:
    keep = np.unique(np.linspace(0, len(t) - 1, min(len(t), MOST_POINTS)).round().astype(int))
    return t[keep], y[keep]
