"""The report as a page that needs nothing beside itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fallingcat.apps import view
from fallingcat.apps.report import words
from fallingcat.apps.report.checks import RANDOM_STATES, Check
from fallingcat.apps.report.linearization import blocks_of_state, condition
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
from fallingcat.apps.report.words import clean, count, numbers, twist
from fallingcat.apps.view import figure, section, svg, table, text
from fallingcat.apps.view.chain import chain
from fallingcat.robot.robot import Robot

MOST_ROWS = 40
"""Longer tables start folded."""
SHARES = (0.01, 0.03, 0.07, 0.15, 0.3, 0.5, 0.75, 1.0)
"""Shares of the largest entry at which the shades of a heat map end."""
COUPLINGS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.7, 1.0)


def page(report: Report) -> str:
    """The HTML of the whole report."""
    sections = [part for part in _sections(report) if part]
    links = "".join(f'<a href="#{_anchor(title)}">{text(title)}</a>' for title, _ in sections)
    body = f"{_hero(report)}\n<nav>{links}</nav>\n" + "".join(html for _, html in sections)
    return view.page(report.robot.name, body, subtitle=_subtitle(report.robot))


def _sections(report: Report) -> Iterable[tuple[str, str] | None]:
    yield _named("Tree", _tree(report), _tree_note(report.robot))
    if report.bodies:
        yield _named("Masses and inertias", _masses(report), _masses_note(report))
    yield _named("Doctor", _doctor(report))
    if report.robot.nv:
        yield _named("Equations of motion", _equations(report), "M(q) dν + C(q, ν) ν + g(q) = τ")
    yield _named("Checks", _checks(report), f"Each identity at this state and at {RANDOM_STATES} random ones; the worst counts.")
    if report.linear is not None:
        note = f"z' = A z + B u on the group of states (paper 000), {linear_words(report.robot)}."
        yield _named("Linearization", _linear(report), note)
    if report.centroidal is not None:
        yield _named("Momentum", _centroidal(report), "About the centre of mass, in the axes of the world (paper 004).")
    if report.locked is not None and report.robot.n:
        yield _named("Base and shape", _locked(report), "What the joints can do to the base without momentum (paper 003).")
    if report.timings:
        note = f"Best of several, on one thread of this machine; a batch has {BATCH} states."
        yield _named("Timings", _timings(report), note)
    yield _named("Conventions", _facts(conventions(report.robot)))


def _named(title: str, body: str, note: str = "") -> tuple[str, str]:
    return title, section(title, body, note)


def _anchor(title: str) -> str:
    return "-".join(title.lower().split())


# ---------------------------------------------------------------------------------------------------------------------
# What is seen first


def _subtitle(robot: Robot) -> str:
    base = f"floating base '{robot.base}'" if robot.floating else f"base '{robot.base}' welded to the world"
    return f"{count(robot.nv, 'degree')} of freedom, {base}, {robot.mass:.4g} kg"


def _hero(report: Report) -> str:
    robot = report.robot
    scene = view.scene(robot, report.state.q)
    caption = f"The state: {report.state.words}."
    if scene["skeleton"]:
        caption += f" {view.SKELETON}"
    if scene["missing"]:
        caption += f" {count(len(scene['missing']), 'mesh', 'meshes')} not found, such as {scene['missing'][0]}."
    joints = "no movable joints" if robot.n == 0 else f"{robot.n} in {count(len(robot.joint_names), 'joint')}"
    c = numbers(report.center_of_mass) + " m" if robot.mass else "nothing that moves has mass"
    facts = [
        ("Checks", _badge(report.checks)),
        ("Doctor", _finding_count(report)),
        ("Degrees of freedom", f"<b>{robot.nv}</b>: {'6 in the base, ' if robot.floating else ''}{joints}"),
        ("Links", f"{len(robot.link_names)}, in {count(len(robot.model.bodies), 'moving body', 'moving bodies')}"),
        ("Mass", f"<b>{robot.mass:.4g} kg</b>"),
        ("State", f"{robot.nq} numbers in q, {robot.nv} in ν"),
        ("Centre of mass", text(c)),
        ("Kinetic energy", f"{report.kinetic_energy:.5g} J"),
        ("Potential energy", f"{report.potential_energy:.5g} J"),
        ("Gravity γ", f"{numbers(robot.gravity)} m/s²"),
        ("Description", text(robot.description.file.rsplit("/", 1)[-1])),
    ]
    card = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    return f'<div class="hero">{view.drawing(scene, caption=caption, linked=True)}<dl class="card">{card}</dl></div>'


def _badge(checks: Sequence[Check]) -> str:
    applied = [check for check in checks if check.passed is not None]
    failed = sum(check.passed is False for check in applied)
    if not applied:
        return '<span class="soft">nothing to check</span>'
    if failed:
        return f'<span class="badge bad">{failed} of {len(applied)} fail</span>'
    return f'<span class="badge good">all {len(applied)} hold</span>'


def _finding_count(report: Report) -> str:
    if not report.findings:
        return '<span class="good">healthy</span>'
    return f'<a href="#doctor" class="doubt">{count(len(report.findings), "finding")}</a>'


# ---------------------------------------------------------------------------------------------------------------------
# Sections


def _checks(report: Report) -> str:
    if all(check.passed is None for check in report.checks):
        return "<p>Nothing to check: nothing that moves has mass.</p>"
    marks = {True: '<span class="good">✓</span>', False: '<span class="bad">✗</span>', None: '<span class="soft">–</span>'}
    lines = []
    for check in report.checks:
        said = "", f'<span class="soft">{text(check.why)}</span>'
        if check.passed is not None:
            said = words.measured(check), text(words.bound(check))
        lines.append((marks[check.passed], text(check.name), f'<span class="mono">{text(check.formula)}</span>', *said))
    return table(["", "identity", "formula", "measured", "bound"], lines, right=(3,), name="checks")


def _tree_note(robot: Robot) -> str:
    if not robot.nv:
        return "Nothing moves: the base is welded to the world and there are no movable joints."
    if not robot.n:
        return "One rigid body, free to fly."
    still = "" if robot.floating else f"'{robot.base}' stands still and its mass does not count. "
    return still + "Each line is a body, with the joint that carries it; +k more links are welded to it."


def _tree(report: Report) -> str:
    found = list(words.body_rows(report))
    if not found:
        return ""
    dynamic = any(row.passive for row in found)
    lines = []
    sliders = {slider.body: k for k, slider in enumerate(chain(report.robot, report.state.q).sliders)}
    for i, row in enumerate(found):
        more = f' <span class="soft">+{row.welded}</span>' if row.welded else ""
        name = f'<span class="soft">{row.branch}</span><b>{text(row.body.name, 60)}</b>{more}'
        now = f'<span class="now">{row.q}</span>' if row.q else ""
        line = [name, text(row.joint, 60), text(row.kind), row.places, _limits(row, sliders.get(i)), now]
        lines.append([*line, row.passive] if dynamic else line)
    headers = ["body", "joint", "type", "ν", "limits", "q", *(["damping, friction, armature"] if dynamic else [])]
    return _folded(table(headers, lines, right=(3, 5), name="tree", bodies=range(len(lines))), len(lines), "bodies")


def _limits(row: words.BodyRow, slider: int | None) -> str:
    """The limits, and a mark where the joint stands between them; red beyond."""
    low, high = row.body.limits.lower, row.body.limits.upper
    if not row.q or slider is None or not np.isfinite(high - low) or not low < high:
        return row.limits
    share = (float(row.q) - low) / (high - low)
    out = "" if -1e-9 <= share <= 1.0 + 1e-9 else " out"
    mark = f'<i style="left:{100.0 * min(1.0, max(0.0, share)):.1f}%"></i>'
    bounds = f'data-low="{low:.9g}" data-high="{high:.9g}"'  # a slider reaches beyond them where the state does
    return f'<span class="range{out}" data-range="{slider}" {bounds}>{mark}</span>{row.limits}'


def _masses_note(report: Report) -> str:
    bare = massless(report.robot)
    note = "Inertias are about each body's centre of mass; the centre is given in the body's frame."
    if not bare:
        return note
    names = ", ".join(bare[:4]) + (" …" if len(bare) > 4 else "")
    return f"{note} {count(len(bare), 'link has', 'links have')} no mass and only mark a frame: {names}."


def _masses(report: Report) -> str:
    lines = []
    for of in report.bodies:
        principal = " &nbsp; ".join(f"{x:.3g}" for x in of.moments) if of.mass else ""
        center = numbers(of.center, 3) if of.mass else '<span class="soft">massless</span>'
        lines.append((text(of.body.name, 60), f"{of.mass:.4g}", center, principal))
    which = [report.robot.model.bodies.index(of.body) for of in report.bodies]
    shown = table(["body", "kg", "centre of mass, m", "principal moments, kg m²"], lines, right=(1,), bodies=which)
    names, masses = [of.body.name for of in report.bodies], [of.mass for of in report.bodies]
    plot = figure(svg.bars(names, masses, "kg", words="masses of the bodies"), "Masses of the moving bodies.")
    return f'<div class="uneven"><div>{_folded(shown, len(lines), "bodies")}</div>{plot}</div>'


def _doctor(report: Report) -> str:
    if not report.findings:
        return '<p class="good">Healthy: no findings.</p>'
    lines = [
        (
            f'<span class="{"bad" if f.severity == "error" else "doubt"}">{f.severity}</span>',
            str(f.line or ""), text(f.element), text(f.message, 400), text(f.hint, 400),
        )
        for f in report.findings[:60]
    ]  # fmt: skip
    more = f"<p class='soft'>And {len(report.findings) - 60} more.</p>" if len(report.findings) > 60 else ""
    shown = table(["", "line", "where", "what", "cure"], lines, right=(1,), name="findings")
    return _folded(shown, len(lines), "findings", most=12) + more


def _equations(report: Report) -> str:
    M, C, labels = report.M, report.C, velocity_labels(report.robot)
    w = report.eigenvalues
    zeros = int(np.sum(coupling(M) == 0.0))
    size = len(M)
    groups = [("base", 6), ("joints", size - 6)] if report.robot.floating and size > 6 else []
    plots = [
        figure(
            svg.heat_map(coupling(M), labels, blocks=groups, levels=COUPLINGS, words="couplings of the mass matrix"),
            f"M, free of units: |M_ij| / √(M_ii M_jj). {zeros} of {M.size} entries are zero.",
        ),
        figure(
            svg.heat_map(clean(C), labels, blocks=groups, signed=True, words="the Coriolis matrix"),
            "C" + (" at a random velocity, since it vanishes at rest" if report.at_rest else " at this state")
            + "; blue is negative, shades are powers of ten.",
        ),
    ]  # fmt: skip
    facts = _facts(
        [
            ("eigenvalues of M", f"{w[0]:.3g} … {w[-1]:.3g}"),
            ("condition of M", f"{condition(w):.3g}"),
            *([("M is singular", report.singular)] if report.singular else []),
            ("kinetic energy", f"{report.kinetic_energy:.5g} J"),
            ("largest force C ν", f"{np.abs(C @ report.C_velocity).max():.3g} N m or N"),
        ]
    )
    vectors = zip(labels, np.diag(M), report.g, C @ report.C_velocity, strict=True)
    lines = [(text(a, 40), f"{b:.4g}", f"{_round(c):.4g}", f"{_round(d):.4g}") for a, b, c, d in vectors]
    shown = table(["entry of ν", "M on its diagonal", "g", "C ν"], lines, right=(1, 2, 3))
    return f'{facts}<div class="plots">{"".join(plots)}</div>{_folded(shown, size, "entries", most=0)}'


def _linear(report: Report) -> str:
    from fallingcat.apps.report.linearization import modes

    linear = report.linear
    assert linear is not None
    velocities = velocity_labels(report.robot)
    names = [*velocities, *(f"{name} rate" for name in velocities)]
    pairs = [
        ("A", words.sparsity(linear.filled)),
        ("spectrum", growth_words(linear.eigenvalues)),
        ("controllable", words.controllable(linear)),
    ]
    if linear.falling is not None:
        pairs.append(("in free fall", growth_words(linear.falling)))
    if not linear.stays:
        pairs.append(("note", "the robot does not stay here: the eigenvalues are those of A frozen at this instant"))
    plots = [
        figure(svg.complex_plane(linear.eigenvalues, "eigenvalues of A"), "Eigenvalues of A; what lies on the right grows."),
        figure(
            svg.heat_map(linear.filled, names, blocks=blocks_of_state(report.robot), signed=True, words="the matrix A"),
            "A: rows and columns are base pose z_H, joints z_s, base twist z_v, joint rates z_r. Blue is negative.",
        ),
    ]
    lines = [
        (f"{m.real:.4g}", f"± {m.imag:.4g}" if m.imag else "0", str(m.count), text(m.words)) for m in modes(linear.eigenvalues)
    ]
    shown = table(["real, 1/s", "imaginary", "times", ""], lines, right=(0, 1, 2))
    return f'{_facts(pairs)}<div class="plots">{"".join(plots)}</div>{_folded(shown, len(lines), "modes", most=0)}'


def _centroidal(report: Report) -> str:
    assert report.centroidal is not None
    linear, angular, velocity, moments = words.momentum(report.centroidal)
    pairs = [("linear momentum", linear), ("angular momentum", angular), ("average velocity", velocity)]
    return _facts([*pairs, ("inertia", f"{moments}, principal moments")])


def _locked(report: Report) -> str:
    locked, robot = report.locked, report.robot
    assert locked is not None
    labels = velocity_labels(robot)[6:]
    A, turning = clean(locked.connection), clean(locked.turning)
    levels = [float(f"{share * (turning.max(initial=0.0) or 1.0):.2g}") for share in SHARES]
    strong = strongest_pairs(robot, locked)
    loops = [(text(a), text(b), f"{x:.3g}") for a, b, x in strong]
    shown = (
        table(["the strongest loops: of", "and", "rad"], loops, right=(2,)) if loops else "<p>No loop turns the base here.</p>"
    )
    plots = [
        figure(
            svg.heat_map(turning, labels, levels=levels, words="curvature for each pair of joints"),
            "Curvature: how far a small loop of two joints turns the base, in rad for each unit of the loop's area.",
        ),
        figure(
            svg.heat_map(A.T, labels, signed=True, words="the mechanical connection", columns=["x", "y", "z", "rx", "ry", "rz"]),
            "The mechanical connection A: without momentum the base moves with -A times the joint rates.",
        ),
    ]
    velocity = _facts([("locked velocity", twist(locked.velocity))])
    return f'{velocity}{shown}<div class="plots">{"".join(plots)}</div>'


def _timings(report: Report) -> str:
    lines = [(f"<code>{text(t.function)}</code>", str(t.operations), f"{t.one:.2f}", f"{t.batch:.3f}") for t in report.timings]
    return table(["function", "operations", "one call, µs", "a state of a batch, µs"], lines, right=(1, 2, 3))


# ---------------------------------------------------------------------------------------------------------------------
# Pieces


def _facts(pairs: Iterable[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{text(name)}</dt><dd>{text(value, 400)}</dd>" for name, value in pairs) + "</dl>"


def _folded(html: str, size: int, what: str, most: int = MOST_ROWS) -> str:
    return html if size <= most else f"<details><summary>{size} {what}</summary>{html}</details>"


def _round(x: float) -> float:
    return 0.0 if abs(x) < 1e-12 else x
