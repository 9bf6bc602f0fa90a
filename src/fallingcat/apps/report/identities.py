"""Identities of mechanics that hold for every robot, each as a residual that can be measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms.joint_dynamics import passive_torques
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

EXACT, DIFFERENCED = 1e-10, 1e-7
"""Bounds on residuals: of algebraic identities, and of comparisons with a difference quotient."""


@dataclass(frozen=True)
class Motion:
    """A state with an acceleration, and quantities at it that several identities need."""

    robot: Robot
    q: Array
    nu: Array
    dnu: Array
    M: Array
    tau: Array
    """The generalized forces of the motion, by inverse dynamics, (nv,)."""


@dataclass(frozen=True)
class Identity:
    """One row of the table of identities."""

    name: str
    formula: str
    measure: Callable[[Motion], float]
    bound: float
    kind: Literal["residual", "positive"] = "residual"
    needs: Literal["motion", "floating", "shape", "loops"] = "motion"
    """shape: a floating base and joints. loops: joints of one degree of freedom each, whose coordinates commute."""
    solves: bool = False
    """Solving with M loses digits in proportion to its condition, which widens the bound."""

    def applies(self, robot: Robot) -> bool:
        """Does the identity apply to this robot?"""
        if not robot.nv or not robot.mass > 0.0:
            return False
        shape = robot.floating and robot.n > 0
        loops = shape and all(body.joint.nv == 1 for body in robot.model.bodies[1:])
        return {"motion": True, "floating": robot.floating, "shape": shape, "loops": loops}[self.needs]


# ---------------------------------------------------------------------------------------------------------------------
# Tools


def off(a: Any, b: Any, scale: float = 0.0) -> float:
    """The largest difference relative to the largest entry, or to a larger natural scale."""
    a, b = np.asarray(a), np.asarray(b)
    size = max(largest(a), largest(b), scale)
    return largest(a - b) / (size or 1.0)


def largest(a: Any) -> float:
    """The largest absolute entry."""
    return float(np.max(np.abs(a), initial=0.0))


def differenced(along: Callable[[float], Any]) -> Any:
    """The derivative at zero: central differences of fourth order."""
    h = 1e-4
    return (8.0 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12.0 * h)


def _rate(of: Callable[[Array, Array], Any], m: Motion, dnu: Array) -> Any:
    """The rate of a function of the state along a motion."""
    return differenced(lambda t: of(m.robot.integrate(m.q, t * m.nu), m.nu + t * dnu))


def smallest_eigenvalue(M: Array) -> float:
    """The smallest eigenvalue of a matrix scaled to a unit diagonal, which frees it of units."""
    d = np.diag(M)
    if not np.all(np.isfinite(M)) or np.min(d) <= 0.0:
        return float(np.min(d))
    return float(np.linalg.eigvalsh(M / np.sqrt(np.outer(d, d)))[0])


def _passive(m: Motion) -> Array:
    return np.array(passive_torques(m.robot.model, m.nu.tolist()), dtype=float)


def _free_acceleration(m: Motion) -> Array:
    """The acceleration (nv,) under the joint torques of the motion and no wrench on the base."""
    return m.robot.forward_dynamics(m.q, m.nu, np.concatenate([np.zeros(6), m.tau[6:]]))


# ---------------------------------------------------------------------------------------------------------------------
# Forces and energy


def _power_balance(m: Motion) -> float:
    def energy(q: Array, nu: Array) -> float:
        return float(m.robot.kinetic_energy(q, nu) + m.robot.potential_energy(q))

    power = m.nu * (m.tau - _passive(m))
    return off(_rate(energy, m, m.dnu), power.sum(), scale=float(np.abs(power).sum()) + abs(energy(m.q, m.nu)))


def _gravity_by_center_of_mass(m: Motion) -> float:
    weight = m.robot.mass * m.robot.gravity
    return off(m.robot.gravity_torque(m.q), -m.robot.center_of_mass_jacobian(m.q).T @ weight)


def _weight(m: Motion) -> float:
    H, _ = m.robot.split(m.q)
    lift = -m.robot.mass * m.robot.gravity
    near = m.q.copy()
    near[:3] = 0.0  # the arm does not depend on where the base is, its digits do
    arm = m.robot.center_of_mass(near)
    return off(m.robot.gravity_torque(m.q)[:6], np.concatenate([H[:3, :3].T @ lift, H[:3, :3].T @ np.cross(arm, lift)]))


def _free_base(m: Motion) -> float:
    ddr = m.dnu[6:]
    a = m.robot.base_acceleration(m.q, m.nu, ddr)
    wrench = m.robot.inverse_dynamics(m.q, m.nu, np.concatenate([a, ddr]))[:6]
    return largest(wrench) / (largest(m.M[:6] @ np.concatenate([a, ddr])) or 1.0)


def _free_fall(m: Motion) -> float:
    dnu = _free_acceleration(m)
    fall = _rate(lambda q, nu: m.robot.center_of_mass_jacobian(q) @ nu, m, dnu)
    return off(fall, m.robot.gravity, scale=float(np.max(np.abs(m.robot.center_of_mass_jacobian(m.q)) @ np.abs(dnu))))


# ---------------------------------------------------------------------------------------------------------------------
# Coriolis (paper 001), derivatives (papers 000, 002)


def _inverse_mass_matrix(m: Motion) -> float:
    return off(m.robot.inverse_mass_matrix(m.q) @ m.M, np.eye(len(m.M)))


def _coriolis_forces(m: Motion) -> float:
    h = m.robot.bias(m.q, m.nu)
    terms = m.robot.coriolis_matrix(m.q, m.nu) @ m.nu + m.robot.gravity_torque(m.q) + _passive(m)
    return off(terms, h, scale=largest(m.M) * largest(m.nu) ** 2)


def _skew(m: Motion) -> float:
    C = m.robot.coriolis_matrix(m.q, m.nu)
    rate = _rate(lambda q, nu: m.robot.mass_matrix(q), m, np.zeros_like(m.nu))
    return off(rate, C + C.T, scale=largest(m.M) * largest(m.nu))


def _linearization(m: Motion) -> float:
    """A and B in one direction, the rows of the accelerations, against forward dynamics beside the state."""
    robot, nv = m.robot, m.robot.nv
    rng = np.random.default_rng(0)
    z, u = rng.normal(size=2 * nv), rng.normal(size=robot.m)
    S = robot.actuation_matrix(m.q)
    L = robot.linearize(m.q, m.nu, m.tau)

    def beside(t: float) -> Array:
        return robot.forward_dynamics(robot.integrate(m.q, t * z[:nv]), m.nu + t * z[nv:], m.tau + t * S @ u)

    return off(L.A[nv:] @ z + L.B[nv:] @ u, differenced(beside), scale=largest(beside(0.0)))


# ---------------------------------------------------------------------------------------------------------------------
# Momentum (paper 004) and the reduced equations (paper 003)


def _linear_momentum(m: Motion) -> float:
    momentum = m.robot.centroidal_momentum(m.q, m.nu)[:3]
    return off(momentum, m.robot.mass * m.robot.center_of_mass_jacobian(m.q) @ m.nu)


def _free_momentum(m: Motion) -> float:
    """Joint torques change neither momentum; gravity changes the linear one."""
    rate = _rate(lambda q, nu: m.robot.centroidal_momentum(q, nu), m, _free_acceleration(m))
    force = np.concatenate([m.robot.mass * m.robot.gravity, np.zeros(3)])
    return off(rate, force, scale=largest(m.robot.centroidal_momentum_matrix(m.q)) * largest(_free_acceleration(m)))


def _energy_splits(m: Motion) -> float:
    v, s = m.robot.locked_velocity(m.q, m.nu), m.nu[6:]
    split = v @ m.robot.locked_inertia(m.q) @ v + s @ m.robot.shape_inertia(m.q) @ s
    return off(0.5 * split, m.robot.kinetic_energy(m.q, m.nu))


def _curvature(m: Motion) -> float:
    """B(x, y) = (d_x A) y - (d_y A) x - [A x, A y] in two random directions, with differences of the connection A."""
    robot = m.robot
    x, y = np.random.default_rng(0).normal(size=(2, robot.n))

    def changes(along: Array) -> Array:
        direction = np.concatenate([np.zeros(6), along])
        return np.asarray(differenced(lambda t: robot.mechanical_connection(robot.integrate(m.q, t * direction))))

    A = robot.mechanical_connection(m.q)
    expected = changes(x) @ y - changes(y) @ x - bracket(A @ x, A @ y)
    return off(np.einsum("aij,i,j", robot.curvature(m.q), x, y), expected, scale=largest(A) * largest(x) * largest(y))


def bracket(a: Array, b: Array) -> Array:
    """[a, b] of two twists."""
    return np.concatenate([np.cross(a[3:], b[:3]) + np.cross(a[:3], b[3:]), np.cross(a[3:], b[3:])])


IDENTITIES = (
    Identity("mass matrix symmetric", "M = Mᵀ", lambda m: off(m.M, m.M.T), EXACT),
    Identity("mass matrix positive definite", "λ_min > 0, unit diagonal", lambda m: smallest_eigenvalue(m.M), 1e-14, "positive"),
    Identity("inverse mass matrix", "M⁻¹M = 1", _inverse_mass_matrix, EXACT, solves=True),
    Identity("kinetic energy", "T = ½ νᵀM ν", lambda m: off(m.robot.kinetic_energy(m.q, m.nu), 0.5 * m.nu @ m.M @ m.nu), EXACT),
    Identity("inverse dynamics", "τ = M dν + h", lambda m: off(m.tau, m.M @ m.dnu + m.robot.bias(m.q, m.nu)), EXACT),
    Identity(
        "forward after inverse dynamics", "FD(ID(dν)) = dν",
        lambda m: off(m.robot.forward_dynamics(m.q, m.nu, m.tau), m.dnu), EXACT, solves=True,
    ),
    Identity("gravity through the centre of mass", "g = -m J_cᵀ γ", _gravity_by_center_of_mass, EXACT),
    Identity("Coriolis forces", "C ν + g + passive = h", _coriolis_forces, EXACT),
    Identity("Coriolis matrix, skew", "Ṁ - 2C = -(Ṁ - 2C)ᵀ", _skew, DIFFERENCED),
    Identity("power balance", "d(T + V)/dt = νᵀ(τ - passive)", _power_balance, DIFFERENCED),
    Identity("linearization", "A z + B u = differences of FD", _linearization, DIFFERENCED, solves=True),
    Identity("linear momentum", "l = m J_c ν", _linear_momentum, EXACT),
    Identity("weight at rest", "base wrench = -m γ at c", _weight, EXACT, needs="floating"),
    Identity("free base", "its own acceleration needs no wrench", _free_base, EXACT, needs="floating"),
    Identity("free fall", "c falls with γ, whatever the joints do", _free_fall, DIFFERENCED, needs="floating", solves=True),
    Identity("momentum in free fall", "d(l, k)/dt = (m γ, 0)", _free_momentum, DIFFERENCED, needs="floating", solves=True),
    Identity("energy of base and shape", "2T = v_lᵀΛ v_l + ṡᵀΛ_s ṡ", _energy_splits, EXACT, needs="shape", solves=True),
    Identity("curvature", "B = dA - [A, A], by differences", _curvature, DIFFERENCED, needs="loops", solves=True),
)  # fmt: skip
