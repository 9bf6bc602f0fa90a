"""Derivatives of the twist and the spatial acceleration of a frame, in the frame's own coordinates.

Moving joint j along S carries the frame along, so only what is left of (1), (2), (4) of `rnea_derivatives` counts:
    d v_f / dq = X_f Pd,    d v_f / dnu = X_f S                                            (paper 002, Sec. III-D)
    d a_f / dq = X_f (Pdd + Pd x v),   d a_f / dnu = X_f (Pd + Sd + S x v),   d a_f / ddnu = X_f S
"""

from __future__ import annotations

from typing import NamedTuple

from fallingcat.algorithms.common_frame import (
    COMMON,
    CommonFrame,
    accelerations,
    common_frame,
    velocities,
    velocity_products,
)
from fallingcat.algorithms.kinematics import PerBody, Vector, frame_transform
from fallingcat.algorithms.rnea_derivatives import AxisColumns, Block, axis_columns
from fallingcat.model.model import WORLD, FrameOf, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Motion


class FrameVelocityDerivatives(NamedTuple):
    """Derivatives of the body-fixed twist of a frame."""

    dq: Block
    """(..., 6, nv), left-trivialized."""
    dnu: Block
    """(..., 6, nv): the frame's Jacobian."""


class FrameAccelerationDerivatives(NamedTuple):
    """Derivatives of the rate of the body-fixed twist of a frame."""

    dq: Block
    """(..., 6, nv), left-trivialized."""
    dnu: Block
    """(..., 6, nv)"""
    ddnu: Block
    """(..., 6, nv): the frame's Jacobian."""


def frame_velocity_derivatives(model: Model, q: Vector, nu: Vector, frame: str) -> FrameVelocityDerivatives:
    """How the twist of a frame changes with q and nu."""
    c, place = common_frame(model, q), model.frame(frame)
    v = velocities(c, nu)
    unused = dict.fromkeys(v, Motion.zero(COMMON))  # accelerations have no part in this
    columns = _along_path(c, place, v, unused, nu, [0.0] * model.nv)
    return FrameVelocityDerivatives(
        _matrix(c, place, {i: [x.Pd for x in xs] for i, xs in columns.items()}),
        _matrix(c, place, {i: [x.S for x in xs] for i, xs in columns.items()}),
    )


def frame_acceleration_derivatives(model: Model, q: Vector, nu: Vector, dnu: Vector, frame: str) -> FrameAccelerationDerivatives:
    """How the acceleration of a frame changes with q, nu and dnu."""
    c, place = common_frame(model, q), model.frame(frame)
    v = velocities(c, nu)
    a = accelerations(c, velocity_products(c, nu, v), dnu, Motion.zero(COMMON))
    columns = _along_path(c, place, v, a, nu, dnu)
    v_f = v[place.body]
    return FrameAccelerationDerivatives(
        _matrix(c, place, {i: [x.Pdd + x.Pd.cross(v_f) for x in xs] for i, xs in columns.items()}),
        _matrix(c, place, {i: [x.PdSd + x.S.cross(v_f) for x in xs] for i, xs in columns.items()}),
        _matrix(c, place, {i: [x.S for x in xs] for i, xs in columns.items()}),
    )


def _along_path(
    c: CommonFrame, place: FrameOf, v: PerBody[Motion], a: PerBody[Motion], nu: Vector, dnu: Vector
) -> PerBody[list[AxisColumns]]:
    """The columns of the joints that carry a frame."""
    bodies = c.model.bodies
    return {i: axis_columns(c, i, bodies[i].parent, v, a, nu, dnu) for i in c.model.path(place.body)}


def _matrix(c: CommonFrame, place: FrameOf, columns: PerBody[list[Motion]]) -> Block:
    """Motions in common coordinates as columns of a 6 x nv matrix in the coordinates of the frame."""
    if place.body == WORLD:
        return [[0.0] * c.model.nv for _ in range(6)]
    X_fc = frame_transform(place) @ c.X[place.body]
    entries: PerBody[list[list[Scalar]]] = {i: [(X_fc @ m).entries() for m in ms] for i, ms in columns.items()}
    return c.model.gather_columns(entries, 6)
