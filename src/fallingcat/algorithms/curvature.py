"""The curvature of the mechanical connection (paper 003, Lemma 3, errata 3.9, 3.10), in closed form.

    B(x, y) = dA(x, y) - [A x, A y],   dA(x, y) = (d_x A) y - (d_y A) x
an se(3)-valued two-form: with no momentum, a small loop of shapes around the area x, y displaces the base by -B(x, y).
From B(r)^T p = 2 B_2(mu) r (40), p = Lambda_b mu, and C(mu, I) y = B(y, I) mu,
    B_ij = 2 Lambda_b^-1 b_ij,   b_ij = sum over bodies of B(Jt_i, I)^T Jt_j,   Jt = J - A
where B^T is a pure moment. With the 6 x 3 matrices P, K of `christoffel` (B(S_i, I)^T x = P_i^T x, B(x, I_j)^T S_j = K_j^T x)
    b_ij = l_ji + Q_i^T A_j - K_j^T A_i,   Q_i = P(A_i, Ic_0) - P(S_i, Ic_i)
where l_ji = B(S_i, I_t)^T S_j stands for joints of which one carries the other.
"""

from __future__ import annotations

from fallingcat.algorithms.axes import Axes, axes
from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.posed import COMMON, Vector
from fallingcat.algorithms.reduced import Shape, shape
from fallingcat.model.model import Model
from fallingcat.spatial import Force
from fallingcat.spatial.coriolis import CoriolisFactor
from fallingcat.spatial.vec3 import ZERO, Vec, add, neg, skew


def curvature(model: Model, q: Vector) -> list[Block]:
    """B[:, i, j], (6, n, n): the curvature applied to unit shape velocities i and j."""
    g, n = shape(model, q), model.n
    b = _moments(g)
    units = [Force.of([2.0 if k == 3 + m else 0.0 for k in range(6)], COMMON) for m in range(3)]
    doubled = Matrix.columns([g.inverse @ unit for unit in units])  # 2 Lambda_b^-1, its columns for moments
    flat = Matrix([[b[i][j][k] for i in range(n) for j in range(n)] for k in range(3)], n * n)
    B = doubled @ flat
    return [[row[i * n : (i + 1) * n] for i in range(n)] for row in B]


def _moments(g: Shape) -> list[list[Vec]]:
    """The moments b_ij (3,), skew in i and j."""
    a, n = axes(g.frame), g.model.n
    factors = [CoriolisFactor.of(x.S, g.Ic[x.body]) for x in a.all]
    own = [CoriolisFactor.zero(COMMON) for _ in range(n)]
    for x, B in zip(a.all, factors, strict=True):
        if x.nu >= 6:
            own[x.nu - 6] = own[x.nu - 6] + B
    Q = [CoriolisFactor.of(A, g.Ic[0]) - B for A, B in zip(g.A, own, strict=True)]
    A = Matrix.columns(g.A)
    QA = Matrix([row for B in Q for row in _rows_P(B)], 6) @ A
    KA = Matrix([row for B, f in zip(own, g.f, strict=True) for row in _rows_K(B, f)], 6) @ A
    pairs = _between_joints(g, a, factors)
    b = [[ZERO for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            l = pairs.get((i, j), ZERO)
            x, y, z = (l[k] + QA[3 * i + k][j] - KA[3 * j + k][i] for k in range(3))
            b[i][j], b[j][i] = (x, y, z), neg((x, y, z))
    return b


def _rows_P(B: CoriolisFactor) -> Matrix:
    """P^T: from x to the moment of B^T x."""
    return Matrix.blocks([[Matrix(skew(B.p)), Matrix(B.N).T]])


def _rows_K(B: CoriolisFactor, f: Force) -> Matrix:
    """K^T: from x to the moment of B(x, I)^T S, with f = I S and B = B(S, I)."""
    return -Matrix.blocks([[Matrix(skew(B.p)), Matrix(skew(f.ang)) + Matrix(B.N)]])


def _between_joints(g: Shape, a: Axes, factors: list[CoriolisFactor]) -> dict[tuple[int, int], Vec]:
    """l_ji for joint velocities i < j of which one carries the other."""
    pairs: dict[tuple[int, int], Vec] = {}
    for t, tip in enumerate(a.all):
        momentum = g.Ic[tip.body] @ tip.S
        for x in a.path[tip.body]:
            other = a.all[x]
            if other.nu < 6 or other.nu == tip.nu or (other.body == tip.body and other.nu > tip.nu):
                continue
            if tip.nu < other.nu:  # i is the tip: P_i^T S_j
                value = factors[t].transposed(other.S).ang
            else:  # j is the tip: K_j^T S_i
                value = factors[t].swapped_transposed(momentum, other.S).ang
            key = (min(tip.nu, other.nu) - 6, max(tip.nu, other.nu) - 6)
            pairs[key] = add(pairs.get(key, ZERO), value)
    return pairs
