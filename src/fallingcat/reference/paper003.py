"""The sums over bodies of paper 003 (Mishra et al.), with dense 6 x 6 matrices, to be read beside the paper.

Letters are the paper's: q is the shape and qd its velocity, M_k the inertia of body k, Ai_k = Ad_1k^-1 takes twists from the
base to body k, J_k is the Jacobian of body k relative to the base. 6-vectors are (linear; angular) as everywhere in this
library, where the paper has the angular part first; no formula but (41), (42) knows the order. Sums run over all bodies.
`printed` names errata to leave uncorrected (docs/papers/003.md), for tests that show them. Everything runs on real and on
complex numbers, so that derivatives are complex steps. The library computes the same otherwise (algorithms/reduced.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms import configuration
from fallingcat.algorithms.kinematics import joint_kinematics
from fallingcat.choices import check_floating
from fallingcat.lazy import lazy
from fallingcat.model.model import WORLD, Model
from fallingcat.reference.paper000 import ad, hat

Array = NDArray[Any]
"""Of real or complex numbers."""

STEP = 1e-20
"""The step of complex steps."""


def adt(h: Array) -> Array:
    """ad~_h, with ad_V^T h = ad~_h V: skew (4), (42)."""
    p, l = hat(h[:3]), hat(h[3:])
    return np.block([[np.zeros((3, 3)), p], [p, l]])


def skew_factor(M: Array, V: Array) -> Array:
    """C^V = M nabla_V, skew, with C^V V = -ad_V^T M V (3), (5)."""
    return np.array(0.5 * (M @ ad(V) - ad(V).T @ M - adt(M @ V)))


class Blocks(NamedTuple):
    """Of the transformed Coriolis matrix (21)."""

    b: Array
    bq: Array
    qb: Array
    q: Array


@dataclass(frozen=True)
class Bodies:
    """A floating robot at a configuration."""

    model: Model
    configuration: list[Any]
    Ad_1: Array
    """From the base to the world."""
    M: list[Array]
    Ai: list[Array]
    J: list[Array]

    @staticmethod
    def of(model: Model, q: Sequence[Any]) -> Bodies:
        check_floating("paper 003", model.floating)
        X, S = joint_kinematics(model, list(q))
        Ai, J = {0: np.eye(6)}, {0: np.zeros((6, model.n))}
        for i, p in model.base_to_tip():
            if p == WORLD:
                continue
            Xi: Array = np.array(X[i].matrix())
            Ai[i], J[i] = Xi @ Ai[p], (Xi @ J[p]).astype(Xi.dtype)
            at = [k - 6 for k in model.dofs(i)]
            J[i][:, at] += model.bodies[i].multiplier * np.array([s.entries() for s in S[i].columns]).T
        M = [np.array(body.inertia.matrix(), dtype=float) for body in model.bodies]
        order = range(len(M))
        return Bodies(model, list(q), np.linalg.inv(np.array(X[0].matrix())), M, [Ai[i] for i in order], [J[i] for i in order])

    def slope(self, f: Callable[[Bodies], Array], x: Array) -> Array:
        """The derivative of f along a shape velocity, by a complex step."""
        dx = [complex(0.0, STEP * float(d)) for d in (*np.zeros(6), *x)]
        moved = configuration.integrate(self.model, [complex(a) for a in self.configuration], dx)
        return np.array(f(Bodies.of(self.model, moved)).imag / STEP)

    def slopes(self, f: Callable[[Bodies], Array]) -> Array:
        """The derivatives along every unit shape velocity, in the last axis."""
        return np.stack([self.slope(f, e) for e in np.eye(self.model.n)], axis=-1)

    def commutator(self, x: Array) -> Array:
        """ad_x of shape velocities: zero where velocities are rates of coordinates, as all are in the paper."""
        return np.array(configuration.bracket(self.model, [0.0] * 6 + list(x)), dtype=float)[6:, 6:]

    def each(self) -> Iterator[tuple[Array, Array, Array, Array]]:
        """M_k, Ai_k, J_k and the generalized Jacobian of every body (15)."""
        return zip(self.M, self.Ai, self.J, self.Jt, strict=True)

    # -----------------------------------------------------------------------------------------------------------------
    # Inertia (17) and the generalized Jacobian (15)

    @lazy
    def Lambda_b(self) -> Array:
        return total(Ai.T @ M @ Ai for M, Ai in zip(self.M, self.Ai, strict=True))

    @lazy
    def M_bq(self) -> Array:
        return total(Ai.T @ M @ J for M, Ai, J in zip(self.M, self.Ai, self.J, strict=True))

    @lazy
    def A_l(self) -> Array:
        return np.linalg.solve(self.Lambda_b, self.M_bq)

    @lazy
    def Lambda_q(self) -> Array:
        M_q = total(J.T @ M @ J for M, J in zip(self.M, self.J, strict=True))
        return np.array(M_q - self.A_l.T @ self.Lambda_b @ self.A_l)

    @lazy
    def Jt(self) -> list[Array]:
        """J_k - Ai_k A_l."""
        return [J - Ai @ self.A_l for J, Ai in zip(self.J, self.Ai, strict=True)]

    def Jt_rates(self, qd: Array) -> Array:
        return self.slope(lambda b: np.array(b.Jt), qd)

    # -----------------------------------------------------------------------------------------------------------------
    # Inertia velocity and inertia derivative matrices (18a), (18b), (22)

    def C_b(self, V: Array) -> Array:
        """Lambda_b nabla_V (45)."""
        return skew_factor(self.Lambda_b, V)

    def P_tilde(self, x: Array) -> Array:
        return 2.0 * total(Ai.T @ (skew_factor(M, J @ x) - M @ ad(J @ x)) @ Ai for M, Ai, J, _ in self.each())

    def P(self, x: Array) -> Array:
        return self.P_tilde(x) + self.momentum_matrix(x)

    def P_22(self, x: Array) -> Array:
        return -total(Ai.T @ (ad(J @ x).T @ M + M @ ad(J @ x)) @ Ai for M, Ai, J, _ in self.each())

    def momentum_matrix(self, x: Array) -> Array:
        """sum_k ad~ of Ai_k^T M_k J_k x, the last term of (18a)."""
        return total(adt(Ai.T @ M @ J @ x) for M, Ai, J, _ in self.each())

    def S_tilde(self, x: Array) -> Array:
        return -total(J.T @ skew_factor(M, Ai @ x) @ Ai for M, Ai, J, _ in self.each()).T

    def S(self, x: Array, printed: Collection[str] = ()) -> Array:
        """Erratum 3.15: a sum over the base alone, as `k = b` says, is zero."""
        terms = [J.T @ (-skew_factor(M, Ai @ x) + 0.5 * M @ ad(Ai @ x)) @ Ai for M, Ai, J, _ in self.each()]
        return total(terms[:1] if "3.15" in printed else terms).T

    # -----------------------------------------------------------------------------------------------------------------
    # Blocks of the transformed Coriolis matrix (20)-(30)

    def Gamma(self, mu: Array, qd: Array) -> Blocks:
        """(23), first lines."""
        b, bq, qb, q = [], [], [], []
        for (M, Ai, J, Jt), Jd in zip(self.each(), self.Jt_rates(qd), strict=True):
            C, turn = skew_factor(M, Ai @ mu + Jt @ qd), M @ ad(J @ qd)
            b.append(Ai.T @ (C - turn) @ Ai)
            bq.append(Ai.T @ (C @ Jt + M @ Jd))
            qb.append(Jt.T @ (C - turn) @ Ai)
            q.append(Jt.T @ (C @ Jt + M @ Jd))
        return Blocks(total(b), total(bq), total(qb), total(q))

    def Gamma_q(self, qd: Array) -> Array:
        """Gamma'_q (18c)."""
        rates = self.Jt_rates(qd)
        return total(Jt.T @ (skew_factor(M, Jt @ qd) @ Jt + M @ Jd) for (M, _, _, Jt), Jd in zip(self.each(), rates, strict=True))

    def B_1(self, qd: Array) -> Array:
        """The part of -Gamma_bq^T that depends on the shape velocity (26)."""
        return total(Ai.T @ (skew_factor(M, Jt @ qd) + ad(Jt @ qd).T @ M) @ Jt for M, Ai, _, Jt in self.each()).T

    def B_2(self, mu: Array) -> Array:
        """(27)."""
        return total(Jt.T @ skew_factor(M, Ai @ mu) @ Jt for M, Ai, _, Jt in self.each())

    def B_2_28(self, mu: Array) -> Array:
        return np.array(self._first_of_B_2(mu, self.S_tilde(mu)) + self.A_l.T @ self.C_b(mu) @ self.A_l)

    def B_2_18d(self, mu: Array, printed: Collection[str] = ()) -> Array:
        """Erratum 3.4: the last term has the factor -1/2, printed +1."""
        last = 1.0 if "3.4" in printed else -0.5
        return np.array(self._first_of_B_2(mu, self.S(mu)) + last * self.A_l.T @ adt(self.Lambda_b @ mu) @ self.A_l)

    def _first_of_B_2(self, mu: Array, S: Array) -> Array:
        first = total(J.T @ skew_factor(M, Ai @ mu) @ J for M, Ai, J, _ in self.each())
        return np.array(first + S.T @ self.A_l - self.A_l.T @ S)

    # -----------------------------------------------------------------------------------------------------------------
    # Theorem 1 (16)

    def Lambda(self) -> Array:
        return blocks(self.Lambda_b, None, None, self.Lambda_q)

    def D_q(self, qd: Array) -> Array:
        return blocks(0.5 * self.P(qd), None, None, self.Gamma_q(qd))

    def D_mu(self, mu: Array, printed: Collection[str] = ()) -> Array:
        """Erratum 3.1: signs of S and of C_b^mu, and B_2 of (18d)."""
        turn = adt(self.Lambda_b @ mu) @ self.A_l
        S, C_b, B_2 = self.S(mu), self.C_b(mu), self.B_2(mu)
        if "3.1" in printed:
            S, C_b, B_2 = -S, -C_b, self.B_2_18d(mu, {"3.4"})
        return blocks(-C_b, -S - turn, S.T + turn.T, -2.0 * B_2)  # ad~ is skew: -A^T ad~ = (ad~ A)^T

    def torque(self, mu: Array, printed: Collection[str] = ()) -> Array:
        """The torque that decouples the shape from mu by (16), Sec. V-1. Erratum 3.16: the sign of S~."""
        S = -self.S_tilde(mu) if "3.16" in printed else self.S_tilde(mu)
        return np.array((-S.T + self.A_l.T @ adt(self.Lambda_b @ mu)) @ mu)

    # -----------------------------------------------------------------------------------------------------------------
    # Curvature: Lemma 3

    @lazy
    def curvature(self) -> Array:
        """[:, i, j] of dA(x, y) - [A x, A y], dA(x, y) = (d_x A) y - (d_y A) x - A [x, y], by complex steps."""
        n, A = self.model.n, self.A_l
        dA = self.slopes(lambda b: b.A_l).transpose(0, 2, 1)  # [:, i, j] = d_i A_j
        brackets = np.array([ad(a) @ A for a in A.T]).reshape(n, 6, n).transpose(1, 0, 2)
        turned = np.array([A @ self.commutator(e) for e in np.eye(n)]).reshape(n, 6, n).transpose(1, 0, 2)
        return np.array(dA - dA.transpose(0, 2, 1) - brackets - turned)

    def B_l(self, qd: Array) -> Array:
        """The curvature with its first argument filled in, 6 x n (14)."""
        return np.array(np.einsum("aij,i->aj", self.curvature, qd))

    def calB(self, qd: Array) -> Array:
        """(39), corrected (3.10): Lambda_b^-1 calB^T = -B_l."""
        first, S, P, bracket = self._terms_of_calB(qd)
        return np.array(-2.0 * (first + S - 0.5 * P - 0.5 * bracket))

    def calB_printed(self, qd: Array, letter_by_letter: bool = False) -> list[Array]:
        """(39) in all readings of what is printed: the operator before S is missing, and where the bracket closes.

        The last term is printed with A_l in front, which has no shape but for six joints: A_l^T is meant.
        """
        first, S, P, bracket = self._terms_of_calB(qd)
        if letter_by_letter:
            bracket = self.A_l @ ad(self.A_l @ qd).T @ self.Lambda_b
        inner = [sign * S + 0.5 * P + bracket for sign in (1.0, -1.0)]
        return [-2.0 * (first + x) for x in inner] + [-2.0 * first + x for x in inner]

    def _terms_of_calB(self, qd: Array) -> tuple[Array, Array, Array, Array]:
        moved = self.A_l @ qd
        first = total(J.T @ (skew_factor(M, J @ qd) - M @ ad(J @ qd)) @ Ai for M, Ai, J, _ in self.each())
        return first, self.S(moved).T, self.A_l.T @ self.P(qd), self.A_l.T @ ad(moved).T @ self.Lambda_b


def total(terms: Any) -> Array:
    """The sum of some matrices."""
    return np.array(np.sum(list(terms), axis=0))


def blocks(a: Array, b: Array | None, c: Array | None, d: Array) -> Array:
    """[[a, b], [c, d]]; None is zero."""
    upper = np.zeros((len(a), len(d))) if b is None else b
    lower = np.zeros((len(d), len(a))) if c is None else c
    return np.block([[a, upper], [lower, d]])
