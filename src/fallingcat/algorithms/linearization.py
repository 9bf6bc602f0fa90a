"""The geometric linearization of a robot on its group of states (paper 000).

A state is (H, s, v, r): base pose, joint coordinates, body-fixed base twist, joint velocities; its group is
G = SE(3) x R^n x R^6 x R^n (eq. 17), and a perturbation z = (z_H, z_s, z_v, z_r) moves H to H exp(z_H) and adds the rest.
Perturbed motions obey z' = A z + B u with (Prop. 1 and eq. 42, errata 0.1, 0.3, 0.9)

    A = [[-ad(v), 0, 1, 0], [0, 0, 0, 1], [D1 FD, D2 FD, D3 FD, D4 FD]],     B = [0; M^-1 (joint columns)],

exact everywhere: there are no coordinates of rotation, hence no singularity. For spherical and planar joints and free
flyers within the tree, their own ad stands where the paper has a zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fallingcat.algorithms.aba_derivatives import derivatives_and_accelerations
from fallingcat.algorithms.configuration import bracket
from fallingcat.algorithms.dense import multiply
from fallingcat.algorithms.kinematics import Vector, joint_kinematics
from fallingcat.algorithms.rnea import NO_FORCES
from fallingcat.choices import REPRESENTATIONS, check_choice
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion, Transform
from fallingcat.spatial.vec3 import ZERO, cross, neg, skew

Block = list[list[Scalar]]


class Linearization(NamedTuple):
    """z' = A z + B u around a state and its torques."""

    A: Block
    """(..., 2nv, 2nv)"""
    B: Block
    """(..., 2nv, n): joint torques only."""


def linearize(
    model: Model, q: Vector, nu: Vector, tau: Vector, f_ext: Mapping[int, Force] = NO_FORCES, velocity: str = "body"
) -> Linearization:
    """A and B with the base velocity of the state body-fixed, mixed, or inertial (0X_A v in the paper's letters)."""
    if velocity == "body" or not model.floating:
        FD, _ = derivatives_and_accelerations(model, q, nu, tau, f_ext)
        ad = bracket(model, nu)
        top = [[-x for x in row] + unit for row, unit in zip(ad, _identity(model.nv), strict=True)]
        return Linearization(top + _side_by_side(FD.dq, FD.dnu), _inputs(model, FD.dtau))
    return _otherwise(model, q, nu, tau, f_ext, velocity)


def _otherwise(model: Model, q: Vector, nu_a: Vector, tau: Vector, f_ext: Mapping[int, Force], velocity: str) -> Linearization:
    """The same when the state holds the inertial or the mixed twist v_a, v = X v_a (errata 0.2 for the inertial one).

    X does not commute with z_H: d(X v_a) = turn(v) z_H, and the rate of v_a is X^-1 y, y = a + drift(v), a the body's
    acceleration. For the inertial twist turn is ad and there is no drift.
    """
    X_0w = joint_kinematics(model, q)[0][0]
    if velocity == "mixed":
        X_0w = Transform(X_0w.E, ZERO, X_0w.a, X_0w.b)
    X, Xinv = X_0w.matrix(), X_0w.inverse().matrix()
    v = X_0w @ Motion.of(nu_a[:6], X_0w.b)
    nu = [*v.entries(), *nu_a[6:]]
    FD, a = derivatives_and_accelerations(model, q, nu, tau, f_ext)
    drift, drift_dv = _drift(v, velocity)
    y = Motion.of([x + d for x, d in zip(a[:6], drift, strict=True)], v.frame)

    def rate(block: Block) -> Block:
        """From rates of the body-fixed twist to rates of the other one."""
        return multiply(Xinv, block[:6]) + block[6:]

    D3, D4 = _add_on_top([row[:6] for row in FD.dnu], drift_dv), [row[6:] for row in FD.dnu]
    dH = _add([row[:6] for row in FD.dq], multiply(D3, _turn(v, velocity)))
    dH = _add_on_top(dH, [[-x for x in row] for row in _turn(y, velocity)])
    dq = _side_by_side(rate(dH), rate([row[6:] for row in FD.dq]))
    dnu = _side_by_side(rate(multiply(D3, X)), rate(D4))
    top = [[-x for x in row] + unit for row, unit in zip(bracket(model, nu), _identity(model.nv), strict=True)]
    corner = _add([row[:6] for row in top[:6]], _turn(v, velocity))  # zero for the inertial twist
    for i in range(6):
        top[i] = corner[i] + [0.0] * model.n + X[i] + [0.0] * model.n  # block (1,3) = X
    return Linearization(top + _side_by_side(dq, dnu), _inputs(model, rate(FD.dtau)))


def _turn(v: Motion, velocity: str) -> Block:
    """The 6 x 6 matrix of z -> d(X v_a) when H moves to H exp(z)."""
    lin, ang = skew(v.lin), skew(v.ang)
    if velocity == "mixed":
        return [[0.0, 0.0, 0.0, *row] for row in (*lin, *ang)]
    return [[*a, *b] for a, b in zip(ang, lin, strict=True)] + [[0.0, 0.0, 0.0, *row] for row in ang]


def _drift(v: Motion, velocity: str) -> tuple[list[Scalar], Block]:
    """What the rate of the twist has beside the acceleration, (w x lin; 0) for the mixed one, and its derivative."""
    zero: Block = [[0.0] * 6 for _ in range(6)]
    if velocity != "mixed":
        return [0.0] * 6, zero
    drift_dv = [[*a, *neg(b)] for a, b in zip(skew(v.ang), skew(v.lin), strict=True)] + zero[3:]
    return [*cross(v.ang, v.lin), 0.0, 0.0, 0.0], drift_dv


def _add(A: Block, B: Block) -> Block:
    return [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]


def _add_on_top(A: Block, B: Block) -> Block:
    """A plus B in its first rows."""
    return _add(A[: len(B)], B) + A[len(B) :]


def _identity(n: int) -> Block:
    return [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]


def _side_by_side(left: Block, right: Block) -> Block:
    return [[*a, *b] for a, b in zip(left, right, strict=True)]


def _inputs(model: Model, dtau: Block) -> Block:
    first = model.nv - model.n
    return [[0.0] * model.n for _ in range(model.nv)] + [row[first:] for row in dtau]


def check_velocity(velocity: str) -> None:
    """Refuse a representation that the linearization does not have."""
    check_choice("velocity", velocity, REPRESENTATIONS)
