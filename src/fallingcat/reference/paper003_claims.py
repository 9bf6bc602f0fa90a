"""What paper 003 claims, equation by equation: both sides as numbers, at one state of a robot.

`confirmed` are the equations that hold as printed. `errata` are those that do not: beside the witness stand what is printed
and what is right. Witnesses are the full dynamics (mass matrix and recursive Newton-Euler) and complex steps through the sums
of `paper003`; none of them uses the reduced equations of the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms import centroidal, crba, kinematics, rnea
from fallingcat.model.model import Model
from fallingcat.reference.paper000 import ad
from fallingcat.reference.paper003 import Blocks, Bodies, adt, skew_factor, total

Array = NDArray[np.float64]


class Pair(NamedTuple):
    """Two sides that should be equal."""

    where: str
    left: Array
    right: Array


class Erratum(NamedTuple):
    """A printed equation that does not hold."""

    number: str
    where: str
    witness: Array
    printed: Array
    """The printed side; of another shape than the witness if the printed formula does not fit."""
    corrected: Array
    what: str


@dataclass(frozen=True)
class Moment:
    """A robot in motion under forces, without gravity."""

    b: Bodies
    qd: Array
    mu: Array
    mu_rate: Array
    v_rate: Array
    qdd: Array
    force: Array
    """F_1 on the base."""
    tau: Array
    M: Array
    """The mass matrix by composite inertias."""
    Gamma: Blocks

    @staticmethod
    def of(model: Model, q: Sequence[float], nu: Sequence[float], dnu: Sequence[float]) -> Moment:
        b = Bodies.of(model, list(q))
        v, a = np.array(nu), np.array(dnu)
        f = np.array(rnea.inverse_dynamics(model, list(q), list(nu), list(dnu)), dtype=float)
        f -= np.array(rnea.gravity_torque(model, list(q)), dtype=float)
        qd, qdd = v[6:], a[6:]
        mu = v[:6] + b.A_l @ qd
        mu_rate = a[:6] + b.A_l @ qdd + b.slope(lambda b: b.A_l, qd) @ qd
        M = np.array(crba.mass_matrix(model, list(q)), dtype=float)
        return Moment(b, qd, mu, mu_rate, a[:6], qdd, f[:6], f[6:], M, b.Gamma(mu, qd))

    @property
    def p(self) -> Array:
        """Momentum, Lambda_b mu."""
        return np.array(self.b.Lambda_b @ self.mu)

    @property
    def v(self) -> Array:
        """V_1, the twist of the base."""
        return np.array(self.mu - self.b.A_l @ self.qd)

    @property
    def xi(self) -> Array:
        return np.concatenate([self.mu, self.qd])

    @property
    def xi_rate(self) -> Array:
        return np.concatenate([self.mu_rate, self.qdd])

    @property
    def reduced_force(self) -> Array:
        return np.concatenate([self.force, self.shape_force])

    @property
    def shape_force(self) -> Array:
        return np.array(self.tau - self.b.A_l.T @ self.force)

    def energy_slopes(self, x: Array) -> Array:
        """1/2 d<x, x>_Lambda_b / dq."""
        return np.array(0.5 * np.einsum("i,ijk,j->k", x, self.b.slopes(lambda b: b.Lambda_b), x))

    def shape_products(self) -> Array:
        """d(Lambda_q)/dt qd - 1/2 d<qd, qd>/dq, by complex steps; joints that do not commute add Hamel's term."""
        slopes = self.b.slopes(lambda b: b.Lambda_q)
        rate = np.einsum("ijk,k->ij", slopes, self.qd) @ self.qd
        hamel = self.b.commutator(self.qd).T @ self.b.Lambda_q @ self.qd
        return np.array(rate - 0.5 * np.einsum("i,ijk,j->k", self.qd, slopes, self.qd) - hamel)


# ---------------------------------------------------------------------------------------------------------------------
# Equations that hold


def confirmed(m: Moment) -> list[Pair]:
    """Every equation that holds as it is printed."""
    return [*_one_body(m), *_inertia(m), *_identities(m), *_blocks(m), *_equations(m), *_energy_terms(m)]


def _one_body(m: Moment) -> list[Pair]:
    """(3)-(8) for one body, and (45) for all."""
    M, X, Y, Z = m.b.M[-1], m.mu, m.v, m.mu + 2.0 * m.v
    Ad = m.b.Ad_1
    C = skew_factor(M, X)
    nabla = 0.5 * (ad(X) - np.linalg.solve(M, ad(X).T @ M + adt(M @ X)))
    locked = total(Ai.T @ skew_factor(Mk, Ai @ X) @ Ai for Mk, Ai in zip(m.b.M, m.b.Ai, strict=True))
    return [
        Pair("(3)", C @ X, -ad(X).T @ M @ X),
        Pair("(4)", ad(X).T @ M @ Y, adt(M @ Y) @ X),
        Pair("(5)", C, M @ nabla),
        Pair("(5), skew", C, -C.T),
        Pair("(6a)", Ad @ ad(X) @ np.linalg.inv(Ad), ad(Ad @ X)),
        Pair("(6b)", Ad.T @ adt(M @ X) @ Ad, adt(Ad.T @ M @ X)),
        Pair("(7)", C @ Z, skew_factor(M, Z) @ X - M @ ad(Z) @ X),
        Pair("(8)", adt(M @ X) @ X, -C @ X),
        Pair("(45)", locked, m.b.C_b(X)),
    ]


def _inertia(m: Moment) -> list[Pair]:
    """(10), (17), (43), (44) against the mass matrix; (18a), (18b), (22) against complex steps."""
    b = m.b
    V, dV = np.concatenate([m.v, m.qd]), np.concatenate([m.v_rate, m.qdd])
    M, C = _recursive(m)
    momentum, back = _about_world(m), np.linalg.inv(b.Ad_1)
    rate = b.slope(lambda b: b.Lambda_b, m.qd)
    z = m.mu[::-1].copy()
    return [
        Pair("(10)", np.array(np.linalg.solve(back.T @ b.Lambda_b @ back, momentum)), b.Ad_1 @ m.mu),
        Pair("(43), M", M, m.M),
        Pair("(9), (43)", M @ dV + C @ V, np.concatenate([m.force, m.tau])),
        Pair("(17a), (44)", b.Lambda_b, m.M[:6, :6]),
        Pair("(17b), (44)", b.M_bq, m.M[:6, 6:]),
        Pair("(17c)", b.Lambda_q, m.M[6:, 6:] - m.M[6:, :6] @ np.linalg.solve(m.M[:6, :6], m.M[:6, 6:])),
        Pair("(18a)", b.P(m.qd), rate),
        Pair("(22)", b.P_22(m.qd), rate),
        Pair("(18b), Def. 5", b.S(m.mu).T @ m.mu, m.energy_slopes(m.mu)),
        Pair("Def. 5, S~", b.S_tilde(m.mu).T @ m.mu, m.energy_slopes(m.mu)),
        Pair("(36a)", b.S(m.mu).T @ z, b.S(z).T @ m.mu),
    ]


def _about_world(m: Moment) -> Array:
    """The momentum map (Def. 2) without the pose of the base: about the centre of mass, moved to the origin of the world."""
    nu = [*m.v, *m.qd]
    h = np.array(centroidal.centroidal_momentum(m.b.model, m.b.configuration, nu), dtype=float)
    c = np.array(kinematics.center_of_mass(m.b.model, m.b.configuration), dtype=float)
    return np.array(np.concatenate([h[:3], h[3:] + np.cross(c, h[:3])]), dtype=float)


def _recursive(m: Moment) -> tuple[Array, Array]:
    """M and C by (43), from T_k = [Ai_k, J_k]."""

    def jacobians(b: Bodies) -> Array:
        return np.concatenate([np.array(b.Ai), np.array(b.J)], axis=2)

    T, rates = jacobians(m.b), m.b.slope(jacobians, m.qd)
    V = np.concatenate([m.v, m.qd])
    each = list(zip(m.b.M, T, rates, strict=True))
    return total(t.T @ M @ t for M, t, _ in each), total(t.T @ (skew_factor(M, t @ V) @ t + M @ d) for M, t, d in each)


def _identities(m: Moment) -> list[Pair]:
    """(19)."""
    b, none = m.b, np.zeros((6, len(m.qd)))
    each = list(b.each())
    rates = b.Jt_rates(m.qd)
    return [
        Pair("(19a)", total(Ai.T @ M @ Jt for M, Ai, _, Jt in each), none),
        Pair("(19b)", total(Ai.T @ M @ Jd for (M, Ai, _, _), Jd in zip(each, rates, strict=True)),
             total(Ai.T @ ad(J @ m.qd).T @ M @ Jt for M, Ai, J, Jt in each)),
        Pair("(19c)", total(Ai.T @ adt(M @ Jt @ m.qd) @ Ai for M, Ai, _, Jt in each), np.zeros((6, 6))),
        Pair("(19d)", total(Ai.T @ ad(Ai @ m.mu).T @ M @ Jt for M, Ai, _, Jt in each), none),
        Pair("(19e)", total(Ai.T @ (ad(J @ m.qd) - ad(Jt @ m.qd)).T @ M @ Jt for M, Ai, J, Jt in each), none),
    ]  # fmt: skip


def _energy_terms(m: Moment) -> list[Pair]:
    """(50)-(53), Lemmas 4 and 5: the derivative of the locked energy at x = mu."""
    x, b = m.mu, m.b
    slopes = b.slopes(lambda b: np.array([Ai @ x for Ai in b.Ai]))
    Pi = [Ai.T @ M @ d for M, Ai, d in zip(b.M, b.Ai, slopes, strict=True)]
    turned = [_slopes(Ai, J, x) for _, Ai, J, _ in b.each()]
    lines = [[-(ad(j).T @ M @ Ai @ x) @ Ai @ x for j in J.T] for M, Ai, J, _ in b.each()]
    return [
        Pair("(50)", slopes, np.array(turned)),
        Pair("(51)", total(P.T @ x for P in Pi), total(J.T @ ad(Ai @ x).T @ M @ Ai @ x for M, Ai, J, _ in b.each())),
        Pair("(52)", total(x @ P for P in Pi), total(J.T @ adt(M @ Ai @ x) @ Ai @ x for M, Ai, J, _ in b.each())),
        Pair("(53), second line", total(x @ P for P in Pi), total(lines)),
    ]  # fmt: skip


def _blocks(m: Moment) -> list[Pair]:
    """(20)-(30)."""
    b, G, qd, mu = m.b, m.Gamma, m.qd, m.mu
    B_1, B_2 = b.B_1(qd), b.B_2(mu)
    full = np.block([[G.b, G.bq], [G.qb, G.q]])
    second = total(
        Ai.T @ (skew_factor(M, Ai @ mu + Jt @ qd) + ad(J @ qd).T @ M) @ Jt for M, Ai, J, Jt in b.each()
    )  # fmt: skip
    halves = _halves(m)
    return [
        Pair("(20)", b.Lambda() @ m.xi_rate + full @ m.xi, m.reduced_force),
        Pair("(23a)", G.b, _recursive(m)[1][:6, :6]),
        Pair("(23b)", G.bq, second),
        Pair("(23c)", G.qb, -G.bq.T),
        Pair("(25), second line", G.b, b.C_b(m.v) + 0.5 * b.P(qd) - 0.5 * b.momentum_matrix(qd)),
        Pair("(26)", G.bq, b.S_tilde(mu) - b.C_b(mu) @ b.A_l + B_1.T),
        Pair("(27)", G.q, B_2 + b.Gamma_q(qd)),
        Pair("(28)", b.B_2_28(mu), B_2),
        Pair("(29), left", B_1.T @ qd, halves),
        Pair("(29), right", halves, np.zeros(6)),
        Pair("(30)", -B_1 @ mu, B_2 @ qd),
    ]


def _halves(m: Moment) -> Array:
    """The middle of (29), which is zero whatever stands before the sum."""
    each = m.b.each()
    return np.array(0.5 * total(Ai.T @ M @ ad(Jt @ m.qd) @ Jt @ m.qd for M, Ai, _, Jt in each))


def _equations(m: Moment) -> list[Pair]:
    """(12), (37) and (46); Property 4 (35) with the D_mu of erratum 3.1."""
    b, qd, mu = m.b, m.qd, m.mu
    P, Gamma_q, B_2, D_mu, C_b = b.P(qd), b.Gamma_q(qd), b.B_2(mu), b.D_mu(mu), b.C_b(mu)
    rate = b.Lambda_b @ m.mu_rate + b.slope(lambda b: b.Lambda_b, qd) @ mu
    return [
        Pair("(12)", rate - m.force, ad(mu).T @ m.p - ad(b.A_l @ qd).T @ m.p),
        Pair("(37)", rate - m.force, -C_b @ mu - adt(m.p) @ b.A_l @ qd),
        Pair("(46)", rate - m.force, ad(m.v).T @ m.p),
        Pair("(35), locked", b.slope(lambda b: b.Lambda_b, qd), P),
        Pair("(35), shape", b.slope(lambda b: b.Lambda_q, qd), Gamma_q + Gamma_q.T),
        Pair("(35), C_b", C_b, -C_b.T),
        Pair("(35), B_2", B_2, -B_2.T),
        Pair("(35), D_mu", D_mu, -D_mu.T),
        Pair("Theorem 2", Gamma_q @ qd, m.shape_products()),
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Equations that do not hold


def errata(m: Moment) -> list[Erratum]:
    """Every erratum, as printed and corrected."""
    return [*_theorem_1(m), *_rows(m), *_signs_of_S(m), *_curvature(m), *_lemma_2(m), *_slips(m)]


def _theorem_1(m: Moment) -> list[Erratum]:
    b, qd, mu = m.b, m.qd, m.mu
    left = b.Lambda() @ m.xi_rate + b.D_q(qd) @ m.xi

    def force(*printed: str) -> Array:
        return np.array(left - b.D_mu(mu, printed) @ m.xi)

    B_2, words = b.B_2(mu), "signs of S and of C_b, and B₂ not by (18d)"
    return [
        Erratum("3.1", "(16), Theorem 1", m.reduced_force, force("3.1"), force(), words),
        Erratum("3.4", "(18d)", B_2, b.B_2_18d(mu, {"3.4"}), b.B_2_18d(mu), "the last term is −½ A⊤ ad~ A"),
    ]


def _rows(m: Moment) -> list[Erratum]:
    """(31), (33), (34): both rows of the transformed Coriolis matrix times (mu; qd), dependencies apart."""
    b, G, qd, mu, A, turn = m.b, m.Gamma, m.qd, m.mu, m.b.A_l, adt(m.p)
    S, St, C_b, P = b.S(mu), b.S_tilde(mu), b.C_b(mu), b.P(qd)
    upper, lower = G.b @ mu + G.bq @ qd, -G.bq.T @ mu + G.q @ qd
    first = (b.C_b(m.v) + 0.5 * (P - b.momentum_matrix(qd))) @ mu
    second, rest = (C_b + 0.5 * P) @ mu, (2.0 * b.B_2(mu) + b.Gamma_q(qd)) @ qd
    return [
        Erratum("3.6", "(31)", upper, first - (S + C_b @ A) @ qd, first + (St - C_b @ A) @ qd, "+(S~ − C_b A) q̇"),
        Erratum("3.7", "(33)", upper, second - (S - turn @ A) @ qd, second + (S + turn @ A) @ qd, "+(S + ad~ A) q̇"),
        Erratum("3.7", "(34), first line", lower, (S + C_b @ A).T @ mu + rest, -(St - C_b @ A).T @ mu + rest, "−(S~ − C_b A)⊤"),
        Erratum("3.7", "(34)", lower, (S.T + A.T @ turn) @ mu + rest, (-S.T + A.T @ turn) @ mu + rest, "−S⊤"),
    ]


def _signs_of_S(m: Moment) -> list[Erratum]:
    b, G, qd, mu = m.b, m.Gamma, m.qd, m.mu
    S, P, B_2 = b.S(mu), b.P(qd), b.B_2(mu)
    guess = mu[::-1].copy()
    e = mu - guess
    mixed = np.array([e @ (S - b.S(guess)) @ qd])
    half = np.array([0.5 * e @ P @ e])
    half_slopes = m.energy_slopes(mu)
    rhs = 0.5 * total(_Pi_terms(m))
    return [
        Erratum("3.5", "(36b)", 0.5 * P @ mu, -S @ qd, S @ qd, "+S"),
        Erratum("3.5", "Sec. V-2", mixed, -half, half, "the mixed term is +½⟨μₑ, μₑ⟩_P"),
        Erratum("3.14", "(49)", rhs, 2.0 * half_slopes, half_slopes, "the left side lacks a factor ½"),
        Erratum("3.15", "(18b), k = b", half_slopes, b.S(mu, {"3.15"}).T @ mu, S.T @ mu, "the sum is over all bodies"),
        Erratum("3.16", "Sec. V-1, τ", G.qb @ mu - B_2 @ qd, b.torque(mu, {"3.16"}), b.torque(mu), "−S~⊤"),
    ]  # fmt: skip


def _Pi_terms(m: Moment) -> list[Array]:
    """Pi_k^T x + x^T Pi_k of (49), (50) for every body at x = mu."""
    x = m.mu
    found = []
    for M, Ai, J, _ in m.b.each():
        found.append(2.0 * (Ai.T @ M @ _slopes(Ai, J, x)).T @ x)
    return found


def _slopes(Ai: Array, J: Array, x: Array) -> Array:
    """The derivative of Ai_k x by the shape (50)."""
    return np.column_stack([-ad(j) @ Ai @ x for j in J.T]) if J.size else J


def interaction(m: Moment, sign: float = -1.0) -> Array:
    """N~ as (47) has it: <p, dA(qd, .) - [A qd, A .] + 1/2 d(Lambda_b^-1 p)/dq + [Lambda_b^-1 p, A .]>, p held fixed.

    Printed with the opposite sign (erratum 3.18): the equation it is taken from has these terms on its other side.
    """
    slopes = m.b.slopes(lambda b: np.linalg.inv(b.Lambda_b))
    inner = m.b.B_l(m.qd) + 0.5 * np.einsum("ijk,j->ik", slopes, m.p) + ad(m.mu) @ m.b.A_l
    return np.array(sign * inner.T @ m.p)


def _curvature(m: Moment) -> list[Erratum]:
    b, qd, mu, p, A = m.b, m.qd, m.mu, m.p, m.b.A_l
    B_l, half_slopes = b.B_l(qd), m.energy_slopes(mu)
    N = b.Lambda_q @ m.qdd + b.Gamma_q(qd) @ qd - m.shape_force
    right = -B_l.T @ p + half_slopes - A.T @ ad(mu).T @ p
    closest = min(
        (sign * np.linalg.solve(b.Lambda_b, B.T) for B in b.calB_printed(qd) for sign in (1.0, -1.0)),
        key=lambda x: float(np.abs(x - B_l).max()),
    )
    closed = -np.linalg.solve(b.Lambda_b, b.calB(qd).T)
    words = "−B⊤p and −A⊤ad⊤p; the transpose is lost in (14)"
    return [
        Erratum("3.8", "(14)", N, B_l.T @ p + half_slopes + A.T @ ad(mu) @ p, right, words),
        Erratum("3.8", "(48)", N, B_l.T @ p + half_slopes + A.T @ ad(mu).T @ p, right, "the same signs"),
        Erratum("3.18", "(47)", N, interaction(m, 1.0), interaction(m), "the opposite sign, of all four terms"),
        Erratum("3.9", "(40)", B_l.T @ p, -2.0 * b.B_2(mu) @ qd, 2.0 * b.B_2(mu) @ qd, "+2 B₂ q̇, or arguments swapped"),
        Erratum("3.10", "(39)", B_l, closest, closed, "+S, −½A⊤P, −½A⊤ad⊤Λ_b; the best of 8 readings, with A⊤"),
    ]


def _lemma_2(m: Moment) -> list[Erratum]:
    """(32) and its proof (54): a matrix stands among vectors where it should be applied to mu."""
    b, mu, x = m.b, m.mu, m.b.A_l @ m.qd
    third = b.momentum_matrix(m.qd)
    turned = b.C_b(x) @ mu + b.C_b(mu) @ x
    line = 2.0 * b.C_b(x) @ mu - b.Lambda_b @ ad(x) @ mu
    last = -ad(x).T @ b.Lambda_b @ mu
    left = total(adt(Ai.T @ M @ (J - Ai @ b.A_l) @ m.qd) for M, Ai, J, _ in b.each())
    words = "the last term is applied to μ, and is a sum over all bodies"
    return [
        Erratum("3.13", "(32)", -adt(m.p) @ x, turned + third, turned + third @ mu, words),
        Erratum("3.19", "(54), first line", -adt(m.p) @ x, line + third, line + third @ mu, words),
        Erratum("3.19", "(54), second line", -adt(m.p) @ x, last + left, last + left @ mu, words),
    ]


def _slips(m: Moment) -> list[Erratum]:
    b, G, qd, mu, A = m.b, m.Gamma, m.qd, m.mu, m.b.A_l
    momentum = np.linalg.solve(b.Ad_1.T, m.p)
    right = np.linalg.solve(b.Lambda_b, b.Ad_1.T @ momentum)

    def superscript(of: Any) -> Array:
        return total(Ai.T @ (skew_factor(M, of(Ai, J)) - M @ ad(J @ qd)) @ Ai for M, Ai, J, _ in b.each())

    x, columns = mu[:, None], total(Ai.T @ M @ _slopes(Ai, J, mu) for M, Ai, J, _ in b.each())  # the sum of Pi_k
    right_side = total(J.T @ adt(M @ Ai @ mu) @ Ai @ x for M, Ai, J, _ in b.each())
    return [
        Erratum("3.11", "(11)", mu, b.Ad_1 @ right, right, "no Ad in front: that is the spatial A of (10)"),
        Erratum("3.12", "(25), superscript", G.b, superscript(lambda Ai, J: Ai @ (mu - A @ qd + J @ qd)),
                superscript(lambda Ai, J: Ai @ (mu - A @ qd) + J @ qd), "Ad⁻¹(μ − A q̇) + J q̇"),
        Erratum("3.17", "Theorem 2, text", m.shape_products(), b.Gamma_q(qd), b.Gamma_q(qd) @ qd, "Γ′q̇"),
        Erratum("3.21", "(52), (53)", right_side, x.T @ columns, (x.T @ columns).T, "a row is a column: (x⊤Π)⊤"),
    ]  # fmt: skip
