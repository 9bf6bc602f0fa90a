"""The methods of a robot for its Coriolis terms (paper 001, Echeandia and Wensing).

C is one of many matrices with C nu = h - g; all that are given here also have M_rate - 2 C skew-symmetric.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.coriolis import CoriolisTerms, Factorization
from fallingcat.model.joints import Representation
from fallingcat.robot.factors import checked_factorization
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
        symbols), "body" (eq. 11), or a function B(v, I) of your own (Def. 4). It gets the twist v (6,) and the inertia I (6, 6)
        of a body in the coordinates of its link, arrays of objects, (linear; angular), and returns a 6 x 6 array with
        B(v, I) v = v x* (I v), which is checked. M_rate - 2 C is skew if B + B^T = (v x*) I - I (v x) (14). It is run once,
        on symbols, for each robot: define it once, and let it depend on v and I alone.
        representation: of the base twist in nu (paper 004).
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
        """C, the mass matrix and its rate from the same pass: .C .M .M_rate, each (..., nv, nv) (paper 001, Alg. 1).

        factorization, representation: as in `coriolis_matrix`. M_rate is the rate of M with any of them.
        """
        return self._run("coriolis_terms", (q, nu), out, **_options(factorization, representation))

    def mass_matrix_rate(
        self, q: ArrayLike, nu: ArrayLike, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """dM/dt along nu, (..., nv, nv) = C + C^T, in O(N d) (paper 001, Alg. 1 line 20)."""
        return self._run("mass_matrix_rate", (q, nu), out, **_options("christoffel", representation))

    def coriolis_product(
        self, q: ArrayLike, nu: ArrayLike, w: ArrayLike, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """C(q, nu) w in O(n), (..., nv), without C (Niemeyer and Slotine; paper 001, Remark 1).

        representation: of the base twist in nu, in w and of the base wrench in the result.
        """
        return self._run("coriolis_product", (q, nu, w), out, **in_representation(representation))

    def coriolis_transpose_product(
        self, q: ArrayLike, nu: ArrayLike, w: ArrayLike, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """C(q, nu)^T w in O(n), (..., nv); with w = nu, what a momentum observer adds up: d(M nu)/dt = C^T nu - g + tau.

        representation: as in `coriolis_product`.
        """
        return self._run("coriolis_transpose_product", (q, nu, w), out, **in_representation(representation))

    def christoffel_symbols(self, q: ArrayLike, representation: Representation = "body", *, out: Array | None = None) -> Array:
        """G with C_ij = sum_k G_ijk nu_k, (..., nv, nv, nv), in O(N d^2) (paper 001, Alg. 2).

        For joints on R these are the Christoffel symbols of the first kind (eq. 4), symmetric in j and k. For a floating base
        or a ball joint they are the connection coefficients of the quasi-velocities: there C(v) w - C(w) v = M [v, w], with M
        without the armature: the armature of a joint counts as a times its acceleration and has no velocity products.

        representation: of the base twist in nu (paper 004). All three indices are of that nu: the third one is the velocity
        nu = e_k of the motion, the second one the velocity that is carried along. From one representation to another the
        symbols follow the law (74), with its inhomogeneous term.
        """
        return self._run("christoffel_symbols", (q,), out, **in_representation(representation))

    def christoffel_symbols_second_kind(
        self, q: ArrayLike, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """The symbols of the second kind, sum_l (M^-1)_il G_ljk with the G of `christoffel_symbols`, (..., nv, nv, nv).

        Without forces dnu_i = -sum_jk G_ijk nu_j nu_k: the geodesics of the mass matrix. M is `mass_matrix`, armature included;
        a robot whose mass matrix is singular is refused. representation: as in `christoffel_symbols`.
        """
        return self._run("christoffel_symbols_second_kind", (q,), out, **in_representation(representation))

    def mass_matrix_derivatives(
        self, q: ArrayLike, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """dM_ij/dq_k along the tangent, (..., nv, nv, nv), in O(N d^2): G_ijk + G_jik.

        representation: of the nu that M belongs to, and of the displacement along which index k differentiates: the
        configuration moves with nu = e_k in that representation, so that sum_k dM_ijk nu_k is `mass_matrix_rate`.
        """
        return self._run("mass_matrix_derivatives", (q,), out, **in_representation(representation))


def _options(factorization: Factorization, representation: Representation) -> dict[str, Any]:
    """The options that differ from the defaults."""
    factor = checked_factorization(factorization)
    options = {} if isinstance(factor, str) and factor == "christoffel" else {"factorization": factor}
    return options | in_representation(representation)
