"""Compares the tables and figures of the papers with the results of a run: `numbers.json` of a paper -> its claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fallingcat.apps.papers import Check
from fallingcat.apps.papers.errata import Erratum, amount

Verdict = Literal["holds", "corrected", "not reproduced", "not reproducible", "timing", "illustration", "fails"]
Numbers = dict[str, Any]
"""A `numbers.json`."""

VERDICTS: dict[Verdict, str] = {
    "holds": "what is printed agrees with ours, or a bound on it does",
    "corrected": "it holds after the correction that the errata describe",
    "not reproduced": "ours differs by more than the bound that is stated",
    "not reproducible": "what is needed is not in the paper, or no correct program gives what is printed",
    "timing": "times of another machine and language; ours beside them, nothing to agree with",
    "illustration": "a drawing or a list of symbols: nothing to compute",
    "fails": "a check of this run fails",
}
"""What the verdicts mean."""

MUCH = 30.0
"""Largest ratio of an error of the paper to ours that different random draws and inertias can explain."""


WITHIN = 0.1
"""Largest difference of a fitted exponent from the theory's over the same sizes."""


@dataclass(frozen=True)
class Claim:
    """A row of a table, a figure, or a statement of a paper."""

    where: str
    what: str
    printed: str
    ours: str
    verdict: Verdict
    note: str = ""
    figure: str = ""
    """The file that reproduces it."""


def claims(number: str, found: Numbers, checks: Sequence[Check], errata: Sequence[Erratum]) -> list[Claim]:
    """The claims of a paper; those of one that this file does not know are its checks."""
    known = _KNOWN.get(number)
    return list(known(found, _Checks(checks), {e.number: e for e in errata}) if known and found else _all(_Checks(checks)))


FIGURES = {
    "000": {
        "figure4.png": "Figure 4: the tree of the validation, all joints at 0 and at 0.3; joints revolute, prismatic, helical.",
        "figure5.png": "Figure 5: errors of forward differences against their step, with the paper's values at 1e-6 as stars.",
        "singularity.png": "Beyond the paper: linearization in Euler angles near gimbal lock, and what A and B cost.",
    },
    "001": {
        "figure3.png": "Figure 3: serial chains. Stars are the paper's times for 20 joints.",
        "figure4.png": "Figure 4: branching factor two. Stars are the paper's times for 20 joints.",
        "figure5.png": "Figure 5: bipeds and quadrupeds. Stars are the paper's times for 20 joints.",
    },
    "002": {
        "figure2.png": "Figure 2: times of derivatives and of the inverse mass matrix, on a logarithmic scale.",
        "figure3.png": "Figure 3: what finite differences make of derivatives that are zero, why, and at a general state.",
    },
    "003": {
        "figure2.png": "Figure 2: decoupling torques and shape velocities of a space robot; arm, shape and gains are ours.",
        "shapes.png": "Figure 2 for other shapes of the arm: how much higher τ̄ peaks than τ.",
        "curvature.png": "Sec. V-3: curvature functions of two joints, with loops.",
        "displacement.png": "Sec. V-3: where the loops leave the base, by reconstruction and by the curvature's area integral.",
    },
    "004": {
        "bases.png": "Theorems 2 and 3: the mass matrix from eleven bases; only the centroid decouples.",
        "gravity.png": "Theorems 2 and 3: joint torques of gravity from eleven bases; none from the centroid.",
    },
}
"""Captions of the files that papers write."""


class _Checks:
    """Checks by the beginning of their words."""

    def __init__(self, checks: Sequence[Check]) -> None:
        self.all = checks

    def __call__(self, *starts: str) -> list[Check]:
        return [c for c in self.all if c.what.startswith(starts)]

    def verdict(self, *starts: str, good: Verdict = "holds") -> Verdict:
        chosen = self(*starts)
        return good if chosen and all(c.passed for c in chosen) else "fails"

    def worst(self, *starts: str) -> float:
        return max((c.value for c in self(*starts)), default=float("nan"))


def number(x: float) -> str:
    """Short: errors with one digit, other numbers with three."""
    return "0" if x == 0.0 else f"{x:.0e}" if abs(x) < 1e-3 else f"{x:.3g}"


def _three(values: Sequence[float], form: str = ".1e") -> str:
    return " / ".join(format(x, form) for x in values)


def _picture(where: str, what: str, ours: str = "") -> Claim:
    return Claim(where, what, "", ours, "illustration")


Errata = dict[str, Erratum]


# ---------------------------------------------------------------------------------------------------------------------
# Paper by paper


def _all(checks: _Checks) -> Iterator[Claim]:
    for c in checks.all:
        bound = f"{'≥' if c.at_least else '≤'} {c.bound:g}"
        yield Claim("check", c.what, bound, number(c.value), "holds" if c.passed else "fails")


def _000(found: Numbers, checks: _Checks, errata: Errata) -> Iterator[Claim]:
    words = {
        "MB": ("moving base", "A against a complex step"), "SF": ("singularity-free", "the same at gimbal lock and half turns"),
        "RF": ("recursive", "operations, 32 joints in arms of four / 16"),
        "ED": ("exact derivatives", "error / that of differences"),
    }  # fmt: skip
    for key, (meaning, note) in words.items():
        yield Claim("Table 1", meaning, "✓", number(checks.worst(f"({key})")), checks.verdict(f"({key})"), note)
    yield from _other_methods(found)
    yield _picture("Tables 2, 3", "notation")
    right = {m["where"]: m["corrected"] for m in found["tables"]}
    corrected = {"Table 4": ("0.3", "0.4"), "Table 5": ("0.1", "0.3"), "Table 6": ("0.5",), "Table 9": ("0.6",)}
    contents = {
        "4": "extended inverse dynamics",
        "5": "its derivative by H",
        "6": "by s",
        "7": "by v",
        "8": "by r",
        "9": "inverse of M",
    }
    for k, what in contents.items():
        if f"Table {k}" in right:
            error = right[f"Table {k}"]
            yield Claim(f"Table {k}", what, "as printed", number(error), "holds" if error < 1e-10 else "fails")
        else:
            slips = [errata[n] for n in corrected[f"Table {k}"]]
            error = max(e.corrected or 0.0 for e in slips)
            yield Claim(f"Table {k}", what, _off(slips), number(error),
                        "corrected" if error < 1e-10 else "fails", "errata " + ", ".join(e.number for e in slips))  # fmt: skip
    for at, (name, e) in enumerate(found["errors"].items(), start=88):
        for what, paper in zip(("largest", "average"), e["paper"], strict=True):
            ours = e["max" if what == "largest" else what]
            holds: Verdict = "holds" if 1.0 / MUCH < paper / ours < MUCH else "not reproducible"
            note = "" if holds == "holds" else f"{paper / ours:.0f} times ours: more than differences of this step explain"
            if (at, what) == (88, "largest"):
                note = "the paper's inertias, gravity and topology are not given: an order of magnitude is what one can ask for"
            passed = checks.verdict(f"({at}) {name}, {what}", good=holds)
            yield Claim(f"({at})", f"{name}, {what} error at 1e-6", f"{paper:.1e}", f"{ours:.1e}", passed, note)
    yield _picture("Figures 1-3", "body and joint frames")
    yield Claim("Figure 4", "the robot of the validation", "", "the bundled robot tree9", "illustration", figure="figure4.png")
    for what, printed in (("truncation", "slope 1"), ("rounding", "slope −1")):
        chosen = [c for c in checks("Fig. 5") if what in c.what]
        passed = "holds" if all(c.passed for c in chosen) else "fails"
        ours = f"within {max(c.value for c in chosen):.1g} of it"
        yield Claim("Figure 5", f"error against the step where {what} rules", printed, ours, passed, figure="figure5.png")


def _other_methods(found: Numbers) -> Iterator[Claim]:
    """The other rows of Table 1, where they can be run; ticks in the order SF, MB, RF, ED."""
    near, cost = found["euler"], next(iter(found["costs"].values()))["operations"]
    times = {name: count / cost["linearize"] for name, count in cost.items()}
    worst = max(e["average"] for e in found["errors"].values())
    ours = f"errors of {worst:.0e}, {times['forward differences']:.0f} times our operations"
    yield Claim("Table 1", "finite differences", "✓ ✓ – –", ours, "holds", "on the group; not recursive, not exact")
    ours = f"exact, {times['automatic differentiation']:.1f} times our operations"
    note = "dual numbers along body-fixed directions are singularity-free, too"
    yield Claim("Table 1", "automatic differentiation", "– ✓ ✓ ✓", ours, "corrected", note)
    ours = f"errors of {near['euler'][-1]:.0e} at {near['angle'][-1]:.0e} rad from gimbal lock"
    yield Claim("Table 1", "Lagrangian and analytical derivation, in Euler angles", "– ✓ (✓) ✓", ours, "holds")
    yield _picture("Table 1", "linearization without recursion, recursion without linearization", "not run: parts of ours")


def _off(slips: Sequence[Erratum]) -> str:
    """The errors of several errata as printed, in words."""
    errors = [e.as_printed for e in slips if isinstance(e.as_printed, float)]
    if not errors:
        return str(slips[0].as_printed)
    return f"off by {amount(max(errors))}" if len(errors) == 1 else f"off by {amount(min(errors))} to {amount(max(errors))}"


def _001(found: Numbers, checks: _Checks, errata: Errata) -> Iterator[Claim]:
    from fallingcat.apps.papers.paper001_numbers import ALGORITHM_2, PARTIALS, SERIAL_MINUTES, TABLE_1, TABLE_2, TABLE_3, C, G

    sizes = "chains of 5 / 10 / 15"
    for name, printed in TABLE_1.items():
        passed: Verdict = "holds" if all(c.passed for c in checks.all if f"|{name}|" in c.what) else "fails"
        yield Claim("Table 1", f"{name}, {sizes}", _three(printed), _three(found["validity"][name]), passed, "largest errors")
    for name, times in TABLE_2.items():
        g = found["growth"][name]
        for what, microseconds in zip((C, G), times, strict=True):
            ours = g["microseconds"][what][g["sizes"].index(20)]
            yield Claim("Table 2", f"{name}, {what}", f"{microseconds:.0f} µs", f"{ours:.1f} µs", "timing")
    for way in (PARTIALS, ALGORITHM_2):
        rows = {key.split(", ")[1]: ways[way]["seconds"] for key, ways in found["symbolic"].items() if key.startswith("branched")}
        note = f"paper: MATLAB, 5 / 10 / 15 bodies; ours: {' / '.join(rows)}"
        yield Claim("Table 3", f"{way}, on symbols", f"{_three(TABLE_3[way], 'g')} s", f"{_three(list(rows.values()), '.2g')} s",
                    "timing", note)  # fmt: skip
    serial = found["symbolic"]["serial chain, 10"]
    yield Claim("Sec. 5", "Algorithm 2 on symbols, serial chain of 10", f"{SERIAL_MINUTES} min",
                f"{serial[ALGORITHM_2]['seconds']:.2g} s", "timing",
                f"partials of H: {serial[PARTIALS]['seconds']:.2g} s. The paper found these preferable for chains")  # fmt: skip
    yield _picture("Figures 1, 2", "connectivity and motion of axes")
    theory = {"serial chain": ("N²", "N³", "Figure 3"), "branched mechanism": ("N log N", "N log² N", "Figure 4")}
    for name, (*limits, where) in theory.items():
        g = found["growth"][name]
        for what, limit in zip((C, G), limits, strict=True):
            for kind, key in (("operations", "exponents"), ("time", "exponents of times")):
                fitted, slope = g[key][what]
                near: Verdict = "holds" if abs(fitted - slope) <= WITHIN else "not reproduced"
                passed = checks.verdict(f"{name}: exponent of operations, {what}", good=near)
                note = f"the theory's slope over the same sizes is {slope:.2f}" + (
                    "" if near == "holds" else "; lower terms count here"
                )
                file = where.lower().replace(" ", "") + ".png"
                yield Claim(where, f"growth of {what}, {name}, {kind}", limit, f"N^{fitted:.2f}", passed, note, file)
    yield Claim(
        "Figure 5", "bipeds and quadrupeds, 20 joints", "13, 64; 10, 37 µs", "see Table 2", "timing", figure="figure5.png"
    )
    for where, numbers in (("Alg. 1", ("1.1", "1.2", "1.4")), ("Alg. 2", ("1.7",))):
        slips = [errata[n] for n in numbers]
        yield Claim(where, "line by line against the library", _off(slips),
                    number(max(e.corrected or 0.0 for e in slips)), checks.verdict(where, good="corrected"),
                    "errata " + ", ".join(numbers))  # fmt: skip


def _002(found: Numbers, checks: _Checks, errata: Errata) -> Iterator[Claim]:
    from fallingcat.apps.papers.paper002_numbers import DFD, DID, FD, FD_LOOP, ID, ID_LOOP, SUBJECTS, TABLE_1

    robots = [found["microseconds"][s.name] for s in SUBJECTS]
    for row in TABLE_1:
        times = [[r[source][row] for r in robots] for source in ("paper", "ours")]
        peer = [r["pinocchio"][row] for r in robots if r["pinocchio"]]
        note = f"Pinocchio here: {_three(peer, '.2f')}" if len(peer) == len(robots) else ""
        if row in (ID_LOOP, FD_LOOP):
            note += "; 2 N + 1 calls from Python, which cost more than the work: Sec. V-A1 below compares compiled code"
        yield Claim("Table I", row, f"{_three(times[0], '.2f')} µs", f"{_three(times[1], '.2f')} µs", "timing", note)
    ratios = (("derivatives of ID / ID", DID, ID, "3", ""), ("derivatives of FD / FD", DFD, FD, "at most 4", "2.5"))
    for what, above, below, text, erratum in ratios:
        table, ours = (_three([r[s][above] / r[s][below] for r in robots], ".1f") for s in ("paper", "ours"))
        note = f"its own Table I says {table}"
        yield Claim("Sec. V-A1", what, text, ours, "corrected" if erratum else "timing", note)
    yield from _compiled(found["compiled"], robots)
    yield _picture("Figure 1", "spatial notation")
    yield Claim("Figure 2", "the times of Table I", "", "", "timing", figure="figure2.png")
    rest = found["at rest"].values()
    passed: Verdict = "corrected" if all(r["ours"] == 0.0 for r in rest) else "fails"
    yield Claim("Figure 3", "derivatives at rest without gravity", "0; differences leave rounding",
                f"0; forward differences leave h Γⱼⱼ = {max(r['forward, h = 1e-8'] for r in rest):.0e}, central ones 0", passed,
                "truncation, not rounding: erratum 2.4", "figure3.png")  # fmt: skip
    e = errata["2.1"]
    kept = [c for c in checks.all if "by Algorithms 1-3 with v × S" in c.what]
    yield Claim("Alg. 1-3", "derivatives of ID", _off([e]), number(e.corrected or 0.0),
                "corrected" if all(c.passed for c in kept) else "fails", "erratum 2.1")  # fmt: skip
    for what in ("dID", "dFD"):
        chosen = [c for c in checks.all if f"{what} against a complex step" in c.what]
        yield Claim("(10), (24)", f"{what} against a complex step", "exact", number(max(c.value for c in chosen)),
                    "holds" if all(c.passed for c in chosen) else "fails")  # fmt: skip


def _compiled(found: Numbers, robots: Sequence[Numbers]) -> Iterator[Claim]:
    """Sec. V-A1 and V-A2: compiled code against compiled code."""
    from fallingcat.apps.papers.paper002_native import AUTO, PAPER_AUTO
    from fallingcat.apps.papers.paper002_numbers import DFD, DID, FD_LOOP, ID_LOOP

    for what, loop, text in ((DID, ID_LOOP, "7 to 26; about 40"), (DFD, FD_LOOP, "4 to 10")):
        cells = [_both(r["differences / derivatives"][what]["times"], r["differences / derivatives"][what]["operations"])
                 for r in found.values()]  # fmt: skip
        table = _three([r["paper"][loop] / r["paper"][what] for r in robots], ".1f")
        note = f"{' / '.join(found)}: times of compiled code in batches, operations in brackets; Table I says {table}"
        verdict: Verdict = "corrected" if what == DID else "timing"
        yield Claim("Sec. V-A1", f"differences / {what}", text, " / ".join(cells), verdict, note)
    for what, auto in AUTO.items():
        ours, theirs = PAPER_AUTO[what]
        cells = [_both(*r["differences / derivatives"][what]["dual numbers / ours"]) for r in found.values()]
        note = f"{' / '.join(found)}: dual numbers through the same source, compiled alike; the paper's is HyQ without free-flyer"
        welded = next((r for name, r in found.items() if r["like"] == "HyQ"), None)
        fewer = welded is None or welded["differences / derivatives"][what]["dual numbers / ours"][1] > 1.0
        yield Claim("Sec. V-A2", f"{auto} / {what}", f"{theirs / ours:.1f} ({theirs} against {ours} µs)", " / ".join(cells),
                    "timing" if fewer else "not reproduced", note)  # fmt: skip


def _both(time: float | None, operations: float) -> str:
    return f"({operations:.1f})" if time is None else f"{time:.1f} ({operations:.1f})"


def _003(found: Numbers, checks: _Checks, errata: Errata) -> Iterator[Claim]:
    holds = found["holds"]
    yield _picture("Figure 1", "a floating-base robot")
    flown = found["space robot"]
    ratios = found["peak ratio over shapes"]
    five, median, most = (ratios[round(share * (len(ratios) - 1))] for share in (0.05, 0.5, 0.95))
    open_ = "arm, shape and gains are not in the paper"
    spread = f"{median:.2f} in the middle of {len(ratios)} random shapes, 90 % within {five:.2f} and {most:.2f}"
    peak = checks.verdict("space robot: peak", good="holds" if median > 1.5 else "not reproduced")
    ours = f"{spread}; {flown['ratio']:.1f} for the one that is drawn"
    note = open_ + ": the shape that is drawn was chosen"
    yield Claim("Figure 2", "peak of τ̄ over that of τ", "markedly higher", ours, peak, note, "shapes.png")
    ours = f"{flown['before']:.0e} and {flown['end']:.0e} N m"
    steady = checks.verdict("space robot: torques apart", good="not reproducible")
    note = open_ + ": in kind, not in numbers"
    what = "τ̄ and τ apart before the hit and at the end"
    yield Claim("Figure 2", what, "same steady state", ours, steady, note, "figure2.png")
    yield Claim("Sec. V-1", "τ̄ = τ + B₂ q̇", "exact", f"{flown['identity']:.0e} N m", checks.verdict("space robot: τ̄ by the full"))
    yield Claim("Sec. V-1", "B₂ q̇ does no work", "0", f"{flown['power']:.0e} W", checks.verdict("space robot: power"))
    yield Claim("Sec. V-2", "the mixed term along the flight", f"off by {flown['mixed'][0]:.2g}", number(flown["mixed"][1]),
                checks.verdict("Sec. V-2 along the flight", good="corrected"), "erratum 3.5")  # fmt: skip
    yield Claim("Sec. V-3", "a small loop displaces the base by the area integral of the curvature", "to first order in the area",
                "misses grow with the size to the power 3", checks.verdict("loops"), figure="displacement.png")  # fmt: skip
    shown = ", ".join(dict.fromkeys(re.sub(r", .*", "", where) for where in holds))
    yield Claim("Sec. III, IV", f"{len(holds)} equations", "as printed", number(max(holds.values())),
                checks.verdict(f"{len(holds)} equations"), shown)  # fmt: skip
    starts = tuple(v["where"] for v in found["as printed"])
    slips = list(errata.values())
    yield Claim("Sec. II to V", f"{len(starts)} equations, {len(slips)} errata", _off(slips),
                number(max(v["corrected"] for v in found["as printed"])), checks.verdict(*starts, good="corrected"))  # fmt: skip


def _004(found: Numbers, checks: _Checks, errata: Errata) -> Iterator[Claim]:
    figures = {"Theorem 2.1 (24)": "bases.png", "Theorem 3 (44)": "gravity.png", "Theorem 3 (43)": "bases.png"}
    for c in checks.all:
        if c.what.endswith((" as printed is wrong", " corrected")):
            continue
        where, _, what = c.what.partition(": ")
        shown = next((file for start, file in figures.items() if where.startswith(start)), "")
        printed = "positive" if c.at_least else "exact"
        yield Claim(where, what, printed, number(c.value), "holds" if c.passed else "fails", figure=shown)
    slips = [e for e in errata.values() if isinstance(e.as_printed, float)]
    starts = tuple(m["where"] for m in found["errata"])
    yield Claim("Sec. II to V", f"{len(starts)} equations with errata", _off(slips),
                number(max(m["corrected"] for m in found["errata"])), checks.verdict(*starts, good="corrected"))  # fmt: skip


_KNOWN: dict[str, Callable[[Numbers, _Checks, Errata], Iterator[Claim]]] = {
    "000": _000, "001": _001, "002": _002, "003": _003, "004": _004,
}  # fmt: skip
