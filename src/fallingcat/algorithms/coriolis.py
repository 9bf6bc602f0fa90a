"""The Coriolis matrix in O(N d), and the rate of the mass matrix (paper 001, Alg. 1 with errata 1.1-1.5).

All in common coordinates, where the transforms of Alg. 1 fall away. With a factorization of the velocity products of
one body, v x* (I v) = B(v, I) v, the sums over subtrees Ic and Bc give for joint j and every joint i that carries it
    F1 = Ic_j Sd_j + Bc_j S_j,   F2 = Ic_j S_j,   F3 = Bc_j^T S_j            (25)-(27)
    M_ij = S_i^T F2,   C_ij = S_i^T F1,   C_ji = (Sd_i^T F2 + S_i^T F3)^T       (28)-(30)
where Sd = v x S + ring is the rate of an axis. The floating base is a joint like any other: its velocities are
quasi-velocities, C still satisfies C nu = h - g and M_rate = C + C^T (paper 001, Remark 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from fallingcat.algorithms.dense import Block
from fallingcat.algorithms.joint_dynamics import rotor_inertias
from fallingcat.algorithms.kinematics import frame_transform
from fallingcat.algorithms.pairs import Pairs
from fallingcat.algorithms.posed import (
    PerBody,
    Posed,
    Vector,
    accelerations,
    axis_rates,
    body,
    common,
    inwards,
    velocities,
)
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Inertia, Motion, Subspace
from fallingcat.spatial.coriolis import ColumnFactor, CoriolisFactor, NewtonFactor, OwnFactor

Factorization = Literal["christoffel", "body"] | OwnFactor
FACTORS: dict[str, type[CoriolisFactor] | type[NewtonFactor]] = {"christoffel": CoriolisFactor, "body": NewtonFactor}
"""The factorizations of one body's velocity products that have a name: eq. (12), and eq. (11)."""


class CoriolisTerms(NamedTuple):
    """The Coriolis matrix, the mass matrix and its rate."""

    C: Block
    """(..., nv, nv): C(q, nu)."""
    M: Block
    """(..., nv, nv): the mass matrix."""
    M_rate: Block
    """(..., nv, nv): its rate along nu."""


def coriolis_terms(model: Model, q: Vector, nu: Vector, factorization: Factorization = "christoffel") -> CoriolisTerms:
    """C, M and the rate of M in one pass outwards and one inwards.

    A user's own factor need not satisfy B + B^T = rate of the inertia (14), as Def. 4 asks: the rate of M then comes from (12).
    """
    r = common(model, q)
    terms = coriolis_terms_in(r, nu, factorization)
    return terms._replace(M_rate=coriolis_terms_in(r, nu).M_rate) if callable(factorization) else terms


@dataclass(frozen=True)
class AxisForces:
    """The rates Sd and the wrenches (25)-(27) of every axis of every joint, and the composite Coriolis factors Bc."""

    Sd: PerBody[list[Motion]]
    F1: PerBody[list[Force]]
    F2: PerBody[list[Force]]
    F3: PerBody[list[Force]]
    Bc: PerBody[CoriolisFactor]


def axis_forces(r: Posed, nu: Vector, factorization: Factorization = "christoffel") -> AxisForces:
    """The `AxisForces`: one pass outwards for the rates of the axes, one inwards for the composite quantities."""
    v = velocities(r, nu)
    Sd = {i: axis_rates(r, i, nu, v) for i in r.S}  # lines 2-7
    Ic = r.I | {WORLD: Inertia.zero(r.root)}
    Bc = _body_factors(r, v, factorization)
    found = AxisForces(Sd, {}, {}, {}, Bc)
    for j in inwards(r, Ic, Bc):  # lines 8-12, 22-23
        axes = list(zip(r.S[j].columns, Sd[j], strict=True))
        found.F1[j] = [Ic[j] @ sd + Bc[j] @ s for s, sd in axes]  # (25)
        found.F2[j] = [Ic[j] @ s for s, _ in axes]  # (26)
        found.F3[j] = [Bc[j].transposed(s) for s, _ in axes]  # (27)
    return found


def _body_factors(r: Posed, v: PerBody[Motion], factorization: Factorization) -> PerBody[Any]:
    """B(v, I) of every body (line 6), and zero for the world; a user-defined B is called in the coordinates of the links."""
    if not callable(factorization):
        B = FACTORS[factorization]
        return {i: B.of(v[i], I) for i, I in r.I.items()} | {WORLD: B.zero(r.root)}
    found = {WORLD: ColumnFactor.zero(r.root)}
    for i, moved in enumerate(r.model.bodies):
        X_li = frame_transform(r.model.frame(moved.name), "link")
        found[i] = ColumnFactor.given(factorization, v[i], X_li.inverse().T @ moved.inertia, X_li @ r.X_own[i])
    return found


def coriolis_terms_in(r: Posed, nu: Vector, factorization: Factorization = "christoffel") -> CoriolisTerms:
    """`coriolis_terms` of a robot that is in common coordinates already."""
    f = axis_forces(r, nu, factorization)
    C, M, rate = Pairs(r.model), Pairs(r.model, symmetric=True), Pairs(r.model, symmetric=True)
    for j, _ in r.model.tip_to_base():
        F32 = list(zip(f.F3[j], f.F2[j], strict=True))
        F132 = [(F1 + F3, F2) for F1, (F3, F2) in zip(f.F1[j], F32, strict=True)]
        for i in r.model.path(j):  # lines 14-21
            S, SSd = r.S[i].columns, list(zip(r.S[i].columns, f.Sd[i], strict=True))
            C[i, j] = S, f.F1[j]  # (29)
            M[j, i] = f.F2[j], S  # (28)
            rate[j, i] = F132, SSd
            if i != j:
                C[j, i] = F32, SSd  # (30)
    M.add_diagonal(rotor_inertias(r.model))
    return CoriolisTerms(C.matrix(), M.matrix(), rate.matrix())


def coriolis_matrix(model: Model, q: Vector, nu: Vector, factorization: Factorization = "christoffel") -> Block:
    """C(q, nu) with C nu = h - g and M_rate - 2 C skew (Prop. 1); with eq. (12) the Christoffel-consistent one (Prop. 2)."""
    return coriolis_terms(model, q, nu, factorization).C


def mass_matrix_rate(model: Model, q: Vector, nu: Vector) -> Block:
    """dM/dt along nu = C + C^T, in O(N d)."""
    return coriolis_terms(model, q, nu).M_rate


def coriolis_product(model: Model, q: Vector, nu: Vector, w: Vector) -> list[Scalar]:
    """C(q, nu) w in O(n), with the Christoffel-consistent C (Niemeyer and Slotine; paper 001, Remark 1).

    Newton-Euler with two velocities: v of nu, and v_w of w with its acceleration along the motion of nu.
    """
    r = body(model, q)
    v, v_w = velocities(r, nu), velocities(r, w)
    Sd = {i: Subspace(tuple(axis_rates(r, i, nu, v)), i) @ r.speeds(i, w) for i in r.S}
    a_w = accelerations(r, Sd, [0.0] * model.nv, Motion.zero(r.root))
    f = {i: I @ a_w[i] + CoriolisFactor.of(v[i], I) @ v_w[i] for i, I in r.I.items()} | {WORLD: Force.zero(r.root)}
    return model.gather({i: r.S[i].power(f[i]) for i in inwards(r, f)})


def coriolis_transpose_product(model: Model, q: Vector, nu: Vector, w: Vector) -> list[Scalar]:
    """C(q, nu)^T w in O(n): what a momentum observer needs, as d(M nu)/dt = C^T nu + tau - g.

    C^T = sum J^T B^T J + Jd^T I J: two wrenches per body go inwards, one for the axes and one for their rates.
    """
    r = body(model, q)
    v, v_w = velocities(r, nu), velocities(r, w)
    f, h = {WORLD: Force.zero(r.root)}, {WORLD: Force.zero(r.root)}
    for i, I in r.I.items():
        h[i] = I @ v_w[i]
        f[i] = CoriolisFactor.of(v[i], I).transposed(v_w[i])
    tau: PerBody[list[Scalar]] = {}
    for i in inwards(r, f, h):
        pairs = zip(r.S[i].columns, axis_rates(r, i, nu, v), strict=True)
        tau[i] = [s @ f[i] + sd @ h[i] for s, sd in pairs]
    return model.gather(tau)
