"""The methods of a robot for its reduced Euler-Lagrange equations (paper 003, Mishra et al., corrected).

The pose of a floating base is a symmetry: what is left is the shape, and the momentum. All of it needs a floating base;
6-vectors are (linear; angular), body-fixed in the base unless said otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.reduced import ReducedAccelerations, ReducedDynamics, VelocitySplit
from fallingcat.robot.runner import Part

Array = NDArray[np.float64]


class Reduced(Part):
    """The part of `Robot` that is about momentum and shape."""

    def locked_inertia(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Lambda_b, (..., 6, 6): the inertia of the robot with its joints locked (paper 003, eq. 17a)."""
        return self._run("locked_inertia", (q,), out)

    def mechanical_connection(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """A_l = Lambda_b^-1 M_bq, (..., 6, n) (17b): without momentum, the base moves with v = -A_l r."""
        return self._run("mechanical_connection", (q,), out)

    def shape_inertia(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Lambda_q = M_q - A_l^T Lambda_b A_l, (..., n, n) (17c): what the joints feel of a robot that floats freely."""
        return self._run("shape_inertia", (q,), out)

    def locked_velocity(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """mu = v + A_l r, (..., 6) (11): the twist the base would have if the joints locked."""
        return self._run("locked_velocity", (q, nu), out)

    def momentum_map(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """The momentum about the origin of the world and in its orientation, (..., 6) (Def. 2): conserved in free flight."""
        return self._run("momentum_map", (q, nu), out)

    def split_velocity(self, q: ArrayLike, nu: ArrayLike, *, out: Any = None) -> VelocitySplit:
        """nu = (mu, 0) + (-A_l r, r): .vertical .horizontal, each (..., nv), orthogonal in the kinetic energy (Sec. III-A)."""
        return self._run("split_velocity", (q, nu), out)

    def base_velocity(self, q: ArrayLike, r: ArrayLike, mu: ArrayLike | None = None, *, out: Array | None = None) -> Array:
        """v = mu - A_l r, (..., 6): the base is reconstructed by dH/dt = H hat(v) (Sec. V-3). Without mu there is no momentum."""
        return self._run("base_velocity", (q, r, np.zeros(6) if mu is None else mu), out)

    def generalized_jacobian(self, q: ArrayLike, frame: str, *, out: Array | None = None) -> Array:
        """J_s - J_b A_l, (..., 6, n): from the shape velocity to the body-fixed twist of a frame without momentum (15)."""
        return self._run("generalized_jacobian", (q,), out, frame=frame)

    def curvature(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """The curvature of the connection, (..., 6, n, n), in closed form (Lemma 3; sign of ERRATA 3.9).

        B[:, i, j] = d_i A_j - d_j A_i - [A_i, A_j]: without momentum a small loop of shapes around the area (i, j) displaces
        the base by -B[:, i, j] times the area.
        """
        return self._run("curvature", (q,), out)

    def reduced_dynamics(self, q: ArrayLike, nu: ArrayLike, *, out: Any = None) -> ReducedDynamics:
        """The terms of Theorem 1, corrected (ERRATA 3.1): with xi = (mu, r) and F, tau the forces (gravity among them)

            blkdiag(Lambda_b, Lambda_q) xi' + D_shape xi = D_locked xi + (F; tau - A_l^T F)

        .Lambda_b .Lambda_q .A_l .P .S .Gamma_q .B_2 .C_b .D_shape .D_locked .mu. D_shape depends on the shape velocity only, the
        skew D_locked on the locked velocity only.
        """
        return self._run("reduced_dynamics", (q, nu), out)

    def reduced_forward_dynamics(self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, *, out: Any = None) -> ReducedAccelerations:
        """The rates of mu and r: .mu_rate (..., 6) .ddr (..., n). tau has nv entries, base wrench first; gravity is included."""
        return self._run("reduced_forward_dynamics", (q, nu, tau), out)
