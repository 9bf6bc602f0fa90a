"""Converters, one per robot and library: states, accelerations, forces and matrices to that library's conventions and back.

Their velocity is v = T(q) nu, where T permutes the entries and turns the base's twist to other axes. Everything else follows:

    v = T nu        dv/dt = T dnu + dT/dt nu        tau' = T^-T tau        M' = T^-T M T^-1        J' = J T^-1
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.arrays.arguments import real_array
from fallingcat.arrays.axes import common_axes
from fallingcat.converters import turns
from fallingcat.converters.conventions import Convention
from fallingcat.converters.layout import Place, Turning, layout
from fallingcat.errors import InputError
from fallingcat.robot import poses

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]
Turn = Callable[[Convention, Array, Array], Array]


class PoseAndJoints(NamedTuple):
    """A configuration as iDynTree and adam take it."""

    H: Array
    """(..., 4, 4): the base's pose in the world; the identity for a welded base."""
    s: Array
    """(..., n): the joints' positions."""


class _Places:
    """A list of `Place` as arrays to index with."""

    def __init__(self, places: list[Place]) -> None:
        self.here = np.array([p.here for p in places], dtype=np.intp)
        self.there = np.array([p.there for p in places], dtype=np.intp)
        self.multiplier = np.array([p.multiplier for p in places])
        self.offset = np.array([p.offset for p in places])
        self.own = np.array([not p.follows for p in places], dtype=bool)
        self.plain = all(p.multiplier == 1.0 and p.offset == 0.0 for p in places)

    def values(self, x: Array) -> Array:
        """Their entries at these places, from our vector."""
        taken = x[..., self.here]
        return taken if self.plain else self.multiplier * taken + self.offset

    def back(self, x: Array, out: Array) -> None:
        """Write our vector from their entries; joints that follow others are skipped."""
        out[..., self.here[self.own]] = x[..., self.there[self.own]]


class Converter:
    """Between this library's state of one robot and another library's.

    Methods without `from_` take our quantities and give theirs; those with `from_` take theirs, the configuration
    included, and give ours. All broadcast over leading axes, and none needs the other library.
    """

    def __init__(
        self,
        robot: Robot,
        convention: Convention,
        joint_names: Iterable[str] | None = None,
        continuous: Iterable[str] | None = None,
    ) -> None:
        made = layout(robot, convention, joint_names, continuous)
        self.convention = convention
        self.joint_names = made.joint_names
        """Their joints in the order of their coordinates."""
        self.nq, self.nv = made.nq, made.nv
        """Lengths of their configuration (with a pose, as if it were seven numbers) and of their velocity."""
        self._our_nq, self._our_nv, self._floating = robot.nq, robot.nv, robot.floating
        self._coordinates, self._angles, self._velocities = map(_Places, (made.coordinates, made.angles, made.velocities))
        in_body_axes = convention.linear == "body" and convention.angular == "body"
        self._turning: list[Turning] = [] if in_body_axes else made.turning

    def __repr__(self) -> str:
        return f"<Converter to {self.convention.library}: {self.nq} coordinates, {self.nv} velocities>"

    # -----------------------------------------------------------------------------------------------------------------
    # Configurations

    def q(self, q: ArrayLike) -> Any:
        """Their configuration: an array (..., nq), or `PoseAndJoints` for iDynTree and adam."""
        q = self._checked("q", q, self._our_nq)
        out = np.empty((*q.shape[:-1], self.nq))
        out[..., self._coordinates.there] = self._coordinates.values(q)
        angles = self._angles.values(q)
        out[..., self._angles.there] = np.cos(angles)
        out[..., self._angles.there + 1] = np.sin(angles)
        return PoseAndJoints(*poses.split_configuration(self._floating, out, self.nq)) if self.convention.pose else out

    def from_q(self, q: Any) -> Array:
        """Our configuration. Unbounded angles come back between -pi and pi, quaternions of poses up to their sign."""
        if self.convention.pose:
            if not (isinstance(q, tuple) and len(q) == 2):
                raise InputError(f"{self.convention.library}: q does not fit", expected="(H, s)", got=type(q).__name__)
            q = poses.configuration_from_pose(self._floating, *q, nq=self.nq)
        x = self._checked("q", q, self.nq)
        out = np.empty((*x.shape[:-1], self._our_nq))
        self._coordinates.back(x, out)
        own = self._angles.own
        at = self._angles.there[own]
        out[..., self._angles.here[own]] = np.arctan2(x[..., at + 1], x[..., at])
        return out

    # -----------------------------------------------------------------------------------------------------------------
    # Velocities, accelerations, forces

    def nu(self, q: ArrayLike, nu: ArrayLike) -> Array:
        """Their velocity T nu, (..., nv)."""
        q, nu = self._ours(q, nu)
        return self._place(self._turned(turns.twist, q, nu))

    def from_nu(self, q: Any, nu: ArrayLike) -> Array:
        """Our velocity T^-1 v."""
        q, nu = self._theirs(q, nu)
        return self._turned(turns.twist_back, q, self._take(nu))

    def dnu(self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike) -> Array:
        """Their acceleration, the rate of their velocity: T dnu + dT/dt nu, (..., nv)."""
        q, nu, dnu = self._ours(q, nu, dnu)
        return self._place(self._turned(turns.twist, q, dnu) + self._drift(q, nu))

    def from_dnu(self, q: Any, nu: ArrayLike, dnu: ArrayLike) -> Array:
        """Our acceleration T^-1 (dv/dt - dT/dt nu)."""
        q, nu, dnu = self._theirs(q, nu, dnu)
        ours = self._turned(turns.twist_back, q, self._take(nu))
        return self._turned(turns.twist_back, q, self._take(dnu) - self._drift(q, ours))

    def tau(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Their generalized force T^-T tau, (..., nv); zero for joints that follow others here, as their leader has all of it."""
        q, tau = self._ours(q, tau)
        return self._place(self._turned(turns.wrench, q, tau), leaders_only=True)

    def from_tau(self, q: Any, tau: ArrayLike) -> Array:
        """Our generalized force T^T tau'; forces on joints that follow others here are added to those of their leaders."""
        q, tau = self._theirs(q, tau)
        return self._turned(turns.wrench_back, q, self._gather(tau))

    # -----------------------------------------------------------------------------------------------------------------
    # Matrices

    def T(self, q: ArrayLike) -> Array:
        """The matrix with v = T nu, (..., nv there, nv here)."""
        q = self._checked("q", q, self._our_nq)
        return np.swapaxes(self.nu(q[..., None, :], np.eye(self._our_nv)), -1, -2)

    def jacobian(self, q: ArrayLike, J: ArrayLike) -> Array:
        """J T^-1, (..., k, nv): the Jacobian of the same quantity with respect to their velocity."""
        self._refuse_followers("jacobian")
        q = self._checked("q", q, self._our_nq)
        return self.tau(q[..., None, :], J)

    def from_jacobian(self, q: Any, J: ArrayLike) -> Array:
        """J' T, (..., k, nv): the Jacobian of the same quantity with respect to our velocity."""
        q = self.from_q(q)[..., None, :]
        J = self._checked("J", J, self.nv)
        q, J = _together(q, J)
        return self._turned(turns.wrench_back, q, self._gather(J))

    def matrix(self, q: ArrayLike, M: ArrayLike) -> Array:
        """T^-T M T^-1, (..., nv, nv): the mass matrix of their velocities."""
        half = self.jacobian(q, self._square("M", M, self._our_nv))
        return np.swapaxes(self.jacobian(q, np.swapaxes(half, -1, -2)), -1, -2)

    def from_matrix(self, q: Any, M: ArrayLike) -> Array:
        """T^T M' T, (..., nv, nv): the mass matrix of ours, also where joints follow here and move on their own there."""
        half = self.from_jacobian(q, self._square("M", M, self.nv))
        return np.swapaxes(self.from_jacobian(q, np.swapaxes(half, -1, -2)), -1, -2)

    # -----------------------------------------------------------------------------------------------------------------

    def _turned(self, turn: Turn, q: Array, x: Array) -> Array:
        """A vector in the order of our nu, with the parts of floating and planar joints turned to the other axes."""
        if not self._turning:
            return x
        out = x.copy()
        for joint in self._turning:
            at = _entries(joint)
            out[..., at] = turn(self.convention, _pose(joint, q), _lifted(joint, x))[..., _motions(joint)]
        return out

    def _drift(self, q: Array, nu: Array) -> Array:
        """dT/dt nu in the order of our nu."""
        out = np.zeros(np.broadcast_shapes(q.shape[:-1], nu.shape[:-1]) + (self._our_nv,))
        for joint in self._turning:
            moved = turns.drift(self.convention, _pose(joint, q), _lifted(joint, nu))
            out[..., _entries(joint)] = moved[..., _motions(joint)]
        return out

    def _place(self, x: Array, leaders_only: bool = False) -> Array:
        """A vector in the order of our nu, reordered to theirs."""
        out = np.zeros((*x.shape[:-1], self.nv))
        where = self._velocities
        out[..., where.there] = np.where(where.own, x[..., where.here], 0.0) if leaders_only else where.values(x)
        return out

    def _take(self, x: Array) -> Array:
        """A vector in their order, reordered to ours; entries of joints that follow others here are not read."""
        out = np.empty((*x.shape[:-1], self._our_nv))
        self._velocities.back(x, out)
        return out

    def _gather(self, x: Array) -> Array:
        """Forces in their order, reordered to ours; those of joints that follow others are added to their leaders'."""
        out = np.zeros((*x.shape[:-1], self._our_nv))
        where = self._velocities
        for here, there, multiplier in zip(where.here, where.there, where.multiplier, strict=True):
            out[..., here] += multiplier * x[..., there]
        return out

    def _ours(self, q: ArrayLike, *vectors: ArrayLike) -> tuple[Array, ...]:
        checked = (self._checked("an argument", x, self._our_nv) for x in vectors)
        return _together(self._checked("q", q, self._our_nq), *checked)

    def _theirs(self, q: Any, *vectors: ArrayLike) -> tuple[Array, ...]:
        return _together(self.from_q(q), *(self._checked("an argument", x, self.nv) for x in vectors))

    def _square(self, name: str, x: ArrayLike, length: int) -> Array:
        M = self._checked(name, x, length)
        if M.ndim < 2 or M.shape[-2] != length:
            what = f"{self.convention.library}: {name} does not fit"
            raise InputError(what, expected=f"shape (..., {length}, {length})", got=str(M.shape))
        return M

    def _checked(self, name: str, x: ArrayLike, length: int) -> Array:
        array = real_array(f"{self.convention.library}: {name}", x)
        if array.shape[-1:] != (length,):
            what = f"{self.convention.library}: {name} does not fit"
            raise InputError(what, expected=f"shape (..., {length})", got=str(array.shape))
        common_axes(self.convention.library, {name: array.shape})
        return array

    def _refuse_followers(self, what: str) -> None:
        if not self._velocities.own.all():
            raise InputError(
                f"{self.convention.library}: {what} has no unique counterpart", expected="as many velocities there as here",
                got=f"{self.nv} and {self._our_nv}: mimic joints here are independent there",
                hint="the way back, from_matrix and from_jacobian, exists",
            )  # fmt: skip


def _together(*arrays: Array) -> tuple[Array, ...]:
    """The arrays, broadcast to common leading axes."""
    shapes = [x.shape[:-1] for x in arrays]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise InputError("leading axes do not fit together", expected="axes that broadcast", got=str(shapes)) from None
    return tuple(np.broadcast_to(x, (*shape, x.shape[-1])) for x in arrays)


def _motions(joint: Turning) -> list[int]:
    """The entries of a twist that the velocity of a joint consists of."""
    return [0, 1, 5] if joint.planar else [0, 1, 2, 3, 4, 5]


def _entries(joint: Turning) -> slice:
    return slice(joint.nu_at, joint.nu_at + len(_motions(joint)))


def _lifted(joint: Turning, x: Array) -> Array:
    """A joint's part of a vector as a twist or wrench."""
    out = np.zeros((*x.shape[:-1], 6))
    out[..., _motions(joint)] = x[..., _entries(joint)]
    return out


def _pose(joint: Turning, q: Array) -> Array:
    """The pose of a joint's body in the joint's frame, which for the base is the world."""
    if not joint.planar:
        return poses.split_configuration(True, q[..., joint.q_at : joint.q_at + 7], 7)[0]
    x, y, angle = np.moveaxis(q[..., joint.q_at : joint.q_at + 3], -1, 0)
    turn = np.stack([np.zeros_like(x), np.zeros_like(x), np.sin(angle / 2), np.cos(angle / 2)], axis=-1)
    return poses.split_configuration(True, np.concatenate([np.stack([x, y, 0 * x], axis=-1), turn], axis=-1), 7)[0]
