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

from typing import NamedTuple

from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.held_wrenches import minus_torques_of_change
from fallingcat.algorithms.joint_dynamics import passive_derivatives, rotor_inertias
from fallingcat.algorithms.moving_axes import axis_derivatives
from fallingcat.algorithms.pairs import Pairs
from fallingcat.algorithms.posed import NO_FORCES, PerBody, Posed, Vector, Wrenches, common, inwards, motions, subtree_sums
from fallingcat.algorithms.representations import view_of
from fallingcat.algorithms.rnea import forces as rnea_forces
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Inertia, Motion
from fallingcat.spatial.coriolis import CoriolisFactor


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
    """The base wrench of a floating robot in common coordinates, (6,), body-fixed: the sum over all bodies."""
    v, a = motions(r, nu, dnu, r.gravity)
    return subtree_sums(r, rnea_forces(r, v, a, f_ext), Force.zero(r.root))[0].entries()


class AxisColumns(NamedTuple):
    """How a displacement or a velocity along one axis of a joint changes the motion beyond it, in common coordinates."""

    S: Motion
    Pd: Motion  # (1)
    Pdd: Motion  # (2)
    PdSd: Motion  # (4)
    dS: list[Motion]  # change of the joint's own axes when it moves along this one


def derivatives_in(r: Posed, nu: Vector, dnu: Vector, f_ext: Wrenches = NO_FORCES) -> InverseDynamicsDerivatives:
    """`inverse_dynamics_derivatives` of a robot that is in common coordinates already, with a body-fixed base twist."""
    model = r.model
    v, a = motions(r, nu, dnu, r.gravity)
    Ic, Bc, Fc = r.I | {WORLD: Inertia.zero(r.root)}, factors(r, v), rnea_forces(r, v, a, f_ext)
    axes = {i: axis_columns(r, i, v, a, nu, dnu) for i in r.S}
    dq, dv, M = Pairs(model), Pairs(model), Pairs(model, symmetric=True)
    for i in inwards(r, Ic, Bc, Fc):
        IS, BS, df_dq, df_dnu = force_columns(axes[i], Ic[i], Bc[i], Fc[i])
        both = list(zip(BS, IS, strict=True))
        for j in model.path(i):  # joint j carries joint i, or is joint i
            dq[i, j] = both, [(y.Pd, y.Pdd) for y in axes[j]]
            dv[i, j] = both, [(y.S, y.PdSd) for y in axes[j]]
            M[i, j] = IS, r.S[j].columns
            if j != i:
                dq[j, i] = r.S[j].columns, df_dq
                dv[j, i] = r.S[j].columns, df_dnu
        dq.add_to_diagonal(i, [[x.dS[k] @ Fc[i] for x in axes[i]] for k in range(len(IS))])
    dv.add_diagonal(passive_derivatives(model, nu))
    M.add_diagonal(rotor_inertias(model))
    return InverseDynamicsDerivatives(minus_torques_of_change(dq.matrix(), r, f_ext), dv.matrix(), M.matrix())


def factors(r: Posed, v: PerBody[Motion]) -> PerBody[CoriolisFactor]:
    """The Coriolis factor of every body; under WORLD, zero."""
    return {i: CoriolisFactor.of(v[i], I) for i, I in r.I.items()} | {WORLD: CoriolisFactor.zero(r.root)}


def axis_columns(r: Posed, i: int, v: PerBody[Motion], a: PerBody[Motion], nu: Vector, dnu: Vector) -> list[AxisColumns]:
    """The changes of velocities and accelerations beyond joint i by motion along each of its axes."""
    p, vJ = r.model.bodies[i].parent, r.S[i] @ r.speeds(i, nu)
    moving = axis_derivatives(r, i, nu, dnu)
    turned = r.S[i].turned_by_itself(r.speeds(i, nu)).columns
    columns = []
    for k, S in enumerate(r.S[i].columns):
        Pd = v[p].cross(S)  # (1)
        Pdd = a[p].cross(S) + v[p].cross(Pd)  # (2)
        PdSd = 2.0 * Pd + turned[k]  # (4), as Sd = v x S = Pd + vJ x S
        D = moving.D[k]  # the joint's own axes change too: D = (dS) nu adds to dv, and hence to da
        Pdd = Pdd + moving.dS_dnu[k] + moving.dc_dq[k] + D.cross(vJ) + 2.0 * v[i].cross(D)
        columns.append(AxisColumns(S, Pd + D, Pdd, PdSd + moving.dc_dnu[k], moving.dS[k]))
    return columns


class ForceColumns(NamedTuple):
    """Wrenches summed over the bodies that a joint carries, in common coordinates, one for each axis of the joint."""

    I: list[Force]
    """Ic S"""
    B: list[Force]
    """2 Bc^T S: a moment without a force."""
    dq: list[Force]  # (3)
    dnu: list[Force]  # (5)


def force_columns(axes: list[AxisColumns], Ic: Inertia, Bc: CoriolisFactor, Fc: Force) -> ForceColumns:
    """The `ForceColumns` of a joint, from the composite quantities of the bodies that it carries."""
    return ForceColumns(
        [Ic @ x.S for x in axes],
        [2.0 * Bc.transposed(x.S) for x in axes],
        [2.0 * (Bc @ x.Pd) + Ic @ x.Pdd + x.S.cross(Fc) for x in axes],
        [2.0 * (Bc @ x.S) + Ic @ x.PdSd for x in axes],
    )


def gravity_torque_derivatives(model: Model, q: Vector, f_ext: Wrenches = NO_FORCES, representation: str = "body") -> Block:
    """The derivative of the torque that holds the robot still, g(q) - sum J^T f_ext, with respect to q."""
    still = [0.0] * model.nv
    return inverse_dynamics_derivatives(model, q, still, still, f_ext, representation).dtau_dq
