"""Principal moments and axes of a constant inertia.

With them a rotated inertia is two outer products instead of two matrix products.
"""

from __future__ import annotations

import math
from functools import lru_cache

from fallingcat.spatial.rotation import Rotation
from fallingcat.spatial.vec3 import Sym, Vec, scale

Principal = tuple[tuple[float, float, float], tuple[Vec, Vec, Vec]]


@lru_cache(maxsize=4096)
def principal(I: Sym) -> Principal:
    """(moments, axes) of a symmetric matrix of floats, by Jacobi rotations."""
    A = [[I[0], I[1], I[2]], [I[1], I[3], I[4]], [I[2], I[4], I[5]]]
    V = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    scale_ = max(abs(x) for row in A for x in row) or 1.0
    for _ in range(60):
        p, q = max(((0, 1), (0, 2), (1, 2)), key=lambda pq: abs(A[pq[0]][pq[1]]))
        if abs(A[p][q]) <= 1e-18 * scale_:
            break
        # The smaller root t = tan(theta) of t^2 + 2 t cot(2 theta) = 1, by square roots alone: they round alike everywhere.
        cot = (A[q][q] - A[p][p]) / (2.0 * A[p][q])
        t = math.copysign(1.0 / (abs(cot) + math.sqrt(1.0 + cot * cot)), cot)
        c = 1.0 / math.sqrt(1.0 + t * t)
        s = t * c
        for M in (A, V):  # columns p and q turn by theta
            for row in M:
                row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
        A[p], A[q] = (
            [c * x - s * y for x, y in zip(A[p], A[q], strict=True)],
            [s * x + c * y for x, y in zip(A[p], A[q], strict=True)],
        )
        A[p][q] = A[q][p] = 0.0
    axes = tuple((V[0][k], V[1][k], V[2][k]) for k in range(3))
    return (A[0][0], A[1][1], A[2][2]), axes  # type: ignore[return-value]


def rotated(E: Rotation, I: Sym) -> Sym:
    """E^T I E for a constant I: with moments l and axes p, l3 1 + (l1 - l3) a1 a1^T + (l2 - l3) a2 a2^T, a = E^T p."""
    (l1, l2, l3), (p1, p2, _) = principal(I)
    a, b = E.inverse_apply(p1), E.inverse_apply(p2)
    u, v = scale(l1 - l3, a), scale(l2 - l3, b)
    return (
        l3 + u[0] * a[0] + v[0] * b[0],
        u[0] * a[1] + v[0] * b[1],
        u[0] * a[2] + v[0] * b[2],
        l3 + u[1] * a[1] + v[1] * b[1],
        u[1] * a[2] + v[1] * b[2],
        l3 + u[2] * a[2] + v[2] * b[2],
    )
