"""Tables 4 to 9 of paper 000 as printed and corrected, against the library, on random robots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms import linearization
from fallingcat.apps.papers import Measured
from fallingcat.apps.papers.paper000_numbers import DELTA, Draw, differences, relative
from fallingcat.arrays import eager
from fallingcat.functions import task
from fallingcat.reference import paper000 as tables

Array = NDArray[np.float64]


class _Case:
    """A random robot in a random state, in the letters and the order of the paper."""

    def __init__(self, d: Draw) -> None:
        self.draw, self.system = d, tables.System.of(d.robot)
        model, order = d.robot.model, np.array(self.system.places[1:])
        self.both = both = np.concatenate([np.arange(6), 6 + order])
        H, s = d.robot.split(d.q)
        R, o = H[:3, :3], H[:3, 3]
        v_A = np.concatenate([R @ d.nu[:3] + np.cross(o, R @ d.nu[3:6]), R @ d.nu[3:6]])
        self.s = s[order]
        self.state = H, self.s, v_A, d.nu[6:][order], d.dnu[:6], d.dnu[6:][order]
        self.t = tables.table4(self.system, *self.state)
        self.X_A = np.block([[R.T, -R.T @ tables.hat(o)], [np.zeros((3, 3)), R.T]])

        dID = eager.run(task(model, "inverse_dynamics_derivatives"), (d.q, d.nu, d.dnu))
        dq, dnu = (np.asarray(x)[np.ix_(both, both)] for x in (dID.dtau_dq, dID.dtau_dnu))
        self.ID = np.asarray(eager.run(task(model, "inverse_dynamics"), (d.q, d.nu, d.dnu)))[both]
        self.D = dq[:, :6], dq[:, 6:], dnu[:, :6], dnu[:, 6:]
        M = np.asarray(eager.run(task(model, "mass_matrix"), (d.q,)))[np.ix_(both, both)]
        self.Minv = np.linalg.inv(M)

    def printed4(self, erratum: str) -> Array:
        return tables.table4(self.system, *self.state, printed={erratum}).tau

    def linearization_error(self) -> float:
        """The error of A put together from all tables."""
        d, A = self.draw, tables.linearization(self.t)[0]
        ours: Array = np.array(linearization.linearize(d.robot.model, d.q.tolist(), d.nu.tolist(), d.tau.tolist()).A)
        at = np.concatenate([self.both, d.robot.nv + self.both])
        return relative(A, ours[np.ix_(at, at)])

    def without_base(self) -> float:
        """Table 9 without the inertia of the base: wrong, or it cannot be inverted."""
        try:
            return relative(tables.table9(self.system, self.s, {"0.6"}), self.Minv)
        except np.linalg.LinAlgError:
            return np.inf

    def errors(self) -> Iterator[tuple[str, str, float | None, float]]:
        """(number of an erratum or none, table, error as printed or none, error as corrected)."""
        t, D = self.t, self.D
        four, nine = relative(t.tau, self.ID), relative(tables.table9(self.system, self.s), self.Minv)
        yield "0.3", "Table 4", relative(self.printed4("0.3"), self.ID), four
        yield "0.4", "Table 4", relative(self.printed4("0.4"), self.ID), four
        five = relative(tables.table5(t), D[0])
        yield "0.1", "Table 5", relative(tables.table5(t, {"0.1"}), D[0]), five
        yield "0.3", "Table 5", relative(tables.table5(t, {"0.3"}), D[0]), five
        yield "0.5", "Table 6", None, relative(tables.table6(t), D[1])
        seven = tables.table7(t)
        # Were the state velocity the inertial twist v_A = X^-1 v, its derivative would be Table 7 times X (erratum 0.2).
        yield "0.2", "Table 7, inertial twist", relative(seven, D[2] @ self.X_A), relative(seven @ self.X_A, D[2] @ self.X_A)
        yield "", "Table 7", None, relative(seven, D[2])
        yield "", "Table 8", None, relative(tables.table8(t), D[3])
        yield "0.6", "Table 9", self.without_base(), nine


def measured(draws: Sequence[Draw]) -> list[Measured]:
    """The largest error of each table over all draws, as printed and corrected. Printed: none where it has no right shape."""
    worst: dict[tuple[str, str], tuple[float | None, float]] = {}
    for d in draws:
        for number, where, printed, corrected in _Case(d).errors():
            before = worst.get((number, where), (None, 0.0))
            most = printed if before[0] is None or printed is None else max(printed, before[0])
            worst[number, where] = most, max(corrected, before[1])
    return [Measured(number, where, *errors) for (number, where), errors in worst.items()]


def table_error(draws: Sequence[Draw]) -> float:
    """A of Tables 4 to 9, corrected, against the library."""
    return max(_Case(d).linearization_error() for d in draws)


@dataclass(frozen=True)
class Printed:
    """What Table 5 as printed is worth: average errors (87) of D1 FD."""

    body: float
    """Against (82) as it is printed, with the body-fixed twist held fixed."""
    inertial: float
    """Against (82) with the inertial twist held fixed."""


def printed_table5(draws: Sequence[Draw]) -> Printed:
    scale = np.mean([np.abs(d.blocks["D1 FD"]) for d in draws])
    body = np.mean([np.abs(d.inertial - differences(d, DELTA)["D1 FD"]) for d in draws])
    inertial = np.mean([np.abs(d.inertial - differences(d, DELTA, inertial=True)["D1 FD"]) for d in draws])
    return Printed(float(body / scale), float(inertial / scale))
