"""Christoffel symbols in O(N d^2) (paper 001, Alg. 2 with errata 1.6, 1.7), and the derivatives of the mass matrix.

G_ijk is the derivative of C_ij with respect to nu_k, C the Christoffel-consistent Coriolis matrix. With B(v, I) of eq. (12)
and t the one of the three joints that is nearest to the tips, for every joint k that carries joint j (or is j itself)
    G_ijk = G_ikj = S_i^T B(S_j, I_t) S_k = l_ij . w_k,    l_ij = moment of B(S_j, I_t)^T S_i           (46)-(48)
because B = [[0, -p^], [0, N]] reads nothing of a motion but its angular part w. So the N d^2 symbols are dot products
of three numbers; the l_ij come from two 6 x 3 matrices for each axis t,
    l_it = P_t^T S_i,   P_t = [-p^; N]                  for the joints i that carry t                       (52)
    l_tj = K_t^T S_j,   K_t^T = [-p^, -(m^ + N)]        for the joints j that carry t                       (50), (53)
where (p; m) = I_t S_t. Both are lists of dot products that stay loops in the compiled code.

For two axes j, k of the same joint (a floating base, a ball) the coordinates are quasi-velocities and G_ijk != G_ikj:
the torsion C(v) w - C(w) v = M [v, w] is not zero there, and only there.

Other velocities of the base are another joint with axes that move in the body: the law (74), whose inhomogeneous term is
what the ring of these axes adds. The index k is along the velocity k of that joint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fallingcat.algorithms.axes import Axes, axes
from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.minverse import inverse_mass_matrix
from fallingcat.algorithms.posed import PerBody, Posed, Vector, common, composite_inertias
from fallingcat.model.model import Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Inertia, Motion
from fallingcat.spatial.coriolis import CoriolisFactor
from fallingcat.spatial.vec3 import skew
from fallingcat.tensors import Triple, left_vectors, placed_dots, tensor_of_dots

Tensor = Any
"""Three nested lists, or a traced tensor."""


def christoffel_symbols(model: Model, q: Vector) -> Tensor:
    """G with C_ij = sum_k G_ijk nu_k; for joints on R the Christoffel symbols of the first kind (4)."""
    r = common(model, q)
    a, Ic = axes(r), composite_inertias(r)
    PK, pairs = _left_matrices(a, Ic), _pairs(a)
    triples: list[Triple] = []
    for pair, (x, t) in enumerate(pairs):
        for (i, j), part in _left_parts(a, x, t).items():
            triples += [Triple(pair, part, k, a.place(i, j, k)) for k in a.up_to(j)]  # G_ijk = l_ij . w_k
            triples += [Triple(pair, part, k, a.place(i, k, j)) for k in a.below(j)]  # G_ikj
    extra = [(a.place(m.x, m.m, m.k), m.value) for m in _moving_axes(r, a, Ic)]  # S_i^T I_t dS_j/dq_k
    return tensor_of_dots([x.S.entries() for x in a.all], PK, pairs, [x.S.ang for x in a.all], triples, model.nv, extra)


def christoffel_symbols_second_kind(model: Model, q: Vector) -> Tensor:
    """The symbols of the second kind, sum_i (M^-1)_mi G_ijk: L_mj . w_k with L_mj = sum_i (M^-1)_mi l_ij.

    M^-1 is multiplied with the vectors l_ij, three columns for each axis j, instead of the N d^2 symbols.
    """
    r = common(model, q)
    a, Ic = axes(r), composite_inertias(r)
    Minv = Matrix(inverse_mass_matrix(model, q), model.nv)
    L = Minv @ _left_vectors_by_axis(a, Ic, model.nv)
    numbered = [(m, j) for m in range(model.nv) for j in range(len(a.all))]
    triples: list[Triple] = []
    for pair, (m, j) in enumerate(numbered):
        nu_j = a.all[j].nu
        triples += [Triple(pair, 0, k, (m, nu_j, a.all[k].nu)) for k in a.up_to(j)]
        triples += [Triple(pair, 0, k, (m, a.all[k].nu, nu_j)) for k in a.below(j)]
    changes = _changes_of_axes(r, a, Ic)  # of the axes that move: S_i^T I_t dS_j/dq_k, for every i
    ring = Minv @ Matrix.from_columns(changes.values(), model.nv)
    known = [((m, *place), x) for m, row in enumerate(ring) for place, x in zip(changes, row, strict=True)]
    return placed_dots([x for row in L for x in row], 3, [x.S.ang for x in a.all], triples, model.nv, known)


def _left_vectors_by_axis(a: Axes, Ic: PerBody[Inertia], nv: int) -> Matrix:
    """Row i: the l_ij of all axes j, three numbers each; zero where i and j are on different branches. (nv, 3 per axis)."""
    pairs = _pairs(a)
    found = left_vectors([x.S.entries() for x in a.all], _left_matrices(a, Ic), pairs) if pairs else []
    l = Matrix.zero(nv, 3 * len(a.all))
    for pair, (x, t) in enumerate(pairs):
        for (i, j), part in _left_parts(a, x, t).items():
            row = l[a.all[i].nu]
            for c in range(3):
                row[3 * j + c] = row[3 * j + c] + found[6 * pair + part + c]
    return l


def _changes_of_axes(r: Posed, a: Axes, Ic: PerBody[Inertia]) -> dict[tuple[int, int], list[Scalar]]:
    """The ring terms S_i^T I_t dS_j/dq_k: for every (j, k) where they are not zero, a column over i, (nv,)."""
    found: dict[tuple[int, int], list[Scalar]] = {}
    for m in _moving_axes(r, a, Ic):
        if not (isinstance(m.value, float) and m.value == 0.0):
            i, j, k = a.place(m.x, m.m, m.k)
            column = found.setdefault((j, k), [0.0] * r.model.nv)
            column[i] = column[i] + m.value
    return found


def _pairs(a: Axes) -> list[tuple[int, int]]:
    """The pairs (x, t) of every axis t with every axis x of its own joint or of a joint that carries it."""
    return [(x, t) for t in range(len(a.all)) for x in a.up_to(t)]


def _left_parts(a: Axes, x: int, t: int) -> dict[tuple[int, int], int]:
    """The (i, j) of the vectors l_ij of a pair, and where each starts among its six numbers, P_t^T S_x and K_t^T S_x."""
    return {(x, t): 0} if a.all[x].body == a.all[t].body else {(x, t): 0, (t, x): 3}


def _left_matrices(a: Axes, Ic: PerBody[Inertia]) -> list[Block]:
    """[P, K] for every axis t, 6 x 6: l_it = P^T S_i, l_tj = K^T S_j."""
    found = []
    for x in a.all:
        p, N, m = _parts(x.S, Ic[x.body])
        found.append(Matrix.blocks([[-p, p], [N, m - N.T]]).rows)
    return found


def _parts(S: Motion, I: Inertia) -> tuple[Matrix, Matrix, Matrix]:
    """p^, N and m^ of B(S, I) and (p; m) = I S."""
    B = CoriolisFactor.of(S, I)
    return Matrix(skew(B.p)), Matrix(B.N), Matrix(skew((I @ S).ang))


def mass_matrix_derivatives(model: Model, q: Vector) -> Tensor:
    """dM_ij/dq_k along the tangent: G_ijk + G_jik, where what cancels is left out.

    For joint i carrying joint j: what k beyond j does to the inertia that j carries, S_i^T (B + B^T) S_j, B = B(S_k, I_k); or
    what k between i and j turns, S_i^T (S_k x* f_j), f_j = I_j S_j. A joint that carries both, or is i, changes nothing.
    """
    r = common(model, q)
    a, Ic = axes(r), composite_inertias(r)
    changes = [_change_matrices(x.S, Ic[x.body]) for x in a.all]
    pairs = [(x, t) for t in range(len(a.all)) for x in a.below(t)]
    triples: list[Triple] = []
    for pair, (x, t) in enumerate(pairs):
        turned = [k for k in a.up_to(t) if k not in set(a.up_to(x))]  # from beyond i up to j
        for i, j in ((x, t), (t, x)):
            triples += [Triple(pair, 0, k, a.place(i, j, k)) for k in turned]
        triples += [Triple(pair, 6, j, a.place(x, j, t)) for j in a.below(t)]  # the axis t as k, beyond i and j
    extra = [(a.place(*key, m.k), m.value) for m in _moving_axes(r, a, Ic) for key in ((m.x, m.m), (m.m, m.x))]
    S = [x.S.entries() for x in a.all]
    return tensor_of_dots(S, changes, pairs, S, triples, model.nv, extra)


def _change_matrices(S: Motion, I: Inertia) -> Block:
    """The 6 x 12 matrix of an axis t that takes S_x to -(S_x x* f_t) and to (B + B^T) S_x, one beside the other."""
    p, N, m = _parts(S, I)
    zero = Matrix.zero(3, 3)
    return Matrix.blocks([[zero, -p, zero, -p], [-p, -m, p, N + N.T]]).rows


@dataclass(frozen=True)
class MovingAxis:
    """An axis m that changes in its body when its own joint moves along k, and the axis x that it concerns."""

    x: int
    m: int
    k: int
    value: Scalar
    """S_x^T I dS_m/dq_k, I carried by the one nearer to the tips; zero for most joints."""


def _moving_axes(r: Posed, a: Axes, Ic: PerBody[Inertia]) -> Iterator[MovingAxis]:
    """All pairs of an axis that moves in its body and an axis on the same path, with the value of their ring term."""
    model = r.model
    for k, along in enumerate(a.all):
        i, unit = along.body, [1.0 if d == along.nu else 0.0 for d in range(model.nv)]
        for m, change in zip(a.of[i], r.ring(i, unit).columns, strict=True):
            for x, axis in enumerate(a.all):
                tip = max(i, axis.body)
                if min(i, axis.body) in model.path(tip):
                    yield MovingAxis(x, m, k, change @ (Ic[tip] @ axis.S))
