"""The report in the terminal, section by section.

Text from a robot's file is always `Text`, never markup, and control characters in it are escaped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fallingcat.apps.console import (
    BAD,
    DOUBT,
    GOOD,
    LARGEST_IN_NUMBERS,
    QUIET,
    STRONG,
    bar,
    facts,
    fitted,
    heading,
    number,
    number_matrix,
    number_matrix_width,
    shade_legend,
    shaded_matrix,
    widths_of,
)
from fallingcat.apps.report import words
from fallingcat.apps.report.checks import RANDOM_STATES, Check
from fallingcat.apps.report.identities import smallest_eigenvalue
from fallingcat.apps.report.linearization import condition
from fallingcat.apps.report.measure import (
    Report,
    conventions,
    coupling,
    growth_words,
    linear_words,
    massless,
    strongest_pairs,
    velocity_labels,
)
from fallingcat.apps.report.timings import BATCH
from fallingcat.apps.report.words import count, numbers, twist
from fallingcat.model.findings import Finding
from fallingcat.model.joints import Prismatic
from fallingcat.model.report import printable
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]


def show(report: Report, console: Console) -> None:
    """Print the report."""
    robot = report.robot
    console.print(_header(report))
    heading(console, "Tree", _tree_note(robot))
    if robot.model.bodies:
        console.print(_tree(report, console.width))
        heading(console, "Inertias", "about each body's centre of mass, in kg m²; the centre in its frame, in m")
        console.print(_inertias(report, console.width))
    heading(console, "Conventions")
    console.print(facts(conventions(robot)))
    heading(console, "State", report.state.words)
    console.print(_state(report))
    if robot.nv:
        heading(console, "Mass matrix", f"{robot.nv} × {robot.nv}, at this state")
        console.print(_mass_matrix(report, console.width))
        heading(console, "Coriolis and gravity", "C at a random velocity, since the robot is at rest" if report.at_rest else "")
        console.print(_coriolis(report))
    if report.linear is not None:
        heading(console, "Linearization", linear_words(robot))
        console.print(_linearization(report, console.width))
    if report.centroidal is not None:
        heading(console, "Momentum", "about the centre of mass, in the axes of the world (paper 004)")
        console.print(_centroidal(report))
    if report.locked is not None and robot.n:
        heading(console, "Base and shape", "what the joints can do to the base without momentum (paper 003)")
        console.print(_locked(report, console.width))
    heading(console, "Consistency", f"worst of this state and {RANDOM_STATES} random ones" if robot.nv else "")
    console.print(_checks(report.checks, console.width))
    if report.timings:
        heading(console, "Timings", f"µs, best of several; a batch has {BATCH} states, on one thread")
        console.print(_timings(report, console.width))
    heading(console, "Doctor")
    console.print(_doctor(report.findings), soft_wrap=True)


def summary(report: Report) -> Group:
    """The few lines that say whether all is well."""
    return Group(_header(report), _verdict(report.checks), _doctor(report.findings, most=3))


def _header(report: Report) -> Panel:
    robot = report.robot
    name = f"'{printable(robot.base)}'"
    base = f"6 in the floating base {name}" if robot.floating else f"base {name} welded to the world"
    joints = "no movable joints" if robot.n == 0 else f"{robot.n} in {count(len(robot.joint_names), 'joint')}"
    links = f"{count(len(robot.link_names), 'link')}, {count(len(robot.model.bodies), 'moving body', 'moving bodies')}"
    lines = facts(
        [
            ("degrees of freedom", Text.assemble((str(robot.nv), STRONG), f"   {base}, {joints}")),
            ("mass", Text.assemble((f"{robot.mass:.4g} kg", STRONG), f"   {links}")),
            ("state", f"{robot.nq} numbers in q, {robot.nv} in ν"),
            ("gravity γ", f"{numbers(robot.gravity)} m/s²"),
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
    """One line for each body: its place in the tree, its joint, and its mass.

    Narrow terminals get thin branches and fewer columns, and then a joint has a line of its own under its link.
    """
    drop = ("share", "type", "ν")

    def fits(lines: list[dict[str, Text]]) -> bool:
        return sum(size + 2 for name, size in widths_of(lines).items() if name not in drop) <= width

    lines = next((found for found in (_tree_lines(report, thin) for thin in (False, True)) if fits(found)), None)
    if lines is None:
        lines = _under_each_other(_tree_lines(report, thin=True))
    return fitted(lines, width, right=("ν", "q", "kg"), fold=("limits", _PASSIVE), drop=drop)


_PASSIVE = "damping, friction, armature"
_OF_THE_LINK = ("link", "kg", "share")


def _under_each_other(lines: list[dict[str, Text]]) -> list[dict[str, Text]]:
    """Two lines a body: its link and, under it, its joint, with the branches that go on."""
    found: list[dict[str, Text]] = []
    branches = [_branch(line["link"].plain) for line in lines]
    for line, branch, after in zip(lines, branches, [*branches[1:], ""], strict=True):
        of_joint = {name: text for name, text in line.items() if name not in (*_OF_THE_LINK, "joint")}
        if line["joint"]:
            found.append({name: line[name] if name in _OF_THE_LINK else Text() for name in line})
            going_on = branch[:-1] + ("│" if branch.endswith("├") else " ") + ("│" if len(after) > len(branch) else " ")
            link = Text.assemble((f"{going_on} ", QUIET), line["joint"])
            found.append({name: Text() for name in line} | {"link": link} | of_joint)
        else:
            found.append(dict(line))
    return [{"link, joint" if name == "link" else name: x for name, x in line.items() if name != "joint"} for line in found]


def _branch(text: str) -> str:
    """The strokes before a name."""
    return text[: len(text) - len(text.lstrip(" │├└"))]


def _tree_lines(report: Report, thin: bool) -> list[dict[str, Text]]:
    robot = report.robot
    moved = not np.array_equal(report.state.q, robot.neutral())
    found = list(words.body_rows(report))
    dynamic = any(row.passive for row in found)
    heaviest = max(float(row.body.inertia.mass) for row in found) or 1.0
    lines: list[dict[str, Text]] = []
    if not robot.floating:
        lines.append({"link": Text(printable(robot.base), style=STRONG), "type": Text("welded", style="cyan")})
    for row in found:
        mass, more = float(row.body.inertia.mass), f" +{row.welded}" if row.welded else ""
        branch = row.branch[::3] if thin else row.branch
        line = {
            "link": Text.assemble((branch, QUIET), (printable(row.body.name), STRONG), (more, QUIET)),
            "joint": Text(printable(row.joint)),
            "type": Text(row.kind, style="cyan"),
            "ν": Text(row.places, style=QUIET),
            "limits": Text(row.limits),
        }
        if moved:
            line["q"] = Text(row.q)
        if dynamic:
            line[_PASSIVE] = Text(row.passive, style=QUIET)
        line["kg"] = Text(number(mass))
        line["share"] = Text.assemble((f"{bar(mass / heaviest, 6):<6}", "green"), f" {mass / (robot.mass or 1.0):4.0%}")
        lines.append(line)
    return [{name: line.get(name, Text()) for name in lines[-1]} for line in lines]


def _state(report: Report) -> Table:
    c = f"{numbers(report.center_of_mass)} m in the world" if report.robot.mass else "none: nothing that moves has mass"
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
            *([("singular", report.singular)] if report.singular else []),
            ("λ_min, unit diagonal", f"{smallest_eigenvalue(M):.3g}"),
            ("zeros", f"{zeros} of {M.size} ({zeros / M.size:.0%})"),
        ]
    )
    if len(M) <= LARGEST_IN_NUMBERS and number_matrix_width(M, labels) <= width:
        return Group(number_matrix(M, labels), Text(), notes)
    picture, legend = shaded_matrix(coupling(M), labels, width), shade_legend()
    meaning = Text("Shade: |M_ij| / √(M_ii M_jj)", style=QUIET)
    beside = max(map(len, picture.plain.split("\n"))) + 4 + 38 <= width
    if not beside:
        return Group(picture, Text(), meaning, legend, Text(), notes)
    legend = Text("\n").join([Text.assemble(part) for part in legend.split("   ")])
    grid = Table.grid(padding=(0, 4))
    grid.add_row(picture, Group(notes, Text(), meaning, legend))
    return grid


def _checks(checks: tuple[Check, ...], width: int) -> Any:
    if all(check.passed is None for check in checks):
        return _verdict(checks)
    lines = []
    for check in checks:
        mark, style = {True: ("✓", GOOD), False: ("✗", BAD), None: ("–", QUIET)}[check.passed]
        value, bound = _value_and_bound(check)
        line = {"": Text(mark, style=style), "identity": Text(check.name), "formula": Text(check.formula, style="cyan")}
        lines.append(line | {"measured": value, "bound": bound})
    return Group(fitted(lines, width, right=("measured",), fold=("identity",), drop=("formula", "bound")), _verdict(checks))


def _verdict(checks: tuple[Check, ...]) -> Text:
    applied = [check for check in checks if check.passed is not None]
    if not applied:
        return Text("Nothing to check: nothing that moves has mass.", style=QUIET)
    failed = sum(check.passed is False for check in applied)
    return Text(f"{failed} of {len(applied)} checks fail", BAD) if failed else Text(f"all {len(applied)} checks hold", GOOD)


def _value_and_bound(check: Check) -> tuple[Text, Text]:
    if check.passed is None:
        return Text(check.why, style=QUIET), Text()
    return Text(words.measured(check), style="" if check.passed else BAD), Text(words.bound(check), style=QUIET)


def _inertias(report: Report, width: int) -> Any:
    lines = [
        {
            "body": Text(printable(of.body.name), style=STRONG),
            "kg": Text(number(of.mass)),
            "centre of mass": Text(numbers(of.center) if of.mass else "massless", style="" if of.mass else QUIET),
            "principal moments": Text(numbers(of.moments, 3) if of.mass else ""),
        }
        for of in report.bodies
    ]
    shown = fitted(lines, width, right=("kg",), fold=("principal moments", "centre of mass"))
    bare = massless(report.robot)
    if not bare:
        return shown
    note = f"{count(len(bare), 'link')} without mass, frames only: " + ", ".join(printable(name, 30) for name in bare[:6])
    return Group(shown, Text(note + (" …" if len(bare) > 6 else ""), style=QUIET))


def _coriolis(report: Report) -> Any:
    C, g, labels = report.C, report.g, velocity_labels(report.robot)
    filled = int(np.count_nonzero(np.abs(C) > 1e-13 * np.abs(C).max(initial=0.0)))
    at = int(np.argmax(np.abs(g))) if g.size else 0
    return facts(
        [
            ("C", f"{filled} of {C.size} entries not zero, largest {number(float(np.abs(C).max(initial=0.0)), 3)}"),
            ("C ν", f"largest {number(float(np.abs(C @ report.C_velocity).max(initial=0.0)), 3)} N m or N"),
            ("g", f"largest {number(float(g[at]))} N m or N at {labels[at]}" if g.any() else "zero"),
        ]
    )


def _linearization(report: Report, width: int) -> Any:
    from fallingcat.apps.report.linearization import MOST_EIGENVALUES, modes

    linear = report.linear
    assert linear is not None
    found = modes(linear.eigenvalues)
    lines = [
        {
            "real": Text(number(mode.real), style=BAD if mode.real > 0 else ""),
            "imaginary": Text(f"± {number(mode.imag)}" if mode.imag else "0"),
            "times": Text(str(mode.count)),
            "": Text(mode.words, style=QUIET),
        }
        for mode in found[:MOST_EIGENVALUES]
    ]
    pairs: list[tuple[str, Any]] = [("A", words.sparsity(linear.filled)), ("controllable", words.controllable(linear))]
    if linear.falling is not None:
        pairs.append(("in free fall", growth_words(linear.falling)))
    if not linear.stays:
        pairs.append(("", Text("the robot does not stay here: eigenvalues are those of A frozen at this instant", style=DOUBT)))
    more = [Text(f"and {len(found) - MOST_EIGENVALUES} more", style=QUIET)] if len(found) > MOST_EIGENVALUES else []
    shown = fitted(lines, width, right=("real", "imaginary", "times"), fold=("",))
    return Group(facts(pairs), Text("eigenvalues, 1/s", style=QUIET), shown, *more)


def _centroidal(report: Report) -> Any:
    assert report.centroidal is not None
    linear, angular, velocity, moments = words.momentum(report.centroidal)
    pairs = [("linear", linear), ("angular", angular), ("average velocity", velocity), ("inertia", f"{moments}, principal")]
    return facts(pairs)


def _locked(report: Report, width: int) -> Any:
    locked = report.locked
    assert locked is not None
    A, labels = locked.connection, velocity_labels(report.robot)[6:]
    at = int(np.argmax(np.linalg.norm(A[3:], axis=0)))
    pairs: list[tuple[str, Any]] = [
        ("locked velocity", twist(locked.velocity)),
        ("connection", f"{labels[at]} turns the base most: {number(float(np.linalg.norm(A[3:, at])), 3)} rad for each rad"),
    ]
    strong = strongest_pairs(report.robot, locked)
    if not strong:
        return Group(facts(pairs), Text("no loop of two joints turns the base here", style=QUIET))
    lines = [{"joint": Text(a), "with": Text(b), "rad": Text(number(x, 3))} for a, b, x in strong]
    note = Text("curvature: how far a small loop of two joints turns the base, for each unit of its area", style=QUIET)
    return Group(facts(pairs), note, fitted(lines, width, right=("rad",), fold=("joint", "with")))


def _timings(report: Report, width: int) -> Any:
    lines = [
        {
            "function": Text(t.function),
            "operations": Text(str(t.operations)),
            "one call": Text(f"{t.one:.2f}"),
            "in a batch": Text(f"{t.batch:.3f}"),
        }
        for t in report.timings
    ]
    return fitted(lines, width, right=("operations", "one call", "in a batch"), fold=("function",), drop=("operations",))


def _doctor(findings: tuple[Finding, ...], most: int = 8) -> Text:
    if not findings:
        return Text("healthy: no findings", style=GOOD)
    lines = [Text(str(finding), style=BAD if finding.severity == "error" else DOUBT) for finding in findings[:most]]
    if len(findings) > most:
        lines.append(Text(f"and {len(findings) - most} more; 'fallingcat doctor' lists all", style=QUIET))
    return Text("\n").join(lines)
