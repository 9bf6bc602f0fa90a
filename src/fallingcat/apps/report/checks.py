"""Every identity at several states, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fallingcat.apps.console import Step
from fallingcat.apps.report.identities import IDENTITIES, Identity, Motion, smallest_eigenvalue
from fallingcat.apps.report.states import State, random_configuration
from fallingcat.robot.robot import Robot

RANDOM_STATES = 4
"""States beside the chosen one at which the dynamics are checked."""
EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Check:
    """An identity and its worst measured value."""

    name: str
    formula: str
    value: float | None
    bound: float
    kind: str
    passed: bool | None
    """Whether the bound holds; None if the check does not apply to this robot."""
    why: str = "does not apply"
    """Why the check does not apply to this robot; empty if it does."""


def check_dynamics(robot: Robot, state: State, step: Step) -> tuple[Check, ...]:
    """Every identity at the state and at random ones; the worst value counts."""
    values: dict[str, list[float]] = {identity.name: [] for identity in IDENTITIES}
    lost = 0.0
    applicable = [identity for identity in IDENTITIES if identity.applies(robot)]
    rng = np.random.default_rng(1)
    states = [(state.q, state.nu)]
    states += [(random_configuration(robot, rng), robot.random_velocity(rng)) for _ in range(RANDOM_STATES)]
    for q, nu in states if applicable else []:
        dnu = robot.random_velocity(rng)
        motion = Motion(robot, q, nu, dnu, robot.mass_matrix(q), robot.inverse_dynamics(q, nu, dnu))
        lost = max(lost, 1e3 * EPSILON / max(smallest_eigenvalue(motion.M), EPSILON))
        for identity in applicable:
            step(identity.name)
            values[identity.name].append(measured(identity, motion))
    return tuple(_judged(i, values[i.name], lost) for i in IDENTITIES)


NOTHING_LEFT = 1e-3
"""Relative error of a solution with M above which an identity that solves with M is not judged."""


def _judged(identity: Identity, values: list[float], lost: float) -> Check:
    check = judge(identity, values, max(identity.bound, lost) if identity.solves else identity.bound)
    if identity.solves and lost > NOTHING_LEFT and check.passed is not None:
        return replace(check, passed=None, why="M is singular")
    return check


def measured(identity: Identity, motion: Motion) -> float:
    """The value of an identity; NaN where it cannot be computed."""
    try:
        return identity.measure(motion)
    except (ArithmeticError, np.linalg.LinAlgError):  # a singular robot: the check fails, the report goes on
        return float("nan")


def judge(identity: Identity, values: list[float], bound: float) -> Check:
    """The worst value against the bound."""
    if not values:
        return Check(identity.name, identity.formula, None, bound, identity.kind, None)
    worst = float(np.min(values) if identity.kind == "positive" else np.max(values))  # nan if any is
    passed = worst > bound if identity.kind == "positive" else worst <= bound
    return Check(identity.name, identity.formula, worst if np.isfinite(worst) else None, bound, identity.kind, passed)
