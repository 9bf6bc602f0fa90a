"""Everything in the coordinates of one frame.

The derivatives add up quantities of many bodies; with all of them in the same coordinates nothing needs to be
transformed on the way. The frame is the floating base's own (so that the base's axes are the unit vectors and the
pose enters through gravity alone); for a fixed base it has the orientation of the world, and its origin at the first body,
wherever that is at the moment: far from the origin of the world nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from fallingcat.algorithms.kinematics import (
    PerBody,
    Vector,
    gravity_acceleration,
    nearby_kinematics,
    ring,
)
from fallingcat.model.model import WORLD, Model
from fallingcat.spatial import Inertia, MatrixRotation, Motion, Subspace, Transform
from fallingcat.spatial.principal import rotated
from fallingcat.spatial.vec3 import IDENTITY, ZERO, scale

COMMON = "common"
"""The tag of the frame."""


@dataclass(frozen=True)
class CommonFrame:
    """The robot at a configuration, in common coordinates."""

    model: Model
    q: Vector
    X: PerBody[Transform]
    """X_ic: from common coordinates to those of body i."""
    S: PerBody[Subspace]
    I: PerBody[Inertia]
    gravity: Motion
    """The upward acceleration that stands for gravity."""

    def bring(self, i: int, m: Motion) -> Motion:
        """A motion of body i, from body to common coordinates."""
        return self.X[i].bring_back(m)

    def ring(self, i: int, nu: Vector) -> Subspace | None:
        """The rate of S[i] as seen in the body; None for constant axes."""
        moving = ring(self.model, i, self.q, nu)
        return None if moving is None else Subspace(tuple(self.bring(i, m) for m in moving.columns), COMMON)


def common_frame(model: Model, q: Vector) -> CommonFrame:
    """Axes and inertias of every body in common coordinates."""
    X_ip, S_i = nearby_kinematics(model, q)
    here = Transform(MatrixRotation(IDENTITY), ZERO, COMMON, COMMON)
    X: PerBody[Transform] = {}
    S: PerBody[Subspace] = {}
    I: PerBody[Inertia] = {}
    origin = 0 if model.floating else WORLD
    for i, p in model.base_to_tip():
        X[i] = _retag(here, i) if i == origin else _retag(X_ip[i], i) if p == origin else X_ip[i] @ X[p]
        S[i] = Subspace(tuple(X[i].bring_back(s) for s in S_i[i].columns), COMMON)
        I[i] = _moved(X[i], model.bodies[i].inertia)
    g = gravity_acceleration(model)
    if model.floating:
        g = X_ip[0] @ g
    return CommonFrame(model, q, X, S, I, Motion(g.lin, g.ang, COMMON))


def _moved(X: Transform, inertia: Inertia) -> Inertia:
    """X^T I X through the centre of mass, which is a constant of the body: fewer operations than about the origin."""
    if isinstance(inertia.mass, float) and inertia.mass > 0.0:
        com = scale(1.0 / inertia.mass, inertia.h)
        about_com = inertia.about_com()
        constant = all(type(x) is float for x in about_com)
        turned = rotated(X.E, about_com) if constant else X.E.inverse_conjugate(about_com)
        return Inertia.from_com(inertia.mass, X.point(com), turned, X.b)
    return X.T @ inertia


def _retag(X: Transform, body: int) -> Transform:
    return Transform(X.E, X.r, body, COMMON)


def composite_inertias(c: CommonFrame) -> PerBody[Inertia]:
    """Ic[i]: body i and all that it carries, frozen, in common coordinates."""
    Ic = dict(c.I)
    for i, p in c.model.tip_to_base():
        if p != WORLD:
            Ic[p] = Ic[p] + Ic[i]
    return Ic


def velocities(c: CommonFrame, nu: Vector) -> PerBody[Motion]:
    """v[i] in common coordinates."""
    v: PerBody[Motion] = {WORLD: Motion.zero(COMMON)}
    for i, p in c.model.base_to_tip():
        v[i] = v[p] + c.S[i] @ c.model.speeds(i, nu)
    return v


def velocity_products(c: CommonFrame, nu: Vector, v: PerBody[Motion]) -> PerBody[Motion]:
    """The part of a[i] - a[p] that is quadratic in the velocity: v x vJ + ring nu, where v x vJ = (v_p x S) nu."""
    products: PerBody[Motion] = {}
    for i, p in c.model.base_to_tip():
        speeds = c.model.speeds(i, nu)
        products[i] = Subspace(tuple(v[p].cross(s) for s in c.S[i].columns), COMMON) @ speeds
        moving = c.ring(i, nu)
        if moving is not None:
            products[i] = products[i] + moving @ speeds
    return products


def accelerations(c: CommonFrame, products: PerBody[Motion], dnu: Vector, a_world: Motion) -> PerBody[Motion]:
    """a[i] in common coordinates when the world accelerates with a_world; `c.gravity` stands for gravity."""
    a: PerBody[Motion] = {WORLD: a_world}
    for i, p in c.model.base_to_tip():
        a[i] = a[p] + c.S[i] @ c.model.speeds(i, dnu) + products[i]
    return a


DEEP = 16
"""Joints on a path from which on it pays to carry everything to common coordinates, or to avoid sums along the path."""


def is_shallow(model: Model) -> bool:
    """Are all paths shorter than that?"""
    return max((len(list(model.path(i))) for i, _ in model.base_to_tip()), default=0) <= DEEP
