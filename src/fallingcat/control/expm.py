"""The exponential of many matrices at once, by its power series with scaling and squaring.

The series is summed in blocks of four powers (Paterson and Stockmeyer 1973), six products in all. A rational approximation
would need fewer squarings, but a solution of linear equations: products alone round alike on every machine.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fallingcat.codegen.matmul import matmul

Array = NDArray[np.float64]

THETA = 0.75
"""Up to this 1-norm the series to degree 16 is the exponential of a matrix within 2^-53 of its own size. The bound is 0.78,
computed as in Al-Mohy and Higham (2011), whose Table 3.1 has 0.64 for degree 15 and 1.4 for degree 20."""
SERIES = tuple(1.0 / math.factorial(k) for k in range(17))


def expm(A: Array) -> Array:
    """exp(A), (..., m, m). Every matrix is scaled by its own power of two; one that is not finite gives NaN."""
    shape = A.shape
    A = A.reshape(math.prod(shape[:-2]), *shape[-2:])
    sizes = np.zeros((len(A), A.shape[-1]))
    for row in range(A.shape[-2]):  # in this order, as all sums here
        sizes += np.abs(A[:, row])
    norms = sizes.max(axis=-1, initial=0.0)
    finite = np.isfinite(norms)
    _, exponents = np.frexp(np.where(finite, norms, 0.0) / THETA)
    halvings = np.maximum(exponents, 0)  # how often A is halved, at least as often as needed
    E = _series(np.ldexp(np.where(finite[:, None, None], A, 0.0), -halvings[:, None, None]))
    for k in range(int(halvings.max(initial=0))):
        more = halvings > k
        E[more] = matmul(E[more], E[more])
    E[~finite] = np.nan
    return E.reshape(shape)


def _series(A: Array) -> Array:
    """1 + A + A^2/2 + ... + A^16/16!."""
    I = np.eye(A.shape[-1])
    A2 = matmul(A, A)
    A3 = matmul(A2, A)
    A4 = matmul(A2, A2)

    def block(k: int) -> Array:
        c = SERIES[k : k + 4]
        return c[0] * I + c[1] * A + c[2] * A2 + c[3] * A3

    total = block(12) + SERIES[16] * A4
    for k in (8, 4, 0):
        total = block(k) + matmul(A4, total)
    return total
