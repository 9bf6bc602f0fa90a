"""The exponential of many matrices at once, by Padé approximation with scaling and squaring (Higham 2005)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

THETA = 5.371920351148152
"""Up to this 1-norm the Padé approximant of degree 13 is exact to double precision."""
# Its coefficients, (26 - k)! 13! / (26! k! (13 - k)!), made whole numbers.
PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0, 10559470521600.0,
    670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


def expm(A: Array) -> Array:
    """exp(A), (..., m, m). Every matrix is scaled by its own power of two; one that is not finite gives no numbers."""
    shape = A.shape
    A = A.reshape(math.prod(shape[:-2]), *shape[-2:])
    norms = np.abs(A).sum(axis=-2).max(axis=-1, initial=0.0)
    finite = np.isfinite(norms)
    halvings = np.ceil(np.log2(np.maximum(np.where(finite, norms, 0.0) / THETA, 1.0))).astype(int)
    E = _pade(np.where(finite[:, None, None], A, 0.0) * np.exp2(-halvings)[:, None, None])
    with np.errstate(over="ignore", invalid="ignore"):  # what grows beyond all numbers is infinite, or none
        for k in range(int(halvings.max(initial=0))):
            more = halvings > k
            E[more] = E[more] @ E[more]
    E[~finite] = np.nan
    return E.reshape(shape)


def _pade(A: Array) -> Array:
    """The approximant of degree 13, with six products and one solution."""
    b = PADE
    I = np.eye(A.shape[-1])
    A2 = A @ A
    A4 = A2 @ A2
    A6 = A4 @ A2
    U = A @ (A6 @ (b[13] * A6 + b[11] * A4 + b[9] * A2) + b[7] * A6 + b[5] * A4 + b[3] * A2 + b[1] * I)
    V = A6 @ (b[12] * A6 + b[10] * A4 + b[8] * A2) + b[6] * A6 + b[4] * A4 + b[2] * A2 + b[0] * I
    return np.asarray(np.linalg.solve(V - U, V + U))
