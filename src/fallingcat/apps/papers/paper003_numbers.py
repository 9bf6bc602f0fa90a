"""The numbers behind paper 003: verdicts on its equations, the library against its sums, curvature and closed loops of shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.console import Step
from fallingcat.apps.papers import Check
from fallingcat.apps.papers.slips import Slip, slip_checks
from fallingcat.apps.papers.space_robot import Comparison
from fallingcat.arrays import eager
from fallingcat.functions import task
from fallingcat.motion.reconstruction import Motion, configurations, reconstruct
from fallingcat.reference.paper003 import Bodies
from fallingcat.reference.paper003_claims import Moment, confirmed, errata
from fallingcat.robot.robot import Robot, load

Array = NDArray[np.float64]

PLANE = ("joint2", "joint4")
"""The two joints of the arm whose axes stay parallel: with the others at zero the robot moves in the plane x, z."""
COMPONENTS = {"x": 0, "z": 2, "pitch": 4}
"""Components of a twist (linear; angular) in that plane."""
CENTRE = (-1.0, 1.2)
"""The centre of the loops in the plane, rad."""
SIZES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
"""Radii of loops, rad."""
LARGE = tuple(0.05 * k for k in range(1, 17))
"""Radii of circles in the plane up to the joints' limits, rad."""


# ---------------------------------------------------------------------------------------------------------------------
# Verdicts


@dataclass(frozen=True)
class Verdicts:
    """Verdicts on the equations of the paper: the largest residuals over several robots, relative to their size or to one."""

    wrong: list[Slip]
    holds: dict[str, float]
    """The equations that hold as printed, with their residuals."""


def off(x: Array, y: Array) -> float:
    """The largest difference, relative to y or to one."""
    x, y = np.asarray(x), np.asarray(y)
    return float(np.abs(x - y).max() / max(1.0, np.abs(y).max())) if x.shape == y.shape else np.inf


def verdicts(robots: Sequence[str], step: Step) -> Verdicts:
    """Every equation of the paper on some robots, each in a random state."""
    wrong: dict[str, Slip] = {}
    holds: dict[str, float] = {}
    for seed, name in enumerate(robots):
        step(f"equations, {name}")
        robot = load(name)
        state = robot.random_configuration(seed), robot.random_velocity(seed + 10), robot.random_velocity(seed + 20)
        moment = Moment.of(robot.model, *(x.tolist() for x in state))
        for pair in confirmed(moment):
            holds[pair.where] = max(holds.get(pair.where, 0.0), off(pair.left, pair.right))
        for e in errata(moment):
            printed, corrected = off(e.printed, e.witness), off(e.corrected, e.witness)
            if e.where in wrong:
                printed, corrected = max(printed, wrong[e.where].printed), max(corrected, wrong[e.where].corrected)
            wrong[e.where] = Slip(e.number, e.where, printed, corrected, e.what)
    return Verdicts(sorted(wrong.values(), key=lambda v: int(v.number.split(".")[1])), holds)


def library_errors(robots: Sequence[str], step: Step) -> dict[str, float]:
    """Every term of the library's reduced equations against the paper's sums over bodies; its curvature against complex steps."""
    worst: dict[str, float] = {}
    for seed, name in enumerate(robots):
        step(f"terms, {name}")
        robot = load(name)
        q, nu = robot.random_configuration(seed + 30), robot.random_velocity(seed + 40)
        b, r = Bodies.of(robot.model, q.tolist()), nu[6:]
        mu = nu[:6] + b.A_l @ r
        ours = eager.run(task(robot.model, "reduced_dynamics"), (q, nu))._asdict()
        ours["curvature"] = eager.run(task(robot.model, "curvature"), (q,))
        sums = {
            "Lambda_b": b.Lambda_b, "Lambda_q": b.Lambda_q, "A_l": b.A_l, "P": b.P(r), "S": b.S(mu), "Gamma_q": b.Gamma_q(r),
            "B_2": b.B_2(mu), "C_b": b.C_b(mu), "D_shape": b.D_q(r), "D_locked": b.D_mu(mu), "mu": mu, "curvature": b.curvature,
        }  # fmt: skip
        for term, x in sums.items():
            worst[term] = max(worst.get(term, 0.0), off(ours[term], x))
    return worst


# ---------------------------------------------------------------------------------------------------------------------
# Curvature and loops


@dataclass(frozen=True)
class Map:
    """The curvature functions of two joints on a grid of their positions."""

    first: Array
    second: Array
    values: dict[str, Array]
    """Component -> -B(first, second), (len(second), len(first)): displacement per area of a small loop from first to second."""


def curvature_map(robot: Robot, points: int) -> Map:
    """Sec. V-3: curvature functions over two shape coordinates."""
    i, j = (robot.joint_names.index(name) for name in PLANE)
    (low_i, high_i), (low_j, high_j) = robot.position_limits[i], robot.position_limits[j]
    x, y = np.linspace(low_i, high_i, points), np.linspace(low_j, high_j, points)
    s = np.zeros((points, points, robot.n))
    s[..., i], s[..., j] = x[None, :], y[:, None]
    B = robot.curvature(configurations(robot, s.reshape(-1, robot.n)))[:, :, i, j]
    return Map(x, y, {name: -B[:, k].reshape(points, points) for name, k in COMPONENTS.items()})


@dataclass(frozen=True)
class Ellipse:
    """A closed path of shapes: centre + a cos(2 pi t) + b sin(2 pi t)."""

    centre: Array
    a: Array
    b: Array

    def __call__(self, t: Array) -> Motion:
        angle, rate = 2.0 * np.pi * t[:, None], 2.0 * np.pi
        c, s = np.cos(angle), np.sin(angle)
        return Motion(
            self.centre + self.a * c + self.b * s, rate * (self.b * c - self.a * s), -(rate**2) * (self.a * c + self.b * s)
        )

    def displacement(self, robot: Robot, intervals: int = 400) -> Array:
        """The twist whose exponential is where one turn leaves the base, by integrating the reconstruction."""
        q = reconstruct(robot, self, np.linspace(0.0, 1.0, intervals + 1))
        return np.asarray(robot.difference(q[0], q[-1])[:6])

    def area_integral(self, robot: Robot, around: int = 48, layers: int = 10) -> Array:
        """-integral of B over the ellipse: equal steps around, Gauss points along the radius."""
        nodes, weights = np.polynomial.legendre.leggauss(layers)
        angles = 2.0 * np.pi * np.arange(around) / around
        radii = (nodes + 1.0) / 2.0
        ring = np.cos(angles)[:, None] * self.a + np.sin(angles)[:, None] * self.b
        s = self.centre + radii[:, None, None] * ring
        B = robot.curvature(configurations(robot, s.reshape(-1, robot.n))).reshape(layers, around, 6, robot.n, robot.n)
        inner = np.einsum("lkaij,i,j->la", B, self.a, self.b) * 2.0 * np.pi / around
        return np.asarray(-np.einsum("l,l,la->a", weights / 2.0, radii, inner))


@dataclass(frozen=True)
class Loops:
    """Displacements of loops of growing size."""

    sizes: Array
    exact: Array
    """(k, 6): by the reconstruction."""
    estimate: Array
    """(k, 6): by the area integral."""

    @property
    def misses(self) -> Array:
        return np.asarray(np.linalg.norm(self.exact - self.estimate, axis=1))

    def order(self) -> tuple[float, float]:
        """The powers of the size with which the displacement and the error of the estimate grow, for small loops."""
        small = slice(0, 4)
        size = np.log(self.sizes[small])
        grown = (np.linalg.norm(self.exact, axis=1)[small], self.misses[small])
        first, second = (float(np.polyfit(size, np.log(x), 1)[0]) for x in grown)
        return first, second


def in_the_plane(robot: Robot, sizes: Sequence[float], step: Step) -> Loops:
    """Circles of the two joints: a motion in a plane, whose rotations commute."""
    i, j = (robot.joint_names.index(name) for name in PLANE)
    centre, a, b = np.zeros(robot.n), np.eye(robot.n)[i], np.eye(robot.n)[j]
    centre[[i, j]] = CENTRE
    return _loops(robot, centre, a, b, sizes, step)


def in_space(robot: Robot, sizes: Sequence[float], step: Step) -> Loops:
    """Ellipses in which all joints take part."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, robot.n)) / np.sqrt(robot.n)
    return _loops(robot, robot.random_configuration(rng)[7:] / 2.0, a, b, sizes, step)


def _loops(robot: Robot, centre: Array, a: Array, b: Array, sizes: Sequence[float], step: Step) -> Loops:
    exact, estimate = [], []
    for size in sizes:
        step("closed loops of shapes")
        loop = Ellipse(centre, size * a, size * b)
        exact.append(loop.displacement(robot))
        estimate.append(loop.area_integral(robot))
    return Loops(np.array(sizes), np.array(exact), np.array(estimate))


# ---------------------------------------------------------------------------------------------------------------------
# Checks


def checks(
    found: Verdicts, terms: dict[str, float], flown: Comparison, ratios: Array, plane: Loops, space: Loops
) -> Iterator[Check]:  # fmt: skip
    yield Check(f"{len(found.holds)} equations that hold as printed, the worst", max(found.holds.values()), 1e-10)
    yield from slip_checks(found.wrong, 1e-10)
    for term, error in terms.items():
        yield Check(f"library: {term} against the sums over bodies", error, 1e-10)
    yield Check("space robot: torques apart before the hit, N m", flown.before, 1e-8)
    yield Check("space robot: torques apart in the transient, N m", flown.transient, 0.01, at_least=True)
    yield Check("space robot: torques apart at the end, N m", flown.end, 1e-3)
    yield Check("space robot: shape velocity at the end, rad/s", flown.left, 0.03)
    yield Check("space robot: peak of τ̄ over peak of τ, median over random shapes", float(np.median(ratios)), 1.0, at_least=True)
    yield Check("space robot: τ̄ by the full Coriolis matrix against τ + B₂ r, N m", flown.identity, 1e-12)
    yield Check("space robot: power of B₂ r, W", flown.power, 1e-14)
    yield Check("space robot: balance of the shape's energy", flown.balance, 5e-3)
    yield Check("Sec. V-2 along the flight, as printed, is off by twice itself", abs(flown.mixed[0] - 2.0), 1e-10)
    yield Check("Sec. V-2 along the flight, corrected", flown.mixed[1], 1e-10)
    yield Check("loops: displacements grow with the size to the power 2", abs(space.order()[0] - 2.0), 0.1)
    yield Check("loops: misses of the area integral to the power 3", abs(space.order()[1] - 3.0), 0.1)
    rotation = np.abs(plane.exact - plane.estimate)[:, COMPONENTS["pitch"]].max()
    yield Check("loops in a plane: rotation by the area integral, at any size, rad", float(rotation), 1e-10)
