"""Displacements, differences and rates of configurations, joint by joint."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.kinematics import Vector
from fallingcat.model.model import Body, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import se3
from fallingcat.spatial.vec3 import Mat, Vec, skew


def _independent(model: Model) -> list[Body]:
    """Bodies whose joints are independent (not mimics), in the order of the coordinates."""
    return sorted((body for body in model.bodies if not body.mimics), key=lambda body: body.q_at)


def neutral(model: Model) -> list[float]:
    """The configuration with all joints at zero and the base at the origin, (nq,)."""
    return [x for body in _independent(model) for x in body.joint.neutral()]


def integrate(model: Model, q: Vector, dx: Vector) -> list[Scalar]:
    """q moved by the body-fixed displacement dx, exactly: exp on every joint's group."""
    moved: list[Scalar] = []
    for body in _independent(model):
        qi = q[body.q_at : body.q_at + body.joint.nq]
        moved += body.joint.integrate(qi, dx[body.nu_at : body.nu_at + body.joint.nv])
    return moved


def difference(model: Model, q0: Vector, q1: Vector) -> list[Scalar]:
    """The displacement dx with integrate(q0, dx) = q1, the shortest one."""
    dx: list[Scalar] = []
    for body in _independent(model):
        at = slice(body.q_at, body.q_at + body.joint.nq)
        dx += body.joint.difference(q0[at], q1[at])
    return dx


def rate(model: Model, q: Vector, nu: Vector) -> list[Scalar]:
    """The rates of the coordinates at body-fixed velocity nu."""
    rates: list[Scalar] = []
    for body in _independent(model):
        qi = q[body.q_at : body.q_at + body.joint.nq]
        rates += body.joint.rate(qi, nu[body.nu_at : body.nu_at + body.joint.nv])
    return rates


class IntegrateDerivatives(NamedTuple):
    """Derivatives of integrate(q, dx), left-trivialized at both ends."""

    dq_dq: Block
    """(..., nv, nv): Ad of exp(-dx)."""
    dq_ddx: Block
    """(..., nv, nv): the right Jacobian of dx."""


def integrate_derivatives(model: Model, dx: Vector) -> IntegrateDerivatives:
    """Derivatives of integrate(q, dx) by q and by dx, (nv, nv) each; they do not depend on q."""
    return IntegrateDerivatives(
        _per_joint(model, dx, lambda v, w: _adjoint(*se3.exp(((-v[0], -v[1], -v[2]), (-w[0], -w[1], -w[2]))))),
        _per_joint(model, dx, lambda v, w: se3.left_jacobian(((-v[0], -v[1], -v[2]), (-w[0], -w[1], -w[2])))),
    )


def right_jacobian_inverse(model: Model, dx: Vector) -> Block:
    """The inverse of `dq_ddx`, the right Jacobian of dx, (nv, nv); for rotations by less than 2 pi."""
    return _per_joint(model, dx, lambda v, w: se3.left_jacobian_inverse(((-v[0], -v[1], -v[2]), (-w[0], -w[1], -w[2]))))


def bracket(model: Model, nu: Vector) -> Block:
    """ad(nu) on the group of configurations: how two motions fail to commute (paper 000, eq. 27)."""
    identity = _per_joint(model, nu, lambda v, w: _ad(v, w))
    for body in model.bodies:  # coordinates that simply add commute
        if not body.mimics and body.joint.motions() is None:
            for k in range(body.nu_at, body.nu_at + body.joint.nv):
                identity[k][k] = 0.0
    return identity


def _per_joint(model: Model, x: Vector, of_twist: Callable[..., Block]) -> Block:
    """Block-diagonal matrix (nv, nv): `of_twist` of the motion of each joint on a Lie group, and ones for all other joints."""
    total: Block = [[1.0 if i == j else 0.0 for j in range(model.nv)] for i in range(model.nv)]
    for body in _independent(model):
        entries = body.joint.motions()
        if entries is None:
            continue
        twist: list[Scalar] = [0.0] * 6
        for k, entry in enumerate(entries):
            twist[entry] = x[body.nu_at + k]
        block = of_twist(twist[:3], twist[3:])
        for r, i in enumerate(entries):
            for s, j in enumerate(entries):
                total[body.nu_at + r][body.nu_at + s] = block[i][j]
    return total


def _adjoint(R: Mat, p: Vec) -> Block:
    """Ad of the pose (R, p), on twists (linear; angular)."""
    turn = Matrix(R)
    return Matrix.blocks([[turn, Matrix(skew(p)) @ turn], [Matrix.zero(3, 3), turn]]).rows


def _ad(v: Vector, w: Vector) -> Block:
    V, W = Matrix(skew((v[0], v[1], v[2]))), Matrix(skew((w[0], w[1], w[2])))
    return Matrix.blocks([[W, V], [Matrix.zero(3, 3), W]]).rows
