"""Figure 3 of paper 002: errors of finite differences, where the derivatives are zero and where they are not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms import aba, rnea
from fallingcat.apps.console import Step
from fallingcat.apps.papers import Check
from fallingcat.apps.papers.paper002_numbers import DFD, DID, FD, FUNCTION, ID, Subject, batched_difference, complex_step
from fallingcat.arrays import eager
from fallingcat.functions import task
from fallingcat.robot.robot import Robot, load

Array = NDArray[np.float64]

STEPS = 10.0 ** np.arange(-12, 0.5, 0.5)
"""Step sizes of the finite differences of Fig. 3."""


@dataclass(frozen=True)
class Rest:
    """A robot at rest without gravity, where all derivatives with respect to q and nu vanish."""

    ours: float
    """The largest entry of dID/dq, dID/dnu, dFD/dq and dFD/dnu."""
    forward: dict[str, Array]
    """The largest entry of a forward difference with respect to nu, for every step."""
    central: dict[str, Array]
    matrix: Array
    """Forward difference of ID with respect to nu at h = 1e-8."""
    slope: float
    """|forward difference / h - Gamma_jj|, relative, worst over all steps."""


def at_rest(subject: Subject, step: Step, compiled: bool) -> Rest:
    step(f"{subject.name}: Fig. 3")
    robot = load(subject.name, floating=subject.floating, gravity=(0.0, 0.0, 0.0))
    q, still, unit = robot.random_configuration(5), np.zeros(robot.nv), np.eye(robot.nv)

    def derivatives(name: str) -> Any:
        return getattr(robot, name)(q, still, still) if compiled else eager.run(task(robot.model, name), (q, still, still))

    exact = [part for name in (DID, DFD) for part in derivatives(FUNCTION[name])[:2]]
    f = {ID: robot.inverse_dynamics, FD: robot.forward_dynamics}
    forward = {name: np.array([np.abs(f[name](q, h * unit, still) / h).max() for h in STEPS]) for name in f}
    central = {
        name: np.array([np.abs((f[name](q, h * unit, still) - f[name](q, -h * unit, still)) / (2 * h)).max() for h in STEPS])
        for name in f
    }
    gamma = robot.bias(q, unit)
    off = max(float(np.abs(robot.inverse_dynamics(q, h * unit, still) / h**2 - gamma).max()) for h in STEPS)
    matrix = np.array(robot.inverse_dynamics(q, 1e-8 * unit, still).T / 1e-8)
    return Rest(max(float(np.abs(x).max()) for x in exact), forward, central, matrix, off / float(np.abs(gamma).max()))


def at_a_general_state(robot: Robot, step: Step) -> dict[str, Any]:
    """Errors of forward and central differences for every step, and of the derivatives, at a random state."""
    step("humanoid: differences at a random state")
    q, nu, dnu = robot.random_configuration(6), robot.random_velocity(7), robot.random_velocity(8)
    tau = robot.inverse_dynamics(q, nu, dnu)
    found: dict[str, Any] = {}
    for name, source, method, third in (
        (ID, rnea.inverse_dynamics, robot.inverse_dynamics, dnu),
        (FD, aba.forward_dynamics, robot.forward_dynamics, tau),
    ):
        exact = np.hstack(complex_step(source, robot.model, q, nu, third))
        ours = getattr(robot, FUNCTION[DID if name == ID else DFD])(q, nu, third)

        def error(x: Array, exact: Array = exact) -> float:
            return float(np.abs(x - exact).max() / np.abs(exact).max())

        ups = [np.hstack(batched_difference(method, robot.integrate, q, nu, third, h)) for h in STEPS]
        downs = [np.hstack(batched_difference(method, robot.integrate, q, nu, third, -h)) for h in STEPS]
        found[name] = {
            "ours": error(np.hstack(ours[:2])),
            "forward": [error(x) for x in ups],
            "central": [error((x + y) / 2) for x, y in zip(ups, downs, strict=True)],
        }
    return found


def rest_checks(rest: dict[str, Rest]) -> Iterator[Check]:
    """Fig. 3, and erratum 4: what is left of a finite difference at rest is h Gamma_jj."""
    for name, r in rest.items():
        yield Check(f"{name}: largest derivative at rest without gravity", r.ours, 0.0)
        yield Check(f"{name}: central differences there", float(max(r.central[ID].max(), r.central[FD].max())), 0.0)
        yield Check(f"{name}: forward difference of ID / h against Γ_jj", r.slope, 1e-12)
