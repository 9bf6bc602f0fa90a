"""The methods of a robot for control: the linearization on the group of states, its discretization, and steps in time.

Paper 000 (Bos, Traversaro, Pucci, Saccon). A state is (q, nu), a perturbation z = (z_H, z_s, z_v, z_r) of 2nv entries moves q
along its group, H to H exp(z_H), and adds to nu (eq. 17).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.configuration import IntegrateDerivatives
from fallingcat.algorithms.linearization import Linearization
from fallingcat.arrays.non_numpy import deferrable
from fallingcat.control import steps
from fallingcat.control.steps import Discretization, Step
from fallingcat.functions import quaternions
from fallingcat.model.joints import Representation
from fallingcat.robot.runner import Group, Part, Wrenches, in_group, in_representation
from fallingcat.task import Input, Output, Task

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]


class Control(Part):
    """The part of `Robot` that is about control."""

    @property
    def _robot(self) -> Robot:
        return cast("Robot", self)

    def linearize(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        wrenches: Wrenches | None = None,
        representation: Representation = "body",
        group: Group = "product",
        *,
        out: Any = None,
    ) -> Linearization:
        """z' = A z + B u around a motion: .A (..., 2nv, 2nv) .B (..., 2nv, m) (paper 000, Prop. 1 and eq. 42, corrected).

        Exact at every orientation: A = [[-ad(v), 0, 1, 0], [0, 0, 0, 1], [D1 FD, D2 FD, D3 FD, D4 FD]], B = [0; M^-1 S].
        tau: nv entries, base wrench first, or the m inputs u: joint torques, unless `with_actuation` has set others (then m
        entries are u also where m = nv). Inputs that move with their frames have their part in A when they are given as u.
        representation: the base twist in nu, and in z, is the body-fixed one, the "mixed" one, or the "inertial" one of eq. 67.
        The base wrench in tau is body-fixed in all of them: force and moment at the base's origin, in the base's axes, in which
        it is held as the base turns.
        group: of states, as in `state_plus`. "product": (z_v, z_r) adds to nu (eq. 17). "tangent": it adds to nu + ad(nu) z_q, so
        that it is the rate of (z_H, z_s), A = [[0, 1], [K, D]]; the representation then only says what nu is.
        wrenches: frame name -> (..., 6), held fixed in the coordinates of their frames; or `fc.Wrenches`, in their axes.
        """
        given, inputs = steps.generalized(self._robot, "linearize", tau)
        options = in_representation(representation) | in_group(group) | inputs
        return self._run("linearize", (q, nu, given), out, wrenches, **options)

    @deferrable
    def discretize(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        dt: ArrayLike,
        method: str = "zoh",
        wrenches: Wrenches | None = None,
        *,
        out: Any = None,
    ) -> Discretization:
        """z after the time dt = A z + B u, with inputs u held: .A (..., 2nv, 2nv) .B (..., 2nv, m).

        method: "zoh", the exact flow of the linearization (eq. 42) under constant input; "euler", "midpoint" or "rk4", the
        exact derivative of `step` with the same method, from tangent to tangent. dt and tau as in `step`.
        """
        return steps.discretize(self._robot, q, nu, tau, dt, method, wrenches, out)

    @deferrable
    def step(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        dt: ArrayLike,
        method: str = "euler",
        wrenches: Wrenches | None = None,
        *,
        out: Any = None,
    ) -> Step:
        """The state after the time dt with tau held: .q (..., nq) .nu (..., nv). Orientations stay on their group.

        method: "euler", semi-implicit, first order; "midpoint", the explicit rule, second order; "rk4", the commutator-free
        method of Celledoni, Marthinsen and Owren (2003), fourth order.
        dt: a number, or one for each state. tau: nv entries, base wrench first, or the m inputs u.
        """
        return steps.step(self._robot, q, nu, tau, dt, method, wrenches, out)

    @deferrable
    def state_plus(self, q: ArrayLike, nu: ArrayLike, z: ArrayLike, group: Group = "product", *, out: Any = None) -> Step:
        """The state moved by z (..., 2nv): .q .nu, with H exp(z_H), s + z_s, nu + (z_v, z_r) (paper 000, eq. 17).

        group: "tangent" for the exponential of the tangent group, nu = Ad(exp(-z_q)) nu + J_r(z_q) z_nu with nu body-fixed: the
        velocity is carried along, and state_plus(q, nu, t z) is a motion along which z stays what it is.
        """
        return steps.state_plus(self._robot, q, nu, z, group, out)

    @deferrable
    def state_minus(
        self, q0: ArrayLike, nu0: ArrayLike, q1: ArrayLike, nu1: ArrayLike, group: Group = "product", *, out: Array | None = None
    ) -> Array:
        """The shortest z (..., 2nv) with state_plus(q0, nu0, z) = (q1, nu1): log of H0^-1 H1, and differences (paper 000).

        group: as in `state_plus`.
        """
        return steps.state_minus(self._robot, q0, nu0, q1, nu1, group, out)

    @deferrable
    def actuation_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """S(q) with generalized forces S u for inputs u, (..., nv, m); see `with_actuation`."""
        if self._actuation is not None:
            return self._run("actuation_matrix", (q,), out, inputs="tau")
        robot = self._robot
        q_only = (Input("q", robot.nq, quaternions(robot.model)),)
        made = Task("actuation_matrix", q_only, (Output("S", (robot.nv, robot.n)),), len)
        (S,) = self._results(made, self._prepare(made, (q,)).shape, out)
        S[...] = robot.actuation
        return S if out is None else out

    def integrate_derivatives(self, dx: ArrayLike, *, out: Any = None) -> IntegrateDerivatives:
        """Derivatives of integrate(q, dx), left-trivialized, at any q: .dq_dq = Ad(exp(-dx)) .dq_ddx, each (..., nv, nv)."""
        return self._run("integrate_derivatives", (dx,), out)
