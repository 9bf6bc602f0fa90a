"""Inverse of the mass matrix without the mass matrix (paper 002, Sec. IV; paper 000, Table 9 with errata 0.6-0.8).

Three passes, in common coordinates, where wrenches and motions of different bodies simply add:
outwards for the axes; inwards for the articulated inertias IA, with U = IA S and D = S^T U; outwards for the inverse.
The articulated bodies hold the factors of the mass matrix, M = L^T D L with

    L_ki = D_k^-1 U_k^T S_i     for every joint i that carries joint k                       (1)
    W = L^-1:   W_ki = -sum_j L_kj W_ji    over the joints j from i up to the parent of k   (2)
    M^-1 = W D^-1 W^T:   (M^-1)_ij = sum_m W_im D_m^-1 W_jm^T    over joints m that carry both   (3)

so that only joints that carry both i and j contribute to a pair, which saves most of the work. The sums (2) and (3)
run along paths; on a deep tree it costs less to do the last pass as in the papers, with columns of wrenches F inwards
and of accelerations P outwards: a fixed number of operations for each pair of joints. Both are tried, the cheaper one is kept.
"""

from __future__ import annotations

from typing import NamedTuple

from fallingcat.algorithms.articulated import Articulated, articulated_bodies, combination
from fallingcat.algorithms.crba import mass_matrix
from fallingcat.algorithms.dense import Block, Matrix, factor, forward_substitute, inverse_symmetric
from fallingcat.algorithms.pivots import least_pivots_by_dof
from fallingcat.algorithms.posed import PerBody, Vector, common
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import cheapest
from fallingcat.spatial import Force, Motion

Blocks = dict[tuple[int, int], Matrix]


class Inverse(NamedTuple):
    """The inverse of a mass matrix."""

    Minv: Block
    """nv x nv"""
    W: Blocks
    """The factor W of (3): block (k, i) for each joint i that carries joint k; empty if M^-1 was computed otherwise."""
    Dinv: PerBody[Matrix]
    """D^-1 of (3)."""


def inverse_mass_matrix(model: Model, q: Vector) -> Block:
    """M(q)^-1."""
    if model.mimics:  # joints that follow others couple distant branches: no articulated bodies
        return inverse_symmetric(mass_matrix(model, q), least_pivots_by_dof(model))
    return inverse_of(articulated_bodies(common(model, q))).Minv


def inverse_of(bodies: Articulated) -> Inverse:
    """The inverse mass matrix of a robot in common coordinates."""

    def by_factor() -> Inverse:
        W = inverse_factor(bodies)
        return Inverse(_matrix(bodies, _by_factor(bodies, W)), W, bodies.Dinv)

    return cheapest(bodies.robot.q, by_factor, lambda: Inverse(_matrix(bodies, _by_columns(bodies)), {}, bodies.Dinv))


def _matrix(bodies: Articulated, upper: Blocks) -> Block:
    """M^-1, nv x nv, from its blocks (i, j), i <= j."""
    lower = {(j, i): block.T for (i, j), block in upper.items()}
    own = {(i, i): upper[i, i].mirrored() for i in bodies.D}
    return bodies.robot.model.gather_blocks(upper | lower | own)


def _by_factor(bodies: Articulated, W: Blocks) -> Blocks:
    """The blocks (i, j), i <= j, of W D^-1 W^T."""
    inverse: Blocks = {}
    for m, p in bodies.robot.model.base_to_tip():
        carried = [i for i in bodies.robot.S if (i, m) in W]
        if p == WORLD:
            inverse |= _through_root(bodies, m, carried, W)  # (3), its first term
            continue
        for position, i in enumerate(carried):
            WD = W[i, m] @ bodies.Dinv[m]
            for j in carried[position:]:
                inverse[i, j] = inverse[i, j] + WD @ W[j, m].T  # (3)
    return inverse


def _by_columns(bodies: Articulated) -> Blocks:
    """The blocks (i, j), i <= j, by the passes of paper 000, Table 9; zero for joints without a common ancestor."""
    r, Dinv, inverse = bodies.robot, bodies.Dinv, Blocks()
    F = {i: {j: [Force.zero(r.root) for _ in S.columns] for j, S in r.S.items()} for i in (WORLD, *r.S)}
    P = {WORLD: {j: [Motion.zero(r.root) for _ in S.columns] for j, S in r.S.items()}}
    for i, p in r.model.tip_to_base():
        for j in range(i, len(r.S)):
            one = Matrix.identity(len(r.S[i])) if i == j else Matrix.zero(len(r.S[i]), len(r.S[j]))
            inverse[i, j] = Dinv[i] @ (one - Matrix([[s @ f for f in F[i][j]] for s in r.S[i].columns]))  # line 12
            pushed = [combination(bodies.U[i], x) for x in inverse[i, j].T]
            F[p][j] = [g + f + u for g, f, u in zip(F[p][j], F[i][j], pushed, strict=True)]  # line 14
    for i, p in r.model.base_to_tip():
        P[i] = {}
        for j in range(i, len(r.S)):
            inverse[i, j] = inverse[i, j] - Dinv[i] @ Matrix([[a @ u for a in P[p][j]] for u in bodies.U[i]])  # line 18
            P[i][j] = [a + r.S[i] @ x for a, x in zip(P[p][j], inverse[i, j].T, strict=True)]
    return inverse


def inverse_factor(bodies: Articulated) -> Blocks:
    """W = L^-1, block by block along every path."""
    r, W = bodies.robot, Blocks()
    for k, p in r.model.base_to_tip():
        W[k, k] = Matrix.identity(len(r.S[k]))
        path = list(r.model.path(p))
        L = {i: Matrix([[s @ u for s in r.S[i].columns] for u in bodies.UDinv[k]]) for i in path}  # (1)
        for position, i in enumerate(path):
            W[k, i] = -L[i]
            for j in path[:position]:
                W[k, i] = W[k, i] - L[j] @ W[j, i]  # (2)
    return W


def _through_root(bodies: Articulated, root: int, carried: list[int], W: Blocks) -> Blocks:
    """All blocks (i, j), i <= j, of W D^-1 W^T that pass through one root joint, as one dense product.

    With D = L d L^T it is V d^-1 V^T, V = W L^-T: cheaper than with D^-1, and symmetric.
    """
    L, dinv = factor(bodies.D[root], bodies.least[root])
    rows = [(i, row) for i in carried for row in W[i, root]]
    V = Matrix([forward_substitute(L, row) for _, row in rows], len(L))
    product = V.times_symmetric(V.scale_columns(dinv).T)
    at = {i: [k for k, (j, _) in enumerate(rows) if j == i] for i in carried}
    pairs = [(i, j) for position, i in enumerate(carried) for j in carried[position:]]
    return {(i, j): Matrix([product[k] for k in at[i]]).take(at[j]) for i, j in pairs}
