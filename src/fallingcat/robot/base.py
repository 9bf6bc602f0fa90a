"""The methods of a robot for other bases, and for its centroid (paper 004, Traversaro, Pucci and Nori)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.base_change import EquationsOfMotion
from fallingcat.algorithms.base_twist import CENTER_OF_MASS, CENTROIDAL, Base
from fallingcat.algorithms.centroidal_derivatives import CentroidalMomentumDerivatives, CentroidalMomentumRateDerivatives
from fallingcat.arrays.non_numpy import deferrable
from fallingcat.choices import REPRESENTATIONS, check_choice, check_representation
from fallingcat.errors import InputError
from fallingcat.model.joints import Representation
from fallingcat.robot import poses
from fallingcat.robot.bases import check_base
from fallingcat.robot.coordinates import BaseChange
from fallingcat.robot.runner import Part, in_representation

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]


class AnyBase(Part):
    """The part of `Robot` that is about bases and the centroid."""

    def base_change(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        frame: Base,
        representation: Representation = "mixed",
        target_representation: Representation | None = None,
        *,
        out: Any = None,
    ) -> BaseChange:
        """T with nu' = T nu for another base, and its rate along nu: .T .T_rate (paper 004, eq. 19), and what T does to
        velocities, accelerations, forces, Jacobians and the equations of motion (`BaseChange`).

        frame: a frame; ("origin frame", "orientation frame") (26)-(29), where the origin may be "center_of_mass" (36)-(38); or
        "centroidal", the average velocity (39)-(44). representation: of the base twist in nu, and in nu' unless
        target_representation names another. `base_configuration` is the q that belongs to nu'.
        """
        check_representation(representation)
        target: dict[str, Any] = {}
        if target_representation is not None:
            check_choice("target_representation", target_representation, REPRESENTATIONS)
            target = {"target_representation": target_representation}
        check_base(self.model, _pair(frame), target_representation or representation)
        options = {"base": _pair(frame), "representation": representation, **target}
        result: tuple[Array, Array] = self._run("base_change", (q, nu), out, **options)
        return BaseChange(*result)

    @deferrable
    def base_configuration(self, q: ArrayLike, frame: Base) -> Array:
        """The configuration as it is written from another base, (..., nq): the pose of that base in the world, and the joint
        coordinates, which stay (paper 004, eq. 18a).

        frame: as in `base_change`, but for "centroidal", which has no orientation. For a link it is the q of
        `robot.with_base(link)`, whose functions take it together with the nu' of `base_change`. The quaternion is one of the
        two of its orientation.
        """
        base = _pair(frame)
        if isinstance(base, str) and base == CENTROIDAL:
            raise InputError(
                "the centroid has no orientation, hence no pose", got=repr(base), hint='use ("center_of_mass", "a frame")'
            )
        check_base(self.model, base, "mixed")
        robot = cast("Robot", self)
        origin, orientation = base if isinstance(base, tuple) else (base or self.model.base,) * 2
        R = robot.frame_pose(q, orientation)[..., :3, :3]
        position = robot.center_of_mass(q) if origin == CENTER_OF_MASS else robot.frame_pose(q, origin)[..., :3, 3]
        return poses.configuration_at(q, position, R)

    def representation_change(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        source: Representation = "body",
        target: Representation = "mixed",
        *,
        out: Any = None,
    ) -> BaseChange:
        """T with nu' = T nu from one representation of the base twist to another, and its rate along nu: .T .T_rate, and what
        T does to velocities, accelerations, forces, Jacobians and the equations of motion (`BaseChange`; paper 004, eq. 2).

        source, target: "body", "mixed" or "inertial". nu: in the source representation; T does not depend on it, T_rate does.
        A fixed base has no twist: T is the identity.
        """
        for name, value in (("source", source), ("target", target)):
            check_choice(name, value, REPRESENTATIONS)
        result: tuple[Array, Array] = self._run("representation_change", (q, nu), out, source=source, target=target)
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

    def centroidal_momentum_derivatives(
        self, q: ArrayLike, nu: ArrayLike, representation: Representation = "body", *, out: Any = None
    ) -> CentroidalMomentumDerivatives:
        """d h / d(q, nu): .dh_dq .dh_dnu, each (..., 6, nv); left-trivialized in q.

        representation: of the base twist in nu. Columns of dh_dq are body-fixed displacements of the base in all of them, with nu
        held as it is given.
        """
        return self._run("centroidal_momentum_derivatives", (q, nu), out, **in_representation(representation))

    def centroidal_momentum_rate_derivatives(
        self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, representation: Representation = "body", *, out: Any = None
    ) -> CentroidalMomentumRateDerivatives:
        """d (dh/dt) / d(q, nu, dnu): .dh_rate_dq .dh_rate_dnu .dh_rate_ddnu, each (..., 6, nv); left-trivialized in q.

        representation: of the base twist in nu and its rate in dnu, which are held as they are given when q is displaced.
        """
        return self._run("centroidal_momentum_rate_derivatives", (q, nu, dnu), out, **in_representation(representation))


def _pair(base: Any) -> Any:
    """A base that can be a key."""
    return tuple(base) if isinstance(base, list) else base
