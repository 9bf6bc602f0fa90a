"""The numbers behind paper 002: times, operation counts, complex steps, and the paper's algorithms as printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms import aba, configuration, dense, rnea
from fallingcat.algorithms.crba import mass_matrix
from fallingcat.algorithms.kinematics import joint_kinematics
from fallingcat.apps import bench as benchmark
from fallingcat.apps.console import Step
from fallingcat.apps.papers import Check
from fallingcat.codegen import Kernel, threads
from fallingcat.functions import task
from fallingcat.model.builder import Builder
from fallingcat.model.model import WORLD, Model
from fallingcat.robot.robot import Robot, load
from fallingcat.trace.program import trace

Array = NDArray[np.float64]

ID, DID, ID_LOOP, ID_BATCH = "ID", "derivatives of ID", "finite differences of ID", "finite differences of ID, batched"
FD, DFD, FD_LOOP, FD_BATCH = "FD", "derivatives of FD", "finite differences of FD", "finite differences of FD, batched"
MINV, CHOLESKY, NUMPY = "inverse of M, dedicated", "inverse of M, through M = L D Lᵀ", "inverse of M, numpy.linalg.inv"
FUNCTION = {ID: "inverse_dynamics", DID: "inverse_dynamics_derivatives", FD: "forward_dynamics",
            DFD: "forward_dynamics_derivatives", MINV: "inverse_mass_matrix"}  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """A robot of the size of one of the paper's."""

    name: str
    floating: bool
    like: str
    """The robot of the paper."""
    times: dict[str, float]
    """Table I, in microseconds."""


TABLE_1 = (ID, DID, ID_LOOP, FD, DFD, FD_LOOP, MINV, CHOLESKY)
SUBJECTS = (
    Subject("spacearm", False, "KUKA-LWR", dict(zip(TABLE_1, (1.20, 3.34, 21.26, 1.78, 5.78, 22.67, 1.82, 1.88), strict=True))),
    Subject("quadruped", True, "HyQ", dict(zip(TABLE_1, (2.14, 7.01, 88.52, 4.28, 14.24, 94.23, 4.86, 5.82), strict=True))),
    Subject("humanoid", True, "Atlas", dict(zip(TABLE_1, (5.51, 16.72, 452.46, 9.81, 45.20, 470.14, 12.70, 28.29), strict=True))),
)


# ---------------------------------------------------------------------------------------------------------------------
# Table I


def forward_difference(f: Any, integrate: Any, q: Array, x: Array, y: Array, h: float) -> tuple[Array, Array]:
    """df/dq and df/dx with 2 N + 1 calls of f."""
    n = len(x)
    f0, steps = np.array(f(q, x, y)), h * np.eye(n)
    dq, dx = np.empty((n, n)), np.empty((n, n))
    for j in range(n):
        dq[:, j] = f(integrate(q, steps[j]), x, y) - f0
        dx[:, j] = f(q, x + steps[j], y) - f0
    return dq / h, dx / h


def batched_difference(f: Any, integrate: Any, q: Array, x: Array, y: Array, h: float) -> tuple[Array, Array]:
    """The same with one call for all 2 N + 1 states."""
    n = len(x)
    steps = h * np.eye(n)
    Q, X = np.repeat(q[None], 2 * n + 1, axis=0), np.repeat(x[None], 2 * n + 1, axis=0)
    Q[:n], X[n : 2 * n] = integrate(q, steps), x + steps
    values = f(Q, X, y)
    slopes = (values[:-1] - values[-1]).T / h
    return slopes[:, :n], slopes[:, n:]


def measure(subject: Subject, robot: Robot, through: Kernel, budget: float, step: Step) -> dict[str, float]:
    """Microseconds of one call from Python, as minima over repetitions."""
    q, x, y = robot.random_configuration(1), robot.random_velocity(2), robot.random_velocity(3)
    found: dict[str, float] = {}

    def clock(name: str, call: Callable[[], Any]) -> None:
        found[name] = benchmark.microseconds(call, budget)
        step(f"{subject.name}: {name}")

    entry = {name: robot.kernel(function).entry for name, function in FUNCTION.items()}
    integrate, M = robot.kernel("integrate").entry, robot.kernel("mass_matrix").entry
    used = threads.threads()
    threads.set_threads(1)
    try:
        for name in (ID, DID, FD, DFD):
            clock(name, partial(entry[name], q, x, y))
        clock(ID_LOOP, lambda: forward_difference(entry[ID], integrate, q, x, y, 1e-8))
        clock(FD_LOOP, lambda: forward_difference(entry[FD], integrate, q, x, y, 1e-8))
        clock(ID_BATCH, lambda: batched_difference(robot.inverse_dynamics, robot.integrate, q, x, y, 1e-8))
        clock(FD_BATCH, lambda: batched_difference(robot.forward_dynamics, robot.integrate, q, x, y, 1e-8))
        clock(MINV, lambda: entry[MINV](q))
        clock(CHOLESKY, lambda: through.entry(q))
        clock(NUMPY, lambda: np.linalg.inv(M(q)))
    finally:
        threads.set_threads(used)
    return found


def _pinocchio(subject: Subject) -> tuple[Any, Any]:
    """(pinocchio, its model of the robot), or nothing."""
    path = str(resources.files("fallingcat") / "model" / "robots" / f"{subject.name}.urdf")
    model = benchmark.pinocchio_model(path, subject.floating)
    if model is None:
        return None, None
    import pinocchio as pin

    return pin, model


def measure_peer(subject: Subject, budget: float, step: Step) -> dict[str, float]:
    """Pinocchio's times from Python; empty without it."""
    step(f"{subject.name}: Pinocchio")
    pin, model = _pinocchio(subject)
    if pin is None:
        return {}
    data, rng = model.createData(), np.random.default_rng(4)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    x, y = rng.normal(size=model.nv), rng.normal(size=model.nv)

    def cholesky() -> Any:
        pin.crba(model, data, q)
        pin.cholesky.decompose(model, data)
        return pin.cholesky.computeMinv(model, data)

    def differences(f: Any) -> Callable[[], Any]:
        return lambda: forward_difference(
            lambda q, x, y: f(model, data, q, x, y), lambda q, dx: pin.integrate(model, q, dx), q, x, y, 1e-8
        )

    calls = {
        ID: lambda: pin.rnea(model, data, q, x, y), FD: lambda: pin.aba(model, data, q, x, y),
        DID: lambda: pin.computeRNEADerivatives(model, data, q, x, y),
        DFD: lambda: pin.computeABADerivatives(model, data, q, x, y),
        ID_LOOP: differences(pin.rnea), FD_LOOP: differences(pin.aba),
        MINV: lambda: pin.computeMinverse(model, data, q), CHOLESKY: cholesky,
    }  # fmt: skip
    return {name: benchmark.microseconds(call, budget) for name, call in calls.items()}


def through_mass_matrix(robot: Robot, step: Step) -> Kernel:
    """The inverse of M by forming M and factoring it, compiled like everything else."""
    step(f"{robot.name}: compiling M = L D Lᵀ")
    made = task(robot.model, "inverse_mass_matrix")
    return Kernel(replace(made, evaluate=lambda q: dense.inverse_symmetric(mass_matrix(robot.model, q)), key=""))


def operations(robot: Robot, through: Kernel, step: Step) -> dict[str, int]:
    """Floating-point operations of the traced programs for one state."""
    step(f"{robot.name}: counting operations")
    return {name: robot.kernel(function).operations for name, function in FUNCTION.items()} | {CHOLESKY: through.operations}


def growth(step: Step) -> dict[str, list[int]]:
    """Operations of the derivatives of ID for 8, 16 and 32 joints: in one chain, and in arms of four joints each."""
    step("counting operations of chains")
    found = {}
    for what, length in (("one chain", 32), ("arms of four joints", 4)):
        counts = []
        for n in (8, 16, 32):
            builder = Builder("chain")
            builder.link("l0", mass=1.0, inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
            for i in range(1, n + 1):
                builder.link(f"l{i}", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.01, 0.02, 0.4, 0.03, 0.5))
                parent = "l0" if i % length == 1 else f"l{i - 1}"
                axis = np.eye(3)[i % 3]
                builder.joint(f"j{i}", "continuous", parent, f"l{i}", xyz=(0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1), axis=axis)
            counts.append(trace(task(load(builder, floating=False).model, FUNCTION[DID])).operations)
        found[what] = counts
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Checks, and what the paper gets wrong


def printed_derivatives(model: Model, q: Array, nu: Array, dnu: Array, keep: bool) -> tuple[Array, Array]:
    """dID/dq and dID/dnu by Algorithms 1-3 of the paper, line by line, in body coordinates, for joints with constant axes.

    keep: keep the term v x S of line 5 of Algorithm 2, which Sec. III-C5 drops.
    """
    X, S = joint_kinematics(model, list(q))
    n = model.nv
    v, a = {WORLD: np.zeros(6)}, {WORLD: np.array([*(-g for g in model.gravity), 0.0, 0.0, 0.0])}
    dv, da, df = ({WORLD: np.zeros((2, 6, n))} for _ in range(3))
    f, matrices, axes = {}, {}, {}
    for i, p in model.base_to_tip():
        at = list(model.dofs(i))
        Xi, Si = np.array(X[i].matrix(), dtype=float), np.array([s.entries() for s in S[i].columns], dtype=float).T
        I = np.array(model.bodies[i].inertia.matrix(), dtype=float)
        vJ = Si @ nu[at]
        v[i] = Xi @ v[p] + vJ
        a[i] = Xi @ a[p] + Si @ dnu[at] + _motion(v[i]) @ vJ
        f[i] = I @ a[i] + _force(v[i]) @ I @ v[i]
        dv[i] = Xi @ dv[p]  # line 3
        dv[i][0][:, at] += _motion(Xi @ v[p]) @ Si  # (13)
        dv[i][1][:, at] += Si
        da[i] = Xi @ da[p] - _motion(vJ) @ dv[i]  # line 5
        da[i][0][:, at] += _motion(Xi @ a[p]) @ Si
        if keep:
            da[i][1][:, at] += _motion(v[i]) @ Si
        turned = np.array([[_force(column) @ I @ v[i] for column in part.T] for part in dv[i]]).transpose(0, 2, 1)
        df[i] = I @ da[i] + turned + _force(v[i]) @ I @ dv[i]  # line 6
        matrices[i], axes[i] = Xi, Si
    rows = np.empty((2, n, n))
    for i, p in model.tip_to_base():
        at = list(model.dofs(i))
        rows[:, at] = axes[i].T @ df[i]
        df[p] = df[p] + matrices[i].T @ df[i]
        if p != WORLD:
            df[p][0][:, at] += matrices[i].T @ np.array([_force(s) @ f[i] for s in axes[i].T]).T  # (14)
            f[p] = f[p] + matrices[i].T @ f[i]
    return rows[0], rows[1]


def _motion(v: Array) -> Array:
    """v x, on motions."""
    V, W = (np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) for x, y, z in (v[:3], v[3:]))
    return np.block([[W, V], [np.zeros((3, 3)), W]])


def _force(v: Array) -> Array:
    """v x*, on forces."""
    return -_motion(v).T


def _off(x: Any, y: Any) -> float:
    return float(np.abs(x - y).max() / max(1.0, np.abs(y).max()))


def complex_step(function: Any, model: Model, q: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """df/dq and df/dx of function(model, q, x, y), by running its source on complex numbers: no cancellation."""
    n, tiny = len(x), 1e-20
    dq, dx = np.empty((n, n)), np.empty((n, n))
    for j, e in enumerate(np.eye(n)):
        moved = configuration.integrate(model, [complex(a) for a in q], [complex(0.0, tiny * a) for a in e])
        dq[:, j] = np.array(function(model, moved, list(x), list(y))).imag / tiny
        dx[:, j] = np.array(function(model, list(q), list(x + 1j * tiny * e), list(y))).imag / tiny
    return dq, dx


@dataclass(frozen=True)
class Witness:
    """A state of a robot and the derivatives there, by complex steps."""

    q: Array
    nu: Array
    dnu: Array
    tau: Array
    ID: tuple[Array, Array]
    FD: tuple[Array, Array]


def witness(robot: Robot, step: Step) -> Witness:
    step(f"{robot.name}: complex steps")
    q, nu, dnu = robot.random_configuration(9), robot.random_velocity(10), robot.random_velocity(11)
    tau = robot.inverse_dynamics(q, nu, dnu)
    i, f = (rnea.inverse_dynamics, dnu), (aba.forward_dynamics, tau)
    return Witness(q, nu, dnu, tau, *(complex_step(source, robot.model, q, nu, third) for source, third in (i, f)))


def exact(robots: dict[str, Robot], witnesses: dict[str, Witness]) -> Iterator[Check]:
    """The derivatives against complex steps through the dynamics and against Pinocchio."""
    for subject in SUBJECTS:
        name, robot, w = subject.name, robots[subject.name], witnesses[subject.name]
        i = robot.inverse_dynamics_derivatives(w.q, w.nu, w.dnu)
        f = robot.forward_dynamics_derivatives(w.q, w.nu, w.tau)
        yield Check(f"{name}: dID against a complex step", max(_off(i.dtau_dq, w.ID[0]), _off(i.dtau_dnu, w.ID[1])), 1e-12)
        yield Check(f"{name}: dFD against a complex step", max(_off(f.ddnu_dq, w.FD[0]), _off(f.ddnu_dnu, w.FD[1])), 1e-11)
        yield Check(f"{name}: M⁻¹ M against the identity", _off(robot.inverse_mass_matrix(w.q) @ i.M, np.eye(robot.nv)), 1e-10)
        pin, model = _pinocchio(subject)
        if pin is None or model.nq != robot.nq:
            continue
        at = [*range(robot.nv - robot.n), *(model.joints[model.getJointId(name)].idx_v for name in robot.joint_names)]
        joints = [k + robot.nq - robot.nv for k in at[robot.nv - robot.n :]]
        q, nu, third = w.q.copy(), np.empty(robot.nv), np.empty((2, robot.nv))
        q[joints], nu[at], third[:, at] = w.q[robot.nq - robot.n :], w.nu, (w.dnu, w.tau)
        data = model.createData()
        for what, ours, call, y in (
            ("dID", i, pin.computeRNEADerivatives, third[0]), ("dFD", f, pin.computeABADerivatives, third[1]),
        ):  # fmt: skip
            dq, dnu, _ = call(model, data, q, nu, y)
            worst = max(_off(ours[0], dq[np.ix_(at, at)]), _off(ours[1], dnu[np.ix_(at, at)]))
            yield Check(f"{name}: {what} against Pinocchio", worst, 1e-9)


def inverse_checks(counts: dict[str, dict[str, int]]) -> Iterator[Check]:
    """Sec. IV-C: on a large robot the dedicated inverse needs fewer operations than one through M."""
    ratio = counts["humanoid"][CHOLESKY] / counts["humanoid"][MINV]
    yield Check("humanoid: operations of M⁻¹, through M / dedicated", ratio, 1.0, at_least=True)


@dataclass(frozen=True)
class Slips:
    """How far off the paper is as printed, relative to the largest entry (or to one)."""

    kept: float
    """dID/dnu by the paper's algorithms with v x S."""
    dropped: float
    """The same without it (erratum 1)."""
    sign: float
    """dFD/dnu by (16b) (erratum 2)."""
    signed: float
    """The same with its sign."""


def slips(robot: Robot, w: Witness) -> Slips:
    """Errata 1 and 2 on a robot at a random state."""
    kept, dropped = (printed_derivatives(robot.model, w.q, w.nu, w.dnu, keep)[1] for keep in (True, False))
    printed = robot.inverse_mass_matrix(w.q) @ w.ID[1]
    size = np.abs(w.FD[1]).max()
    sign, signed = (float(np.abs(x - w.FD[1]).max() / size) for x in (printed, -printed))
    return Slips(_off(kept, w.ID[1]), _off(dropped, w.ID[1]), sign, signed)


def slip_checks(found: dict[str, Slips], growth: dict[str, list[int]]) -> Iterator[Check]:
    """What the paper gets wrong is wrong by these numbers, and right after the correction."""
    for name, s in found.items():
        yield Check(f"{name}: dID/dν by Algorithms 1-3 with v × S", s.kept, 1e-12)
        yield Check(f"{name}: dID/dν by Algorithms 1-3 without it is wrong", s.dropped, 0.01, at_least=True)
        yield Check(f"{name}: dFD/dν by (16b) is off by twice itself", abs(s.sign - 2.0), 1e-6)
    chain, arms = growth["one chain"], growth["arms of four joints"]
    yield Check("operations from 16 to 32 joints, one chain: more than twice", chain[2] / chain[1], 2.5, at_least=True)
    yield Check("operations from 16 to 32 joints, arms of four: twice", arms[2] / arms[1], 2.1)
