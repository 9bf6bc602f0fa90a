"""The methods of a robot for its derivatives (paper 002, Carpentier and Mansard)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.aba_derivatives import ForwardDynamicsDerivatives
from fallingcat.algorithms.frame_derivatives import FrameAccelerationDerivatives, FrameVelocityDerivatives
from fallingcat.algorithms.rnea_derivatives import InverseDynamicsDerivatives
from fallingcat.algorithms.rnea_second_derivatives import InverseDynamicsSecondDerivatives
from fallingcat.model.joints import Representation
from fallingcat.robot.runner import Part, Wrenches, in_representation

Array = NDArray[np.float64]


class Derivatives(Part):
    """The part of `Robot` that is about derivatives."""

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, wrenches: Wrenches | None = None,
        representation: Representation = "body", *, out: Any = None,
    ) -> InverseDynamicsDerivatives:  # fmt: skip
        """d tau / d(q, nu, dnu): .dtau_dq .dtau_dnu .M, each (..., nv, nv) (paper 002; left-trivialized in q).

        representation: of the base twist in nu, its rate in dnu, and the base wrench in tau. Columns of dtau_dq are body-fixed
        displacements of the base in all of them, with nu and dnu held as they are given.
        """
        return self._run("inverse_dynamics_derivatives", (q, nu, dnu), out, wrenches, **in_representation(representation))

    def forward_dynamics_derivatives(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, wrenches: Wrenches | None = None,
        representation: Representation = "body", *, out: Any = None,
    ) -> ForwardDynamicsDerivatives:  # fmt: skip
        """d dnu / d(q, nu, tau): .ddnu_dq .ddnu_dnu .Minv, each (..., nv, nv) (paper 002, eq. 17, 24; left-trivialized in q).

        representation: of the base twist in nu, its rate in dnu, and the base wrench in tau. Columns of ddnu_dq are body-fixed
        displacements of the base in all of them, with nu and tau held as they are given.
        """
        return self._run("forward_dynamics_derivatives", (q, nu, tau), out, wrenches, **in_representation(representation))

    def inverse_dynamics_second_derivatives(
        self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, representation: Representation = "body", *, out: Any = None
    ) -> InverseDynamicsSecondDerivatives:
        """d^2 tau / d(q, nu, dnu)^2: .dq_dq .dq_dnu .dnu_dnu .dM_dq, each (..., nv, nv, nv); the others are zero or transposed.

        [i, j, k] is the derivative by k of d tau_i / d_j, the second derivative being taken of the first, left-trivialized: where
        j and k are axes of one joint (a floating base, a ball), dq_dq is not symmetric. Joints whose axes move in the body
        (universal ones) are refused.
        representation: as in `inverse_dynamics_derivatives`, of which these are the derivatives, with the same vectors held.
        """
        return self._run("inverse_dynamics_second_derivatives", (q, nu, dnu), out, **in_representation(representation))

    def gravity_torque_derivatives(
        self, q: ArrayLike, wrenches: Wrenches | None = None, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """d/dq of the torque that holds the robot still, g(q) - sum J^T w, (..., nv, nv): cheap, for static problems.

        representation: of the base wrench in the torque, the rows. Columns are body-fixed displacements in all of them.
        """
        return self._run("gravity_torque_derivatives", (q,), out, wrenches, **in_representation(representation))

    def frame_velocity_derivatives(
        self, q: ArrayLike, nu: ArrayLike, frame: str, representation: Representation = "body", *, out: Any = None
    ) -> FrameVelocityDerivatives:
        """d/d(q, nu) of the twist of a frame: .dv_dq .dv_dnu, each (..., 6, nv) (paper 002, Sec. III-D).

        representation: of the frame's twist and of the base twist in nu, as in `frame_velocity`. Columns of dv_dq are body-fixed
        displacements of the base in all of them, with nu held as it is given.
        """
        return self._run("frame_velocity_derivatives", (q, nu), out, frame=frame, representation=representation)

    def frame_acceleration_derivatives(
        self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, frame: str, representation: Representation = "body", *, out: Any = None
    ) -> FrameAccelerationDerivatives:
        """d/d(q, nu, dnu) of the rate of that twist: .da_dq .da_dnu .da_ddnu, each (..., 6, nv) (paper 002, Sec. III-D).

        representation: as in `frame_acceleration`. Columns of da_dq are body-fixed displacements of the base in all of them, with
        nu and dnu held as they are given.
        """
        return self._run("frame_acceleration_derivatives", (q, nu, dnu), out, frame=frame, representation=representation)

    @property
    def inertial_parameters(self) -> Array:
        """(10 bodies,): (m, h, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) of every body, about and in its own frame (`body_names`)."""
        return np.array([x for body in self.model.bodies for x in body.inertia.parameters()])

    @property
    def body_names(self) -> tuple[str, ...]:
        """The moving bodies in tree order, each by the link that its joint carries."""
        return tuple(body.name for body in self.model.bodies)

    def inverse_dynamics_regressor(
        self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """Y with tau = Y inertial_parameters, (..., nv, 10 bodies), without joint dynamics.

        representation: of the base twist in nu, its rate in dnu, and the base wrench in tau, the first rows.
        """
        return self._run("inverse_dynamics_regressor", (q, nu, dnu), out, **in_representation(representation))

    def forward_dynamics_parameter_derivatives(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, wrenches: Wrenches | None = None,
        representation: Representation = "body", *, out: Array | None = None,
    ) -> Array:  # fmt: skip
        """d dnu / d inertial_parameters = -M^-1 Y, (..., nv, 10 bodies).

        representation: of the base twist in nu, its rate in dnu, and the base wrench in tau.
        """
        options = in_representation(representation)
        return self._run("forward_dynamics_parameter_derivatives", (q, nu, tau), out, wrenches, **options)

    def inverse_dynamics_geometric_derivatives(
        self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, wrenches: Wrenches | None = None,
        representation: Representation = "body", *, out: Array | None = None,
    ) -> Array:  # fmt: skip
        """d tau by where the joints sit, (..., nv, 6 bodies): six columns for each of `body_names` (paper 002, Sec. VI).

        Those of body i are a twist e of the constant placement H of its joint in the parent, which moves to H exp(e): offsets and
        axes of the joint. It is at the joint's origin, in the axes of the link `body_names[i]` at position zero; where the base
        is the file's root, these are the axes of the joint's <origin>. Six columns of a floating base turn and move the world.
        """
        options = in_representation(representation)
        return self._run("inverse_dynamics_geometric_derivatives", (q, nu, dnu), out, wrenches, **options)

    def forward_dynamics_geometric_derivatives(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, wrenches: Wrenches | None = None,
        representation: Representation = "body", *, out: Array | None = None,
    ) -> Array:  # fmt: skip
        """d dnu by where the joints sit, (..., nv, 6 bodies); columns as in `inverse_dynamics_geometric_derivatives`."""
        options = in_representation(representation)
        return self._run("forward_dynamics_geometric_derivatives", (q, nu, tau), out, wrenches, **options)

    def frame_pose_geometric_derivatives(
        self, q: ArrayLike, frame: str, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """The displacement of a frame by where the joints sit, (..., 6, 6 bodies): for calibration.

        Columns as in `inverse_dynamics_geometric_derivatives`; those of joints that do not carry the frame are zero.
        representation: of the displacement, as of the twist in `frame_velocity`.
        """
        return self._run("frame_pose_geometric_derivatives", (q,), out, frame=frame, representation=representation)

    def inverse_mass_matrix(self, q: ArrayLike, representation: Representation = "body", *, out: Array | None = None) -> Array:
        """M(q)^-1, (..., nv, nv), without forming M (paper 002, Sec. IV; paper 000, Table 9).

        representation: of the base twist in nu and the base wrench in tau, as in `mass_matrix`.
        """
        return self._run("inverse_mass_matrix", (q,), out, **in_representation(representation))
