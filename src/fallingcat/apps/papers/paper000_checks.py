"""The checks of paper 000: the bounds of its numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.console import Step
from fallingcat.apps.papers import Check
from fallingcat.apps.papers import paper000_numbers as N
from fallingcat.apps.papers.paper000_numbers import ANGLES, AUTOMATIC, DELTAS, FORWARD, OURS, PRINTED, Cost, Singularity
from fallingcat.apps.papers.paper000_tables import Printed
from fallingcat.apps.papers.paper002_numbers import growth

Array = NDArray[np.float64]


def slopes(curve: Array) -> tuple[float, float]:
    """Slopes of the errors in Figure 5, in decades: where truncation rules, and where rounding does."""
    logs = np.log10(curve)
    at = {round(float(np.log10(d))): k for k, d in enumerate(DELTAS)}
    return float(logs[at[-3]] - logs[at[-5]]) / 2, float(logs[at[-9]] - logs[at[-11]]) / 2


def all_checks(
    table: N.Errors, curves: dict[str, Array], printed: Printed, step_error: float, tables_error: float, near: Singularity,
    costs: dict[str, Cost], step: Step,
) -> list[Check]:  # fmt: skip
    """In the order of the paper, then what goes beyond it."""
    arms = growth(step)["arms of four joints"]
    found = [Check(f"({88 + k}) {name}, average error at 1e-6", table[name][1], 1e-5) for k, name in enumerate(PRINTED)]
    found += [Check(f"({88 + k}) {name}, largest error at 1e-6", table[name][0], 5e-3) for k, name in enumerate(PRINTED)]
    for name, curve in curves.items():
        down, up = slopes(curve)
        found.append(Check(f"Fig. 5, {name}: slope where truncation rules, off 1", abs(down - 1.0), 0.1))
        found.append(Check(f"Fig. 5, {name}: slope where rounding rules, off -1", abs(up + 1.0), 0.1))
    found += [
        Check("(MB) A of a moving base against a complex step, relative", step_error, 1e-10),
        Check("(SF) the same at gimbal lock, upside down and half turns", near.anywhere, 1e-12),
        Check("(RF) operations of dID, 32 joints in arms of four / 16", arms[2] / arms[1], 2.2),
        Check("(ED) the same as (MB), over forward differences at 1e-6", step_error / table["D2 FD"][1], 1e-3),
        Check("Tables 4-9, corrected, against the library", tables_error, 1e-10),
        Check("Table 5 as printed, average error of D1 FD against (82)", printed.body, 0.1, at_least=True),
        Check("Table 5 as printed, the inertial twist held fixed", printed.inertial, 1e-5),
        Check("ours, all the way to the singularity of Euler angles", float(near.ours.max()), 1e-12),
        Check("Euler angles, 1e-6 rad from it", _at(near.euler, 1e-6), 1e-9, at_least=True),
        Check("Euler angles, 1e-8 rad from it", _at(near.euler, 1e-8), 1e-5, at_least=True),
    ]
    for name, c in costs.items():
        for way in (FORWARD, AUTOMATIC):
            ratio = c.operations[way] / c.operations[OURS]
            found.append(Check(f"operations, {way} / ours, {name}", ratio, 1.0, at_least=True))
    return found


def _at(values: Array, angle: float) -> float:
    return float(values[int(np.argmin(np.abs(np.log(ANGLES / angle))))])
