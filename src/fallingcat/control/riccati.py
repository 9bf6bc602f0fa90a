"""Linear-quadratic regulators: the Riccati equations of continuous and discrete time, over leading axes, in NumPy.

Structured doubling (Chu, Fan, Lin and Wang 2004, of discrete time; Chu, Fan and Lin 2005, which takes continuous time there by
a Cayley transform), whose steps double the horizon of the optimal cost; then Newton's method (Kleinman 1968) in the form of
corrections, so that the accuracy of the result depends on the residual, not on the condition of the doubling steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.arrays.arguments import real_array
from fallingcat.arrays.axes import common_axes
from fallingcat.errors import InputError

Array = NDArray[np.float64]

DOUBLINGS = 60
CORRECTIONS = 3
SMALL = 1e-8
"""Relative bound on residuals, and on singular values: below it a mode counts as not controllable."""
ASYMMETRY = 1e-9
"""The largest relative asymmetry of a weight that is taken for rounding."""


class Regulator(NamedTuple):
    """The feedback u = -K z of least cost, and the matrix P of its cost z^T P z from a state z on."""

    K: Array
    """(..., m, n)"""
    P: Array
    """(..., n, n)"""


def lqr(A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike) -> Regulator:
    """The linear-quadratic regulator of z' = A z + B u: .K (..., m, n) .P (..., n, n), with u = -K z.

    It minimises the integral of z^T Q z + u^T R u over all time: K = R^-1 B^T P with A^T P + P A - P B R^-1 B^T P + Q = 0.
    A (..., n, n), B (..., n, m), Q (..., n, n) symmetric and not negative, R (..., m, m) symmetric and positive; leading axes
    broadcast. Raises where no feedback keeps the cost finite, and where Q does not see a motion that does not decay.

    >>> A, B = robot.linearize(q, nu, tau)
    >>> K, P = fc.lqr(A, B, np.eye(2 * robot.nv), np.eye(robot.m))
    >>> tau = hold - K @ robot.state_minus(q, nu, q_now, nu_now)
    """
    return _regulator("lqr", _Continuous(*_checked("lqr", A, B, Q, R)))


def dlqr(A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike) -> Regulator:
    """The linear-quadratic regulator of z+ = A z + B u, in discrete time: .K (..., m, n) .P (..., n, n), with u = -K z.

    It minimises the sum of z^T Q z + u^T R u over all steps: K = (R + B^T P B)^-1 B^T P A with P = Q + A^T P (A - B K).
    Arguments as in `lqr`; `robot.discretize` gives A and B.
    """
    return _regulator("dlqr", _Discrete(*_checked("dlqr", A, B, Q, R)))


# ---------------------------------------------------------------------------------------------------------------------
# The two equations


class _System(NamedTuple):
    A: Array
    B: Array
    Q: Array
    R: Array
    G: Array
    """B R^-1 B^T"""


class _Discrete(_System):
    def first(self) -> Array:
        """P by doubling, starting from a horizon of one step."""
        return _doubled(self.A, self.G, self.Q)

    def gain(self, P: Array) -> Array:
        return np.linalg.solve(self.R + _T(self.B) @ P @ self.B, _T(self.B) @ P @ self.A)

    def residual(self, P: Array, K: Array) -> Array:
        """Q + A^T P (A - B K) - P."""
        return _symmetric(self.Q - P + _T(self.A) @ P @ (self.A - self.B @ K))

    def correction(self, closed: Array, residual: Array) -> Array:
        """E with E = closed^T E closed + residual."""
        return _stein(closed, residual)

    def size(self, P: Array) -> Array:
        return _norm(P) + _norm(self.Q) + _norm(self.A) ** 2 * _norm(P)

    def growth(self, A: Array) -> Array:
        """The growth of every mode, |eigenvalue| - 1: negative if it decays."""
        return np.asarray(np.abs(np.linalg.eigvals(A)) - 1.0)


class _Continuous(_System):
    def first(self) -> Array:
        """P by doubling after the Cayley transform s -> (s + c) / (s - c)."""
        c = self._shift()[..., None, None]
        one = np.eye(self.A.shape[-1])
        Ac = self.A - c * one
        W = _T(Ac) + self.Q @ np.linalg.solve(Ac, self.G)
        G = 2.0 * c * np.linalg.solve(Ac, _T(np.linalg.solve(_T(W), _T(self.G))))
        H = 2.0 * c * np.linalg.solve(W, _T(np.linalg.solve(_T(Ac), _T(self.Q))))
        return _doubled(one + 2.0 * c * np.linalg.inv(_T(W)), _symmetric(G), _symmetric(H))

    def _shift(self) -> Array:
        """c of the Cayley transform, (...): between the slowest and the fastest closed-loop mode, away from the modes of A."""
        H = np.concatenate([np.concatenate([self.A, -self.G], -1), np.concatenate([-self.Q, -_T(self.A)], -1)], -2)
        modes = np.linalg.eigvals(H)
        fastest = np.maximum(np.abs(modes).max(axis=-1), 1e-300)
        slowest = np.maximum(np.abs(modes.real).min(axis=-1), 1e-6 * fastest)
        middle = np.sqrt(slowest * fastest)
        tries = middle[..., None] * np.array([1.0, 1.3, 0.75, 1.7])
        own = np.linalg.eigvals(self.A)
        away = np.abs(tries[..., None] - own[..., None, :]).min(axis=-1) / tries
        return np.asarray(np.take_along_axis(tries, away.argmax(axis=-1)[..., None], axis=-1)[..., 0])

    def gain(self, P: Array) -> Array:
        return np.linalg.solve(self.R, _T(self.B) @ P)

    def residual(self, P: Array, K: Array) -> Array:
        """A^T P + P A - P G P + Q."""
        PA = P @ self.A
        return _symmetric(_T(PA) + PA - P @ self.G @ P + self.Q)

    def correction(self, closed: Array, residual: Array) -> Array:
        """E with closed^T E + E closed + residual = 0."""
        rates = np.abs(np.linalg.eigvals(closed))
        c = np.sqrt(np.maximum(rates.min(axis=-1), 1e-6 * rates.max(axis=-1)) * rates.max(axis=-1))[..., None, None]
        inverse = np.linalg.inv(closed - c * np.eye(closed.shape[-1]))
        turned = inverse @ (closed + c * np.eye(closed.shape[-1]))
        return _stein(turned, 2.0 * c * _T(inverse) @ residual @ inverse)

    def size(self, P: Array) -> Array:
        return 2.0 * _norm(self.A) * _norm(P) + _norm(self.Q) + _norm(P @ self.G @ P)

    def growth(self, A: Array) -> Array:
        """The growth of every mode, the real part of its eigenvalue: negative if it decays."""
        return np.asarray(np.linalg.eigvals(A).real)


def _doubled(A: Array, G: Array, H: Array) -> Array:
    """The limit of the doubling recursion: H is the cost over horizons of 1, 2, 4, 8, ... steps."""
    one = np.eye(A.shape[-1])
    for _ in range(DOUBLINGS):
        W = one + G @ H
        WA, WG = np.linalg.solve(W, A), np.linalg.solve(W, G)
        more = _symmetric(_T(A) @ H @ WA)
        H, G, A = H + more, G + _symmetric(A @ WG @ _T(A)), A @ WA
        if not np.isfinite(H).all() or (_norm(more) <= 1e-16 * _norm(H)).all():
            break
    return H


def _stein(A: Array, C: Array) -> Array:
    """X with X = A^T X A + C, by squaring (Smith 1968)."""
    X = C
    for _ in range(DOUBLINGS):
        more = _T(A) @ X @ A
        X, A = X + more, A @ A
        if not np.isfinite(X).all() or (_norm(more) <= 1e-16 * _norm(X)).all():
            break
    return _symmetric(X)


def _regulator(where: str, system: _Discrete | _Continuous) -> Regulator:
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            K, P = _solved(system)
        except np.linalg.LinAlgError:
            P = np.full(system.A.shape, np.nan)
            K = np.full(_T(system.B).shape, np.nan)
        _check_result(where, system, P, K)
    return Regulator(K, P)


def _solved(system: _Discrete | _Continuous) -> Regulator:
    P = system.first()
    K = system.gain(P)
    for _ in range(CORRECTIONS):
        P = P + system.correction(system.A - system.B @ K, system.residual(P, K))
        K = system.gain(P)
    return Regulator(K, P)


# ---------------------------------------------------------------------------------------------------------------------
# Refusals


def _check_result(where: str, system: _Discrete | _Continuous, P: Array, K: Array) -> None:
    """Raise if the closed loop is unstable or the equation does not hold, and name the mode that causes it."""
    good = np.isfinite(P).all(axis=(-2, -1)) & np.isfinite(K).all(axis=(-2, -1))
    if good.all():
        good = _norm(system.residual(P, K)) <= SMALL * system.size(P)
        good &= (system.growth(system.A - system.B @ K) < 0.0).all(axis=-1)
    if good.all():
        return
    at = tuple(int(k) for k in np.argwhere(~good)[0])
    which = f" at [{', '.join(map(str, at))}]" if at else ""
    A, B, Q = system.A[at], system.B[at], system.Q[at]
    modes = np.linalg.eigvals(A)[system.growth(A) > -SMALL * max(1.0, float(_norm(A)))]
    for other, what, hint in (
        (B, "is not stabilizable", "no input reaches this mode: more inputs, or a system without it"),
        (_T(Q), "has a mode that costs nothing and does not decay", "let Q see this mode: a small weight will do"),
    ):
        for mode in modes:
            pencil = np.concatenate([(A if other is B else _T(A)) - mode * np.eye(len(A)), other], axis=-1)
            if np.linalg.svd(pencil, compute_uv=False)[-1] <= SMALL * max(1.0, float(_norm(A))):
                raise InputError(f"{where}: the system{which} {what}", got=f"a mode of {complex(mode):.4g}", hint=hint)
    raise InputError(
        f"{where}: the Riccati equation{which} has no solution to working precision", expected="a controllable system",
        hint="states and inputs in units in which they are of like size help",
    )  # fmt: skip


def _checked(where: str, *given: Any) -> _System:
    A, B, Q, R = (matrix(where, name, x) for name, x in zip("ABQR", given, strict=True))
    n, m = A.shape[-1], B.shape[-1]
    for name, x, shape in (("A", A, (n, n)), ("B", B, (n, m)), ("Q", Q, (n, n)), ("R", R, (m, m))):
        if x.shape[-2:] != shape:
            raise InputError(f"{where}: {name} has the wrong shape", expected=f"(..., {shape[0]}, {shape[1]})", got=str(x.shape))
    Q, R = weight(where, "Q", Q), weight(where, "R", R, positive=True)
    leading = common_axes(where, {"A": A.shape, "B": B.shape, "Q": Q.shape, "R": R.shape}, core=2)
    A, B, Q, R = (np.broadcast_to(x, (*leading, *x.shape[-2:])) for x in (A, B, Q, R))
    return _System(A, B, Q, R, _symmetric(B @ np.linalg.solve(R, _T(B))))


def matrix(where: str, name: str, value: Any) -> Array:
    """An argument as finite matrices, (..., rows, columns)."""
    x = real_array(f"{where}: {name}", value)
    if x.ndim < 2 or not x.shape[-1] or not x.shape[-2]:
        got = f"shape {x.shape}"
        raise InputError(f"{where}: {name} is not a matrix", expected="an array of real numbers, (..., rows, columns)", got=got)
    if not np.isfinite(x).all():
        raise InputError(f"{where}: {name} is not finite", expected="finite numbers")
    return x


def weight(where: str, name: str, x: Array, positive: bool = False) -> Array:
    """A symmetric weight; refused unless it is positive semidefinite (of states) or positive definite (of inputs)."""
    off = float(np.max(_norm(x - _T(x)) / np.maximum(_norm(x), 1e-300), initial=0.0))
    if off > ASYMMETRY:
        raise InputError(f"{where}: {name} is not symmetric", expected=f"{name} = {name}^T", got=f"off by {off:.3g}, relative")
    x = _symmetric(x)
    values = np.linalg.eigvalsh(x)
    least = np.min(values[..., 0] / np.maximum(np.abs(values).max(axis=-1), 1e-300), initial=1.0)
    if positive and least <= 1e-15:
        raise InputError(f"{where}: {name} is not positive definite", got=f"an eigenvalue of {values[..., 0].min():.3g}",
                         hint="every input has to cost something")  # fmt: skip
    if least < -ASYMMETRY:
        raise InputError(f"{where}: {name} is not positive semidefinite", got=f"an eigenvalue of {values[..., 0].min():.3g}")
    return x


def _T(x: Any) -> Any:
    """The transpose, of every matrix in a batch."""
    return np.swapaxes(x, -1, -2)


def _symmetric(x: Array) -> Array:
    return np.asarray((x + _T(x)) / 2.0)


def _norm(x: Array) -> Array:
    return np.asarray(np.sqrt(np.sum(x * x, axis=(-2, -1))))
