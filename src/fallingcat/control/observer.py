"""An observer of the locked velocity from pose, shape and shape velocity (paper 003, Sec. V-2).

The momentum h about the centre of mass, in the axes of the world, is h = N(q) mu, and without forces it is constant: in the row
of mu of the reduced equations P(r) mu / 2 + S(mu) r is P(r) mu (Property 5, sign corrected), the rate of a momentum. Measured:
the pose H of the base, the shape s and its velocity r; no velocity of the base. Estimated: a pose H' and a momentum h', hence
mu' = N^-1 h'. With e = log(H'^-1 H), g = Jr(e)^-T e, a constant Q > 0, f the known forces and any K > 0,

    dH'/dt = H' hat(Ad(H'^-1 H) (mu' - A_l r + K g)),      dh'/dt = f + k^2 Q N^-T g.

As A_l r is known, de/dt = Jr(e)^-1 (mu - mu' - K g), and V = k^2 |e|^2 / 2 + <h - h', Q^-1 (h - h')> / 2 has
dV/dt = -k^2 <g, K g>: while e stays away from half a turn it converges to zero, and mu' to mu.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.choices import check_floating
from fallingcat.control.pose_errors import error, numbers

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]
WHO = "LockedVelocityObserver"


class LockedVelocityObserver:
    """Estimates the locked velocity mu of a floating robot from its configurations and shape velocities (paper 003, Sec. V-2).

    robot: with a floating base; its gravity counts. q (..., nq), r (..., n): the first measurement. rate: k in 1/s, see below.
    mu (..., 6): a guess of the locked velocity, at rest if there is none.

    Q is diag(m, J)^2 with the mass m of the robot and J the mean of its moments of inertia at the first measurement, and K is
    2 k W, W = (N^-1 Q N^-T)^1/2: small errors go like (1 + k_i t) exp(-k_i t) along the axes of W, with k_i = k times its
    eigenvalues, which are one for a ball and 0.4 to 6 for a long arm on a light base. Steps take (1 - exp(-k_i dt)) / dt in place
    of k_i, which puts both poles of the sampled error at exp(-k_i dt): no rate is too high for them. Prediction is of second
    order in dt.

    Leading axes are robots that are observed at once.

    >>> observer = fc.LockedVelocityObserver(robot, q, r, rate=6.0)
    >>> mu = observer.update(q, r, dt)  # with every new measurement
    """

    def __init__(self, robot: Robot, q: ArrayLike, r: ArrayLike, rate: float, mu: ArrayLike | None = None) -> None:
        check_floating(WHO, robot.floating)
        self.robot = robot
        self.rate = float(numbers(WHO, "rate", rate, "a number above zero, in 1/s", (), positive=True))
        self._q, self._r = self._measured(q, r)
        batch = np.broadcast_shapes(self._q.shape[:-1], self._r.shape[:-1])
        self._N = self._momentum_matrix(self._q)
        inertia = np.asarray(robot.centroidal_inertia(self._q))[..., 3:, 3:]
        J = np.broadcast_to(np.cbrt(np.linalg.det(inertia))[..., None], (*batch, 3))
        self._Q = np.concatenate([np.full((*batch, 3), robot.mass), J], axis=-1) ** 2
        guess = np.zeros(6) if mu is None else numbers(WHO, "mu", mu, "(..., 6)", (6,))
        self.pose: Array = np.array(np.broadcast_to(self._q, (*batch, robot.nq)))
        """(..., nq): a configuration with the estimated pose of the base; its shape is not used."""
        self.momentum: Array = np.array(np.broadcast_to(_applied(self._N, guess), (*batch, 6)))
        """(..., 6): the estimated momentum about the centre of mass, in the axes of the world."""

    @property
    def mu(self) -> Array:
        """(..., 6): the estimated locked velocity, body-fixed in the base."""
        return _solved(self._N, self.momentum)

    @property
    def nu(self) -> Array:
        """(..., nv): the estimated velocity of the robot, mu' - A_l r and r."""
        v = self.robot.base_velocity(self._q, self._r, self.mu)
        return np.concatenate([v, np.broadcast_to(self._r, (*v.shape[:-1], self.robot.n))], axis=-1)

    def update(self, q: ArrayLike, r: ArrayLike, dt: float, wrench: ArrayLike | None = None) -> Array:
        """The estimate of mu (..., 6) at a new measurement q (..., nq), r (..., n), a time dt after the one before.

        wrench (..., 6): a known wrench on the base in between, body-fixed at its origin. Forces within the robot, such as joint
        torques, do not count.
        """
        robot = self.robot
        step = float(numbers(WHO, "dt", dt, "a time above zero, in s", (), positive=True))
        F = np.zeros(6) if wrench is None else numbers(WHO, "wrench", wrench, "(..., 6)", (6,))
        q, r = self._measured(q, r)
        N = self._momentum_matrix(q)
        k_i, U = self._rates()
        kappa = -np.expm1(-k_i * step) / step
        e, g = error(robot, self.pose, np.concatenate([self._q[..., :7], self.pose[..., 7:]], axis=-1))
        expected = self.momentum + 0.5 * step * (self._force(self._q, F) + self._force(q, F))
        v0, v1 = robot.base_velocity(self._q, self._r, self.mu), robot.base_velocity(q, r, _solved(N, expected))
        along = _applied(np.swapaxes(U, -1, -2), g)
        x = 0.5 * (v0 + v1) + _applied(U, 2.0 * kappa * along)  # K g
        ahead = robot.integrate(self._q, self._of_base(step * x))
        self.pose = robot.integrate(ahead, self._of_base(-e))  # H' exp(Ad(H'^-1 H) x) = H exp(x) exp(-e)
        self.momentum = expected + step * _applied(self._N @ U, kappa**2 * along)  # k^2 Q N^-T g = N (k W)^2 g
        self._q, self._r, self._N = q, r, N
        return self.mu

    def _measured(self, q: ArrayLike, r: ArrayLike) -> tuple[Array, Array]:
        robot = self.robot
        return (
            numbers(WHO, "q", q, f"(..., {robot.nq})", (robot.nq,)),
            numbers(WHO, "r", r, f"(..., {robot.n}), the shape velocity", (robot.n,)),
        )

    def _momentum_matrix(self, q: Array) -> Array:
        """N, (..., 6, 6), with h = N mu: the momentum of the robot with its joints locked."""
        return np.ascontiguousarray(self.robot.centroidal_momentum_matrix(q)[..., :6])

    def _force(self, q: Array, F: Array) -> Array:
        """The rate of h under gravity, and under a wrench on the base, which is moved to the centre of mass."""
        H, _ = self.robot.split(q)
        R, arm = H[..., :3, :3], H[..., :3, 3] - self.robot.center_of_mass(q)
        force, moment = _applied(R, F[..., :3]), _applied(R, F[..., 3:])
        return np.concatenate([force + self.robot.mass * self.robot.gravity, moment + np.cross(arm, force)], axis=-1)

    def _rates(self) -> tuple[Array, Array]:
        """The eigenvalues and the axes of k W = k (N^-1 Q N^-T)^1/2."""
        half = np.linalg.solve(self._N, np.sqrt(self._Q)[..., None] * np.eye(6))
        w, U = np.linalg.eigh(half @ np.swapaxes(half, -1, -2))
        return self.rate * np.sqrt(w), U

    def _of_base(self, x: Array) -> Array:
        """A displacement (..., nv) of the base alone, from its six entries x."""
        return np.concatenate([x, np.zeros((*x.shape[:-1], self.robot.n))], axis=-1)


def _applied(A: Array, x: Array) -> Array:
    return np.asarray((A @ x[..., None])[..., 0])


def _solved(N: Array, b: Array) -> Array:
    return np.asarray(np.linalg.solve(N, b[..., None])[..., 0])
