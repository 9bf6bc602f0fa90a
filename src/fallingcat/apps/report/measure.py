"""Computes all that the report presents, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.console import Step
from fallingcat.apps.report import linearization
from fallingcat.apps.report.checks import RANDOM_STATES, Check, check_dynamics
from fallingcat.apps.report.identities import IDENTITIES
from fallingcat.apps.report.quick import quick
from fallingcat.apps.report.states import State
from fallingcat.apps.report.timings import Timing, Which, functions, time_functions
from fallingcat.errors import InputError
from fallingcat.functions import what_is_singular
from fallingcat.model.findings import Finding
from fallingcat.model.joints import FreeFlyer
from fallingcat.model.model import Body
from fallingcat.model.report import printable
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

SECTIONS = ("mass matrix", "energies", "centre of mass", "Coriolis matrix", "linearization", "centroidal momentum", "curvature")


@dataclass(frozen=True)
class Inertias:
    """Mass and inertia of one body, about its centre of mass."""

    body: Body
    mass: float
    center: Array
    """In the body's frame; zero for a body without mass."""
    inertia: Array
    """(3, 3), in the axes of the body's frame."""
    moments: Array
    """Principal moments, the smallest first."""


@dataclass(frozen=True)
class Linear:
    """z' = A z + B u around forces without acceleration; for a floating base they include a wrench that is fixed in its axes."""

    A: Array
    B: Array
    eigenvalues: NDArray[np.complex128]
    rank: int
    """The rank of the controllability matrix of the joint torques."""
    stays: bool
    """Does the robot stay where it is?"""
    falling: NDArray[np.complex128] | None
    """The eigenvalues of a floating robot that nothing holds."""

    @property
    def filled(self) -> Array:
        """The nonzero entries of A, without rounding errors."""
        return np.where(np.abs(self.A) > linearization.NEGLIGIBLE * max(float(np.abs(self.A).max(initial=0.0)), 1.0), self.A, 0.0)


@dataclass(frozen=True)
class Centroidal:
    """The robot as one body about its centre of mass (paper 004)."""

    momentum: Array
    """(linear; angular), in the axes of the world."""
    inertia: Array
    average_velocity: Array


@dataclass(frozen=True)
class Locked:
    """The separate dynamics of base and shape (paper 003)."""

    inertia: Array
    """(6, 6): the inertia of the robot with its joints locked, at the base."""
    velocity: Array
    """(6,): the twist of the locked robot with the same momentum."""
    connection: Array
    """(6, n): how the base moves against the joints when there is no momentum."""
    curvature: Array
    """(6, n, n)."""

    @property
    def turning(self) -> Array:
        """(n, n): how much a small loop of two joints turns the base, in rad per unit of area."""
        return np.asarray(np.linalg.norm(self.curvature[3:], axis=0))


@dataclass(frozen=True)
class Report:
    """All numbers and words that the report presents."""

    robot: Robot
    state: State
    bodies: tuple[Inertias, ...]
    M: Array
    eigenvalues: Array
    C: Array
    C_velocity: Array
    """The velocity C is shown at: that of the state, or a random one when the robot is at rest."""
    g: Array
    kinetic_energy: float
    potential_energy: float
    center_of_mass: Array
    linear: Linear | None
    centroidal: Centroidal | None
    locked: Locked | None
    checks: tuple[Check, ...]
    timings: tuple[Timing, ...]
    findings: tuple[Finding, ...]

    @property
    def at_rest(self) -> bool:
        return not self.state.nu.any()

    @property
    def singular(self) -> str:
        """Why the mass matrix is singular, by the names of joints; empty if it is not."""
        return what_is_singular(self.robot.model, self.state.q.tolist())


def steps(robot: Robot, timings: Which) -> int:
    """The number of progress messages of `measure`."""
    identities = sum(identity.applies(robot) for identity in IDENTITIES)
    return len(SECTIONS) + (1 + RANDOM_STATES) * identities + len(functions(robot, timings))


def measure(
    robot: Robot,
    state: State,
    findings: tuple[Finding, ...],
    step: Step = lambda what: None,
    timings: Which = "main",
) -> Report:
    """Compute what the report presents, each function at its own pace (see `quick`)."""
    robot = quick(robot)
    say = iter(SECTIONS)
    step(next(say))
    M = robot.mass_matrix(state.q)
    eigenvalues = np.asarray(np.linalg.eigvalsh(M), dtype=np.float64) if robot.nv else np.zeros(0)
    step(next(say))
    kinetic, potential = robot.kinetic_energy(state.q, state.nu), robot.potential_energy(state.q) + 0.0  # never -0
    step(next(say))
    c = robot.center_of_mass(state.q)
    step(next(say))
    nu = state.nu if state.nu.any() else robot.random_velocity(0)
    C, g = robot.coriolis_matrix(state.q, nu), robot.gravity_torque(state.q)
    step(next(say))
    linear = _linear(robot, state)
    step(next(say))
    centroidal = _centroidal(robot, state)
    step(next(say))
    locked = _locked(robot, state)
    return Report(
        robot, state, tuple(_inertias(body) for body in robot.model.bodies), M, eigenvalues, C, nu, g, kinetic, potential, c,
        linear, centroidal, locked, check_dynamics(robot, state, step), time_functions(robot, timings, step), findings,
    )  # fmt: skip


def _inertias(body: Body) -> Inertias:
    mass = float(body.inertia.mass)
    center = np.array(body.inertia.h, dtype=float) / mass if mass > 0.0 else np.zeros(3)
    xx, xy, xz, yy, yz, zz = (float(x) for x in body.inertia.I)
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    inertia = about_origin - mass * (center @ center * np.eye(3) - np.outer(center, center))
    return Inertias(body, mass, center, inertia, principal_moments(inertia))


def _linear(robot: Robot, state: State) -> Linear | None:
    if not robot.nv:
        return None
    try:
        found = linearization.measure(robot, state, held=True)
        falling = linearization.measure(robot, state).eigenvalues if robot.floating else None
    except (InputError, ArithmeticError, np.linalg.LinAlgError):  # a singular robot has none
        return None
    return Linear(found.A, found.B, found.eigenvalues, found.rank, found.equilibrium, falling)


def _centroidal(robot: Robot, state: State) -> Centroidal | None:
    if not robot.nv or not robot.mass > 0.0:
        return None
    q, nu = state.q, state.nu
    return Centroidal(robot.centroidal_momentum(q, nu), robot.centroidal_inertia(q), robot.average_velocity(q, nu))


def _locked(robot: Robot, state: State) -> Locked | None:
    if not robot.floating or not robot.mass > 0.0:
        return None
    q, nu = state.q, state.nu
    return Locked(robot.locked_inertia(q), robot.locked_velocity(q, nu), robot.mechanical_connection(q), robot.curvature(q))


# ---------------------------------------------------------------------------------------------------------------------
# Words that every presentation needs


def velocity_labels(robot: Robot) -> list[str]:
    """A name for every entry of nu."""
    labels = [""] * robot.nv
    for i, body in enumerate(robot.model.bodies):
        if body.mimics:
            continue
        name = "base" if robot.floating and i == 0 else printable(body.joint_name, 24)
        axes = (
            ("x", "y", "z", "rx", "ry", "rz")
            if isinstance(body.joint, FreeFlyer)
            else tuple(str(k) for k in range(body.joint.nv))
        )
        for k, at in enumerate(robot.model.dofs(i)):
            labels[at] = name if body.joint.nv == 1 else f"{name} {axes[k]}"
    return labels


def coupling(M: Array) -> Array:
    """|M_ij| / sqrt(M_ii M_jj): dimensionless, one on the diagonal, zero where two motions are not coupled."""
    d = np.sqrt(np.abs(np.diag(M)))
    scale = np.outer(d, d)
    C = np.divide(np.abs(M), scale, out=np.zeros_like(M), where=scale > 0.0)
    return np.where(C < 1e-12, 0.0, C)


def massless(robot: Robot) -> list[str]:
    """Links without mass, which serve as frames."""
    return [link.name for link in robot.description.links if link.inertial is None or not link.inertial.mass > 0.0]


def conventions(robot: Robot) -> list[tuple[str, str]]:
    """The conventions of the numbers, as names and descriptions."""
    base: list[tuple[str, str]] = []
    if robot.floating:
        base = [
            ("q", "base position, base quaternion x y z w, joint positions"),
            ("ν", "base twist, body-fixed, (linear; angular); joint velocities"),
            ("τ", "wrench on the base, (force; moment), body-fixed; joint torques"),
        ]
    else:
        base = [("q", "joint positions"), ("ν", "joint velocities"), ("τ", "joint torques, or forces where a joint slides")]
    return [
        *base,
        ("equations", "M(q) dν + C(q, ν) ν + g(q) = τ,   h = C ν + g"),
        ("order", "of the movable joints in the file, whatever the base"),
        ("units", "m, kg, s, rad"),
    ]


def strongest_pairs(robot: Robot, locked: Locked, most: int = 5) -> list[tuple[str, str, float]]:
    """The pairs of joints whose small loops turn the base most: names, and rad per unit of area."""
    labels, turning = velocity_labels(robot)[6:], locked.turning
    pairs: list[Any] = [(turning[i, j], i, j) for i in range(robot.n) for j in range(i)]
    return [(labels[j], labels[i], float(x)) for x, i, j in sorted(pairs, reverse=True)[:most] if x > 1e-12]


def linear_words(robot: Robot) -> str:
    """What the linearization is about."""
    if robot.floating:
        return "held: no acceleration, by joint torques and a wrench on the base that is constant in its axes"
    return "held: no acceleration, by joint torques"


def growth_words(eigenvalues: NDArray[np.complex128]) -> str:
    """A spectrum in a few words."""
    found = linearization.modes(eigenvalues)
    zero = sum(mode.count for mode in found if mode.real == 0.0 and mode.imag == 0.0)
    fastest = max((mode.real for mode in found), default=0.0)
    words = f"{zero} of {len(eigenvalues)} eigenvalues are zero"
    return words + (f", the fastest growth is {fastest:.3g} 1/s" if fastest > 0.0 else ", none grows")


def principal_moments(inertia: Array) -> Array:
    """Principal moments of a rotational inertia (3, 3), the smallest first; what is zero but for rounding is zero."""
    moments = np.asarray(np.linalg.eigvalsh(inertia), dtype=np.float64)
    return np.where(np.abs(moments) <= ROUNDING * np.abs(moments).max(), 0.0, moments)


ROUNDING = 1e-14
"""Principal moments below this share of the largest are rounding."""
