"""In the terminal: the report of a robot, and the bars, tables and pictures it is drawn with.

Text from a robot's file is always `Text`, never markup, and control characters in it are escaped, so
that a name cannot garble the terminal. Into a pipe go the same characters without colour.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fallingcat.cli.report import RANDOM_STATES, Check, Report, Step, condition, smallest_eigenvalue, velocity_labels
from fallingcat.model.findings import Finding
from fallingcat.model.joints import Prismatic
from fallingcat.model.model import Body
from fallingcat.model.report import printable
from fallingcat.model.tree_text import joint_words, rows
from fallingcat.robot import Robot

Array = NDArray[np.float64]

PIPE_WIDTH = 110
"""Columns when the output is no terminal and COLUMNS says nothing."""

GOOD, BAD, DOUBT, QUIET, STRONG = "bold green", "bold red", "yellow", "dim", "bold"

# Shades from no coupling to full, and the colour of each.
_SHADES = (
    (0.0, "··", "grey50"),
    (0.1, "░░", "steel_blue"),
    (0.3, "▒▒", "dark_cyan"),
    (0.6, "▓▓", "dark_orange"),
    (2.0, "██", "orange_red1"),
)
SHADE_WORDS = ("0", "< 0.1", "< 0.3", "< 0.6", "to 1")

LARGEST_IN_NUMBERS = 12
"""Mass matrices up to this size are printed as numbers."""
MAX_CELLS = 44
"""Of a matrix picture, per side; larger matrices are drawn in blocks."""


def stdout_console() -> Console:
    """Where reports go: as wide as the terminal, colourless in a pipe."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(highlight=False, width=width)


@contextmanager
def progress(total: int) -> Iterator[Step]:
    """A bar on stderr while things are computed, gone afterwards; nothing at all unless both streams are terminals."""
    if not (sys.stderr.isatty() and sys.stdout.isatty()):
        yield lambda what: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), BarColumn(bar_width=30), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        def step(what: str) -> None:
            bar.update(task, advance=1, description=what)

        yield step


def heading(console: Console, title: str, note: str = "") -> None:
    """A line that opens a section."""
    console.print()
    console.print(Text.assemble((title, "bold cyan"), ("  " + note if note else "", QUIET)))


def bar(share: float, width: int = 20) -> str:
    """A horizontal bar for a share of one, to an eighth of a character."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def number(x: float, digits: int = 4) -> str:
    """A number in few characters; zero is `0`."""
    return f"{x:.{digits}g}" if x else "0"


def table(*headers: str, right: Sequence[int] = ()) -> Table:
    """A table without lines; the columns named in `right` are aligned to the right."""
    t = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=QUIET)
    for k, header in enumerate(headers):
        t.add_column(header, justify="right" if k in right else "left", no_wrap=True, overflow="ellipsis")
    return t


def fitted(
    lines: Sequence[dict[str, Text]], width: int, right: Sequence[str] = (), shrink: Sequence[str] = (), drop: Sequence[str] = ()
) -> Table:
    """A table that fits: some columns are shortened by up to a quarter, then columns are left out, then shortened further.

    Every line has one text for each column; the order of its keys is that of the columns.
    """
    columns = list(lines[0])
    widths = {name: max(len(name), *(line[name].cell_len for line in lines)) for name in columns}

    def excess() -> int:
        return sum(widths[name] + 2 for name in columns) - width

    least = {name: max(20, 3 * widths[name] // 4) for name in shrink}
    for _ in range(2):
        for name in (name for name in shrink if name in columns):
            widths[name] -= max(0, min(excess(), widths[name] - least[name]))
        for name in drop:
            if excess() > 0 and name in columns:
                columns.remove(name)
        least = dict.fromkeys(shrink, 8)
    t = table(*columns, right=[k for k, name in enumerate(columns) if name in right])
    for line in lines:
        for name in columns:
            line[name].truncate(widths[name], overflow="ellipsis")
        t.add_row(*(line[name] for name in columns))
    return t


def facts(pairs: Sequence[tuple[str, Any]]) -> Table:
    """Names and values, one pair a line."""
    t = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    t.add_column(style=QUIET, no_wrap=True)
    t.add_column(overflow="fold")
    for name, value in pairs:
        t.add_row(name, value if isinstance(value, Text) else Text(str(value)))
    return t


def number_matrix(M: Array, labels: Sequence[str]) -> Table:
    """A matrix as numbers, with a label to each row."""
    t = table("", "", *(str(k) for k in range(len(M))), right=range(2, len(M) + 2))
    for k, row in enumerate(M):
        cells = (
            Text("·", style=QUIET) if x == 0.0 else Text(f"{x:.3g}", style=STRONG if m == k else "") for m, x in enumerate(row)
        )
        t.add_row(Text(str(k), style=QUIET), Text(labels[k]), *cells)
    return t


def number_matrix_width(M: Array, labels: Sequence[str]) -> int:
    """Columns that `number_matrix` takes."""
    widths = [max(len(f"{x:.3g}") for x in column) + 2 for column in M.T]
    return 4 + max(map(len, labels)) + 2 + sum(widths)


def coupling(M: Array) -> Array:
    """|M_ij| / sqrt(M_ii M_jj): free of units, one on the diagonal, zero where two motions do not feel each other."""
    d = np.sqrt(np.abs(np.diag(M)))
    scale = np.outer(d, d)
    C = np.divide(np.abs(M), scale, out=np.zeros_like(M), where=scale > 0.0)
    return np.where(C < 1e-12, 0.0, C)


def blocks(C: Array, most: int = MAX_CELLS) -> tuple[Array, int]:
    """The matrix with at most `most` rows, each cell the largest entry of a square block, and the side of the blocks."""
    side = -(-len(C) // most) if len(C) else 1
    cells = -(-len(C) // side)
    padded = np.zeros((cells * side, cells * side))
    padded[: len(C), : len(C)] = C
    return padded.reshape(cells, side, cells, side).max(axis=(1, 3)), side


def shaded_matrix(M: Array, labels: Sequence[str]) -> Text:
    """A picture of the couplings of a mass matrix, one shaded cell an entry (or block of entries)."""
    cells, side = blocks(coupling(M))
    if side == 1:
        names = list(labels)
    else:
        names = [f"{k * side}-{min((k + 1) * side, len(M)) - 1}" for k in range(len(cells))]
    width = max(map(len, names))
    picture = Text(no_wrap=True)
    for k, row in enumerate(cells):
        picture.append("\n" if k else "")
        picture.append(f"{names[k]:>{width}}  ", style=QUIET)
        for x in row:
            _, shade, style = next(s for s in _SHADES if x <= s[0])
            picture.append(shade, style=style)
    return picture


def shade_legend() -> Text:
    """What the shades of `shaded_matrix` mean."""
    legend = Text()
    for (_, shade, style), words in zip(_SHADES, SHADE_WORDS, strict=True):
        legend.append(shade, style=style)
        legend.append(f" {words}   ", style=QUIET)
    return legend


# ---------------------------------------------------------------------------------------------------------------------
# The report


def show(report: Report, console: Console) -> None:
    """Print the report, section by section."""
    console.print(_header(report))
    heading(console, "Tree", _tree_note(report.robot))
    if report.robot.model.bodies:
        console.print(_tree(report, console.width))
    heading(console, "State", report.state.words)
    console.print(_state(report))
    if report.robot.nv:
        heading(console, "Mass matrix", f"{report.robot.nv} × {report.robot.nv}, at this state")
        console.print(_mass_matrix(report, console.width))
    heading(console, "Consistency", f"worst of this state and {RANDOM_STATES} random ones" if report.robot.nv else "")
    console.print(_checks(report.checks, console.width))
    heading(console, "Doctor")
    console.print(_doctor(report.findings), soft_wrap=True)


def _header(report: Report) -> Panel:
    robot = report.robot
    name = f"'{printable(robot.base)}'"
    base = f"6 in the floating base {name}" if robot.floating else f"base {name} welded to the world"
    joints = "no movable joints" if robot.n == 0 else f"{robot.n} in {_count(len(robot.joint_names), 'joint')}"
    links = f"{_count(len(robot.link_names), 'link')}, {_count(len(robot.model.bodies), 'moving body', 'moving bodies')}"
    lines = facts(
        [
            ("degrees of freedom", Text.assemble((str(robot.nv), STRONG), f"   {base}, {joints}")),
            ("mass", Text.assemble((f"{robot.mass:.4g} kg", STRONG), f"   {links}")),
            ("state", f"{robot.nq} numbers in q, {robot.nv} in ν"),
            ("gravity γ", f"{_numbers(robot.gravity)} m/s²"),
            ("description", printable(robot.description.file, 200)),
        ]
    )
    return Panel(lines, title=Text(printable(robot.name), style=STRONG), title_align="left", border_style="cyan", padding=(0, 1))


def _tree_note(robot: Robot) -> str:
    if not robot.nv:
        return "nothing moves: the base is welded to the world and there are no movable joints"
    if not robot.n:
        return "one rigid body, free to fly"
    still = "" if robot.floating else f"'{printable(robot.base)}' stands still and its mass does not count; "
    return still + "limits in rad" + (" and m" if any(isinstance(b.joint, Prismatic) for b in robot.model.bodies) else "")


def _tree(report: Report, width: int) -> Table:
    """One line a body: where it hangs, what moves it, how heavy it is. A narrow terminal gets fewer columns."""
    robot, model = report.robot, report.robot.model
    moved = not np.array_equal(report.state.q, robot.neutral())
    dynamic = any(body.damping or body.friction or body.armature for body in model.bodies)
    links = set(model.link_names)
    in_body = [frame.body for name, frame in model.frames if name in links]
    heaviest = max(float(body.inertia.mass) for body in model.bodies) or 1.0
    lines: list[dict[str, Text]] = []
    if not robot.floating:
        lines.append({"link": Text(printable(robot.base), style=STRONG), "type": Text("welded", style="cyan")})
    for i, (branch, *_) in enumerate(rows(model)):
        body, mass = model.bodies[i], float(model.bodies[i].inertia.mass)
        welded = in_body.count(i) - 1
        line = {
            "link": Text.assemble((branch, QUIET), (printable(body.name), STRONG), (f" +{welded}" if welded else "", QUIET)),
            "joint": Text("" if robot.floating and i == 0 else printable(body.joint_name)),
            "type": Text(joint_words(body.joint), style="cyan"),
            "ν": Text(_places(model.dofs(i)), style=QUIET),
            "limits": Text(_limits(body)),
        }
        if moved:
            line["q"] = Text("" if body.joint.nq > 1 or body.mimics else f"{report.state.q[body.q_at]:.3f}")
        if dynamic:
            passive = (body.damping, body.friction, body.armature)
            line["damping, friction, armature"] = Text(_numbers(passive) if any(passive) else "", style=QUIET)
        line["kg"] = Text(number(mass))
        line["share"] = Text.assemble((f"{bar(mass / heaviest, 6):<6}", "green"), f" {mass / (robot.mass or 1.0):4.0%}")
        lines.append(line)
    lines = [{name: line.get(name, Text()) for name in lines[-1]} for line in lines]
    return fitted(lines, width, right=("ν", "q", "kg"), shrink=("link", "joint"), drop=("share", "type", "ν"))


def _limits(body: Body) -> str:
    if body.mimics:
        return f"follows × {number(body.multiplier)}" + (f" + {number(body.offset)}" if body.offset else "")
    lower, upper = body.limits.lower, body.limits.upper
    if not np.isfinite(lower) and not np.isfinite(upper):
        return "free"
    return f"{lower:.3g} … {upper:.3g}" + (" m" if isinstance(body.joint, Prismatic) else "")


def _state(report: Report) -> Table:
    c = f"{_numbers(report.center_of_mass)} m in the world" if report.robot.mass else "none: nothing that moves has mass"
    zero = "   zero with the centre of mass at the height of the origin" if report.robot.mass else ""
    return facts(
        [
            ("kinetic energy", f"{number(report.kinetic_energy, 6)} J"),
            ("potential energy", f"{number(report.potential_energy, 6)} J{zero}"),
            ("centre of mass", c),
        ]
    )


def _mass_matrix(report: Report, width: int) -> Any:
    M, labels, w = report.M, velocity_labels(report.robot), report.eigenvalues
    zeros = int(np.sum(coupling(M) == 0.0))
    notes = facts(
        [
            ("eigenvalues", f"{w[0]:.3g} … {w[-1]:.3g}"),
            ("condition", f"{condition(w):.3g}"),
            ("λ_min, unit diagonal", f"{smallest_eigenvalue(M):.3g}"),
            ("zeros", f"{zeros} of {M.size} ({zeros / M.size:.0%})"),
        ]
    )
    if len(M) <= LARGEST_IN_NUMBERS and number_matrix_width(M, labels) <= width:
        return Group(number_matrix(M, labels), Text(), notes)
    picture, legend = shaded_matrix(M, labels), shade_legend()
    meaning = Text("Shade: |M_ij| / √(M_ii M_jj)", style=QUIET)
    beside = max(map(len, picture.plain.split("\n"))) + 4 + 38 <= width
    if not beside:
        return Group(picture, Text(), meaning, legend, Text(), notes)
    legend = Text("\n").join([Text.assemble(part) for part in legend.split("   ")])
    grid = Table.grid(padding=(0, 4))
    grid.add_row(picture, Group(notes, Text(), meaning, legend))
    return grid


def _checks(checks: tuple[Check, ...], width: int) -> Any:
    applied = [check for check in checks if check.passed is not None]
    if not applied:
        return Text("Nothing to check: nothing that moves has mass.", style=QUIET)
    lines = []
    for check in checks:
        mark, style = {True: ("✓", GOOD), False: ("✗", BAD), None: ("–", QUIET)}[check.passed]
        value, bound = _value_and_bound(check)
        line = {"": Text(mark, style=style), "identity": Text(check.name), "formula": Text(check.formula, style="cyan")}
        lines.append(line | {"measured": value, "bound": bound})
    failed = sum(check.passed is False for check in applied)
    verdict = Text(f"{failed} of {len(applied)} checks fail", BAD) if failed else Text(f"all {len(applied)} checks hold", GOOD)
    return Group(fitted(lines, width, right=("measured",), shrink=("identity",), drop=("formula", "bound")), verdict)


def _value_and_bound(check: Check) -> tuple[Text, Text]:
    if check.passed is None:
        return Text("fixed base", style=QUIET), Text()
    value = "no number" if check.value is None else f"{check.value:.1e}" if check.value else "0"
    sign = ">" if check.kind == "positive" else "≤"
    return Text(value, style="" if check.passed else BAD), Text(f"{sign} {check.bound:.0e}", style=QUIET)


def _doctor(findings: tuple[Finding, ...], most: int = 8) -> Text:
    if not findings:
        return Text("healthy: no findings", style=GOOD)
    lines = [Text(str(finding), style=BAD if finding.severity == "error" else DOUBT) for finding in findings[:most]]
    if len(findings) > most:
        lines.append(Text(f"and {len(findings) - most} more; 'fallingcat doctor' lists all", style=QUIET))
    return Text("\n").join(lines)


def _numbers(x: Any) -> str:
    return "(" + ", ".join(number(float(v)) for v in x) + ")"


def _places(dofs: range) -> str:
    return str(dofs[0]) if len(dofs) == 1 else f"{dofs[0]}–{dofs[-1]}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
