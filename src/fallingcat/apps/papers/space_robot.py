"""The space robot of paper 003, Sec. V-1: an arm on a free, spinning base that keeps its shape while something hits the base.

Momentum drives the shape. Two different torques cancel this influence, and a spring and a damper at every joint hold the shape:

    transformed equations (20)    taubar = -Gamma_bq^T mu = tau + B_2(mu) r
    reduced equations (16)        tau = (-S(mu)^T + A^T ad~(p)) mu          (corrected, erratum 3.16)

They differ by B_2 r, which is there only while the shape moves and never does any work: r^T B_2 r = 0. The energy
V = 1/2 <r, r>_Lambda_q + 1/2 <e, e>_K of the shape falls with -r^T D r under both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fallingcat.robot.robot import Robot, load

Array = NDArray[np.float64]

TRANSFORMED, REDUCED = "transformed equations (20)", "reduced equations (16)"
CONTROLLERS = (TRANSFORMED, REDUCED)

SPIN = np.radians(12.0)
"""Angular velocity of the locked robot about y, rad/s."""
HIT, START, END = (5.0, 5.0, 5.0), 0.51, 0.55
"""A moment on the base, N m, between two times, s."""
SECONDS = 3.0
SHAPE = (0.5, 0.7, 0.4, 1.5, 0.6, 1.0, 0.0)
"""The shape that the controllers hold, rad. The paper does not give its shape, arm and gains: these are ours."""
FREQUENCY, DAMPING = 5.0, 0.7
"""Natural frequency (1/s) and damping ratio of every joint, for the shape inertia of that joint alone."""


@dataclass(frozen=True)
class Flight:
    """A simulated flight; the state at t[k] is that before the torque is applied."""

    robot: Robot
    t: Array
    q: Array
    nu: Array
    decoupling: Array
    """(k, n): tau or taubar."""
    extra: Array
    """(k, n): B_2 r."""
    stiffness: Array
    damper: Array

    @property
    def shape_velocity(self) -> Array:
        return self.nu[:, 6:]

    @property
    def error(self) -> Array:
        return np.asarray(self.q[:, 7:] - np.array(SHAPE))

    def energy(self) -> Array:
        """V of the shape."""
        L = self.robot.shape_inertia(self.q)
        r, e = self.shape_velocity, self.error
        return np.asarray(0.5 * np.einsum("ki,kij,kj->k", r, L, r) + 0.5 * (self.stiffness * e**2).sum(axis=1))

    def dissipated(self) -> Array:
        """The integral of r^T D r from the start, by the trapezoidal rule."""
        power = (self.damper * self.shape_velocity**2).sum(axis=1)
        return np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2.0 * np.diff(self.t))])


def space_robot() -> Robot:
    """The bundled arm; its base has the paper's mass, 3.5 kg, and inertia, diag(0.12, 0.14, 0.12) kg m^2."""
    return load("spacearm", gravity=(0.0, 0.0, 0.0))


def fly(robot: Robot, controller: str, dt: float = 1e-3) -> Flight:
    """From a shape at rest and a locked velocity about y, through the hit, under one of the controllers."""
    count = round(SECONDS / dt)
    t: Array = dt * np.arange(count + 1, dtype=np.float64)
    q, nu = np.empty((count + 1, robot.nq)), np.zeros((count + 1, robot.nv))
    decoupling, extra = np.empty((count + 1, robot.n)), np.empty((count + 1, robot.n))
    q[0] = robot.neutral()
    q[0, 7:] = SHAPE
    nu[0, 4] = SPIN  # the shape is at rest: mu is the twist of the base
    inertia = np.diag(robot.shape_inertia(q[0]))
    stiffness, damper = FREQUENCY**2 * inertia, 2.0 * DAMPING * FREQUENCY * inertia
    for k in range(count + 1):
        R, r = robot.reduced_dynamics(q[k], nu[k]), nu[k, 6:]
        extra[k] = R.B_2 @ r
        decoupling[k] = -np.asarray(R.D_locked)[6:, :6] @ R.mu + (extra[k] if controller == TRANSFORMED else 0.0)
        if k == count:
            break
        force = np.zeros(robot.nv)
        force[6:] = decoupling[k] - stiffness * (q[k, 7:] - SHAPE) - damper * r
        if START <= t[k] + dt / 2.0 < END:
            force[3:6] = HIT
        q[k + 1], nu[k + 1] = robot.step(q[k], nu[k], force, dt, "rk4")
    return Flight(robot, t, q, nu, decoupling, extra, stiffness, damper)


def peak_ratios(robot: Robot, shapes: Array, dt: float) -> Array:
    """Peak of the torques after the hit, transformed over reduced equations, for flights from many shapes at once."""
    count, peaks = round(SECONDS / dt), []
    shapes = np.asarray(shapes)
    q0 = np.repeat(robot.neutral()[None], len(shapes), axis=0)
    q0[:, 7:] = shapes
    inertia = np.diagonal(robot.shape_inertia(q0), axis1=-2, axis2=-1)
    stiffness, damper = FREQUENCY**2 * inertia, 2.0 * DAMPING * FREQUENCY * inertia
    for controller in (TRANSFORMED, REDUCED):
        q, nu, peak = q0, np.zeros((len(shapes), robot.nv)), np.zeros(len(shapes))
        nu[:, 4] = SPIN
        for k in range(count + 1):
            R, r = robot.reduced_dynamics(q, nu), nu[:, 6:]
            torque = -np.einsum("kij,kj->ki", np.asarray(R.D_locked)[:, 6:, :6], R.mu)
            if controller == TRANSFORMED:
                torque = torque + np.einsum("kij,kj->ki", R.B_2, r)
            if k * dt >= END:
                peak = np.maximum(peak, np.abs(torque).max(axis=1))
            force = np.zeros_like(nu)
            force[:, 6:] = torque - stiffness * (q[:, 7:] - shapes) - damper * r
            if START <= (k + 0.5) * dt < END:
                force[:, 3:6] = HIT
            q, nu = robot.step(q, nu, force, dt, "rk4")
        peaks.append(peak)
    return np.array(peaks[0] / peaks[1])


def random_shapes(robot: Robot, count: int) -> Array:
    """Random shapes within the limits of the joints, (count, n)."""
    rng = np.random.default_rng(0)
    return np.array([robot.random_configuration(rng)[7:] for _ in range(count)])


def busiest(flights: dict[str, Flight], count: int = 3) -> list[int]:
    """The joints with the highest decoupling torques of the reduced equations, in order."""
    highest = np.abs(flights[REDUCED].decoupling).max(axis=0)
    return sorted(int(j) for j in np.argsort(highest)[-count:])


@dataclass(frozen=True)
class Comparison:
    """The two flights in numbers."""

    before: float
    """The largest difference of the torques before the hit, N m."""
    transient: float
    """The same after it."""
    end: float
    """The largest difference of the torques at the end."""
    peaks: dict[str, float]
    """The highest decoupling torque after the hit."""
    levels: tuple[float, float]
    """The highest torque of the reduced equations just before the hit, and at the end."""
    left: float
    """The largest shape velocity at the end, of either, rad/s."""
    identity: float
    """taubar - tau - B_2 r along the flight of the transformed equations, N m."""
    power: float
    """The largest power of B_2 r, W."""
    balance: float
    """The largest change of V + dissipated after the hit, relative to V then."""
    ratio: float
    """Ratio of the peaks, transformed over reduced equations, for this shape."""
    mixed: tuple[float, float]
    """<mu_e, (S(mu) - S(mu'))r> against -1/2 <mu_e, mu_e>_P as printed and +1/2 as corrected, relative to the largest."""


def compare(flights: dict[str, Flight]) -> Comparison:
    """What Sec. V-1 and V-2 say, in numbers."""
    a, b = flights[TRANSFORMED], flights[REDUCED]
    apart = np.abs(a.decoupling - b.decoupling).max(axis=1)
    before, after = a.t < START, a.t >= END
    first = int(np.flatnonzero(before)[-1])
    highest = np.abs(b.decoupling).max(axis=1)
    return Comparison(
        before=float(apart[before].max()),
        transient=float(apart[after].max()),
        end=float(apart[-1]),
        peaks={name: float(np.abs(f.decoupling[after]).max()) for name, f in flights.items()},
        levels=(float(highest[first]), float(highest[-1])),
        left=max(float(np.abs(f.shape_velocity[-1]).max()) for f in flights.values()),
        identity=_identity(a),
        power=float(max(np.abs((f.shape_velocity * f.extra).sum(axis=1)).max() for f in flights.values())),
        balance=max(_balance(f, after) for f in flights.values()),
        ratio=float(np.abs(a.decoupling[after]).max() / np.abs(b.decoupling[after]).max()),
        mixed=_mixed(b),
    )


def _identity(flight: Flight) -> float:
    """taubar from Gamma_bq by the full Coriolis terms, not from B_2: -Gamma_bq^T mu = Gamma_qb mu (23c)."""
    robot, worst = flight.robot, 0.0
    for k in np.linspace(0, len(flight.t) - 1, 40).astype(int):
        q, nu = flight.q[k], flight.nu[k]
        R = robot.reduced_dynamics(q, nu)
        T = np.eye(robot.nv)
        T[:6, 6:] = -np.asarray(R.A_l)  # nu = T xi
        C = robot.coriolis_matrix(q, nu)  # Gamma = T^T (C T + M dT/dt), where dT/dt is zero in the columns of mu
        worst = max(worst, float(np.abs((T.T @ C @ T)[6:, :6] @ R.mu - flight.decoupling[k]).max()))
    return worst


def _balance(flight: Flight, after: NDArray[np.bool_]) -> float:
    total = (flight.energy() + flight.dissipated())[after]
    return float(np.ptp(total) / flight.energy()[after][0])


def _mixed(flight: Flight) -> tuple[float, float]:
    """Sec. V-2 along a flight; the reference velocity is that of the start."""
    robot = flight.robot
    some = slice(0, None, 20)
    q, r = flight.q[some], flight.nu[some, 6:]
    start = flight.nu[0, :6]
    there = robot.reduced_dynamics(q, flight.nu[some])
    guess = np.concatenate([start - np.einsum("kij,kj->ki", there.A_l, r), r], axis=1)
    other = robot.reduced_dynamics(q, guess)
    e = np.asarray(there.mu) - start
    mixed = np.einsum("ki,kij,kj->k", e, np.asarray(there.S) - other.S, r)
    half = 0.5 * np.einsum("ki,kij,kj->k", e, there.P, e)
    size = float(np.abs(mixed).max())
    return float(np.abs(mixed + half).max() / size), float(np.abs(mixed - half).max() / size)
