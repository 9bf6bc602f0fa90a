"""Derivatives of inverse dynamics (paper 002), in the spatial-vector form of Singh, Russell and Wensing (2022).

All in common coordinates. Moving joint j along its axis S displaces all that it carries by S; for body i beyond it
    dv_i = S x v_i + Pd,       Pd  = v_p x S                          (1)
    da_i = S x a_i + Pd x v_i + Pdd,   Pdd = a_p x S + v_p x Pd       (2)
    df_i = S x* f_i + I_i Pdd + 2 B_i Pd                              (3)
and with the velocity along S
    dv_i = S,   da_i = S x v_i + Pd + Sd,   Sd = v_j x S              (4)
    df_i = I_i (Pd + Sd) + 2 B_i S                                    (5)
Summed over subtrees (composite inertia Ic, Coriolis factor Bc, force Fc) these give every entry. The term v x S that
paper 002 drops in Sec. III-C5 is Sd, and is needed (errata 2.1). Derivatives are left-trivialized: the base
twist in nu is held fixed in body coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fallingcat.algorithms.dense import Matrix, mirrored, transpose
from fallingcat.algorithms.held_wrenches import minus_torques_of_change
from fallingcat.algorithms.joint_dynamics import add_armature, add_passive_derivatives
from fallingcat.algorithms.moving_axes import axis_derivatives
from fallingcat.algorithms.pair_table import PairTable, carried_dofs, carrying_dofs, has_many_pairs, own_blocks
from fallingcat.algorithms.posed import (
    NO_FORCES,
    PerBody,
    Posed,
    Vector,
    Wrenches,
    accelerations,
    common,
    inwards,
    subtree_sums,
    velocities,
    velocity_products,
)
from fallingcat.algorithms.representations import view_of
from fallingcat.algorithms.rnea import force
from fallingcat.algorithms.rnea import forces as rnea_forces
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Inertia, Motion
from fallingcat.spatial.coriolis import CoriolisFactor

Block = list[list[Scalar]]
Blocks = dict[tuple[int, int], Block]

MANY = 32
"""Degrees of freedom beyond which the pairs of joints of a deep tree are listed in tables instead of written out."""


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of tau = ID(q, nu, dnu)."""

    dtau_dq: Block
    """(..., nv, nv), left-trivialized."""
    dtau_dnu: Block
    """(..., nv, nv)"""
    M: Block
    """(..., nv, nv): the mass matrix."""


def inverse_dynamics_derivatives(
    model: Model, q: Vector, nu_a: Vector, dnu_a: Vector, f_ext: Wrenches = NO_FORCES, representation: str = "body"
) -> InverseDynamicsDerivatives:
    """All first derivatives of inverse dynamics and the mass matrix, in one pass each way.

    With another base twist, nu = X nu_a, tau_a = X^T tau (`representations`), and q is displaced with nu_a and dnu_a held.
    """
    r, view = common(model, q), view_of(model, q, representation)
    nu, y = view.X @ nu_a, view.X @ dnu_a
    dnu = view.minus_drift(y, nu)
    ID = derivatives_in(r, nu, dnu, f_ext)
    if not view.moves:
        return ID
    dtau_dnu, M = Matrix(ID.dtau_dnu, model.nv), Matrix(ID.M, model.nv)
    dtau_dnu_a = dtau_dnu - M @ view.drift_dv(nu)
    dtau_dq = Matrix(ID.dtau_dq, model.nv) + dtau_dnu_a @ view.turn(nu) + M @ view.turn(y)
    dtau_dq = dtau_dq + view.turn_force(base_wrench(r, nu, dnu, f_ext))
    X, X_T = view.X, view.X.T
    return InverseDynamicsDerivatives((X_T @ dtau_dq).rows, (X_T @ dtau_dnu_a @ X).rows, (X_T @ M @ X).mirrored().rows)


def base_wrench(r: Posed, nu: Vector, dnu: Vector, f_ext: Wrenches) -> list[Scalar]:
    """The first six torques of a robot in common coordinates, body-fixed: what all bodies together need."""
    v = velocities(r, nu)
    a = accelerations(r, velocity_products(r, nu, v), dnu, r.gravity)
    return subtree_sums(r, rnea_forces(r, v, a, f_ext), Force.zero(r.root))[0].entries()


class AxisColumns(NamedTuple):
    """What one axis of a joint brings about, in common coordinates."""

    S: Motion
    Pd: Motion  # (1)
    Pdd: Motion  # (2)
    PdSd: Motion  # (4)
    dS: list[Motion]  # change of the joint's own axes when it moves along this one


def derivatives_in(r: Posed, nu: Vector, dnu: Vector, f_ext: Wrenches = NO_FORCES) -> InverseDynamicsDerivatives:
    """The derivatives for a robot that is in common coordinates already."""
    model = r.model
    v = velocities(r, nu)
    a = accelerations(r, velocity_products(r, nu, v), dnu, r.gravity)
    columns: PerBody[list[AxisColumns]] = {}
    Ic, Bc, Fc = r.I | {WORLD: Inertia.zero(r.root)}, {WORLD: CoriolisFactor.zero(r.root)}, {WORLD: Force.zero(r.root)}
    for i, I in r.I.items():
        columns[i] = axis_columns(r, i, v, a, nu, dnu)
        Bc[i] = CoriolisFactor.of(v[i], I)
        Fc[i] = force(r, i, v, a, f_ext)
    dq: Blocks = {}
    dv: Blocks = {}
    M: Blocks = {}
    listed = has_many_pairs(model, MANY)
    for i in inwards(r, Ic, Bc, Fc):
        _fill([i] if listed else model.path(i), columns, Ic[i], Bc[i], Fc[i], dq, dv, M)
    if listed:
        of_axes = {i: forces(columns[i], Ic[i], Bc[i], Fc[i]) for i in columns}
        found = _as_tables(model, nu, columns, of_axes, dq, dv, M)
        return found._replace(dtau_dq=minus_torques_of_change(found.dtau_dq, r, f_ext))
    return InverseDynamicsDerivatives(
        minus_torques_of_change(model.gather_blocks(dq), r, f_ext),
        add_passive_derivatives(model, model.gather_blocks(dv), nu),
        add_armature(model, model.gather_blocks(M)),
    )


def factors(r: Posed, v: PerBody[Motion]) -> PerBody[CoriolisFactor]:
    """The Coriolis factor of every body, and none of the world."""
    return {i: CoriolisFactor.of(v[i], I) for i, I in r.I.items()} | {WORLD: CoriolisFactor.zero(r.root)}


def axis_columns(r: Posed, i: int, v: PerBody[Motion], a: PerBody[Motion], nu: Vector, dnu: Vector) -> list[AxisColumns]:
    """What moving along each axis of joint i does to the velocities and accelerations beyond it."""
    p, vJ = r.model.bodies[i].parent, r.S[i] @ r.speeds(i, nu)
    moving = axis_derivatives(r, i, nu, dnu)
    turned = r.S[i].turned_by_itself(r.speeds(i, nu)).columns
    columns = []
    for k, S in enumerate(r.S[i].columns):
        Pd = v[p].cross(S)  # (1)
        Pdd = a[p].cross(S) + v[p].cross(Pd)  # (2)
        PdSd = 2.0 * Pd + turned[k]  # (4), as Sd = v x S = Pd + vJ x S
        D = moving.D[k]  # the joint's own axes change too: D = (dS) nu adds to dv, and what follows from it to da
        Pdd = Pdd + moving.dS_dnu[k] + moving.dc_dq[k] + D.cross(vJ) + 2.0 * v[i].cross(D)
        columns.append(AxisColumns(S, Pd + D, Pdd, PdSd + moving.dc_dnu[k], moving.dS[k]))
    return columns


class AxisForces(NamedTuple):
    """What the axes of one joint bring about in the bodies that they move, summed; one force per axis."""

    I: list[Force]
    """Ic S"""
    B: list[Force]
    """2 Bc^T S"""
    dq: list[Force]  # (3)
    dnu: list[Force]  # (5)


def forces(columns: list[AxisColumns], Ic: Inertia, Bc: CoriolisFactor, Fc: Force) -> AxisForces:
    """The forces of a joint's axes on the bodies it carries."""
    return AxisForces(
        [Ic @ x.S for x in columns],
        [2.0 * Bc.transposed(x.S) for x in columns],
        [2.0 * (Bc @ x.Pd) + Ic @ x.Pdd + x.S.cross(Fc) for x in columns],
        [2.0 * (Bc @ x.S) + Ic @ x.PdSd for x in columns],
    )


def _fill(
    path: Iterable[int], columns: PerBody[list[AxisColumns]], Ic: Inertia, Bc: CoriolisFactor, Fc: Force,
    dq: Blocks, dv: Blocks, M: Blocks,
) -> None:  # fmt: skip
    """The blocks of the first joint of a path with itself and with the others, which carry it."""
    i, *_ = path = list(path)
    rows_I, rows_B, force_q, force_v = forces(columns[i], Ic, Bc, Fc)
    for j in path:
        pairs = [(IS, BS) for IS, BS in zip(rows_I, rows_B, strict=True)]
        dq[i, j] = [[y.Pd @ BS + y.Pdd @ IS for y in columns[j]] for IS, BS in pairs]
        dv[i, j] = [[y.S @ BS + y.PdSd @ IS for y in columns[j]] for IS, BS in pairs]
        M[i, j] = [[y.S @ IS for y in columns[j]] for IS in rows_I]
        if j != i:
            dq[j, i] = [[y.S @ f for f in force_q] for y in columns[j]]
            dv[j, i] = [[y.S @ f for f in force_v] for y in columns[j]]
            M[j, i] = transpose(M[i, j])
    M[i, i] = mirrored(M[i, i])
    for k, x in enumerate(columns[i]):
        for m, dS in enumerate(x.dS):
            dq[i, i][m][k] = dq[i, i][m][k] + dS @ Fc


def _as_tables(
    model: Model, nu: Vector, columns: PerBody[list[AxisColumns]], of_axes: PerBody[AxisForces], dq: Blocks, dv: Blocks, M: Blocks
) -> InverseDynamicsDerivatives:
    """The matrices with the pairs of joints listed; the blocks of each joint with itself are given."""
    by_dof = {k: x for i in columns for k, x in zip(model.dofs(i), columns[i], strict=True)}
    axes = [by_dof[k] for k in range(model.nv)]
    force = {k: f for i in of_axes for k, *f in zip(model.dofs(i), *of_axes[i], strict=True)}
    # 2 Bc^T S has no linear part, so nine numbers are enough.
    of_q, of_v, of_M = PairTable(model.nv, 9), PairTable(model.nv, 9), PairTable(model.nv, 6)
    columns_q = of_q.columns([[*x.Pd.ang, *x.Pdd.entries()] for x in axes])
    columns_v = of_v.columns([[*x.S.ang, *x.PdSd.entries()] for x in axes])
    columns_M = of_M.columns([x.S.entries() for x in axes])
    forces_q = of_q.columns([force[k][2].entries() for k in range(model.nv)])
    forces_v = of_v.columns([force[k][3].entries() for k in range(model.nv)])
    carried = carried_dofs(model)
    for i, _ in model.base_to_tip():
        carrying = carrying_dofs(model, i)
        for k in model.dofs(i):
            IS, BS, _, _ = force[k]
            of_q.row(k, [*BS.ang, *IS.entries()], columns_q, carrying)
            of_v.row(k, [*BS.ang, *IS.entries()], columns_v, carrying)
            of_M.row(k, IS.entries(), columns_M, carrying)
            of_q.row(k, axes[k].S.entries(), forces_q, carried[i])
            of_v.row(k, axes[k].S.entries(), forces_v, carried[i])
    of_q.entries(own_blocks(model, dq))
    of_v.entries(add_passive_derivatives(model, own_blocks(model, dv), nu))
    of_M.entries(add_armature(model, own_blocks(model, M)), lower=True)
    return InverseDynamicsDerivatives(of_q.matrix(), of_v.matrix(), of_M.matrix(symmetric=True))


def gravity_torque_derivatives(model: Model, q: Vector, f_ext: Wrenches = NO_FORCES, representation: str = "body") -> Block:
    """The derivative of the torque that holds the robot still, g(q) - sum J^T f_ext, with respect to q."""
    still = [0.0] * model.nv
    return inverse_dynamics_derivatives(model, q, still, still, f_ext, representation).dtau_dq
