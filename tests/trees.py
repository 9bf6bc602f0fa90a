"""Random robots, random states, and derivatives by complex step, for the tests.

A tree is made from a seed and a number of joints, so that a failing example shrinks to few joints and prints
as a call that can be pasted into a shell.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
from numpy.typing import NDArray

import fallingcat as fc
from fallingcat.algorithms import configuration
from fallingcat.arrays import eager
from fallingcat.choices import REPRESENTATIONS as REPRESENTATIONS
from fallingcat.model.description import Inertial
from fallingcat.model.model import Model

Array = NDArray[np.float64]

ONE_AXIS = ("revolute", "continuous", "prismatic", "helical")
"""Joints with one coordinate: these can follow each other."""
ON_R = (*ONE_AXIS, "cylindrical", "universal")
"""Joints whose velocities are rates of coordinates."""
ALL = (*ONE_AXIS, "cylindrical", "planar", "universal", "spherical", "floating")
GRAVITY = (1.0, -2.0, -9.0)
"""Along no axis."""

STEP = 1e-20
"""Of the complex step: its square vanishes against any number of double precision."""

# Largest relative errors, as `relative_error` has them
ONE_FORMULA = 1e-14
"""Of one formula: a few roundings."""
TIGHT = 1e-12
"""Of what is evaluated by recursions: some hundred roundings."""
SOLVED = 1e-10
"""Of what was divided by a mass matrix, whose condition number comes in."""


# ---------------------------------------------------------------------------------------------------------------------
# Robots


def random_tree(
    seed: int | np.random.Generator,
    joints: int = 6,
    types: Sequence[str] = ALL,
    fixed: float = 0.25,
    mimic: float = 0.25,
    square: bool = False,
    name: str = "tree",
) -> fc.Builder:
    """A branched tree with `joints` moving joints, general placements and inertias, in no particular file order.

    fixed: how often a fixed joint and one more link are put in between. mimic: how often a joint with one coordinate
    follows an earlier one (possibly one that itself follows). square: right angles and coordinate axes only.
    Damping, friction and armature are set on every joint, and count only in robots loaded with joint_dynamics=True.
    """
    rng = np.random.default_rng(seed)
    links = ["link0"]
    rows: list[tuple[str, str, str, str, dict[str, Any]]] = []
    leaders: list[str] = []
    made = 0
    while made < joints:
        parent = links[rng.integers(len(links))]
        child = f"link{len(links)}"
        if rng.random() < fixed:
            rows.append((f"weld{len(links)}", "fixed", parent, child, _placement(rng, square)))
            links.append(child)
            continue
        type_ = str(rng.choice(types))
        joint = f"joint{len(links)}"
        options = _placement(rng, square) | _axes(rng, square) | _inside(rng)
        if type_ == "helical":
            options["pitch"] = rng.uniform(0.05, 0.3) * rng.choice([-1, 1])
        if type_ in ONE_AXIS:
            if leaders and rng.random() < mimic:
                multiplier = rng.uniform(0.3, 1.5) * rng.choice([-1, 1])
                options |= {"mimic": str(rng.choice(leaders)), "multiplier": multiplier, "offset": rng.uniform(-0.5, 0.5)}
            leaders.append(joint)
        rows.append((joint, type_, parent, child, options))
        links.append(child)
        made += 1
    builder = fc.Builder(name)
    for link in rng.permutation(links):
        builder.link(str(link), **_inertia(rng))
    for k in rng.permutation(len(rows)):
        joint, type_, parent, child, options = rows[k]
        builder.joint(joint, type_, parent, child, **options)
    return builder


def _placement(rng: np.random.Generator, square: bool) -> dict[str, Any]:
    right_angles = rng.random() < 0.3 or square
    rpy = rng.integers(-1, 3, size=3) * np.pi / 2 if right_angles else rng.uniform(-np.pi, np.pi, size=3)
    return {"xyz": rng.uniform(-0.3, 0.3, size=3), "rpy": rpy}


def _axis(rng: np.random.Generator, square: bool) -> Array:
    """A coordinate axis of either sign, or a general one."""
    if rng.random() < 0.5 or square:
        return np.array(np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0]))
    a = rng.normal(size=3)
    return np.array(a / np.linalg.norm(a))


def _axes(rng: np.random.Generator, square: bool) -> dict[str, Any]:
    """An axis, and a second one between 45 and 135 degrees away from it."""
    first = _axis(rng, square)
    while True:
        second = _axis(rng, square)
        if abs(first @ second) < 0.7:
            return {"axis": first, "axis2": second}


def _inside(rng: np.random.Generator) -> dict[str, float]:
    return {
        "damping": rng.uniform(0.1, 1.0),
        "friction": rng.uniform(0.1, 1.0),
        "armature": rng.uniform(0.01, 0.1),
        "lower": -rng.uniform(1.0, 2.0),
        "upper": rng.uniform(1.0, 2.0),
        "velocity": rng.uniform(1.0, 9.0),
        "effort": rng.uniform(1.0, 99.0),
    }


def _inertia(rng: np.random.Generator) -> dict[str, Any]:
    """A brick of ten to forty centimetres, anywhere near the link's origin and turned at will."""
    mass = rng.uniform(0.5, 3.0)
    x, y, z = rng.uniform(0.1, 0.4, size=3) ** 2
    moments = mass / 12.0 * np.array([y + z, 0.0, 0.0, x + z, 0.0, x + y])
    return {"mass": mass, "com": rng.uniform(-0.2, 0.2, size=3), "inertia": moments, "rpy": rng.uniform(-3, 3, size=3)}


def trees(max_joints: int = 7, min_joints: int = 1, **options: Any) -> st.SearchStrategy[fc.Builder]:
    """Random trees, for hypothesis: shrinks towards few joints and small seeds."""
    numbers = {"joints": st.integers(min_joints, max_joints)} | {key: st.just(value) for key, value in options.items()}
    return st.builds(random_tree, st.integers(0, 10_000), **numbers)


# What a test draws besides a tree: whether its base floats, the seed of its state, and what its base twist is.
floating = st.booleans()
seeds = st.integers(0, 1000)
representations = st.sampled_from(REPRESENTATIONS)


def leader(description: fc.Description, joint: str) -> tuple[str, float, float]:
    """The joint at the end of a chain of mimics, with the multiplier and offset of the whole chain."""
    by_name = {j.name: j for j in description.joints}
    multiplier, offset = 1.0, 0.0
    while (mimic := by_name[joint].mimic) is not None:
        joint, multiplier, offset = mimic.joint, multiplier * mimic.multiplier, multiplier * mimic.offset + offset
    return joint, multiplier, offset


def without_mimics(description: fc.Description) -> fc.Description:
    """The same robot with every joint moving on its own."""
    return dataclasses.replace(description, joints=tuple(dataclasses.replace(j, mimic=None) for j in description.joints))


def places(robot: fc.Robot) -> dict[str, tuple[slice, slice]]:
    """Where the coordinates and the velocities of every joint are in q and nu; mimic joints share their leader's."""
    return {
        body.joint_name: (slice(body.q_at, body.q_at + body.joint.nq), slice(body.nu_at, body.nu_at + body.joint.nv))
        for body in robot.model.bodies
    }


class Plain(fc.Robot):
    """A robot whose functions run in Python, not compiled: for tests with many robots and few calls on each."""

    def _run(self, name: str, values: tuple[Any, ...], out: Any, wrenches: Any = None, **options: Any) -> Any:
        found = self._on_bodies(name, wrenches) if wrenches is not None else None
        if found is not None:
            values, options = (*values, found.values), options | {"wrenches": found.axes}
        return eager.run(self._made(name, options), values, out)

    def _run_task(self, made: Any, values: tuple[Any, ...], out: Any) -> Any:
        return eager.run(made, values, out)

    def with_base(self, link: str) -> Plain:
        return Plain(self.description, base=link, **self._options)


def plain(robot: fc.Robot) -> Plain:
    """The same robot, not compiled."""
    return Plain(robot.description, base=robot.base, **robot._options)


def load(source: fc.Builder | fc.Description, floating: bool, seed: int | None = None, **options: Any) -> Plain:
    """Not compiled, and with a gravity that no axis is aligned with.

    With a seed any link is the base, so that joints are seen from both sides; without one it is the root.
    """
    robot = plain(fc.load(source, floating=floating, **({"gravity": GRAVITY} | options)))
    return robot if seed is None else robot.with_base(str(np.random.default_rng(seed).choice(robot.link_names)))


# ---------------------------------------------------------------------------------------------------------------------
# States


def state(robot: fc.Robot, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """A random configuration, velocity and acceleration."""
    return robot.random_configuration(rng), robot.random_velocity(rng), rng.normal(size=robot.nv)


def body_velocity(robot: fc.Robot, q: Array, nu: Array, representation: str) -> Array:
    """nu with the base twist made body-fixed, by hand (paper 004, Sec. II)."""
    if not robot.floating or representation == "body":
        return nu
    H, _ = robot.split(q)
    R, p = H[:3, :3], H[:3, 3]
    v, w = nu[:3], nu[3:6]
    if representation == "inertial":
        v = v + np.cross(w, p)
    return np.concatenate([R.T @ v, R.T @ w, nu[6:]])


def relative_error(x: Any, y: Any) -> float:
    """max|x - y| / max(1, max|y|); infinite when shapes differ or something is not a number."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.shape != y.shape or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return float("inf")
    if x.size == 0:
        return 0.0
    return float(np.abs(x - y).max() / max(1.0, np.abs(y).max()))


# ---------------------------------------------------------------------------------------------------------------------
# Matrices by hand


def hat(w: Array) -> Array:
    """w^ with w^ x = w cross x."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def ad(v: Any) -> Array:
    """v x on twists (linear; angular)."""
    return np.block([[hat(v[3:]), hat(v[:3])], [np.zeros((3, 3)), hat(v[3:])]])


def vee(W: Array) -> Array:
    """The vector of an antisymmetric matrix."""
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


def spatial_inertia(inertial: Inertial) -> Array:
    """The 6 x 6 inertia of a link in the link's frame, (linear; angular), straight from its description."""
    xx, xy, xz, yy, yz, zz = inertial.inertia
    R, c, m = np.array(inertial.pose.rotation), np.array(inertial.pose.position), inertial.mass
    I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    C = hat(c)
    return np.block([[m * np.eye(3), -m * C], [m * C, I - m * C @ C]])


def condition(M: Array) -> float:
    """Of M scaled to a unit diagonal: M mixes kilograms with kg m^2. Errors of what is multiplied by M^-1 grow with it."""
    d = np.sqrt(np.diag(M))
    return float(np.linalg.cond(M / np.outer(d, d)))


# ---------------------------------------------------------------------------------------------------------------------
# Derivatives without cancellation: run the algorithm itself on complex numbers


def moved(model: Model, q: Sequence[float], direction: Sequence[float]) -> list[complex]:
    """q displaced by an infinitesimal body-fixed displacement along the imaginary axis."""
    return configuration.integrate(model, [complex(x) for x in q], [complex(0.0, STEP * float(d)) for d in direction])


def stepped(x: Sequence[float], direction: Sequence[float]) -> list[complex]:
    """A plain vector displaced the same way."""
    return [complex(float(a), STEP * float(d)) for a, d in zip(x, direction, strict=True)]


def slope(value: Any) -> Array:
    """The derivative in the result of a function that was run on displaced arguments."""
    return np.array(np.asarray(value, dtype=complex).imag / STEP)


def derivative(function: Callable[..., Any], model: Model, q: Sequence[float], direction: Sequence[float], *rest: Any) -> Array:
    """The derivative of function(model, q, *rest) along a body-fixed displacement of q."""
    return slope(function(model, moved(model, q, direction), *rest))
