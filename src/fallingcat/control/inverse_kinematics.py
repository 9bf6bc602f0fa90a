"""Inverse kinematics: the Levenberg-Marquardt method on the group of configurations.

The error of a frame is r = (p - p*, log(R*^T R)), in metres along the world's axes and radians, and along dq

    dr = (R J_v dq, Jr(w)^-1 J_w dq)      with w = log(R*^T R) and the body-fixed Jacobian (J_v; J_w) of the frame.

The damping is mu |r|^2 (Yamashita and Fukushima 2001), which keeps convergence quadratic also where solutions are not isolated.
A joint at its limit that the step would push beyond it is held; coordinates beyond their limits are clipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.arrays.arguments import real_array
from fallingcat.arrays.axes import common_axes
from fallingcat.control.numbers import positive, whole
from fallingcat.errors import InputError
from fallingcat.suggest import closest
from fallingcat.text import shown

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

LARGEST_STEP = 1.0
"""Largest change of a coordinate in one step, in radians or metres."""
STIFFEST = 1e12
"""Damping at which the descent from a start ends: no step in any direction makes the error smaller."""


class InverseKinematics(NamedTuple):
    """Configurations found, and how close they come to the targets."""

    q: Array
    """(..., nq)"""
    residual: Array
    """(...): the norm of all remaining errors, in metres and radians."""
    iterations: NDArray[np.int64]
    """(...)"""
    converged: NDArray[np.bool_]
    """(...): is the residual within the tolerance?"""


def inverse_kinematics(
    robot: Robot, targets: Mapping[str, ArrayLike], q0: ArrayLike, *, tolerance: float = 1e-9, max_iterations: int = 100,
    limits: bool = True, joints: Iterable[str] | None = None, move_base: bool = True, posture: ArrayLike | None = None,
    posture_weight: float = 0.05,
) -> InverseKinematics:  # fmt: skip
    """A configuration near q0 in which frames are at their targets: .q (..., nq) .residual .iterations .converged, each (...).

    targets: frame name -> pose (..., 4, 4), or position (..., 3) where the orientation does not matter. q0: where to start,
    (..., nq). Leading axes of targets and starts broadcast, and all are solved at once.
    tolerance: of the residual, metres and radians. limits: keep `robot.position_limits`. joints: names of those that may move,
    all if None. move_base: may a floating base move? posture: a configuration (..., nq) to stay near where the targets leave a
    choice, by `posture_weight`: it chooses among solutions, and the targets are met exactly after that.

    The method is local. What cannot be reached gives the nearest that it finds, with `converged` False, and no error; many
    starts for one target are a batch: `q0` of shape (k, nq), of which those that converged are solutions.

    >>> found = fc.inverse_kinematics(robot, {"hand": H}, robot.neutral())
    """
    problem = _Problem.of(robot, targets, limits, joints, move_base)
    start, places = _configuration(robot, "q0", q0), problem.targets
    shapes = {"q0": start.shape[:-1]} | {f"targets[{name!r}]": x.shape[: x.ndim - core] for name, (x, core) in places.items()}
    home = None if posture is None else _configuration(robot, "posture", posture)
    if home is not None:
        shapes["posture"] = home.shape[:-1]
    shape = common_axes("inverse_kinematics", shapes, core=0)
    problem = problem.spread(shape)
    q = problem.inside(np.array(np.broadcast_to(start, (*shape, robot.nq)).reshape(-1, robot.nq)))
    steps = whole("inverse_kinematics", "max_iterations", max_iterations)
    spent = np.zeros(len(q), dtype=np.int64)
    if home is not None:
        near = np.broadcast_to(home, (*shape, robot.nq)).reshape(-1, robot.nq)
        towards = _Posture(near, positive("inverse_kinematics", "posture_weight", posture_weight))
        q, _, spent = _descend(problem, q, 1e-6, steps, towards)
    q, residual, more = _descend(problem, q, positive("inverse_kinematics", "tolerance", tolerance), steps, None)
    made = (q.reshape(*shape, robot.nq), residual.reshape(shape), (spent + more).reshape(shape))
    return InverseKinematics(*made, made[1] <= tolerance)


# ---------------------------------------------------------------------------------------------------------------------
# The method


class _Posture(NamedTuple):
    q: Array
    weight: float


def _descend(
    problem: _Problem, q: Array, tolerance: float, steps: int, posture: _Posture | None
) -> tuple[Array, Array, NDArray[np.int64]]:
    """The Levenberg-Marquardt descent for all starts at once; each ends by itself, with a posture once its steps are small."""
    mu, spent = np.ones(len(q)), np.zeros(len(q), dtype=np.int64)
    r, J = problem.error(q, posture)
    alive = _norm(r) > tolerance
    for _ in range(steps):
        if not alive.any():
            break
        spent += alive
        cost = _norm(r)
        dx = _step(problem.held(q, r, J), r, mu * cost**2)
        dx *= np.minimum(1.0, LARGEST_STEP / np.maximum(np.abs(dx).max(axis=-1, initial=0.0), 1e-300))[:, None]
        dx[~alive] = 0.0
        there = problem.inside(problem.robot.integrate(q, dx))
        r_there, J_there = problem.error(there, posture)
        better = alive & (_norm(r_there) < cost)
        gain = cost - _norm(r_there)
        q[better], r[better], J[better] = there[better], r_there[better], J_there[better]
        mu = np.where(better, np.maximum(mu / 4.0, 1e-6), mu * 8.0)
        slow = better & (gain < 1e-13 * cost) if posture is None else better & (np.abs(dx).max(axis=-1, initial=0.0) < tolerance)
        alive &= (_norm(r) > tolerance) & (mu < STIFFEST) & ~slow
    return q, _norm(r), spent


def _step(J: Array, r: Array, damping: Array) -> Array:
    """dx = -(J^T J + damping)^-1 J^T r, by singular values: exact without damping, too, where J has no full rank."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    floor = (1e-13 * np.maximum(s[:, :1], 1e-300)) ** 2
    scaled = s / (s**2 + damping[:, None] + floor) * np.einsum("kij,ki->kj", U, r)
    return np.asarray(-np.einsum("kij,ki->kj", Vt, scaled))


@dataclass(frozen=True)
class _Problem:
    """The targets, the coordinates that may move, and their limits."""

    robot: Robot
    targets: dict[str, tuple[Array, int]]
    """Frame name -> (target, number of its own axes): 2 for a pose (..., 4, 4), 1 for a position (..., 3)."""
    moves: NDArray[np.bool_]
    """(nv,)"""
    q_at: NDArray[np.intp]
    """Entries of q that may have limits: coordinates that simply add, as those of revolute and prismatic joints."""
    nu_at: NDArray[np.intp]
    lower: Array
    upper: Array

    @classmethod
    def of(cls, robot: Robot, targets: Any, limits: bool, joints: Any, move_base: bool) -> _Problem:
        q_at: list[int] = []
        nu_at: list[int] = []
        for body in robot.model.bodies:
            if not body.mimics and body.joint.motions() is None:
                q_at += range(body.q_at, body.q_at + body.joint.nq)
                nu_at += range(body.nu_at, body.nu_at + body.joint.nv)
        base = robot.nv - robot.n
        bounds = (
            robot.position_limits[np.array(nu_at, dtype=np.intp) - base] if limits else np.tile([-np.inf, np.inf], (len(q_at), 1))
        )
        moves = _moving(robot, joints, move_base)
        found = _targets(robot, targets)
        return cls(robot, found, moves, np.array(q_at, dtype=np.intp), np.array(nu_at, dtype=np.intp), bounds[:, 0], bounds[:, 1])

    def spread(self, shape: tuple[int, ...]) -> _Problem:
        """The same problem with the targets broadcast to all starts, as rows."""
        rows = {
            name: (np.broadcast_to(x, (*shape, *x.shape[x.ndim - core :])).reshape(-1, *x.shape[x.ndim - core :]), core)
            for name, (x, core) in self.targets.items()
        }
        return _Problem(self.robot, rows, self.moves, self.q_at, self.nu_at, self.lower, self.upper)

    def inside(self, q: Array) -> Array:
        """q clipped to the limits, in place, for the joints that may move."""
        free = self.moves[self.nu_at]
        at = self.q_at[free]
        q[:, at] = np.clip(q[:, at], self.lower[free], self.upper[free])
        return q

    def held(self, q: Array, r: Array, J: Array) -> Array:
        """J with zero columns for joints at a limit that the steepest descent would push beyond it."""
        downhill = -np.einsum("kij,ki->kj", J, r)[:, self.nu_at]
        x = q[:, self.q_at]
        at_limit = ((x <= self.lower) & (downhill < 0.0)) | ((x >= self.upper) & (downhill > 0.0))
        keep = np.ones((len(q), J.shape[-1]))
        keep[:, self.nu_at] = ~at_limit
        return J * keep[:, None, :]

    def error(self, q: Array, posture: _Posture | None) -> tuple[Array, Array]:
        """r (k, errors) and its derivative (k, errors, nv)."""
        names = list(self.targets)
        H, body = self.robot.frame_poses(q, names), self.robot.frame_jacobians(q, names)
        errors, slopes = [], []
        for k, (target, core) in enumerate(self.targets.values()):
            R, p, J = H[:, k, :3, :3], H[:, k, :3, 3], body[:, k]
            errors.append(p - (target if core == 1 else target[:, :3, 3]))
            slopes.append(R @ J[:, :3])
            if core == 2:
                w = rotation_vector(np.swapaxes(target[:, :3, :3], -1, -2) @ R)
                errors.append(w)
                slopes.append(_right_jacobian_inverse(w) @ J[:, 3:])
        if posture is not None:
            errors.append(posture.weight * self.robot.difference(posture.q, q) * self.moves)
            slopes.append(
                np.broadcast_to(posture.weight * np.diag(self.moves.astype(np.float64)), (len(q), *body.shape[-1:] * 2))
            )
        return np.concatenate(errors, axis=1), np.concatenate(slopes, axis=1) * self.moves


# ---------------------------------------------------------------------------------------------------------------------
# Rotations


def rotation_vector(R: Array) -> Array:
    """log R, of length at most pi, (k, 3); through the quaternion, whose largest entry never vanishes."""
    m00, m11, m22 = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    xx, yy, zz = 1.0 + m00 - m11 - m22, 1.0 - m00 + m11 - m22, 1.0 - m00 - m11 + m22
    ww = 1.0 + m00 + m11 + m22
    a, b, c = R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]
    d, e, f = R[:, 0, 1] + R[:, 1, 0], R[:, 0, 2] + R[:, 2, 0], R[:, 1, 2] + R[:, 2, 1]
    rows = np.stack(  # 4 times the product of the quaternion (x y z w) with each of its entries
        [np.stack(row, axis=-1) for row in ((xx, d, e, a), (d, yy, f, b), (e, f, zz, c), (a, b, c, ww))], axis=1
    )
    best = np.argmax(np.stack([xx, yy, zz, ww], axis=-1), axis=-1)
    Q = rows[np.arange(len(R)), best]
    Q = Q / np.linalg.norm(Q, axis=-1, keepdims=True)
    Q = np.where(Q[:, 3:] < 0.0, -Q, Q)
    sine = np.linalg.norm(Q[:, :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, Q[:, 3:])
    return np.asarray(Q[:, :3] * np.where(sine > 1e-8, angle / np.maximum(sine, 1e-300), 2.0))


def _right_jacobian_inverse(w: Array) -> Array:
    """1 + W / 2 + (1 - (t / 2) cot(t / 2)) / t^2 W^2, with t = |w|."""
    t = np.linalg.norm(w, axis=-1)
    small = t < 1e-3
    safe = np.where(small, 1.0, t)
    factor = np.where(small, 1.0 / 12.0 + t**2 / 720.0, (1.0 - safe / 2.0 / np.tan(safe / 2.0)) / safe**2)
    W = np.zeros((len(w), 3, 3))
    W[:, 0, 1], W[:, 0, 2], W[:, 1, 2] = -w[:, 2], w[:, 1], -w[:, 0]
    W -= np.swapaxes(W, -1, -2)
    return np.asarray(np.eye(3) + W / 2.0 + factor[:, None, None] * (W @ W))


def _norm(r: Array) -> Array:
    return np.asarray(np.sqrt(np.sum(r * r, axis=-1)))


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


def _targets(robot: Robot, targets: Any) -> dict[str, tuple[Array, int]]:
    if not isinstance(targets, Mapping) or not targets:
        expected = "a mapping of frame names to poses (..., 4, 4) or positions (..., 3), one at least"
        raise InputError("inverse_kinematics: targets do not fit", expected=expected, got=shown(targets))
    robot.frame_poses(robot.neutral(), list(targets))  # refuses names that are not frames
    found = {}
    for name, value in targets.items():
        x = _numbers(f"targets[{name!r}]", value)
        core = 2 if x.shape[-2:] == (4, 4) else 1 if x.shape[-1:] == (3,) else 0
        if not core:
            expected = "a pose (..., 4, 4) or a position (..., 3)"
            raise InputError(f"inverse_kinematics: targets[{name!r}] has the wrong shape", expected=expected, got=str(x.shape))
        if core == 2:
            R = x[..., :3, :3]
            off = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0)
            if (
                off > 1e-6
                or (np.linalg.det(R) < 0.0).any()
                or np.abs(x[..., 3, :] - [0.0, 0.0, 0.0, 1.0]).max(initial=0.0) > 1e-9
            ):
                raise InputError(
                    f"inverse_kinematics: targets[{name!r}] is not a pose",
                    expected="a rotation and a position, last row 0 0 0 1",
                    got=f"a matrix that is off by {off:.3g}" if off > 1e-6 else "a reflection, or another last row",
                )  # fmt: skip
        found[name] = (x, core)
    return found


def _numbers(name: str, value: Any) -> Array:
    x = real_array(f"inverse_kinematics: {name}", value)
    if not np.isfinite(x).all():
        raise InputError(f"inverse_kinematics: {name} does not hold real numbers", got=shown(value))
    return x


def _configuration(robot: Robot, name: str, value: Any) -> Array:
    q = _numbers(name, value)
    if q.ndim == 0 or q.shape[-1] != robot.nq:
        raise InputError(f"inverse_kinematics: {name} has the wrong shape", expected=f"(..., {robot.nq})", got=str(q.shape))
    return np.asarray(robot.integrate(q, np.zeros(robot.nv)))  # refuses quaternions that are not of unit length


def _moving(robot: Robot, joints: Any, move_base: bool) -> NDArray[np.bool_]:
    """Which velocities may differ from zero."""
    moves = np.zeros(robot.nv, dtype=bool)
    moves[: robot.nv - robot.n] = bool(move_base)
    if isinstance(joints, str):
        joints = [joints]
    names = set(robot.joint_names if joints is None else joints)
    for name in names:
        if name not in robot.joint_names:
            hint = closest(name, robot.joint_names)
            raise InputError(f"inverse_kinematics: no joint {shown(name)}", expected="joints of this robot", hint=hint)
    for body in robot.model.bodies:
        if not body.mimics and body.joint_name in names:
            moves[body.nu_at : body.nu_at + body.joint.nv] = True
    return moves
