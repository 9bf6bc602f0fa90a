"""The geometric linearization of a robot on its group of states (paper 000).

A state is (H, s, v, r): base pose, joint coordinates, body-fixed base twist, joint velocities; its group is
G = SE(3) x R^n x R^6 x R^n (eq. 17), and a perturbation z = (z_H, z_s, z_v, z_r) moves H to H exp(z_H) and adds the rest.
Perturbed motions obey z' = A z + B u with (Prop. 1 and eq. 42, errata 0.1, 0.3, 0.9)

    A = [[-ad(v), 0, 1, 0], [0, 0, 0, 1], [D1 FD, D2 FD, D3 FD, D4 FD]],     B = [0; M^-1 (joint columns)],

exact everywhere: there are no coordinates of rotation, hence no singularity. For spherical and planar joints and free
flyers within the tree, their own ad stands where the paper has a zero.
"""

from __future__ import annotations

from typing import NamedTuple

from fallingcat.algorithms.aba_derivatives import derivatives_and_accelerations
from fallingcat.algorithms.actuation import Actuation, actuation_matrix
from fallingcat.algorithms.configuration import bracket
from fallingcat.algorithms.dense import Block, Matrix, Rows
from fallingcat.algorithms.posed import NO_FORCES, Vector, Wrenches, joint_kinematics
from fallingcat.model.model import Model
from fallingcat.spatial import Motion, Transform
from fallingcat.spatial.transform import Identity
from fallingcat.spatial.vec3 import ZERO, cross, skew


class Linearization(NamedTuple):
    """z' = A z + B u around a state and its torques."""

    A: Block
    """(..., 2nv, 2nv)"""
    B: Block
    """(..., 2nv, m): of the joint torques, or of the inputs of `Robot.with_actuation`."""


def linearize(
    model: Model, q: Vector, nu_a: Vector, tau: Vector, f_ext: Wrenches = NO_FORCES, representation: str = "body",
    actuation: Actuation | None = None,
) -> Linearization:  # fmt: skip
    """A and B with the base velocity of the state body-fixed, mixed, or inertial (0X_A v in the paper's letters).

    The state holds v_a, and v = X v_a is body-fixed (errata 0.2 for the inertial one). X does not commute with z_H:
    d(X v_a) = turn(v) z_H, and the rate of v_a is X^-1 y, y = a + drift(v), a the body's acceleration.
    """
    view, base = VIEWS[representation if model.floating else "fixed"], model.nv - model.n
    X_a = view.transform(model, q)
    X, X_inverse = (_with_joints(model, x) for x in (X_a.matrix(), X_a.inverse().matrix()))
    nu = X @ nu_a
    FD, a = derivatives_and_accelerations(model, q, nu, tau, f_ext)
    v = Motion.of(nu[:base] or [0.0] * 6, X_a.a)
    y = Motion.of(a[:base] or [0.0] * 6, X_a.a) + view.drift(v)
    turn, turn_y, drift_dv = (_with_joints(model, x, 0.0) for x in (view.turn(v), view.turn(y), view.drift_dv(v)))
    D34 = Matrix(FD.ddnu_dnu, model.nv) + drift_dv
    dq = Matrix(FD.ddnu_dq, model.nv) + D34 @ turn - turn_y
    A = [[turn - Matrix(bracket(model, nu), model.nv), X], [X_inverse @ dq, X_inverse @ (D34 @ X)]]
    Minv = Matrix(FD.Minv, model.nv)
    B = X_inverse @ (Minv[:, base:] if actuation is None else Minv @ Matrix(actuation_matrix(model, q, actuation), actuation.m))
    return Linearization(Matrix.blocks(A).rows, Matrix.blocks([[0.0 * B], [B]]).rows)


def _with_joints(model: Model, block: Rows, joints: float = 1.0) -> Matrix:
    """blkdiag(a 6 x 6 block for the base, a multiple of the identity for the joints); a fixed base has no block."""
    base, between = model.nv - model.n, Matrix.zero(model.nv - model.n, model.n)
    return Matrix.blocks([[Matrix(block, 6)[:base, :base], between], [between.T, joints * Matrix.identity(model.n)]])


class View:
    """How the twist v_a in the state is related to the body-fixed twist v; here: it is the same."""

    def transform(self, model: Model, q: Vector) -> Transform:
        """X, with v = X v_a."""
        return Identity.between(0, 0)

    def turn(self, v: Motion) -> Matrix:
        """The 6 x 6 matrix of z -> d(X v_a) when H moves to H exp(z)."""
        return Matrix.zero(6, 6)

    def drift(self, v: Motion) -> Motion:
        """What the rate of v_a, seen from the body, has beside the acceleration."""
        return Motion.zero(v.frame)

    def drift_dv(self, v: Motion) -> Matrix:
        """Its derivative."""
        return Matrix.zero(6, 6)


class Inertial(View):
    """v_a is the twist seen from the world: X the adjoint of the base's pose, turn = ad, no drift."""

    def transform(self, model: Model, q: Vector) -> Transform:
        return joint_kinematics(model, q)[0][0]

    def turn(self, v: Motion) -> Matrix:
        V, W = Matrix(skew(v.lin)), Matrix(skew(v.ang))
        return Matrix.blocks([[W, V], [Matrix.zero(3, 3), W]])


class Mixed(View):
    """v_a has the orientation of the world and its origin in the base; its rate has w x v besides."""

    def transform(self, model: Model, q: Vector) -> Transform:
        X_0w = joint_kinematics(model, q)[0][0]
        return Transform(X_0w.E, ZERO, X_0w.a, X_0w.b)

    def turn(self, v: Motion) -> Matrix:
        V, W = Matrix(skew(v.lin)), Matrix(skew(v.ang))
        return Matrix.blocks([[Matrix.zero(3, 3), V], [Matrix.zero(3, 3), W]])

    def drift(self, v: Motion) -> Motion:
        return Motion(cross(v.ang, v.lin), ZERO, v.frame)

    def drift_dv(self, v: Motion) -> Matrix:
        V, W = Matrix(skew(v.lin)), Matrix(skew(v.ang))
        return Matrix.blocks([[W, -V], [Matrix.zero(3, 6)]])


VIEWS: dict[str, View] = {"body": View(), "fixed": View(), "mixed": Mixed(), "inertial": Inertial()}

