"""The numbers behind paper 000: random robots, finite differences on the group, Euler angles, and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms import aba, configuration, linearization, rnea
from fallingcat.algorithms.kinematics import joint_kinematics
from fallingcat.apps import bench as benchmark
from fallingcat.apps.console import Step
from fallingcat.functions import task
from fallingcat.model.builder import Builder
from fallingcat.model.model import Model
from fallingcat.reference import paper000 as tables
from fallingcat.robot.robot import Robot, load
from fallingcat.spatial.dual import Dual, rates
from fallingcat.task import Input, Output, Task
from fallingcat.trace.program import trace

Array = NDArray[np.float64]

PRINTED = {
    "D1 FD": (4.1023e-5, 2.3560e-6), "D2 FD": (4.6853e-3, 1.3604e-4), "D3 FD": (1.8230e-5, 1.3021e-6),
    "D4 FD": (1.5693e-4, 1.3766e-6),
}  # fmt: skip
"""(88)-(91): the largest and the average error at a step of 1e-6."""
DELTA = 1e-6
DELTAS = 10.0 ** np.arange(-12, 0)
"""Steps of the finite differences of Figure 5."""
ANGLES = 10.0 ** np.arange(0, -8.5, -0.5)
"""Distances of the pitch from 90 degrees."""
STEP = 1e-20
"""The step of complex steps: its square vanishes against any number of double precision."""

# The nine joints and where they hang, as in the bundled tree9; 0 is the base.
PARENTS = {
    "revolute_x": "base", "helical_y": "revolute_x", "revolute_z": "helical_y", "prismatic_y": "revolute_x",
    "prismatic_z": "base", "helical_x": "prismatic_z", "revolute_y": "helical_x", "prismatic_x": "revolute_y",
    "helical_z": "helical_x",
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Draws


@dataclass(frozen=True)
class Draw:
    """A random robot in a random state, with its linearization."""

    robot: Robot
    q: Array
    nu: Array
    dnu: Array
    tau: Array
    blocks: dict[str, Array]
    """D1 FD ... D4 FD."""
    inertial: Array
    """D1 FD with the inertial twist held fixed, as Table 5 is printed."""


def draw(seed: int) -> Draw:
    """As in Sec. 5: everything uniform in [0, 1], poses by the exponential map, the base acceleration consistent."""
    rng = np.random.default_rng(seed)
    robot = load(_builder(rng))
    nv = robot.nv
    q = np.array(configuration.integrate(robot.model, robot.neutral().tolist(), rng.uniform(size=nv).tolist()))
    nu, dnu = np.zeros(nv), np.zeros(nv)
    H, _ = robot.split(q)
    R, o = H[:3, :3], H[:3, 3]
    v_A = rng.uniform(size=6)
    nu[:6] = np.concatenate([R.T @ (v_A[:3] - np.cross(o, v_A[3:])), R.T @ v_A[3:]])
    nu[6:], dnu[6:] = rng.uniform(size=robot.n), rng.uniform(size=robot.n)
    lists = q.tolist(), nu.tolist()
    dnu[:6] = rnea.base_acceleration(robot.model, *lists, dnu[6:].tolist())
    tau = np.array(rnea.inverse_dynamics(robot.model, *lists, dnu.tolist()))
    tau[:6] = 0.0
    A: Array = np.array(linearization.linearize(robot.model, *lists, tau.tolist()).A)[nv:]
    blocks = {"D1 FD": A[:, :6], "D2 FD": A[:, 6:nv], "D3 FD": A[:, nv : nv + 6], "D4 FD": A[:, nv + 6 :]}
    return Draw(robot, q, nu, dnu, tau, blocks, blocks["D1 FD"] + blocks["D3 FD"] @ tables.ad(nu[:6]))


def _builder(rng: np.random.Generator) -> Builder:
    """The nine-joint tree with random placements, pitches and inertias (physical ones: the paper only asks for positive)."""
    builder = Builder("random tree")
    for link in ("base", *PARENTS):
        moments = rng.uniform(size=3)
        diagonal = (moments[1] + moments[2], 0.0, 0.0, moments[0] + moments[2], 0.0, moments[0] + moments[1])
        builder.link(
            link, mass=rng.uniform(), com=_unit_cube(rng), inertia=tuple(map(float, diagonal)), rpy=_unit_cube(rng)
        )  # fmt: skip
    for joint, parent in PARENTS.items():
        type_, axis = joint.split("_")
        options: dict[str, Any] = {"pitch": rng.uniform()} if type_ == "helical" else {}
        kind: Any = "continuous" if type_ == "revolute" else type_
        direction = [float(axis == name) for name in "xyz"]
        builder.joint("to_" + joint, kind, parent, joint, xyz=_unit_cube(rng), rpy=_unit_cube(rng), axis=direction, **options)
    return builder


def _unit_cube(rng: np.random.Generator) -> list[float]:
    return [float(x) for x in rng.uniform(size=3)]


# ---------------------------------------------------------------------------------------------------------------------
# Finite differences on the group: (82)-(85)


def differences(d: Draw, delta: float, inertial: bool = False) -> dict[str, Array]:
    """Forward differences of FD; with `inertial`, (82) holds the inertial twist fixed."""
    model, nv = d.robot.model, d.robot.nv
    q, nu, tau = d.q.tolist(), d.nu.tolist(), d.tau.tolist()

    def FD(q: Sequence[float], nu: Sequence[float]) -> Array:
        return np.array(aba.forward_dynamics(model, q, nu, tau))

    here = FD(q, nu)
    by_q, by_nu = [], []
    for k, e in enumerate(np.eye(nv) * delta):
        there = list(nu)
        if inertial and k < 6:
            Ad: Array = np.array(configuration.integrate_derivatives(model, e.tolist()).dq_dq)
            there = (Ad @ d.nu).tolist()
        by_q.append((FD(configuration.integrate(model, q, e.tolist()), there) - here) / delta)
        by_nu.append((FD(q, (d.nu + e).tolist()) - here) / delta)
    Dq, Dnu = np.array(by_q).T, np.array(by_nu).T
    return {"D1 FD": Dq[:, :6], "D2 FD": Dq[:, 6:], "D3 FD": Dnu[:, :6], "D4 FD": Dnu[:, 6:]}


Errors = dict[str, tuple[float, float]]


def errors(draws: Sequence[Draw], delta: float) -> Errors:
    """(86) and (87): the largest and the average error, relative to the average entry over all draws."""
    found = [differences(d, delta) for d in draws]
    result = {}
    for name in PRINTED:
        scale = np.mean([np.abs(d.blocks[name]) for d in draws])
        off = np.array([np.abs(d.blocks[name] - f[name]) for d, f in zip(draws, found, strict=True)]) / scale
        result[name] = (float(off.max()), float(off.mean()))
    return result


def relative(x: Any, y: Any) -> float:
    return float(np.abs(np.asarray(x) - np.asarray(y)).max() / max(1.0, float(np.abs(np.asarray(y)).max())))


# ---------------------------------------------------------------------------------------------------------------------
# Exactness: a complex step through the source of the dynamics


def slope(values: Sequence[Any]) -> Array:
    return np.array([complex(x).imag / STEP for x in values])


def exact(model: Model, q: Array, nu: Array, tau: Array) -> Array:
    """A by a complex step on the group; ad(v) as the rate of Ad(exp(-t v))."""
    nv = model.nv
    columns = []
    for e in np.eye(nv):
        moved = configuration.integrate(model, [complex(x) for x in q], [complex(0.0, STEP * x) for x in e])
        columns.append(np.concatenate([np.zeros(nv), slope(aba.forward_dynamics(model, moved, nu.tolist(), tau.tolist()))]))
    for e in np.eye(nv):
        faster = [complex(x, STEP * y) for x, y in zip(nu, e, strict=True)]
        columns.append(np.concatenate([e, slope(aba.forward_dynamics(model, q.tolist(), faster, tau.tolist()))]))
    A = np.array(columns).T
    Ad = configuration.integrate_derivatives(model, [complex(0.0, STEP * x) for x in nu]).dq_dq
    A[:nv, :nv] = np.array([slope(row) for row in Ad])
    return A


def exactness(draws: Sequence[Draw]) -> float:
    """The largest error of A against the complex step, relative to its largest entry."""
    worst = 0.0
    for d in draws:
        ours = linearization.linearize(d.robot.model, d.q.tolist(), d.nu.tolist(), d.tau.tolist()).A
        worst = max(worst, relative(ours, exact(d.robot.model, d.q, d.nu, d.tau)))
    return worst


# ---------------------------------------------------------------------------------------------------------------------
# Euler angles


def _rpy_quaternion(rpy: Sequence[Any]) -> list[Any]:
    (a, b, c), (x, y, z) = (np.cos(np.array(rpy) / 2), np.sin(np.array(rpy) / 2))
    return [x * b * c - a * y * z, a * y * c + x * b * z, a * b * z - x * y * c, a * b * c + x * y * z]


def _euler_matrix(rpy: Sequence[Any]) -> Any:
    """E with body-fixed angular velocity = E d(rpy)/dt; its determinant is the cosine of the pitch."""
    roll, pitch, _ = rpy
    zero, one = 0.0 * roll, 1.0 + 0.0 * roll
    return np.array(
        [
            [one, zero, -np.sin(pitch)],
            [zero, np.cos(roll), np.sin(roll) * np.cos(pitch)],
            [zero, -np.sin(roll), np.cos(roll) * np.cos(pitch)],
        ]
    )


def _rotation(rpy: Sequence[Any]) -> Any:
    x, y, z, w = _rpy_quaternion(rpy)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def euler_linearization(model: Model, y: Array, tau: Array) -> Array:
    """A from an exact linearization in position, roll, pitch, yaw, joints and velocities, then brought to the tangent space."""
    nv = model.nv

    def rate(y: Any) -> Any:
        rpy, nu = y[3:6], y[nv:]
        q = [*y[:3], *_rpy_quaternion(rpy), *y[6:nv]]
        a = aba.forward_dynamics(model, q, list(nu), tau.tolist())
        return np.concatenate([_rotation(rpy) @ nu[:3], np.linalg.solve(_euler_matrix(rpy), nu[3:6]), nu[6:], np.array(a)])

    def tangent(y: Any) -> Any:
        """T with z = T dy."""
        T = np.eye(2 * nv, dtype=np.asarray(y).dtype)
        T[:3, :3], T[3:6, 3:6] = _rotation(y[3:6]).T, _euler_matrix(y[3:6])
        return T

    A_y = np.array([rate(y + 1j * STEP * e).imag / STEP for e in np.eye(2 * nv)]).T
    T, T_rate = tangent(y), tangent(y + 1j * STEP * rate(y)).imag / STEP
    return np.array((T_rate + T @ A_y) @ np.linalg.inv(T))


@dataclass(frozen=True)
class Singularity:
    """Errors of A as the pitch approaches 90 degrees."""

    ours: Array
    euler: Array
    anywhere: float
    """The largest error of ours at gimbal lock itself, upside down, and half a turn about each axis."""


def singularity(step: Step) -> Singularity:
    step("Euler angles near their singularity")
    robot = load("tree9")
    rng = np.random.default_rng(1)
    nv = robot.nv
    s, nu = rng.uniform(size=robot.n), rng.uniform(size=nv)
    tau = np.concatenate([np.zeros(6), rng.uniform(size=robot.n)])
    ours, euler = [], []

    def error(q: Array) -> tuple[float, Array]:
        truth = exact(robot.model, q, nu, tau)
        return relative(linearization.linearize(robot.model, q.tolist(), nu.tolist(), tau.tolist()).A, truth), truth

    for angle in ANGLES:
        y = np.concatenate([[0.1, 0.2, 0.3, 0.4, np.pi / 2 - angle, 0.5], s, nu])
        q = np.concatenate([y[:3], np.array(_rpy_quaternion(y[3:6].tolist())), s])
        off, truth = error(q)
        ours.append(off)
        euler.append(relative(euler_linearization(robot.model, y, tau), truth))
    half = np.sqrt(0.5)
    places = ((0, half, 0, half), (0, -half, 0, half), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0))
    anywhere = max(error(np.concatenate([[0.1, 0.2, 0.3], place, s]))[0] for place in places)
    return Singularity(np.array(ours), np.array(euler), anywhere)


# ---------------------------------------------------------------------------------------------------------------------
# Cost


@dataclass(frozen=True)
class Cost:
    """The cost of A and B of one robot, by each way."""

    dof: int
    operations: dict[str, int]
    microseconds: dict[str, float]


OURS, FORWARD, CENTRAL, AUTOMATIC = "linearize", "forward differences", "central differences", "automatic differentiation"
BATCHED = "forward differences, batched"


def by_dual_numbers(model: Model) -> Task:
    """D FD by forward-mode automatic differentiation of the articulated-body algorithm, one direction after another."""
    nv, n = model.nv, model.n
    inputs = (Input("q", model.nq), Input("nu", nv), Input("tau", nv))

    def evaluate(q: list[Any], nu: list[Any], tau: list[Any]) -> list[list[Any]]:
        rows = []
        R = [row[:3] for row in joint_kinematics(model, q)[0][0].inverse().matrix()[:3]]
        x, y, z, w = q[3:7]
        turns = [(w, z, -y, -x), (-z, w, x, -y), (y, -x, w, -z)]
        for k in range(2 * nv + n):
            dq: list[Any] = [0.0] * model.nq
            dnu: list[Any] = [0.0] * nv
            dtau: list[Any] = [0.0] * nv
            if k < 3:
                dq[:3] = [R[i][k] for i in range(3)]
            elif k < 6:
                dq[3:7] = [0.5 * c for c in turns[k - 3]]
            elif k < nv:
                dq[k + 1] = 1.0
            elif k < 2 * nv:
                dnu[k - nv] = 1.0
            else:
                dtau[nv - n + k - 2 * nv] = 1.0
            moved = [[Dual(a, b) for a, b in zip(v, d, strict=True)] for v, d in ((q, dq), (nu, dnu), (tau, dtau))]
            rows.append(rates(aba.forward_dynamics(model, moved[0], moved[1], moved[2])))
        return rows

    return Task("dual_numbers", inputs, (Output("D", (2 * nv + n, nv)),), evaluate)


def cost(name: str, budget: float, step: Step) -> Cost:
    """Operations and times of the linearization of a bundled robot."""
    step(f"cost on {name}")
    robot = load(name)
    rng = np.random.default_rng(0)
    nv, n = robot.nv, robot.n
    q, nu, tau = robot.random_configuration(rng), rng.normal(size=nv), rng.normal(size=nv)
    one = trace(task(robot.model, "forward_dynamics")).operations
    move = trace(task(robot.model, "integrate")).operations
    operations = {
        OURS: trace(task(robot.model, "linearize")).operations,
        FORWARD: (2 * nv + n + 1) * one + nv * move,
        CENTRAL: 2 * (2 * nv + n) * one + 2 * nv * move,
        AUTOMATIC: trace(by_dual_numbers(robot.model)).operations,
    }

    def forward(delta: float = 1e-7) -> Array:
        """All differences in one batch: as fast as differences get here."""
        m = 2 * nv + n + 1
        Q, V, U = (np.repeat(x[None], m, axis=0) for x in (q, nu, tau))
        Q[1 : nv + 1] = robot.integrate(Q[1 : nv + 1], delta * np.eye(nv))
        V[nv + 1 : 2 * nv + 1] += delta * np.eye(nv)
        U[2 * nv + 1 :] += delta * np.eye(nv)[nv - n :]
        a = robot.forward_dynamics(Q, V, U)
        return np.asarray((a[1:] - a[0]).T / delta)

    def loop(delta: float = 1e-7) -> None:
        """The same, state by state."""
        here = robot.forward_dynamics(q, nu, tau)
        for e in np.eye(nv) * delta:
            (robot.forward_dynamics(robot.integrate(q, e), nu, tau) - here) / delta
            (robot.forward_dynamics(q, nu + e, tau) - here) / delta
        for e in np.eye(nv)[nv - n :] * delta:
            (robot.forward_dynamics(q, nu, tau + e) - here) / delta

    times = {
        OURS: benchmark.microseconds(lambda: robot.linearize(q, nu, tau), budget),
        FORWARD: benchmark.microseconds(loop, budget),
        BATCHED: benchmark.microseconds(forward, budget),
    }
    return Cost(nv, operations, times)
