"""Other generalized coordinates or speeds for the equations of motion (paper 001, Sec. 3.3; paper 004, Lemma 3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.base_change import EquationsOfMotion
from fallingcat.errors import InputError
from fallingcat.robot.symbols import real_or_symbols

Array = NDArray[np.float64]


def change_coordinates(M: ArrayLike, C: ArrayLike, g: ArrayLike, A: ArrayLike, A_rate: ArrayLike) -> EquationsOfMotion:
    """M, C, g for new velocities w, where nu = A w (paper 001, eq. 32-34):

        A^T M A,   A^T C A + A^T M A_rate,   A^T g;   forces change as A^T tau (35).

    A (..., nv, k) is dq/dqbar for new coordinates (31), or d nu/d w for generalized speeds (Remark 4); A_rate is its
    rate along the motion. A C with M_rate - 2 C skew stays one (Prop. 3), the Christoffel-consistent C stays the
    Christoffel-consistent one (Theorem 1). With fewer columns than rows A restricts the motion to nu = A w.
    """
    values = {"M": M, "C": C, "g": g, "A": A, "A_rate": A_rate}
    arrays = {name: real_or_symbols(f"change_coordinates: {name}", value) for name, value in values.items()}
    size = arrays["g"].shape[-1] if arrays["g"].ndim else 0
    k = arrays["A"].shape[-1] if arrays["A"].ndim >= 2 else size
    shapes: dict[str, tuple[int, ...]] = {"M": (size, size), "C": (size, size), "g": (size,), "A": (size, k), "A_rate": (size, k)}
    for name, shape in shapes.items():
        _check(name, arrays[name], shape)
    At = np.swapaxes(arrays["A"], -1, -2)
    AtM = At @ arrays["M"]
    C_new = At @ arrays["C"] @ arrays["A"] + AtM @ arrays["A_rate"]
    return EquationsOfMotion(AtM @ arrays["A"], C_new, (At @ arrays["g"][..., None])[..., 0])


def _check(name: str, value: Any, shape: tuple[int, ...], function: str = "change_coordinates") -> None:
    if value.shape[-len(shape) :] != shape:
        expected = "(..., " + ", ".join(map(str, shape)) + ")"
        raise InputError(f"{function}: {name} does not fit", expected=expected, got=f"shape {value.shape}")


def change_symbols(G: ArrayLike, M: ArrayLike, A: ArrayLike, A_derivatives: ArrayLike) -> Array:
    """Christoffel symbols of the first kind for new velocities w, where nu = A w, (..., k, k, k) (paper 001, eq. 74):

        G'_ijk = sum_abc A_ai A_bj A_ck G_abc + sum_ab A_ai M_ab (dA_bj / dw_k)

    A (..., nv, k) as in `change_coordinates`; A_derivatives (..., nv, k, k): [b, j, k] is the rate of A_bj along w = e_k, for
    new coordinates the second derivatives of the old ones. Then sum_k G'_ijk w_k is the C of `change_coordinates`, also
    for quasi-velocities; M is that of the symbols, without armature.
    """
    values = {"G": G, "M": M, "A": A, "A_derivatives": A_derivatives}
    arrays = {name: real_or_symbols(f"change_symbols: {name}", value) for name, value in values.items()}
    size = arrays["M"].shape[-1] if arrays["M"].ndim else 0
    k = arrays["A"].shape[-1] if arrays["A"].ndim >= 2 else size
    shapes: dict[str, tuple[int, ...]] = {
        "G": (size, size, size), "M": (size, size), "A": (size, k), "A_derivatives": (size, k, k)
    }  # fmt: skip
    for name, shape in shapes.items():
        _check(name, arrays[name], shape, "change_symbols")
    A, At = arrays["A"], np.swapaxes(arrays["A"], -1, -2)
    inner = At[..., None, :, :] @ (arrays["G"] @ A[..., None, :, :])  # [a, j, k], over b and c
    both = inner + _over_first(arrays["M"], arrays["A_derivatives"])
    return _over_first(At, both)


def _over_first(A: Array, X: Array) -> Array:
    """sum_a A_ia X_ajk."""
    flat = X.reshape(*X.shape[:-2], X.shape[-2] * X.shape[-1])
    product = A @ flat
    return np.asarray(product.reshape(*product.shape[:-1], *X.shape[-2:]))


class BaseChange(NamedTuple):
    """nu' = T nu: from the velocities of the robot's own base to those of another, or to the same in another representation
    (paper 004, Lemma 3, Theorem 2)."""

    T: Array
    """(..., nv, nv): [[J_b, J_s], [0, 1]] (19)."""
    T_rate: Array
    """(..., nv, nv): its rate along nu."""

    @property
    def inverse(self) -> Array:
        """T^-1, (..., nv, nv), which is the T of the way back."""
        if self.T.shape[-1] < 6:  # a fixed base with few joints, for which T is the identity
            return self.T.copy()
        # The block of the base moves the whole robot rigidly, [[E, G], [0, E]] with a rotation E.
        Et = np.swapaxes(self.T[..., :3, :3], -1, -2)
        X = np.zeros_like(self.T[..., :6, :6])
        X[..., :3, :3] = X[..., 3:, 3:] = Et
        X[..., :3, 3:] = -Et @ self.T[..., :3, 3:6] @ Et
        back = np.zeros_like(self.T)
        back[..., :6, :6] = X
        back[..., :6, 6:] = -X @ self.T[..., :6, 6:]
        joints = np.arange(6, self.T.shape[-1])
        back[..., joints, joints] = 1.0
        return back

    @property
    def inverse_rate(self) -> Array:
        """The rate of T^-1 along nu."""
        back = self.inverse
        return -back @ self.T_rate @ back

    def velocity(self, nu: ArrayLike) -> Array:
        """nu' = T nu."""
        return _times(self.T, "nu", nu)

    def acceleration(self, nu: ArrayLike, dnu: ArrayLike) -> Array:
        """dnu' = T dnu + T_rate nu."""
        return _times(self.T, "dnu", dnu) + _times(self.T_rate, "nu", nu)

    def force(self, tau: ArrayLike) -> Array:
        """tau' = T^-T tau, so that power stays what it is: the joints feel the base wrench otherwise (20), (21)."""
        return _times(np.swapaxes(self.inverse, -1, -2), "tau", tau)

    def jacobian(self, J: ArrayLike) -> Array:
        """J' = J T^-1, for Jacobians of anything (22)."""
        return np.asarray(real_or_symbols("J", J) @ self.inverse)

    def equations(self, M: ArrayLike, C: ArrayLike, g: ArrayLike) -> EquationsOfMotion:
        """M', C', g' (24): the equations of motion for nu', without computing them anew."""
        return change_coordinates(M, C, g, self.inverse, self.inverse_rate)


def _times(A: Array, name: str, x: ArrayLike) -> Array:
    return np.asarray((A @ real_or_symbols(name, x)[..., None])[..., 0])
