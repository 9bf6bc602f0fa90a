"""The methods of a robot for its derivatives (paper 002, Carpentier and Mansard)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.aba_derivatives import ForwardDynamicsDerivatives
from fallingcat.algorithms.frame_derivatives import FrameAccelerationDerivatives, FrameVelocityDerivatives
from fallingcat.algorithms.rnea_derivatives import InverseDynamicsDerivatives
from fallingcat.robot.runner import Part, Wrenches

Array = NDArray[np.float64]


class Derivatives(Part):
    """The part of `Robot` that is about derivatives."""

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, wrenches: Wrenches | None = None, *, out: Any = None
    ) -> InverseDynamicsDerivatives:
        """d tau / d(q, nu, dnu): .dtau_dq .dtau_dnu .M, each (..., nv, nv) (paper 002; left-trivialized in q)."""
        return self._run("inverse_dynamics_derivatives", (q, nu, dnu), out, wrenches)

    def forward_dynamics_derivatives(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, wrenches: Wrenches | None = None, *, out: Any = None
    ) -> ForwardDynamicsDerivatives:
        """d dnu / d(q, nu, tau): .ddnu_dq .ddnu_dnu .Minv, each (..., nv, nv) (paper 002, eq. 17, 24; left-trivialized in q)."""
        return self._run("forward_dynamics_derivatives", (q, nu, tau), out, wrenches)

    def gravity_torque_derivatives(self, q: ArrayLike, wrenches: Wrenches | None = None, *, out: Array | None = None) -> Array:
        """d/dq of the torque that holds the robot still, g(q) - sum J^T w, (..., nv, nv): cheap, for static problems."""
        return self._run("gravity_torque_derivatives", (q,), out, wrenches)

    def frame_velocity_derivatives(self, q: ArrayLike, nu: ArrayLike, frame: str, *, out: Any = None) -> FrameVelocityDerivatives:
        """d/d(q, nu) of the body-fixed twist of a frame: .dv_dq .dv_dnu, each (..., 6, nv) (paper 002, Sec. III-D)."""
        return self._run("frame_velocity_derivatives", (q, nu), out, frame=frame)

    def frame_acceleration_derivatives(
        self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, frame: str, *, out: Any = None
    ) -> FrameAccelerationDerivatives:
        """d/d(q, nu, dnu) of the rate of that twist: .da_dq .da_dnu .da_ddnu, each (..., 6, nv) (paper 002, Sec. III-D)."""
        return self._run("frame_acceleration_derivatives", (q, nu, dnu), out, frame=frame)

    @property
    def inertial_parameters(self) -> Array:
        """(10 bodies,): (m, h, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) of every body, about and in its own frame (`body_names`)."""
        return np.array([x for body in self.model.bodies for x in body.inertia.parameters()])

    @property
    def body_names(self) -> tuple[str, ...]:
        """The moving bodies in tree order, each by the link that its joint carries."""
        return tuple(body.name for body in self.model.bodies)

    def inverse_dynamics_regressor(self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, *, out: Array | None = None) -> Array:
        """Y with tau = Y inertial_parameters, (..., nv, 10 bodies), without joint dynamics."""
        return self._run("inverse_dynamics_regressor", (q, nu, dnu), out)

    def forward_dynamics_parameter_derivatives(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, wrenches: Wrenches | None = None, *, out: Array | None = None
    ) -> Array:
        """d dnu / d inertial_parameters = -M^-1 Y, (..., nv, 10 bodies)."""
        return self._run("forward_dynamics_parameter_derivatives", (q, nu, tau), out, wrenches)

    def inverse_mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """M(q)^-1, (..., nv, nv), without forming M (paper 002, Sec. IV; paper 000, Table 9)."""
        return self._run("inverse_mass_matrix", (q,), out)
