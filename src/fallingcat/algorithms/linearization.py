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
from fallingcat.errors import InputError
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion

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
    """A and B with the base velocity of the state body-fixed, or inertial (0X_A v in the paper's letters)."""
    if velocity == "body" or not model.floating:
        FD, _ = derivatives_and_accelerations(model, q, nu, tau, f_ext)
        ad = bracket(model, nu)
        top = [[-x for x in row] + unit for row, unit in zip(ad, _identity(model.nv), strict=True)]
        return Linearization(top + _side_by_side(FD.dq, FD.dnu), _inputs(model, FD.dtau))
    return _inertial(model, q, nu, tau, f_ext)


def _inertial(model: Model, q: Vector, nu_A: Vector, tau: Vector, f_ext: Mapping[int, Force]) -> Linearization:
    """The same when the state holds the inertial twist v_A, v = X v_A with X = 0X_A (errata 0.2).

    X does not commute with z_H: dX v_A = ad(v) z_H, and the rate of v_A is X^-1 times the body's acceleration a.
    """
    X_0w = joint_kinematics(model, q)[0][0]
    X, Xinv = X_0w.matrix(), X_0w.inverse().matrix()
    nu = [*(X_0w @ Motion.of(nu_A[:6], X_0w.b)).entries(), *nu_A[6:]]
    FD, a = derivatives_and_accelerations(model, q, nu, tau, f_ext)
    ad_v, ad_a = (_corner(bracket(model, x)) for x in (nu, a))

    def rate(block: Block) -> Block:
        """From rates of the body-fixed twist to rates of the inertial one."""
        return multiply(Xinv, block[:6]) + block[6:]

    D3, D4 = [row[:6] for row in FD.dnu], [row[6:] for row in FD.dnu]
    turned = multiply(D3, ad_v)
    dH = [[x + y for x, y in zip(row[:6], extra, strict=True)] for row, extra in zip(FD.dq, turned, strict=True)]
    dH = [[x - y for x, y in zip(row, turn, strict=True)] for row, turn in zip(dH[:6], ad_a, strict=True)] + dH[6:]
    dq = _side_by_side(rate(dH), rate([row[6:] for row in FD.dq]))
    dnu = _side_by_side(rate(multiply(D3, X)), rate(D4))
    ad = bracket(model, nu)
    top = [[-x for x in row] + unit for row, unit in zip(ad, _identity(model.nv), strict=True)]
    for i in range(6):
        top[i] = [0.0] * model.nv + X[i] + [0.0] * model.n  # block (1,1) = 0, block (1,3) = 0X_A
    return Linearization(top + _side_by_side(dq, dnu), _inputs(model, rate(FD.dtau)))


def _corner(block: Block) -> Block:
    return [row[:6] for row in block[:6]]


def _identity(n: int) -> Block:
    return [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]


def _side_by_side(left: Block, right: Block) -> Block:
    return [[*a, *b] for a, b in zip(left, right, strict=True)]


def _inputs(model: Model, dtau: Block) -> Block:
    first = model.nv - model.n
    return [[0.0] * model.n for _ in range(model.nv)] + [row[first:] for row in dtau]


def check_velocity(velocity: str) -> None:
    """Refuse a representation that the linearization does not have."""
    if velocity not in ("body", "inertial"):
        raise InputError("unknown velocity", expected="'body' or 'inertial'", got=repr(velocity))
