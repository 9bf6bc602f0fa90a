"""Derivatives of the twist of a frame and of its rate, in any representation.

Moving joint j along S carries the frame along, so that the terms S x v and S x a of this displacement drop out of (1) and (2) of
`rnea_derivatives`; (4) stays. With v and a the twist and the spatial acceleration of the frame, all in common coordinates,
    d v / dq = Pd,              d v / dnu = S                                              (paper 002, Sec. III-D)
    d a / dq = Pdd + Pd x v,    d a / dnu = Pd + Sd + S x v,    d a / ddnu = S
A viewpoint against which the frame moves with rel(v) sees X v, and its rate X b, b = a + rel(v) x v. When the frame is displaced
by S, rel(S) x v and rel(S) x b come on top. rel(v) is zero for body-fixed twists, the turn about the frame's origin for mixed
ones, and v for inertial ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.kinematics import RELATIVE_TWISTS, VIEWPOINTS, frame_transform, joint_kinematics, world_transforms
from fallingcat.algorithms.posed import PerBody, Posed, Vector, common, motions, velocities
from fallingcat.algorithms.representations import view_of
from fallingcat.algorithms.rnea_derivatives import AxisColumns, axis_columns
from fallingcat.model.model import FrameOf, Model
from fallingcat.spatial import Motion


class FrameVelocityDerivatives(NamedTuple):
    """Derivatives of the twist of a frame."""

    dv_dq: Block
    """(..., 6, nv), left-trivialized."""
    dv_dnu: Block
    """(..., 6, nv): the frame's Jacobian."""


class FrameAccelerationDerivatives(NamedTuple):
    """Derivatives of the rate of the twist of a frame."""

    da_dq: Block
    """(..., 6, nv), left-trivialized."""
    da_dnu: Block
    """(..., 6, nv)"""
    da_ddnu: Block
    """(..., 6, nv): the frame's Jacobian."""


def frame_velocity_derivatives(
    model: Model, q: Vector, nu_a: Vector, frame: str, representation: str = "body"
) -> FrameVelocityDerivatives:
    """How the twist of a frame changes with q and nu_a, where nu = X nu_a; nu_a is held when q is displaced."""
    r, view = common(model, q), view_of(model, q, representation)
    nu = view.X @ nu_a
    v = velocities(r, nu)
    unused = dict.fromkeys(v, Motion.zero(r.root))  # twists do not depend on accelerations
    view_f = FrameView(r, model.frame(frame), representation)
    columns, v_f, rel = view_f.columns(v, unused, nu, [0.0] * model.nv), v[view_f.body], view_f.relative
    dq = view_f.matrix(columns, lambda x: x.Pd + rel(x.S).cross(v_f))
    dv = view_f.matrix(columns, lambda x: x.S)
    return FrameVelocityDerivatives(*(D.rows for D in view.by_velocity(nu, dq, dv)))


def frame_acceleration_derivatives(
    model: Model, q: Vector, nu_a: Vector, dnu_a: Vector, frame: str, representation: str = "body"
) -> FrameAccelerationDerivatives:
    """How the rate of that twist changes with q, nu_a and dnu_a; nu_a and dnu_a are held when q is displaced."""
    r, view = common(model, q), view_of(model, q, representation)
    nu, y = view.X @ nu_a, view.X @ dnu_a
    dnu = view.minus_drift(y, nu)
    v, a = motions(r, nu, dnu, Motion.zero(r.root))
    view_f = FrameView(r, model.frame(frame), representation)
    columns, v_f, rel = view_f.columns(v, a, nu, dnu), v[view_f.body], view_f.relative
    b = a[view_f.body] + rel(v_f).cross(v_f)

    def turning(dv: Motion) -> Motion:
        """The change of rel(v) x v."""
        return rel(dv).cross(v_f) + rel(v_f).cross(dv)

    dq = view_f.matrix(columns, lambda x: x.Pdd + x.Pd.cross(v_f) + turning(x.Pd) + rel(x.S).cross(b))
    dv = view_f.matrix(columns, lambda x: x.PdSd + x.S.cross(v_f) + turning(x.S))
    da = view_f.matrix(columns, lambda x: x.S)
    found = view.by_acceleration(nu, y, dq, dv, da)
    return FrameAccelerationDerivatives(*(D.rows for D in found))


class FrameView:
    """A frame of a robot in common coordinates, and the viewpoint that its twist is expressed in."""

    def __init__(self, r: Posed, place: FrameOf, representation: str) -> None:
        self.robot, self.body = r, place.body
        X_fi = frame_transform(place)
        X_fc = X_fi @ r.X_own[place.body]
        X_fw = X_fi @ world_transforms(r.model, joint_kinematics(r.model, r.q)[0])[place.body]
        self.X = VIEWPOINTS[representation](X_fw) @ X_fc
        """The transform from common coordinates to those of the viewpoint."""
        self.relative = partial(RELATIVE_TWISTS[representation], origin=X_fc.r)
        """The function rel(v) of the twist v of the frame."""

    def columns(self, v: PerBody[Motion], a: PerBody[Motion], nu: Vector, dnu: Vector) -> PerBody[list[AxisColumns]]:
        """The columns of the joints that carry the frame."""
        return {i: axis_columns(self.robot, i, v, a, nu, dnu) for i in self.robot.model.path(self.body)}

    def matrix(self, columns: PerBody[list[AxisColumns]], of: Callable[[AxisColumns], Motion]) -> Matrix:
        """A motion for each axis, in common coordinates, as columns of a 6 x nv matrix of the viewpoint."""
        model = self.robot.model
        entries = {i: [(self.X @ of(x)).entries() for x in xs] for i, xs in columns.items()}
        return Matrix(model.gather_columns(entries, 6), model.nv)
