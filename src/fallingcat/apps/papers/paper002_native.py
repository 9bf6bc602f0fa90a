"""Sec. V-A of paper 002, compiled code on both sides: derivatives against finite differences and automatic differentiation.

Everything is compiled by the same compiler and measured as the time of one state in a large batch on one thread, so that nothing
of Python is in a ratio. Automatic differentiation is first-order numbers through the source of the dynamics, direction by
direction, with all common subexpressions shared: what code generation would make of it. The robots are the paper's own, or of
their size, from the package `example-robot-data` where it is installed, else the bundled ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms import aba, rnea
from fallingcat.algorithms.kinematics import joint_kinematics
from fallingcat.apps import bench as benchmark
from fallingcat.apps.console import Step
from fallingcat.apps.papers import Check
from fallingcat.apps.papers.paper002_numbers import DFD, DID, FD, FUNCTION, ID
from fallingcat.codegen import Kernel, threads
from fallingcat.functions import task
from fallingcat.model.model import Model
from fallingcat.robot.robot import Robot, load
from fallingcat.spatial.dual import Dual, rates
from fallingcat.task import Input, Output, Task
from fallingcat.trace.program import trace

Array = NDArray[np.float64]

BATCH = 256
MOVE = "integrate"
AUTO = {DID: "dual numbers through ID", DFD: "dual numbers through FD"}
OF = {DID: ID, DFD: FD}
"""Derivatives -> what they are of."""
PAPER_AUTO = {DID: (5.06, 6.92), DFD: (8.72, 20.52)}
"""Sec. V-A2, microseconds for HyQ without its free-flyer: analytical, and automatic with generated code (Giftthaler et al.)."""


@dataclass(frozen=True)
class Real:
    """A robot of the paper, or one like it."""

    name: str
    like: str
    path: str
    """Within example-robot-data."""
    bundled: str
    floating: bool
    quick: bool = True
    """Small enough to be compiled, and differentiated automatically, in a quick run; else its operations are counted there."""
    joints: tuple[str, ...] | None = None


REAL = (
    Real("panda", "KUKA-LWR", "panda_description/urdf/panda.urdf", "spacearm", False,
         joints=tuple(f"panda_joint{k}" for k in range(1, 8))),
    Real("hyq, base welded", "HyQ", "hyq_description/robots/hyq_no_sensors.urdf", "quadruped", False),
    Real("hyq", "HyQ", "hyq_description/robots/hyq_no_sensors.urdf", "quadruped", True, quick=False),
    Real("talos", "Atlas", "talos_data/robots/talos_reduced.urdf", "humanoid", True, quick=False),
)  # fmt: skip


@dataclass(frozen=True)
class Native:
    """Compiled code of one robot."""

    name: str
    like: str
    dof: int
    times: dict[str, float]
    """Microseconds for one state of a batch; empty where operations were only counted."""
    operations: dict[str, int]
    off: float
    """Difference between automatic differentiation and our derivatives, relative to the largest entry."""

    def differences(self, what: str, of: dict[str, float] | dict[str, int]) -> float:
        """Forward differences by q and nu: 2 N + 1 evaluations, and N displaced configurations."""
        return (2 * self.dof + 1) * of[OF[what]] + self.dof * of[MOVE]

    def ratio(self, what: str) -> float | None:
        """Ratio of times, differences / derivatives."""
        return self.differences(what, self.times) / self.times[what] if self.times else None

    def counted(self, what: str) -> float:
        """Ratio of operations, differences / derivatives."""
        return self.differences(what, self.operations) / self.operations[what]

    def automatic(self, what: str) -> tuple[float | None, float]:
        """Times and operations, automatic differentiation / ours."""
        auto = AUTO[what]
        return self.times[auto] / self.times[what] if self.times else None, self.operations[auto] / self.operations[what]


def robot_of(real: Real) -> tuple[Robot, str]:
    """The robot, and what it is called."""
    try:
        found = next((f for f in files("example-robot-data") or () if str(f).endswith(real.path)), None)
    except PackageNotFoundError:
        found = None
    source = real.bundled if found is None else str(found.locate())
    joints = list(real.joints) if found and real.joints else None
    return load(source, floating=real.floating, joints=joints), real.name if found else f"{real.bundled} (bundled)"


def by_dual_numbers(model: Model, what: str) -> Task:
    """d/dq, d/dnu and d/d(third input) of ID or FD, (3 nv, nv), by forward-mode automatic differentiation.

    For joints with one coordinate; a floating base is displaced along its body-fixed axes.
    """
    function, nv = (rnea.inverse_dynamics if what == DID else aba.forward_dynamics), model.nv
    inputs = (Input("q", model.nq), Input("nu", nv), Input("third", nv))

    def evaluate(q: list[Any], nu: list[Any], third: list[Any]) -> list[list[Any]]:
        rows = []
        for along in (*_displacements(model, q), *_units(nv)):
            rows.append(rates(function(model, _moved(q, along[0]), _moved(nu, along[1]), _moved(third, along[2]))))
        return rows

    return Task("dual_numbers", inputs, (Output("D", (3 * nv, nv)),), evaluate)


Direction = tuple[Sequence[Any], Sequence[Any], Sequence[Any]]


def _displacements(model: Model, q: list[Any]) -> Iterator[Direction]:
    """dq of every unit velocity, nu and the third input standing still."""
    base, still = model.nv - model.n, [0.0] * model.nv
    if base:
        R = [row[:3] for row in joint_kinematics(model, q)[0][0].inverse().matrix()[:3]]
        x, y, z, w = q[3:7]
        turns = [(w, z, -y, -x), (-z, w, x, -y), (y, -x, w, -z)]
    for k in range(model.nv):
        dq: list[Any] = [0.0] * model.nq
        if k >= base:
            dq[k + model.nq - model.nv] = 1.0
        elif k < 3:
            dq[:3] = [R[i][k] for i in range(3)]
        else:
            dq[3:7] = [0.5 * c for c in turns[k - 3]]
        yield dq, still, still


def _units(nv: int) -> Iterator[Direction]:
    still = [0.0] * nv
    for place in (1, 2):
        for k in range(nv):
            unit = [1.0 if m == k else 0.0 for m in range(nv)]
            yield ([], unit, still) if place == 1 else ([], still, unit)


def _moved(x: Sequence[Any], dx: Sequence[Any]) -> list[Any]:
    return [Dual(a, b) for a, b in zip(x, dx or [0.0] * len(x), strict=True)]


def measure(real: Real, budget: float, step: Step, quick: bool) -> Native:
    """Operations and times of one robot."""
    robot, name = robot_of(real)
    made = {what: task(robot.model, FUNCTION[what]) for what in (ID, DID, FD, DFD)} | {MOVE: task(robot.model, MOVE)}
    made |= {auto: by_dual_numbers(robot.model, what) for what, auto in AUTO.items()}
    if quick and not real.quick:
        step(f"{name}: counting operations")
        return Native(name, real.like, robot.nv, {}, {what: trace(one).operations for what, one in made.items()}, 0.0)
    step(f"{name}: compiling")
    kernels = {what: Kernel(one) for what, one in made.items()}
    rng = np.random.default_rng(0)
    q = np.array([robot.random_configuration(rng) for _ in range(BATCH)])
    nu, third = rng.normal(size=(2, BATCH, robot.nv))
    used = threads.threads()
    threads.set_threads(1)
    try:
        times, results = {}, {}
        for what, kernel in kernels.items():
            arguments = (q, nu) if what == MOVE else (q, nu, third)
            results[what] = kernel(*arguments)
            call = partial(kernel, *arguments, out=results[what])
            times[what] = benchmark.microseconds(call, budget) / BATCH
    finally:
        threads.set_threads(used)
    off = max(_difference(results[auto], results[what]) for what, auto in AUTO.items())
    return Native(name, real.like, robot.nv, times, {what: k.operations for what, k in kernels.items()}, off)


def _difference(automatic: Any, ours: Any) -> float:
    """Three matrices one above the other, transposed, against three matrices."""
    stacked = np.concatenate([np.swapaxes(np.asarray(x), -1, -2) for x in ours], axis=-2)
    return float(np.abs(np.asarray(automatic) - stacked).max() / max(1.0, np.abs(stacked).max()))


def checks(found: Sequence[Native]) -> Iterator[Check]:
    """Both ways give the same; derivatives take fewer operations than differences, and on large robots than dual numbers."""
    for n in found:
        yield Check(f"{n.name}: dual numbers through the dynamics against our derivatives", n.off, 1e-9)
        for what in AUTO:
            yield Check(f"{n.name}: operations, differences / {what}", n.counted(what), 1.0, at_least=True)
    large = max(found, key=lambda n: n.dof)
    for what, auto in AUTO.items():
        yield Check(f"{large.name}: operations, {auto} / ours", large.automatic(what)[1], 1.0, at_least=True)
