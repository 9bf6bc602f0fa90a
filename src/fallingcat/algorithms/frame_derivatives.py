"""Derivatives of the twist and the spatial acceleration of a frame, in the frame's own coordinates.

Moving joint j along S carries the frame along, so only what is left of (1), (2), (4) of `rnea_derivatives` counts:
    d v_f / dq = X_f Pd,    d v_f / dnu = X_f S                                            (paper 002, Sec. III-D)
    d a_f / dq = X_f (Pdd + Pd x v),   d a_f / dnu = X_f (Pd + Sd + S x v),   d a_f / ddnu = X_f S
"""

from __future__ import annotations

from typing import NamedTuple

from fallingcat.algorithms.kinematics import frame_transform
from fallingcat.algorithms.posed import PerBody, Posed, Vector, accelerations, common, velocities, velocity_products
from fallingcat.algorithms.rnea_derivatives import AxisColumns, Block, axis_columns
from fallingcat.model.model import FrameOf, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Motion


class FrameVelocityDerivatives(NamedTuple):
    """Derivatives of the body-fixed twist of a frame."""

    dv_dq: Block
    """(..., 6, nv), left-trivialized."""
    dv_dnu: Block
    """(..., 6, nv): the frame's Jacobian."""


class FrameAccelerationDerivatives(NamedTuple):
    """Derivatives of the rate of the body-fixed twist of a frame."""

    da_dq: Block
    """(..., 6, nv), left-trivialized."""
    da_dnu: Block
    """(..., 6, nv)"""
    da_ddnu: Block
    """(..., 6, nv): the frame's Jacobian."""


def frame_velocity_derivatives(model: Model, q: Vector, nu: Vector, frame: str) -> FrameVelocityDerivatives:
    """How the twist of a frame changes with q and nu."""
    r, place = common(model, q), model.frame(frame)
    v = velocities(r, nu)
    unused = dict.fromkeys(v, Motion.zero(r.root))  # accelerations have no part in this
    columns = _along_path(r, place, v, unused, nu, [0.0] * model.nv)
    return FrameVelocityDerivatives(
        _matrix(r, place, {i: [x.Pd for x in xs] for i, xs in columns.items()}),
        _matrix(r, place, {i: [x.S for x in xs] for i, xs in columns.items()}),
    )


def frame_acceleration_derivatives(model: Model, q: Vector, nu: Vector, dnu: Vector, frame: str) -> FrameAccelerationDerivatives:
    """How the acceleration of a frame changes with q, nu and dnu."""
    r, place = common(model, q), model.frame(frame)
    v = velocities(r, nu)
    a = accelerations(r, velocity_products(r, nu, v), dnu, Motion.zero(r.root))
    columns = _along_path(r, place, v, a, nu, dnu)
    v_f = v[place.body]
    return FrameAccelerationDerivatives(
        _matrix(r, place, {i: [x.Pdd + x.Pd.cross(v_f) for x in xs] for i, xs in columns.items()}),
        _matrix(r, place, {i: [x.PdSd + x.S.cross(v_f) for x in xs] for i, xs in columns.items()}),
        _matrix(r, place, {i: [x.S for x in xs] for i, xs in columns.items()}),
    )


def _along_path(
    r: Posed, place: FrameOf, v: PerBody[Motion], a: PerBody[Motion], nu: Vector, dnu: Vector
) -> PerBody[list[AxisColumns]]:
    """The columns of the joints that carry a frame."""
    return {i: axis_columns(r, i, v, a, nu, dnu) for i in r.model.path(place.body)}


def _matrix(r: Posed, place: FrameOf, columns: PerBody[list[Motion]]) -> Block:
    """Motions in common coordinates as columns of a 6 x nv matrix in the coordinates of the frame."""
    X_fc = frame_transform(place) @ r.X_own[place.body]
    entries: PerBody[list[list[Scalar]]] = {i: [(X_fc @ m).entries() for m in ms] for i, ms in columns.items()}
    return r.model.gather_columns(entries, 6)
