"""The numbers behind paper 001: mechanisms, validity, times, growth, and symbolic derivatives of the mass matrix."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms import configuration
from fallingcat.algorithms.christoffel import christoffel_symbols
from fallingcat.algorithms.crba import mass_matrix
from fallingcat.algorithms.posed import common, composite_inertias
from fallingcat.apps import bench as benchmark
from fallingcat.apps.console import Step
from fallingcat.apps.papers import Check
from fallingcat.codegen import Kernel, threads
from fallingcat.functions import task
from fallingcat.model.builder import Builder
from fallingcat.model.model import Model
from fallingcat.robot.robot import Robot, load
from fallingcat.scalar import Scalar
from fallingcat.spatial.coriolis import CoriolisFactor
from fallingcat.spatial.dual import Dual, lift
from fallingcat.task import Input, Output, Task
from fallingcat.trace import interpret, trace
from fallingcat.trace.dots import DotTable
from fallingcat.trace.expr import Block

Array = NDArray[np.float64]

C, G = "C", "Γ"
FUNCTION = {C: "coriolis_matrix", G: "christoffel_symbols"}

SIZES_1 = (5, 10, 15)
TABLE_1 = {
    "C q̇ − τ": (5.7e-14, 7.3e-12, 2.9e-11),
    "Ḣ − (C + Cᵀ)": (3.6e-15, 5.7e-14, 2.3e-13),
    "Σ Γ₁₁ₖ q̇ₖ − C₁₁": (1.1e-13, 7.3e-12, 1.0e-12),
}
"""Largest errors on serial chains of 5, 10 and 15 bodies."""
SYMBOLS = "Γ − (4), complex step of H"
"""A row of our own."""
TABLE_2 = {"serial chain": (18.0, 122.0), "branched mechanism": (10.0, 33.0), "biped": (13.0, 64.0), "quadruped": (10.0, 37.0)}
"""Microseconds for C and the symbols, 20 degrees of freedom, C++ with RBDL."""
CONCLUSION = {"biped": (18.0, 122.0), "quadruped": (10.0, 37.0)}
"""The same as Sec. 6 quotes them (erratum 1.10)."""
PARTIALS, ALGORITHM_2, TABLES = "partials of H (4)", "Algorithm 2", "Algorithm 2, as tables"
TABLE_3 = {PARTIALS: (1.23, 7.83, 27.1), ALGORITHM_2: (0.97, 3.11, 5.88)}
"""Seconds in MATLAB for planar branched mechanisms of 5, 10 and 15 bodies."""
SERIAL_MINUTES = 26.8
"""Algorithm 2 on symbols for a planar serial chain of 10 bodies, in MATLAB (Sec. 5)."""


# ---------------------------------------------------------------------------------------------------------------------
# Mechanisms


@dataclass(frozen=True)
class Mechanism:
    """A family of trees of revolute joints, by their number."""

    name: str
    limbs: int
    """0: a tree with branching factor two."""
    floating: bool
    growth: tuple[str, str]
    """What the theory says of C and of the symbols."""
    large: int = 20
    """Number of joints from which on the largest terms dominate the operations."""
    planar: bool = False

    def parent(self, i: int) -> int:
        """Bodies count from 1; 0 is the base."""
        return i // 2 if self.limbs == 0 else max(0, i - self.limbs)

    def depth(self, i: int) -> int:
        """Joints from the base to body i."""
        return 0 if i == 0 else 1 + self.depth(self.parent(i))

    def robot(self, n: int) -> Robot:
        rng = np.random.default_rng(n)
        builder = Builder(self.name)
        builder.link("l0", mass=1.0, com=(0.1, 0.0, 0.05), inertia=(0.1, 0.0, 0.0, 0.12, 0.0, 0.11))
        for i in range(1, n + 1):
            xyz, rpy, com = rng.uniform(-0.3, 0.3, 3), rng.uniform(-3.0, 3.0, 3), rng.uniform(-0.2, 0.2, 3)
            if self.planar:
                xyz[2] = com[2] = 0.0
                rpy[:] = 0.0
            builder.link(f"l{i}", mass=1.0, com=com.tolist(), inertia=(0.03, 0.001, 0.002, 0.04, 0.003, 0.05))
            axis = np.eye(3)[2 if self.planar else i % 3]
            builder.joint(
                f"j{i}", "continuous", f"l{self.parent(i)}", f"l{i}", axis=axis.tolist(), xyz=xyz.tolist(), rpy=rpy.tolist()
            )
        return load(builder, floating=self.floating)

    def terms(self, n: int) -> dict[str, int]:
        """N d for C and N d^2 for the symbols: sums over all bodies, with the base as one joint of six axes."""
        depths = [self.depth(i) + (6 if self.floating else 0) for i in range(1, n + 1)]
        return {C: sum(depths), G: sum(d * d for d in depths)}


SERIAL = Mechanism("serial chain", 1, False, ("N²", "N³"), large=60)
BRANCHED = Mechanism("branched mechanism", 0, False, ("N log N", "N log² N"))
BIPED = Mechanism("biped", 2, True, ("N d", "N d²"))
QUADRUPED = Mechanism("quadruped", 4, True, ("N d", "N d²"))
MECHANISMS = (SERIAL, BRANCHED, BIPED, QUADRUPED)
"""Those of Table 2. Bipeds and quadrupeds are a floating base with two or four limbs that share all joints."""


# ---------------------------------------------------------------------------------------------------------------------
# Table 1


def validity(step: Step, states: int = 20) -> dict[str, list[float]]:
    """Largest errors on serial chains, over some random states; and of the symbols against (4)."""
    found: dict[str, list[float]] = {name: [] for name in (*TABLE_1, SYMBOLS)}
    rows = list(TABLE_1)
    for n in SIZES_1:
        step(f"validity, chain of {n}")
        robot = SERIAL.robot(n)
        rng = np.random.default_rng(n)
        q, nu = rng.uniform(-np.pi, np.pi, (states, n)), rng.normal(size=(states, n))
        matrix = robot.coriolis_matrix(q, nu)
        torque = robot.bias(q, nu) - robot.gravity_torque(q)
        symbols = robot.christoffel_symbols(q)
        rate = robot.mass_matrix_rate(q, nu)
        found[rows[0]].append(largest((matrix @ nu[..., None])[..., 0] - torque))
        found[rows[1]].append(largest(rate - matrix - np.swapaxes(matrix, -1, -2)))
        found[rows[2]].append(largest(np.einsum("sk,sk->s", symbols[:, 0, 0], nu) - matrix[:, 0, 0]))
        found[SYMBOLS].append(largest(symbols[0] - by_complex_step(robot.model, q[0])))
    return found


def by_complex_step(model: Model, q: Array) -> Array:
    """The Christoffel symbols by (4), from complex steps through the source of the mass matrix."""
    tiny, slopes = 1e-20, []
    for e in np.eye(model.nv):
        moved = configuration.integrate(model, [complex(x) for x in q], [complex(0.0, tiny * x) for x in e])
        slopes.append(np.array(mass_matrix(model, moved)).imag / tiny)
    dM = np.stack(slopes, axis=-1)
    return np.array(0.5 * (dM + np.swapaxes(dM, 1, 2) - np.einsum("jki->ijk", dM)))


def largest(x: Any) -> float:
    """The largest magnitude."""
    return float(np.abs(x).max())


def validity_checks(found: dict[str, list[float]]) -> Iterator[Check]:
    for name, errors in found.items():
        for n, error in zip(SIZES_1, errors, strict=True):
            yield Check(f"chain of {n}: |{name}|", error, 1e-11)


# ---------------------------------------------------------------------------------------------------------------------
# Table 2, Figures 3 to 5


@dataclass
class Growth:
    """The cost of a mechanism, by its number of joints."""

    mechanism: Mechanism
    sizes: list[int] = field(default_factory=list)
    """Where times were measured."""
    times: dict[str, list[float]] = field(default_factory=lambda: {C: [], G: []})
    """Microseconds of one call from Python."""
    packed: list[float] = field(default_factory=list)
    """Of branched mechanisms: microseconds for the symbols that are not zero alone, without the N^3 zeros around them."""
    counted: list[int] = field(default_factory=list)
    """Where operations were counted."""
    operations: dict[str, list[int]] = field(default_factory=lambda: {C: [], G: []})

    def work(self, what: str) -> list[float]:
        """The times to which the theory applies, without those of clearing an array."""
        return self.packed if what == G and self.packed else self.times[what]

    def at(self, n: int) -> dict[str, float]:
        """Microseconds for n joints."""
        return {what: times[self.sizes.index(n)] for what, times in self.times.items()}

    def exponent(self, what: str, sizes: Sequence[int], values: Sequence[float], since: int) -> tuple[float, float]:
        """The slope in a log-log plot for sizes from `since` on, and that of the theory's N d or N d^2 over the same sizes."""
        kept = [k for k, n in enumerate(sizes) if n >= since]
        x = np.log([sizes[k] for k in kept])
        theory = np.log([self.mechanism.terms(sizes[k])[what] for k in kept])
        measured = np.log([values[k] for k in kept])
        return float(np.polyfit(x, measured, 1)[0]), float(np.polyfit(x, theory, 1)[0])


def growth(mechanism: Mechanism, sizes: Sequence[int], counted: Sequence[int], budget: float, step: Step) -> Growth:
    """Times for some sizes, operations for some others."""
    found = Growth(mechanism, list(sizes), counted=list(counted))
    calls = []
    for n in sizes:
        step(f"{mechanism.name} of {n}: compiling")
        robot = mechanism.robot(n)
        q, nu = robot.random_configuration(1), robot.random_velocity(2)
        calls.append([partial(robot.kernel(FUNCTION[C]).entry, q, nu), partial(robot.kernel(FUNCTION[G]).entry, q)])
        if mechanism is BRANCHED:
            calls[-1].append(partial(Kernel(packed(robot.model)).entry, q))
    step(f"{mechanism.name}: times")
    times = _minima(calls, budget)
    found.times = {C: [t[0] for t in times], G: [t[1] for t in times]}
    found.packed = [t[2] for t in times if len(t) > 2]
    for n in counted:
        step(f"{mechanism.name} of {n}: operations")
        model = mechanism.robot(n).model
        for what, name in FUNCTION.items():
            found.operations[what].append(trace(task(model, name)).operations)
    return found


def _minima(calls: Sequence[Sequence[Callable[[], Any]]], budget: float, rounds: int = 3) -> list[list[float]]:
    """The shortest times on one thread, over several rounds, in case the machine is busy for a while."""
    used = threads.threads()
    threads.set_threads(1)
    try:
        all_rounds = [[[benchmark.microseconds(c, budget / rounds) for c in row] for row in calls] for _ in range(rounds)]
    finally:
        threads.set_threads(used)
    return [[min(each) for each in zip(*rows, strict=True)] for rows in zip(*all_rounds, strict=True)]


def packed(model: Model) -> Task:
    """The symbols of a robot with single axes that are not zero, one after the other."""
    depth = [len(list(model.path(i))) for i in range(len(model.bodies))]
    size = sum(d**3 - (d - 1) ** 3 for d in depth)  # triples on one path, by the one nearest to the tips

    def evaluate(q: Any) -> Block:
        block: Any = christoffel_symbols(model, q)
        table, left, right = block.graph.nodes[block.index]
        jobs, place = [], 0
        for job in table.jobs:
            jobs.append(job._replace(place=place, step=1))
            place += job.columns
        dense = DotTable(size, table.inner, table.right_width, tuple(jobs), size)
        return Block(block.graph, block.graph.raw(dense, left, right), (size,))

    return Task("packed_symbols", (Input("q", model.nq),), (Output("G", (size,)),), evaluate)


def growth_checks(found: Sequence[Growth]) -> Iterator[Check]:
    """Operations grow no faster than the theory says; how near they come to it is for `claims.py` to say."""
    for g in found:
        for what in (C, G) if g.counted else ():
            fitted, theory = g.exponent(what, g.counted, g.operations[what], g.mechanism.large)
            yield Check(f"{g.mechanism.name}: exponent of operations, {what}, above the theory's", fitted - theory, 0.1)


LARGE = 30
"""Number of joints from which on times are fitted."""


def time_checks(found: Sequence[Growth]) -> Iterator[Check]:
    """Sec. 5: fast enough for loops that run thousands of times per second."""
    for g in found:
        yield Check(f"{g.mechanism.name}: microseconds for all symbols of 20 joints", g.at(20)[G], 1000.0)


# ---------------------------------------------------------------------------------------------------------------------
# Table 3


@dataclass(frozen=True)
class Symbolic:
    """A way to the symbols, run on symbols."""

    operations: int
    instructions: int
    """Length of the program; a table of dot products counts once, and has no zeros folded into it."""
    seconds: float


def symbolic(mechanism: Mechanism, n: int, step: Step) -> tuple[dict[str, Symbolic], float]:
    """Algorithm 2 against partial derivatives of the mass matrix, both traced, and how far apart their results are."""
    step(f"symbolic, {mechanism.name} of {n}")
    model = replace(mechanism, planar=True).robot(n).model
    made = task(model, "christoffel_symbols")
    found: dict[str, Symbolic] = {}
    values = []
    q = np.random.default_rng(n).normal(size=n)
    ways = {PARTIALS: by_partials, ALGORITHM_2: written_out, TABLES: christoffel_symbols}
    for name, way in ways.items():
        start = time.perf_counter()
        program = trace(replace(made, evaluate=partial(way, model), key=""))
        seconds = time.perf_counter() - start
        found[name] = Symbolic(program.operations, len(program.instructions), seconds)
        values.append(np.array(interpret(program, [q.tolist()])[0]))
    return found, max(largest(values[0] - x) for x in values[1:]) / max(1.0, largest(values[0]))


def by_partials(model: Model, q: Any) -> list[list[list[Scalar]]]:
    """Eq. (4): the mass matrix on first-order numbers, direction by direction, for joints on R."""
    n = range(model.nv)
    slopes = []
    for k in n:
        H = mass_matrix(model, [Dual(x, 1.0 if m == k else 0.0) for m, x in enumerate(q)])
        slopes.append([[lift(x).rate for x in row] for row in H])
    return [[[0.5 * (slopes[k][i][j] + slopes[j][i][k] - slopes[i][j][k]) for k in n] for j in n] for i in n]


def written_out(model: Model, q: Any) -> list[list[list[Scalar]]]:
    """Algorithm 2 in common coordinates, entry by entry, for joints with one axis."""
    c = common(model, q)
    Ic, n = composite_inertias(c), model.nv
    S, at = {i: c.S[i].columns[0] for i in c.S}, {i: model.dofs(i).start for i in c.S}
    found: list[list[list[Scalar]]] = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    for k, _ in model.tip_to_base():
        B, f = CoriolisFactor.of(S[k], Ic[k]), Ic[k] @ S[k]
        for j in model.path(k):
            F1, F2 = B @ S[j], B.transposed(S[j])  # (51), (52)
            F3 = S[j].cross(f) - F1  # (53)
            for i in model.path(j):
                a, b, d = at[i], at[j], at[k]
                found[a][b][d] = found[a][d][b] = S[i] @ F1  # (54)
                found[b][a][d] = found[b][d][a] = S[i] @ F2  # (55)
                found[d][a][b] = found[d][b][a] = S[i] @ F3  # (56)
    return found
