"""The methods of a robot for its Coriolis terms (paper 001, Echeandia and Wensing).

C is one of many matrices with C nu = h - g; all that are given here also have M_rate - 2 C skew-symmetric.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.coriolis import FACTORS, CoriolisTerms, Factorization
from fallingcat.choices import check_choice
from fallingcat.model.joints import Representation
from fallingcat.robot.runner import Part, in_representation

Array = NDArray[np.float64]


class Coriolis(Part):
    """The part of `Robot` that is about Coriolis terms."""

    def coriolis_matrix(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        factorization: Factorization = "christoffel",
        representation: Representation = "body",
        *,
        out: Array | None = None,
    ) -> Array:
        """C(q, nu) with C nu = h - g and M_rate - 2 C skew, (..., nv, nv), in O(N d) (paper 001, Alg. 1).

        factorization: of one body's velocity products, "christoffel" (eq. 12, C_ij = sum_k G_ijk nu_k with the Christoffel
        symbols) or "body" (eq. 11). representation: of the base twist in nu (paper 004).
        """
        return self._run("coriolis_matrix", (q, nu), out, **_options(factorization, representation))

    def coriolis_terms(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        factorization: Factorization = "christoffel",
        representation: Representation = "body",
        *,
        out: Any = None,
    ) -> CoriolisTerms:
        """C, the mass matrix and its rate from the same pass: .C .M .M_rate, each (..., nv, nv) (paper 001, Alg. 1)."""
        return self._run("coriolis_terms", (q, nu), out, **_options(factorization, representation))

    def mass_matrix_rate(
        self, q: ArrayLike, nu: ArrayLike, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """dM/dt along nu, (..., nv, nv) = C + C^T, in O(N d) (paper 001, Alg. 1 line 20)."""
        return self._run("mass_matrix_rate", (q, nu), out, **_options("christoffel", representation))

    def coriolis_product(self, q: ArrayLike, nu: ArrayLike, w: ArrayLike, *, out: Array | None = None) -> Array:
        """C(q, nu) w in O(n), (..., nv), without C (Niemeyer and Slotine; paper 001, Remark 1)."""
        return self._run("coriolis_product", (q, nu, w), out)

    def coriolis_transpose_product(self, q: ArrayLike, nu: ArrayLike, w: ArrayLike, *, out: Array | None = None) -> Array:
        """C(q, nu)^T w in O(n), (..., nv); with w = nu, what a momentum observer adds up: d(M nu)/dt = C^T nu - g + tau."""
        return self._run("coriolis_transpose_product", (q, nu, w), out)

    def christoffel_symbols(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """G with C_ij = sum_k G_ijk nu_k, (..., nv, nv, nv), in O(N d^2) (paper 001, Alg. 2).

        For joints on R these are the Christoffel symbols of the first kind (eq. 4), symmetric in j and k. For a floating base
        or a ball joint they are the connection coefficients of the quasi-velocities: there C(v) w - C(w) v = M [v, w], with M
        without the armature: the armature of a joint counts as a times its acceleration and has no velocity products.
        """
        return self._run("christoffel_symbols", (q,), out)

    def mass_matrix_derivatives(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """dM_ij/dq_k along the tangent, (..., nv, nv, nv), in O(N d^2): G_ijk + G_jik."""
        return self._run("mass_matrix_derivatives", (q,), out)


def _options(factorization: Factorization, representation: Representation) -> dict[str, Any]:
    """What differs from the plain function."""
    check_choice("factorization", factorization, FACTORS)
    options = {} if factorization == "christoffel" else {"factorization": factorization}
    return options | in_representation(representation)
