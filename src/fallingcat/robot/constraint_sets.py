"""Helpers for sets of constraints: checks of arguments, anchors (where constraints hold), and the null space of J."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms import configuration
from fallingcat.algorithms.constrained import ConstraintSet, jacobian
from fallingcat.algorithms.constraint_rows import Rows
from fallingcat.arrays.arguments import real_array
from fallingcat.errors import InputError
from fallingcat.model.constraints import Constraint
from fallingcat.model.model import Model
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


def floats(what: str, x: Any, size: int | None, made: Callable[[Any], NDArray[Any]] | None = None) -> NDArray[Any]:
    """An argument as an array (..., size), or of any shape. made: a function that makes arrays, if not NumPy's."""
    found = real_array(what, x) if made is None else _made(what, x, made)
    if size is not None and (found.ndim == 0 or found.shape[-1] != size):
        raise InputError(f"{what} has the wrong shape", expected=f"(..., {size})", got=str(found.shape))
    return found


def _made(what: str, x: Any, made: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    try:
        return made(x)
    except (TypeError, ValueError):
        raise InputError(f"{what}: not numbers", got=shown(x)) from None


def home_of(robot: Robot, home: ArrayLike | None) -> list[float]:
    q = robot.neutral() if home is None else floats("constraints: home", home, robot.nq)
    if q.shape != (robot.nq,) or not np.isfinite(q).all():
        raise InputError("constraints: home has the wrong shape, or is not finite", expected=f"({robot.nq},)", got=shown(home))
    return [float(x) for x in q]


def anchor_of(c: Constraint, rows: Rows, model: Model, q: Sequence[float]) -> list[Any]:
    """The anchor with which a constraint holds at a configuration."""
    try:
        return rows.anchor_at(model, q)
    except ZeroDivisionError:
        hint = "a quaternion may be zero, or the ends of a distance at one place: fc.point_to_point"
        raise InputError(f"{c} cannot hold at this configuration", hint=hint) from None


def anchors_at(robot: Robot, given: Sequence[Constraint], resolved: Sequence[Any], home: Sequence[float]) -> Array:
    """The anchors of all constraints, flat: as each constraint specifies, else where it is at the configuration `home`."""
    found: list[float] = []
    for c, (rows, at) in zip(given, resolved, strict=True):
        found += [float(x) for x in (anchor_of(c, rows, robot.model, home) if at is None else at)]
    return np.array(found)


def dependent(robot: Robot, rows: ConstraintSet) -> bool:
    """Is J rank-deficient at every one of several random configurations?"""
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
    """An orthonormal basis of the null space of J, and the pseudo-inverse of J."""
    if not np.isfinite(J).all():
        raise InputError("linearize: J is not finite", expected="states of finite numbers")
    _, s, vh = np.linalg.svd(J)
    ranks = np.sum(s > 1e-9 * np.maximum(s[..., :1], 1e-300), axis=-1)
    rank = int(np.max(ranks, initial=0))
    if np.any(ranks != rank):
        got = f"ranks {sorted(set(ranks.ravel().tolist()))}"
        raise InputError("linearize: the rank of J differs between the states", got=got, hint="linearize them one by one")
    return cast(Array, np.swapaxes(vh[..., rank:, :], -1, -2)), cast(Array, np.linalg.pinv(J, rcond=1e-9))


def unactuated(robot: Robot) -> tuple[tuple[float, ...], ...]:
    """Generalized directions in which no input acts, as rows of nv entries."""
    S = robot.actuation
    if robot._actuation is None:
        return tuple(map(tuple, np.eye(robot.nv)[: robot.nv - robot.n].tolist()))
    u, s, _ = np.linalg.svd(S)
    rank = int(np.sum(s > 1e-12 * s[:1])) if s.size else 0
    return tuple(map(tuple, u[:, rank:].T.tolist()))


def generalized(robot: Robot, tau: ArrayLike) -> Any:
    """Generalized forces (..., nv); joint torques (..., n) are preceded by a base wrench of zero."""
    a = real_array("tau", tau)
    if a.ndim and a.shape[-1] == robot.n != robot.nv:
        return np.concatenate([np.zeros((*a.shape[:-1], robot.nv - robot.n)), a], axis=-1)
    return tau
