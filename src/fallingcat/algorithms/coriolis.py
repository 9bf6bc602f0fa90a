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
from typing import Literal, NamedTuple

from fallingcat.algorithms.common_frame import CommonFrame, common_frame, velocities
from fallingcat.algorithms.dense import mirrored, transpose
from fallingcat.algorithms.joint_dynamics import add_armature
from fallingcat.algorithms.kinematics import PerBody, Vector, joint_kinematics, ring
from fallingcat.algorithms.kinematics import velocities as body_velocities
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion, Subspace
from fallingcat.spatial.coriolis import CoriolisFactor, NewtonFactor

Block = list[list[Scalar]]
Blocks = dict[tuple[int, int], Block]
Factorization = Literal["christoffel", "body"]
FACTORS: dict[str, type[CoriolisFactor] | type[NewtonFactor]] = {"christoffel": CoriolisFactor, "body": NewtonFactor}
"""The factorizations of one body's velocity products: eq. (12), and eq. (11)."""


class CoriolisTerms(NamedTuple):
    """What one pass gives."""

    C: Block
    """(..., nv, nv): C(q, nu)."""
    M: Block
    """(..., nv, nv): the mass matrix."""
    M_rate: Block
    """(..., nv, nv): its rate along nu."""


def coriolis_terms(model: Model, q: Vector, nu: Vector, factorization: Factorization = "christoffel") -> CoriolisTerms:
    """C, M and the rate of M in one pass outwards and one inwards."""
    return coriolis_terms_in(common_frame(model, q), nu, factorization)


@dataclass(frozen=True)
class AxisForces:
    """Per joint and axis what (25)-(27) say, and the composite Coriolis factors."""

    Sd: PerBody[list[Motion]]
    F1: PerBody[list[Force]]
    F2: PerBody[list[Force]]
    F3: PerBody[list[Force]]
    Bc: PerBody[CoriolisFactor]


def axis_forces(c: CommonFrame, nu: Vector, factorization: Factorization = "christoffel") -> AxisForces:
    """Outwards for the rates of the axes, inwards for the composites."""
    v = velocities(c, nu)
    found = AxisForces({}, {}, {}, {}, {})
    Ic, Bc = dict(c.I), found.Bc
    for i, p in c.model.base_to_tip():  # lines 2-7
        found.Sd[i] = axis_rates(c.S[i], v[p], v[i], c.ring(i, nu))
        Bc[i] = FACTORS[factorization].of(v[i], c.I[i])  # type: ignore[assignment]
    for j, p in c.model.tip_to_base():  # lines 8-12, 22-23
        axes = list(zip(c.S[j].columns, found.Sd[j], strict=True))
        found.F1[j] = [Ic[j] @ sd + Bc[j] @ s for s, sd in axes]  # (25)
        found.F2[j] = [Ic[j] @ s for s, _ in axes]  # (26)
        found.F3[j] = [Bc[j].transposed(s) for s, _ in axes]  # (27)
        if p != WORLD:
            Ic[p], Bc[p] = Ic[p] + Ic[j], Bc[p] + Bc[j]
    return found


def coriolis_terms_in(c: CommonFrame, nu: Vector, factorization: Factorization = "christoffel") -> CoriolisTerms:
    """The same for a robot in common coordinates."""
    model = c.model
    forces = axis_forces(c, nu, factorization)
    C: Blocks = {}
    M: Blocks = {}
    rate: Blocks = {}
    for j, _ in model.tip_to_base():
        F1, F2, F3 = forces.F1[j], forces.F2[j], forces.F3[j]
        F13 = [a + b for a, b in zip(F1, F3, strict=True)]
        for i in model.path(j):  # lines 14-21
            pairs = list(zip(c.S[i].columns, forces.Sd[i], strict=True))
            C[i, j] = [[s @ f for f in F1] for s, _ in pairs]  # (29)
            M[i, j] = [[s @ f for f in F2] for s, _ in pairs]  # (28)
            rate[i, j] = [[sd @ f2 + s @ f for f2, f in zip(F2, F13, strict=True)] for s, sd in pairs]
            if i == j:
                M[i, i], rate[i, i] = mirrored(M[i, i]), mirrored(rate[i, i])
            else:
                C[j, i] = [[sd @ f2 + s @ f3 for s, sd in pairs] for f2, f3 in zip(F2, F3, strict=True)]  # (30)
                M[j, i], rate[j, i] = transpose(M[i, j]), transpose(rate[i, j])
    gather = model.gather_blocks
    return CoriolisTerms(gather(C), add_armature(model, gather(M)), gather(rate))


def axis_rates(S: Subspace, v_parent: Motion, v: Motion, moving: Subspace | None) -> list[Motion]:
    """Sd = v x S + ring (paper 001, below eq. 16). A single axis is carried by the parent: (S nu) x S = 0."""
    carrier = v if len(S) > 1 else v_parent
    rates = [carrier.cross(s) for s in S.columns]
    return rates if moving is None else [sd + r for sd, r in zip(rates, moving.columns, strict=True)]


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
    X, S = joint_kinematics(model, q)
    v, _ = body_velocities(model, X, S, nu)
    v_w, _ = body_velocities(model, X, S, w)
    a_w: PerBody[Motion] = {WORLD: Motion.zero(WORLD)}
    f: PerBody[Force] = {WORLD: Force.zero(WORLD)}
    tau: PerBody[list[Scalar]] = {}
    for i, p in model.base_to_tip():
        I = model.bodies[i].inertia
        a_w[i] = X[i] @ a_w[p] + Subspace(tuple(_body_axis_rates(model, i, q, nu, S[i], v[i])), i) @ model.speeds(i, w)
        f[i] = I @ a_w[i] + CoriolisFactor.of(v[i], I) @ v_w[i]
    for i, p in model.tip_to_base():
        tau[i] = S[i].power(f[i])
        f[p] = f[p] + X[i].T @ f[i]
    return model.gather(tau)


def coriolis_transpose_product(model: Model, q: Vector, nu: Vector, w: Vector) -> list[Scalar]:
    """C(q, nu)^T w in O(n): what a momentum observer needs, as d(M nu)/dt = C^T nu + tau - g.

    C^T = sum J^T B^T J + Jd^T I J: two wrenches per body go inwards, one for the axes and one for their rates.
    """
    X, S = joint_kinematics(model, q)
    v, _ = body_velocities(model, X, S, nu)
    v_w, _ = body_velocities(model, X, S, w)
    h: PerBody[Force] = {WORLD: Force.zero(WORLD)}
    f: PerBody[Force] = {WORLD: Force.zero(WORLD)}
    tau: PerBody[list[Scalar]] = {}
    for i, _ in model.base_to_tip():
        I = model.bodies[i].inertia
        h[i] = I @ v_w[i]
        f[i] = CoriolisFactor.of(v[i], I).transposed(v_w[i])
    for i, p in model.tip_to_base():
        Sd = _body_axis_rates(model, i, q, nu, S[i], v[i])
        tau[i] = [s @ f[i] + sd @ h[i] for s, sd in zip(S[i].columns, Sd, strict=True)]
        f[p], h[p] = f[p] + X[i].T @ f[i], h[p] + X[i].T @ h[i]
    return model.gather(tau)


def _body_axis_rates(model: Model, i: int, q: Vector, nu: Vector, S: Subspace, v: Motion) -> list[Motion]:
    """Sd in body coordinates."""
    return axis_rates(S, v, v, ring(model, i, q, nu))
