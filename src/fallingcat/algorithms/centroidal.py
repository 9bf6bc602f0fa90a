"""Centroidal quantities (paper 004, Sec. V): momentum about the centre of mass, in the orientation of the world.

In body coordinates the momentum that an axis causes is Ic S, Ic the inertia of all that it carries, and its rate along a
motion is Ic Sd + Icd S. The rate of an inertia has the form of an inertia without mass: its first moment is the linear
momentum, its rotational part N + N^T of the Coriolis factor (paper 001, eq. 14). Seen from the centre of mass c, a wrench
(f; m) at r is (f; m + (r - c) x f).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fallingcat.algorithms.dense import Block, Matrix, solve_symmetric
from fallingcat.algorithms.kinematics import subtree_first_moments, world_transforms
from fallingcat.algorithms.posed import (
    PerBody,
    Posed,
    Vector,
    axis_rates,
    body,
    composite_inertias,
    motions,
    subtree_sums,
    velocities,
)
from fallingcat.algorithms.rnea import forces
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Inertia, Motion, Transform
from fallingcat.spatial.coriolis import CoriolisFactor
from fallingcat.spatial.vec3 import ZERO, Vec, add, cross, scale, skew, sub, sym_full


@dataclass(frozen=True)
class Centroid:
    """A robot with its composite inertias and its centre of mass, for momenta about the centre of mass."""

    robot: Posed
    X: PerBody[Transform]
    """Transforms from the coordinates of the root, with the origin at the first body, to those of every body."""
    Ic: PerBody[Inertia]
    """The composite inertia of every body and all that it carries; under WORLD, that of the whole robot."""
    c: Vec
    """The centre of mass, in the coordinates of the root."""

    def about(self, i: int, f: Force) -> Force:
        """A wrench in the coordinates of body i, about the centre of mass and in the orientation of the root."""
        lin, ang = self.X[i].E.inverse_apply(f.lin), self.X[i].E.inverse_apply(f.ang)
        return Force(lin, add(ang, cross(sub(self.X[i].r, self.c), lin)), self.robot.root)

    def moved(self, f: Force, momentum: Force) -> Force:
        """-c' x f: how a wrench about the centre of mass changes as that moves with the velocity c' = momentum / mass."""
        return Force(ZERO, cross(f.lin, scale(per_mass(self.robot.model), momentum.lin)), self.robot.root)

    def momentum(self, i: int, k: int) -> Force:
        """Momentum of the bodies that joint i carries at unit velocity along its axis k: the column of A_G of that axis."""
        return self.about(i, self.Ic[i] @ self.robot.S[i].columns[k])

    def columns(self, column: Callable[[int, int], Force]) -> Block:
        """A 6 x nv matrix in the orientation of the world, from a wrench about the centre of mass per body and axis."""
        E = self.robot.X_own[WORLD].E
        wrenches = {i: [column(i, k) for k in range(len(S))] for i, S in self.robot.S.items()}
        parts = {i: [[*E.apply(f.lin), *E.apply(f.ang)] for f in columns] for i, columns in wrenches.items()}
        return self.robot.model.gather_columns(parts, 6)


def centroid(r: Posed) -> Centroid:
    """The composite inertias of a robot, summed from the tips inwards, and its centre of mass."""
    Ic = composite_inertias(r)
    return Centroid(r, world_transforms(r.model, r.X, r.root), Ic, scale(per_mass(r.model), Ic[WORLD].h))


def per_mass(model: Model) -> float:
    """1/m with the mass of the robot; zero if nothing can move, as the momentum is zero then, too."""
    return 1.0 / model.mass if model.mass > 0.0 else 0.0


def centroidal_momentum_matrix(model: Model, q: Vector) -> Block:
    """A_G with h = A_G nu (paper 004, eq. 32): linear momentum, and angular momentum about the centre of mass."""
    g = centroid(body(model, q))
    return g.columns(g.momentum)


def centroidal_momentum_matrix_rate(model: Model, q: Vector, nu: Vector) -> Block:
    """The rate of A_G along nu."""
    g = centroid(body(model, q))
    r, v = g.robot, velocities(g.robot, nu)
    rates = _inertia_rates(r, v)
    total = Force(rates[WORLD].h, ZERO, WORLD)
    Sd = {i: axis_rates(r, i, nu, v) for i in r.S}

    def column(i: int, k: int) -> Force:
        momentum_rate = g.Ic[i] @ Sd[i][k] + rates[i] @ r.S[i].columns[k]
        return g.about(i, momentum_rate) + g.moved(g.momentum(i, k), total)

    return g.columns(column)


def _inertia_rates(r: Posed, v: PerBody[Motion]) -> PerBody[Inertia]:
    """The rates of the composite inertias of all bodies; under WORLD, that of the whole robot."""
    rates = {i: CoriolisFactor.of(v[i], I).inertia_rate() for i, I in r.I.items()}
    return subtree_sums(r, rates, Inertia.zero(WORLD))


def centroidal_inertia(model: Model, q: Vector) -> Block:
    """I_G, 6 x 6: mass, and the inertia of the frozen robot about its centre of mass (paper 004, eq. 30, 31)."""
    if model.mass == 0.0:
        return Matrix.zero(6, 6).rows
    I, zero = Matrix(sym_full(centroid(body(model, q)).Ic[WORLD].about_com())), Matrix.zero(3, 3)
    return Matrix.blocks([[model.mass * Matrix.identity(3), zero], [zero, I]]).rows


def centroidal_inertia_rate(model: Model, q: Vector, nu: Vector) -> Block:
    """The rate of the rotational part of I_G along nu, 3 x 3, about the centre of mass, which moves with p / m."""
    g = centroid(body(model, q))
    rate = _inertia_rates(g.robot, velocities(g.robot, nu))[WORLD]
    p, c = Matrix(skew(rate.h)), Matrix(skew(g.c))
    return (Matrix(sym_full(rate.I)) + (p @ c + c @ p)).rows  # as I_G = I + h^ c^, h = m c


def centroidal_momentum(model: Model, q: Vector, nu: Vector) -> list[Scalar]:
    """h = A_G nu, summed body by body."""
    r = body(model, q)
    v, c = velocities(r, nu), _center_of_mass(r)
    return _about(c, subtree_sums(r, {i: I @ v[i] for i, I in r.I.items()}, Force.zero(WORLD))[WORLD])


def centroidal_momentum_rate(model: Model, q: Vector, nu: Vector, dnu: Vector) -> list[Scalar]:
    """dh/dt: the sum of the forces on the robot, gravity included, and their moment about the centre of mass."""
    r = body(model, q)
    v, a = motions(r, nu, dnu, Motion.zero(WORLD))
    return _about(_center_of_mass(r), subtree_sums(r, forces(r, v, a), Force.zero(WORLD))[WORLD])


def _center_of_mass(r: Posed) -> Vec:
    """The centre of mass relative to the first body, where the recursions have the origin of the world, (3,)."""
    return scale(per_mass(r.model), subtree_first_moments(r.model, r.X)[WORLD])


def _about(c: Vec, f: Force) -> list[Scalar]:
    """The six entries of a wrench (about the origin), taken about the point c."""
    return [*f.lin, *sub(f.ang, cross(c, f.lin))]


def average_velocity(model: Model, q: Vector, nu: Vector) -> list[Scalar]:
    """I_G^-1 h: the velocity of the centre of mass, and the angular velocity the frozen robot would have (paper 004, eq. 33)."""
    h = centroidal_momentum(model, q, nu)
    I = [row[3:] for row in centroidal_inertia(model, q)[3:]]
    return [x / model.mass for x in h[:3]] + solve_symmetric(I, h[3:])
