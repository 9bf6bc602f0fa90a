"""`fallingcat linearize ROBOT`: the linearization of a robot at a state, what it says, and how it looks.

`report.linearization` computes; this module presents.
"""

from __future__ import annotations

import argparse
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from fallingcat import files
from fallingcat.apps import figures
from fallingcat.apps.console import QUIET, STRONG, facts, fitted, heading, number, stdout_console
from fallingcat.apps.files import show_written
from fallingcat.apps.report.linearization import MOST_EIGENVALUES, ZERO, Result, measure, modes
from fallingcat.apps.report.plain import finite, state_as_json
from fallingcat.apps.report.states import read_state
from fallingcat.apps.report.words import sparsity
from fallingcat.choices import check_representation
from fallingcat.cli.options import add_robot, add_state, load_robot
from fallingcat.errors import InputError
from fallingcat.model.report import printable

MOST_CELLS = 100
"""Largest number of columns of the picture; larger matrices are drawn in blocks."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `fallingcat linearize`."""
    add_robot(parser)
    add_state(parser)
    parser.add_argument("--representation", default="body", help="the base twist of the state: body (default), mixed or inertial")
    parser.add_argument(
        "--torques", default="free",
        help="free (default): no joint accelerates and nothing pushes the base; hold: nothing accelerates",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE.npz", help="write A, B, the state and the eigenvalues, and a picture beside it")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.epilog = "With --torques hold, a wrench on the base, constant in its coordinates, holds a floating robot."
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Load, linearize, print, write."""
    check_representation(arguments.representation)
    if arguments.torques not in ("free", "hold"):
        raise InputError("unknown torques", expected="'free' or 'hold'", got=repr(arguments.torques))
    target = _target(arguments.out)
    robot = load_robot(arguments)
    if not robot.nv:
        raise InputError("nothing to linearize: nothing of this robot moves", hint="leave out --fixed")
    result = measure(robot, read_state(robot, arguments.state), arguments.representation, held=arguments.torques == "hold")
    written = _write(result, target) if target else []
    if arguments.json:
        print(json.dumps(as_json(result), indent=2, allow_nan=False))
        return 0
    console = stdout_console()
    show(result, console)
    if written:
        show_written(console, written)
    return 0


def _target(name: str | None) -> Path | None:
    if name is None:
        return None
    if Path(name).suffix != ".npz" and not Path(name).is_char_device():
        raise InputError("--out is not a .npz file", got=repr(name))
    return files.check(name)


# ---------------------------------------------------------------------------------------------------------------------
# In the terminal


def show(result: Result, console: Console) -> None:
    """Print the linearization, section by section."""
    robot, A, B = result.robot, result.A, result.B
    console.print(Text.assemble((printable(robot.name), STRONG), "   z' = A z + B u on the group of states (paper 000)"))
    base = "floating" if robot.floating else "fixed"
    moving = "nothing accelerates" if not result.dnu.any() else "the joints do not accelerate, nothing pushes the base"
    pairs: list[tuple[str, Any]] = [
        ("state", result.state.words),
        ("torques", f"{moving}; largest {number(float(np.abs(result.tau).max(initial=0.0)))} N m or N"),
        ("base twist", f"{result.representation}, {base} base {printable(robot.base)!r}"),
        ("A", sparsity(result.filled[:, : len(A)])),
        ("B", f"{B.shape[0]} × {B.shape[1]}, joint torques"),
    ]
    if not result.equilibrium:
        frozen = "the robot does not stay here: eigenvalues and rank are those of A and B frozen at this instant"
        pairs.append(("", Text(frozen, style="yellow")))
    console.print(facts(pairs))
    side = _side(result, console.width)
    heading(console, "Sparsity", "A | B, where not zero" + (f"; a cell is {side} × {side} entries" if side > 1 else ""))
    console.print(picture(result, side))
    heading(console, "Eigenvalues", _stability(result))
    found = modes(result.eigenvalues)
    lines = [
        {
            "real": Text(number(mode.real), style="red" if mode.real > 0 else ""),
            "imaginary": Text(f"± {number(mode.imag)}" if mode.imag else "0"),
            "times": Text(str(mode.count)),
            "": Text(mode.words, style=QUIET),
        }
        for mode in found[:MOST_EIGENVALUES]
    ]
    console.print(fitted(lines, console.width, right=("real", "imaginary", "times"), fold=("",)))
    if len(found) > MOST_EIGENVALUES:
        console.print(Text(f"and {len(found) - MOST_EIGENVALUES} more; --out writes them all", style=QUIET))
    heading(console, "Numbers")
    rank = f"{result.rank} of {len(A)} by joint torques"
    if robot.floating and result.rank == 2 * robot.n:
        rank += "; the other 12 are the momentum, which they cannot change, and what it moves"
    console.print(
        facts(
            [
                ("controllability rank", rank),
                ("condition of the eigenvectors", _large(result.eigenvector_condition, "A is not diagonalizable")),
                ("condition of M, scaled", _large(result.mass_condition, "singular")),
            ]
        )
    )


def _large(x: float, words: str) -> str:
    return words if not np.isfinite(x) or x > 1e12 else f"{x:.3g}"


def _stability(result: Result) -> str:
    largest = max((m.real for m in modes(result.eigenvalues)), default=0.0)
    return f"unstable: {number(largest)} 1/s" if largest > 0 else "none grows exponentially"


def _side(result: Result, width: int) -> int:
    """Side of a cell of the picture in entries of the matrix, such that the picture fits the width of the terminal."""
    room = min(MOST_CELLS, width - 6 - 2 * len(result.parts) - 1)
    return -(-(len(result.A) + result.robot.n) // max(room, 1))


def picture(result: Result, side: int) -> Text:
    """A picture of the nonzero entries of A and B in cells of side x side; two rows per character make the cells square."""
    columns = [*result.parts, ("u", result.B.shape[1])]
    whole = result.filled
    text = Text(no_wrap=True)
    edges = np.cumsum([0, *(size for _, size in columns)])
    widths = [-(-size // side) for _, size in columns]
    names = (f"{name:<{width}}"[:width] for (name, _), width in zip(columns, widths, strict=True))
    text.append("      " + " ".join(names))
    top = 0
    for name, size in result.parts:
        rows = [_reduced(whole[top : top + size, a:b], side) for a, b in pairwise(edges)]
        for k in range(0, len(rows[0]), 2):
            text.append("\n")
            text.append(f"{name + chr(39) if k == 0 else '':>4}  ", style=QUIET)
            for j, part in enumerate(rows):
                if j:
                    text.append("│", style="cyan" if j == len(rows) - 1 else QUIET)
                lower = part[k + 1] if k + 1 < len(part) else np.zeros_like(part[k])
                text.append("".join("·▀▄█"[int(a) + 2 * int(b)] for a, b in zip(part[k], lower, strict=True)), style="cyan")
        top += size
        if top < len(whole):
            text.append("\n      ")
            text.append("┼".join("─" * width for width in widths), style=QUIET)
    return text


def _reduced(block: NDArray[np.bool_], side: int) -> NDArray[np.bool_]:
    """The block with each square of entries as one cell."""
    height, width = (-(-x // side) for x in block.shape)
    padded = np.zeros((height * side, width * side), dtype=bool)
    padded[: block.shape[0], : block.shape[1]] = block
    return np.asarray(padded.reshape(height, side, width, side).any(axis=(1, 3)))


# ---------------------------------------------------------------------------------------------------------------------
# Into files


def as_json(result: Result) -> dict[str, Any]:
    """The numbers in plain types; what is infinite is null."""
    return {
        "robot": result.robot.name,
        "state": state_as_json(result.state),
        "representation": result.representation,
        "tau": result.tau.tolist(),
        "dnu": result.dnu.tolist(),
        "A": result.A.tolist(),
        "B": result.B.tolist(),
        "fill": result.fill,
        "eigenvalues": [[float(x.real), float(x.imag)] for x in result.eigenvalues],
        "modes": [{"real": m.real, "imag": m.imag, "count": m.count} for m in modes(result.eigenvalues)],
        "controllability_rank": result.rank,
        "conditions": {"eigenvectors": finite(result.eigenvector_condition), "mass_matrix": finite(result.mass_condition)},
    }


def _write(result: Result, path: Path) -> list[Path]:
    data = io.BytesIO()
    np.savez(
        data, A=result.A, B=result.B, q=result.state.q, nu=result.state.nu, tau=result.tau, eigenvalues=result.eigenvalues,
        controllability_rank=result.rank, representation=result.representation,
    )  # fmt: skip
    files.write(path, data.getvalue())
    return [path, draw(result, path.with_suffix(".png"))] if path.suffix == ".npz" and figures.available() else [path]


def draw(result: Result, path: Path) -> Path:
    """The picture: sparsity with magnitudes, and the eigenvalues in the plane."""
    import matplotlib as mpl
    from matplotlib.colors import LogNorm

    whole = np.abs(np.concatenate([result.A, result.B], axis=1))
    m = len(result.A)
    shown = np.where(result.filled, whole, np.nan)
    with figures.drawing(path, 2, 12.5, 5.4, widths=(1.35, 1.0)) as (figure, axes):
        left, right = axes
        high = float(10.0 ** np.ceil(np.log10(max(np.nanmax(shown), 1.0))))
        colors = mpl.colormaps["viridis_r"]
        image = left.imshow(shown, norm=LogNorm(vmin=high * 1e-6, vmax=high, clip=True), cmap=colors, interpolation="nearest")
        figure.colorbar(image, ax=left, shrink=0.85, extend="min", label="magnitude; white is 0")
        names = [*result.parts, ("u", result.B.shape[1])]
        edges = np.cumsum([0, *(size for _, size in names)])
        for edge in edges[1:-1]:
            strong = edge == m
            left.axvline(edge - 0.5, color=figures.QUIET, linewidth=1.6 if strong else 0.6)
            if edge < m:
                left.axhline(edge - 0.5, color=figures.QUIET, linewidth=0.6)
        centres = (edges[:-1] + edges[1:] - 1) / 2
        pretty = {"z_H": "$z_H$", "z_s": "$z_s$", "z_v": "$z_v$", "z_r": "$z_r$", "u": "$u$"}
        left.set_xticks(centres, [pretty[name] for name, _ in names])
        dotted = {"z_H": r"$\dot z_H$", "z_s": r"$\dot z_s$", "z_v": r"$\dot z_v$", "z_r": r"$\dot z_r$"}
        left.set_yticks(centres[:-1], [dotted[name] for name, _ in names[:-1]])
        left.tick_params(length=0)
        left.grid(visible=False)
        left.set_title(f"A | B of {printable(result.robot.name)}: {result.fill:.0%} of A is not zero", loc="left")
        _eigenvalue_panel(right, result)
    return path


def _eigenvalue_panel(ax: Any, result: Result) -> None:
    values = result.eigenvalues
    unstable = [m for m in modes(values) if m.real > 0]
    near = np.abs(values) < ZERO
    groups = [
        (values[near], figures.QUIET, f"{int(near.sum())} at zero"),
        (values[~near & (values.real <= ZERO)], figures.OURS, "do not grow"),
        (values[~near & (values.real > ZERO)], figures.FAMILY[1], "grow"),
    ]
    for points, color, label in groups:
        if len(points):
            ax.scatter(points.real, points.imag, s=44, color=color, label=label, alpha=0.75, edgecolor="white", zorder=3)
    reach = 1.15 * max(float(np.abs(values).max(initial=0.0)), 1.0)
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-reach, reach)
    ax.axvspan(0.0, reach, color=figures.FAMILY[1], alpha=0.05, linewidth=0)
    ax.axvline(0.0, color=figures.QUIET, linewidth=0.9)
    ax.axhline(0.0, color=figures.QUIET, linewidth=0.9)
    ax.set_aspect("equal")
    ax.set_xlabel("real part, 1/s: to the right, perturbations grow")
    ax.set_ylabel("imaginary part, rad/s")
    title = f"Eigenvalues of A: fastest growth {number(unstable[0].real)} 1/s" if unstable else "Eigenvalues of A: none grows"
    ax.set_title(title, loc="left")
    ax.legend(loc="upper left")
