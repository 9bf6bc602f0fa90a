"""The geometric linearization of a robot on its group of states (paper 000).

A state is (H, s, v, r): base pose, joint coordinates, body-fixed base twist, joint velocities; its group is
G = SE(3) x R^n x R^6 x R^n (eq. 17), and a perturbation z = (z_H, z_s, z_v, z_r) moves H to H exp(z_H) and adds the rest.
Perturbed motions obey z' = A z + B u with (Prop. 1 and eq. 42, errata 0.1, 0.3, 0.9)

    A = [[-ad(v), 0, 1, 0], [0, 0, 0, 1], [D1 FD, D2 FD, D3 FD, D4 FD]],     B = [0; M^-1 (joint columns)],

exact everywhere: there are no coordinates of rotation, hence no singularity. For spherical and planar joints and free
flyers within the tree, their own ad stands where the paper has a zero.

The tangent group, which Sec. 3.1 mentions, is the other choice: the same states with the product of velocities of configurations,
(H1, v1) (H2, v2) = (H1 H2, Ad(H2^-1) v1 + v2). Its perturbations have dv = z_v + ad(v) z_H, and so the rate of z_H is z_v itself:

    A = [[0, 1], [D12 FD + D34 FD ad(nu) - ad(dnu), D34 FD - ad(nu)]],     B as before.
"""

from __future__ import annotations

from typing import NamedTuple

from fallingcat.algorithms.aba_derivatives import derivatives_and_accelerations
from fallingcat.algorithms.actuation import Actuation, actuation_matrix
from fallingcat.algorithms.configuration import bracket
from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.posed import NO_FORCES, Vector, Wrenches
from fallingcat.algorithms.representations import view_of
from fallingcat.model.model import Model


class Linearization(NamedTuple):
    """z' = A z + B u around a state and its torques."""

    A: Block
    """(..., 2nv, 2nv)"""
    B: Block
    """(..., 2nv, m): columns of the joint torques, or of the inputs of `Robot.with_actuation`."""


def linearize(
    model: Model, q: Vector, nu_a: Vector, tau: Vector, f_ext: Wrenches = NO_FORCES, representation: str = "body",
    group: str = "product", actuation: Actuation | None = None,
) -> Linearization:  # fmt: skip
    """A and B with the base velocity of the state body-fixed, mixed, or inertial (0X_A v in the paper's letters).

    The state holds v_a, and v = X v_a is body-fixed (errata 0.2 for the inertial one). X does not commute with z_H:
    d(X v_a) = turn(v) z_H, and the rate of v_a is X^-1 y, y = a + drift(v), a the body's acceleration.
    """
    view, base = view_of(model, q, representation), model.nv - model.n
    nu = view.X @ nu_a
    FD, a = derivatives_and_accelerations(model, q, nu, tau, f_ext)
    D12, D34, Minv = Matrix(FD.ddnu_dq, model.nv), Matrix(FD.ddnu_dnu, model.nv), Matrix(FD.Minv, model.nv)
    ad = Matrix(bracket(model, nu), model.nv)
    B = Minv[:, base:] if actuation is None else Minv @ Matrix(actuation_matrix(model, q, actuation), actuation.m)
    if group == "tangent":  # z_v is the rate of z_H, whatever the velocity of the state is
        zero, one = Matrix.zero(model.nv, model.nv), Matrix.identity(model.nv)
        A = [[zero, one], [D12 + D34 @ ad - Matrix(bracket(model, a), model.nv), D34 - ad]]
        return Linearization(Matrix.blocks(A).rows, Matrix.blocks([[0.0 * B], [B]]).rows)
    D34 = D34 + view.drift_dv(nu)
    dq = D12 + D34 @ view.turn(nu) - view.turn(view.plus_drift(a, nu))
    A = [[view.turn(nu) - ad, view.X], [view.X_inverse @ dq, view.X_inverse @ (D34 @ view.X)]]
    B = view.X_inverse @ B
    return Linearization(Matrix.blocks(A).rows, Matrix.blocks([[0.0 * B], [B]]).rows)
