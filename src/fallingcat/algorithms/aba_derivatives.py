"""Derivatives of forward dynamics (paper 002, eq. 17 and 24, with errata 2.2).

    dFD/dq = -M^-1 dID/dq,   dFD/dnu = -M^-1 dID/dnu,   dFD/dtau = M^-1,

the derivatives of inverse dynamics being taken at the accelerations of the forward dynamics. The articulated bodies are
shared by the accelerations and the inverse mass matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fallingcat import scalar
from fallingcat.algorithms.common_frame import CommonFrame, common_frame, velocities, velocity_products
from fallingcat.algorithms.joint_dynamics import passive_torques
from fallingcat.algorithms.kinematics import PerBody, Vector
from fallingcat.algorithms.minverse import (
    Articulated,
    Blocks,
    articulated_bodies,
    inverse_factor,
    inverse_mass_matrix,
    inverse_mass_matrix_in,
    is_shallow,
)
from fallingcat.algorithms.rnea import NO_FORCES, bias
from fallingcat.algorithms.rnea_derivatives import derivatives_in
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion
from fallingcat.spatial.vec3 import cross

Block = list[list[Scalar]]


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of dnu = FD(q, nu, tau)."""

    dq: Block
    """(..., nv, nv), left-trivialized."""
    dnu: Block
    """(..., nv, nv)"""
    dtau: Block
    """(..., nv, nv): the inverse mass matrix."""


def forward_dynamics_derivatives(
    model: Model, q: Vector, nu: Vector, tau: Vector, f_ext: Mapping[int, Force] = NO_FORCES
) -> ForwardDynamicsDerivatives:
    """All first derivatives of forward dynamics."""
    return derivatives_and_accelerations(model, q, nu, tau, f_ext)[0]


def derivatives_and_accelerations(
    model: Model, q: Vector, nu: Vector, tau: Vector, f_ext: Mapping[int, Force] = NO_FORCES
) -> tuple[ForwardDynamicsDerivatives, list[Scalar]]:
    """The derivatives, and dnu itself, which they need."""
    c = common_frame(model, q)
    W: Blocks = {}
    if model.mimics:
        Minv = inverse_mass_matrix(model, q)
        free = [t - h for t, h in zip(tau, bias(model, q, nu, f_ext), strict=True)]
        dnu = _apply(Minv, free)
    else:
        bodies = articulated_bodies(c)
        W = inverse_factor(c, bodies) if is_shallow(model) else {}
        Minv = inverse_mass_matrix_in(c, bodies, W)
        dnu = accelerations_in(c, bodies, nu, tau, f_ext)
    ID = derivatives_in(c, nu, dnu, f_ext)
    FD_dq, FD_dnu = minus_inverse_times(model, Minv, W, (ID.dq, ID.dnu), invariant_columns(c, nu))
    return ForwardDynamicsDerivatives(FD_dq, FD_dnu, Minv), dnu


def accelerations_in(
    c: CommonFrame, bodies: Articulated, nu: Vector, tau: Vector, f_ext: Mapping[int, Force] = NO_FORCES
) -> list[Scalar]:
    """Forward dynamics with the articulated bodies known (Featherstone 2008, Table 7.1, in common coordinates)."""
    model = c.model
    v = velocities(c, nu)
    products = velocity_products(c, nu, v)
    passive = passive_torques(model, nu)
    tau = [t - x for t, x in zip(tau, passive, strict=True)]
    pA: PerBody[Force] = {}
    for i, _ in model.base_to_tip():
        pA[i] = v[i].cross(c.I[i] @ v[i])
        if i in f_ext:
            pA[i] = pA[i] - c.X[i].T @ f_ext[i]
    u: PerBody[list[Scalar]] = {}
    for i, p in model.tip_to_base():
        u[i] = [t - x for t, x in zip(model.speeds(i, tau), c.S[i].power(pA[i]), strict=True)]
        if p != WORLD:
            gain = _apply(bodies.Dinv[i], u[i])
            pA[p] = pA[p] + pA[i] + bodies.Ia[i] @ products[i]
            for column, x in zip(bodies.U[i], gain, strict=True):
                pA[p] = pA[p] + column * x
    a: PerBody[Motion] = {WORLD: c.gravity}
    dnu: PerBody[list[Scalar]] = {}
    for i, p in model.base_to_tip():
        a[i] = a[p] + products[i]
        rest = [x - a[i] @ column for x, column in zip(u[i], bodies.U[i], strict=True)]
        dnu[i] = _apply(bodies.Dinv[i], rest)
        a[i] = a[i] + c.S[i] @ dnu[i]
    return model.gather(dnu)


def _apply(A: Block, x: Vector) -> list[Scalar]:
    return [sum((a * b for a, b in zip(row, x, strict=True)), 0.0) for row in A]


Columns = dict[int, list[Scalar]]


def invariant_columns(c: CommonFrame, nu: Vector) -> tuple[Columns, Columns]:
    """Columns of dFD/dq and dFD/dnu that are known without computing anything.

    Moving the whole robot changes nothing but the direction of gravity as the base sees it:
        dFD/dq_base = [[0, (R^T g)^], [0, 0]],  no joint acceleration changes   (errata to paper 000, shortcuts).
    A uniform velocity changes nothing at all; in body coordinates the base acceleration loses w x v.
    """
    if not c.model.floating or c.model.bodies[0].joint.ring([0.0] * 6 + [1.0], [0.0] * 6) is not None:
        return {}, {}
    rest = [0.0] * (c.model.nv - 3)
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    w = (nu[3], nu[4], nu[5])
    dq: Columns = {k: [0.0] * c.model.nv for k in range(3)}
    dnu: Columns = {}
    for k, e in enumerate(axes):
        dq[3 + k] = [*cross(e, c.gravity.lin), *rest]  # (R^T g)^ e with gravity = -R^T g
        dnu[k] = [*cross(e, w), *rest]
    return dq, dnu


def minus_inverse_times(model: Model, Minv: Block, W: Blocks, right: Sequence[Block], known: Sequence[Columns]) -> list[Block]:
    """-M^-1 B for several matrices B whose columns are zero outside a joint's branch, some of the results being known.

    Joints of one branch of a floating robot feel a torque in another only through the acceleration of the base:
    their rows are W_i0 times the base's (eq. 3 of `minverse`). So a product with the branch and the base itself is enough.
    """
    results = [[[0.0] * model.nv for _ in range(model.nv)] for _ in right]
    columns: dict[tuple[int, int], list[Scalar]] = {}
    for b, B in enumerate(right):
        for j in range(model.nv):
            if j in known[b]:
                _set_column(results[b], j, known[b][j])
            else:
                columns[b, j] = [row[j] for row in B]
    base = len(model.dofs(0)) if model.bodies else 0
    for own, members in _branches(model) if W else [(list(range(model.nv)), set(range(model.nv)))]:
        keys = [(b, j) for b, j in columns if j in members]
        if not keys:
            continue
        B = [[columns[key][k] for key in keys] for k in own]

        def times(entries: Sequence[int], B: Block = B, own: Sequence[int] = own) -> Block:
            return scalar.matmul([[Minv[i][k] for k in own] for i in entries], B, negate=True)

        others = [i for i in range(model.nv) if i not in own]
        if others:
            top = times(own[:base])
            rows = dict(
                zip([*own, *others], [*top, *times(own[base:]), *scalar.matmul(_rows_of(model, W, others), top)], strict=True)
            )
        else:
            rows = dict(zip(own, times(own), strict=True))
        for position, (b, j) in enumerate(keys):
            _set_column(results[b], j, [rows[i][position] for i in range(model.nv)])
    return results


def _branches(model: Model) -> list[tuple[list[int], set[int]]]:
    """(entries of nu that matter, columns) per branch of a floating robot, and for its base; all at once for others."""
    everything = list(range(model.nv))
    if not model.floating:
        return [(everything, set(everything))]
    base = list(model.dofs(0))
    first: PerBody[int] = {}
    for i, p in model.base_to_tip():
        first[i] = i if p in (WORLD, 0) else first[p]
    branches = [(everything, set(base))]
    for root in (i for i, p in model.base_to_tip() if p == 0):
        members = [k for i in first if first[i] == root for k in model.dofs(i)]
        branches.append((base + sorted(members), set(members)))
    return branches


def _rows_of(model: Model, W: Blocks, entries: Sequence[int]) -> Block:
    """The rows of W_i0 for some entries of nu."""
    rows = {k: row for i, _ in model.base_to_tip() for k, row in zip(model.dofs(i), W[i, 0], strict=True)}
    return [rows[k] for k in entries]


def _set_column(matrix: Block, j: int, column: Sequence[Scalar]) -> None:
    for row, x in zip(matrix, column, strict=True):
        row[j] = x
