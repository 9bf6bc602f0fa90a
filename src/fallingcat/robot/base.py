"""The methods of a robot for other bases, and for its centroid (paper 004, Traversaro, Pucci and Nori)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.base_change import Base, EquationsOfMotion
from fallingcat.algorithms.centroidal_derivatives import CentroidalMomentumDerivatives, CentroidalMomentumRateDerivatives
from fallingcat.choices import check_representation
from fallingcat.model.joints import Representation
from fallingcat.robot.bases import check_base
from fallingcat.robot.coordinates import BaseChange
from fallingcat.robot.runner import Part, in_representation

Array = NDArray[np.float64]


class AnyBase(Part):
    """The part of `Robot` that is about bases and the centroid."""

    def base_change(
        self, q: ArrayLike, nu: ArrayLike, frame: Base, representation: Representation = "mixed", *, out: Any = None
    ) -> BaseChange:
        """T with nu' = T nu for another base, and its rate along nu: .T .T_rate (paper 004, eq. 19), and what T does to
        velocities, accelerations, forces, Jacobians and the equations of motion (`BaseChange`).

        frame: a frame; ("origin frame", "orientation frame") (26)-(29), where the origin may be "center_of_mass" (36)-(38); or
        "centroidal", the average velocity (39)-(44). representation: of the base twist in nu and in nu'.
        """
        check_representation(representation)
        check_base(self.model, _pair(frame), representation)
        result: tuple[Array, Array] = self._run("base_change", (q, nu), out, base=_pair(frame), representation=representation)
        return BaseChange(*result)

    def equations_of_motion(
        self, q: ArrayLike, nu: ArrayLike, base: Base = None, representation: Representation = "mixed", *, out: Any = None
    ) -> EquationsOfMotion:
        """M, C and g of M dnu' + C nu' + g = tau' for any base: .M .C .g (paper 004, Theorem 2).

        nu: the velocity of the robot's own base in the representation; nu' = base_change(...).velocity(nu) is that of the new
        one. base: as in `base_change`, or None for the robot's own. At "centroidal" M is block-diagonal and g constant.
        C has M_rate - 2 C skew for every base and representation.
        """
        check_representation(representation)
        if base is not None:
            check_base(self.model, _pair(base), representation)
        return self._run("equations_of_motion", (q, nu), out, base=_pair(base), representation=representation)

    def centroidal_momentum_matrix(
        self, q: ArrayLike, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """A_G with h = A_G nu, (..., 6, nv) (paper 004, eq. 32): linear momentum, then angular momentum about the centre of
        mass, both in the orientation of the world. representation: of the base twist in nu."""
        return self._run("centroidal_momentum_matrix", (q,), out, **in_representation(representation))

    def centroidal_momentum_matrix_rate(
        self, q: ArrayLike, nu: ArrayLike, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """The rate of A_G along nu, (..., 6, nv)."""
        return self._run("centroidal_momentum_matrix_rate", (q, nu), out, **in_representation(representation))

    def centroidal_inertia(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """I_G, (..., 6, 6): mass and inertia of the frozen robot about its centre of mass, oriented like the world (31)."""
        return self._run("centroidal_inertia", (q,), out)

    def centroidal_momentum(
        self, q: ArrayLike, nu: ArrayLike, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """h = A_G nu, (..., 6)."""
        return self._run("centroidal_momentum", (q, nu), out, **in_representation(representation))

    def centroidal_momentum_rate(
        self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """dh/dt, (..., 6): all forces on the robot, gravity included, and their moment about the centre of mass."""
        return self._run("centroidal_momentum_rate", (q, nu, dnu), out, **in_representation(representation))

    def average_velocity(
        self, q: ArrayLike, nu: ArrayLike, representation: Representation = "body", *, out: Array | None = None
    ) -> Array:
        """I_G^-1 h, (..., 6): velocity of the centre of mass and average angular velocity (paper 004, eq. 33)."""
        return self._run("average_velocity", (q, nu), out, **in_representation(representation))

    def centroidal_momentum_derivatives(self, q: ArrayLike, nu: ArrayLike, *, out: Any = None) -> CentroidalMomentumDerivatives:
        """d h / d(q, nu): .dh_dq .dh_dnu, each (..., 6, nv); left-trivialized in q."""
        return self._run("centroidal_momentum_derivatives", (q, nu), out)

    def centroidal_momentum_rate_derivatives(
        self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, *, out: Any = None
    ) -> CentroidalMomentumRateDerivatives:
        """d (dh/dt) / d(q, nu, dnu): .dh_rate_dq .dh_rate_dnu .dh_rate_ddnu, each (..., 6, nv); left-trivialized in q."""
        return self._run("centroidal_momentum_rate_derivatives", (q, nu, dnu), out)


def _pair(base: Any) -> Any:
    """A base that can be a key."""
    return tuple(base) if isinstance(base, list) else base
