"""What a set of constraints is made from: checks of what a user gives, where constraints hold, and what J leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms import configuration
from fallingcat.algorithms.constrained import ConstraintSet, jacobian
from fallingcat.errors import InputError
from fallingcat.model.constraints import Constraint
from fallingcat.text import shown

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]


def checked(constraints: Sequence[Any]) -> tuple[Constraint, ...]:
    given = tuple(constraints)
    wrong = [c for c in given if not isinstance(c, Constraint)]
    if wrong or not given:
        got = shown(wrong[0]) if wrong else "nothing"
        raise InputError("constraints: not a constraint", expected='fc.point("foot"), fc.weld("a", "b"), ...', got=got)
    return given


def number(name: str, x: Any) -> float:
    try:
        value = float(x)
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value) or value < 0.0:
        raise InputError(f"constraints: {name} does not fit", expected="a number, zero or more", got=shown(x))
    return value


def home_of(robot: Robot, home: ArrayLike | None) -> list[float]:
    q = robot.neutral() if home is None else np.asarray(home, dtype=np.float64)
    if q.shape != (robot.nq,):
        raise InputError("constraints: home has the wrong shape", expected=f"({robot.nq},)", got=str(q.shape))
    return [float(x) for x in q]


def anchors_at(robot: Robot, resolved: Sequence[Any], home: Sequence[float]) -> Array:
    """Where the constraints hold: as each says, or as they are at a configuration."""
    found: list[float] = []
    for rows, at in resolved:
        found += [float(x) for x in (rows.anchor_at(robot.model, home) if at is None else at)]
    return np.array(found)


def dependent(robot: Robot, rows: ConstraintSet) -> bool:
    """Do rows depend on each other wherever one looks?"""
    if rows.size > robot.nv:
        return True
    rng = np.random.default_rng(0)
    for _ in range(2):
        moved = configuration.integrate(
            robot.model, configuration.neutral(robot.model), rng.uniform(-1.0, 1.0, robot.nv).tolist()
        )
        J = np.array(jacobian(robot.model, moved, rows), dtype=np.float64)
        if np.linalg.matrix_rank(J, tol=1e-9 * max(np.abs(J).max(initial=0.0), 1e-300)) == rows.size:
            return False
    return True


def null_space(J: Array) -> tuple[Array, Array]:
    """An orthonormal basis of what J lets pass, and the pseudo-inverse of J."""
    _, s, vh = np.linalg.svd(J)
    ranks = np.sum(s > 1e-9 * np.maximum(s[..., :1], 1e-300), axis=-1)
    rank = int(np.max(ranks, initial=0))
    if np.any(ranks != rank):
        got = f"ranks {sorted(set(ranks.ravel().tolist()))}"
        raise InputError("linearize: J has another rank at some of the states", got=got, hint="linearize them one by one")
    return cast(Array, np.swapaxes(vh[..., rank:, :], -1, -2)), cast(Array, np.linalg.pinv(J, rcond=1e-9))
