"""The methods of a robot for its reduced Euler-Lagrange equations (paper 003, Mishra et al., corrected).

The pose of a floating base is a symmetry: what is left is the shape, and the momentum. All of it needs a floating base;
6-vectors are (linear; angular), body-fixed in the base unless said otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.reduced import ReducedAccelerations, ReducedDynamics, VelocitySplit
from fallingcat.algorithms.reduced_parts import CurvatureMaps, DecouplingTorques, TransformedCoriolis
from fallingcat.algorithms.task_space import TaskSpaceDynamics
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

    # -----------------------------------------------------------------------------------------------------------------
    # Parts of the reduced equations by themselves

    def inertia_velocity_matrix(self, q: ArrayLike, r: ArrayLike, *, out: Array | None = None) -> Array:
        """P(r), (..., 6, 6) (18a, Def. 4): the rate of the locked inertia along any shape velocity r (..., n)."""
        return self._run("inertia_velocity_matrix", (q, r), out)

    def inertia_derivative_matrix(self, q: ArrayLike, mu: ArrayLike, *, out: Array | None = None) -> Array:
        """S(mu), (..., 6, n) (18b, Def. 5): S^T mu is the derivative by the shape of the energy of the locked robot.

        mu (..., 6) is any twist of the base. S(x)^T y = S(y)^T x and S(mu) r = 1/2 P(r) mu (Property 5, sign of ERRATA 3.5).
        """
        return self._run("inertia_derivative_matrix", (q, mu), out)

    def spatial_connection(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Ad_1 [1, A_l], (..., 6, nv) (10, Def. 3): from the body-fixed nu to the locked velocity, inertial.

        The mechanical connection as a map on all velocities: it is zero on those without momentum, and a base that moves with the
        joints locked is taken to its own twist, seen from the origin of the world.
        """
        return self._run("spatial_connection", (q,), out)

    def curvature_maps(self, q: ArrayLike, r: ArrayLike, mu: ArrayLike, *, out: Any = None) -> CurvatureMaps:
        """The curvature with a shape velocity r (..., n) filled in, and with a momentum Lambda_b mu, mu (..., 6).

        .B_l(r) (..., 6, n) of (14) and (38), .B_1(r) (..., n, 6) of (26), .B_2(mu) (..., n, n) of (27):
        B_2(mu) r = -B_1(r) mu = 1/2 B_l(r)^T Lambda_b mu (30, and 40 with the sign of ERRATA 3.9). In O(n), but for B_2.
        """
        return self._run("curvature_maps", (q, r, mu), out)

    def transformed_coriolis(self, q: ArrayLike, nu: ArrayLike, *, out: Any = None) -> TransformedCoriolis:
        """The blocks of the Coriolis matrix in the velocities xi = (mu, r) (20, 21, 23), in which the inertia is block-diagonal:

            Lambda xi' + [Gamma_b, Gamma_bq; Gamma_qb, Gamma_q] xi = (F; tau - A_l^T F)

        .Gamma_b (..., 6, 6) .Gamma_bq (..., 6, n) .Gamma_qb (..., n, 6) .Gamma_q (..., n, n). Every block mixes both velocities;
        `reduced_dynamics` has them apart. nu (..., nv) is the body-fixed velocity.
        """
        return self._run("transformed_coriolis", (q, nu), out)

    def decoupling_torques(self, q: ArrayLike, nu: ArrayLike, *, out: Any = None) -> DecouplingTorques:
        """Joint torques that take the influence of the locked velocity off the shape (Sec. V-1, sign of ERRATA 3.16), in O(n).

        .reduced = (-S(mu)^T + A_l^T ad~(p)) mu by (16), .transformed = .reduced + B_2(mu) r by (20) and .complete = .reduced +
        2 B_2 r, each (..., n). B_2 r does no work, so that a passive controller of the shape stays passive with any of them. With
        .complete the shape moves as it would without momentum.
        """
        return self._run("decoupling_torques", (q, nu), out)

    # -----------------------------------------------------------------------------------------------------------------
    # Task space

    def task_space_dynamics(self, q: ArrayLike, nu: ArrayLike, frame: str, *, out: Any = None) -> TaskSpaceDynamics:
        """The dynamics of a frame as far as the joints move it, y = J r, while the base floats:

            Lambda_x y' + h_x = Jbar^T (tau - decoupling_torques(q, nu).complete)

        .J (..., 6, n), the generalized Jacobian (15), .J_rate (..., 6, n) .Lambda_x (..., 6, 6) .Gamma_x (..., 6, 6)
        .h_x (..., 6) .Jbar (..., n, 6). Twists and wrenches are body-fixed in the frame. The twist of the frame is y + X_fb mu.
        Directions that the joints cannot move by themselves, linear ones first, are left out: their rows of Lambda_x are zero.
        """
        return self._run("task_space_dynamics", (q, nu), out, frame=frame)

    def task_space_torque(
        self, q: ArrayLike, nu: ArrayLike, a: ArrayLike, tau0: ArrayLike, frame: str, *, out: Array | None = None
    ) -> Array:
        """tau0 + J^T Lambda_x (a - a_0), (..., n): the joint torques nearest to tau0 with which a frame accelerates with a.

        a (..., 6) is the rate of the frame's body-fixed twist, as in `frame_acceleration`; a_0 is what tau0 (..., n) alone would
        give, momentum, gravity and friction included. tau0 does the rest: what it does to the frame is taken back, what the
        joints can do besides is left. `fc.track_pose` gives an a that leads to a pose.
        """
        return self._run("task_space_torque", (q, nu, a, tau0), out, frame=frame)
