"""Steps of a robot in time, and their exact derivatives, on the group of states (paper 000, eq. 17).

A state x = (q, nu) moves by x + w: q along its group with the first half of w, nu by adding the second half. Its rate is
k(x) = (nu, FD(q, nu, tau)); torques and wrenches are constant during a step. Steps of plain numbers use the methods of `march`;
those below run on symbols, and with derivatives of z = (z_H, z_s, z_v, z_r) after the step by z before it and the inputs u, by

    d(x + w) = Ad(exp(-w)) dx + J_r(w) dw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat import scalar
from fallingcat.arrays.axes import common_axes
from fallingcat.arrays.non_numpy import refuse_non_numpy
from fallingcat.choices import GROUPS, check_choice
from fallingcat.codegen.matmul import matmul
from fallingcat.control.expm import expm
from fallingcat.control.march import March
from fallingcat.errors import InputError, TraceError
from fallingcat.functions import quaternions
from fallingcat.task import Input, Output, Task
from fallingcat.trace.arrays import stand_in

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot
    from fallingcat.robot.runner import Wrenches
    from fallingcat.robot.wrenches import BodyWrenches

Array = NDArray[np.float64]


class Step(NamedTuple):
    """The state after a step."""

    q: Array
    """(..., nq)"""
    nu: Array
    """(..., nv)"""


class Discretization(NamedTuple):
    """z after a step = A z + B u, for perturbations z of the state and u of the inputs."""

    A: Array
    """(..., 2nv, 2nv)"""
    B: Array
    """(..., 2nv, m): of the joint torques, or of the inputs of `Robot.with_actuation`."""


# ---------------------------------------------------------------------------------------------------------------------
# What users call


def step(
    robot: Robot, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, dt: ArrayLike, method: str = "euler",
    wrenches: Wrenches | None = None, out: Any = None,
) -> Step:  # fmt: skip
    """The state after the time dt under constant torques; see `Robot.step`."""
    scheme = _scheme(method, SCHEMES)
    forces = None if wrenches is None else robot._on_bodies("step", wrenches)
    task, values, inputs = task_of(robot, "step", (q, nu, tau), forces, Step)
    results, motion = prepared(robot, task, values, forces, inputs, dt, out, derivatives=False)
    if robot._run_task is not None:  # over symbols
        last = scheme(motion, motion.start(), motion.dt)
        return Step(*_copied(results, (last.q, last.nu)))
    march = March(motion, method)
    to_q, to_nu = np.empty(motion.q.shape), np.empty(motion.nu.shape)
    march.step(*march.in_rows(motion.q, motion.nu, to_q, to_nu))
    return Step(*_copied(results, (to_q, to_nu)))


def discretize(
    robot: Robot, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, dt: ArrayLike, method: str = "zoh",
    wrenches: Wrenches | None = None, out: Any = None,
) -> Discretization:  # fmt: skip
    """The linear map of perturbations over the time dt; see `Robot.discretize`."""
    scheme = _scheme(method, {"zoh": None} | SCHEMES)
    forces = None if wrenches is None else robot._on_bodies("discretize", wrenches)
    task, values, inputs = task_of(robot, "discretize", (q, nu, tau), forces, Discretization)
    results, motion = prepared(robot, task, values, forces, inputs, dt, out, derivatives=True)
    if scheme is None:
        return Discretization(*_copied(results, _flow(robot, motion)))
    slope = scheme(motion, motion.start(), motion.dt).slope
    m = 2 * robot.nv
    return Discretization(*_copied(results, (slope[..., :m], slope[..., m:])))


def _flow(robot: Robot, motion: Motion) -> tuple[Array, Array]:
    """The flow of z' = A z + B u under constant u: the exponential of [[A, B], [0, 0]] dt."""
    found = robot.linearize(motion.q, motion.nu, motion.tau, **motion.forces)
    A: Array = np.asarray(found.A)
    B: Array = np.asarray(found.B)
    m = A.shape[-1]
    if A.dtype == object or motion.dt.dtype == object:
        raise TraceError(
            "discretize with method='zoh' cannot be traced: how often the matrix exponential squares depends on its values; "
            "use method='euler', 'midpoint' or 'rk4', or linearize"
        )
    whole = np.zeros((*A.shape[:-2], m + robot.m, m + robot.m))
    whole[..., :m, :m], whole[..., :m, m:] = A, B
    E = expm(whole * motion.dt[..., None])
    return E[..., :m, :m], E[..., :m, m:]


def state_plus(robot: Robot, q: ArrayLike, nu: ArrayLike, z: ArrayLike, group: str = "product", out: Any = None) -> Step:
    """The state moved by z; see `Robot.state_plus`."""
    check_choice("group", group, GROUPS)
    task, values, _ = task_of(robot, "state_plus", (q, nu, z), None, Step)
    batch = robot._prepare(task, values)
    results = robot._results(task, batch.shape, out)
    q0, nu0, z0 = map(robot._numbers, batch.arrays)
    z_q, z_nu = np.ascontiguousarray(z0[..., : robot.nv]), z0[..., robot.nv :]
    if group == "tangent":
        D = robot.integrate_derivatives(z_q)
        nu0, z_nu = _applied(D.dq_dq, nu0), _applied(D.dq_ddx, z_nu)
    return Step(*_copied(results, (robot.integrate(q0, z_q), nu0 + z_nu)))


def state_minus(
    robot: Robot, q0: ArrayLike, nu0: ArrayLike, q1: ArrayLike, nu1: ArrayLike, group: str = "product", out: Any = None
) -> Array:
    """The z from one state to another; see `Robot.state_minus`."""
    check_choice("group", group, GROUPS)
    task, values, _ = task_of(robot, "state_minus", (q0, nu0, q1, nu1), None, None)
    batch = robot._prepare(task, values)
    (z,) = robot._results(task, batch.shape, out)
    a, b, c, d = map(robot._numbers, batch.arrays)
    z_q = robot.difference(a, c)
    if group == "tangent":
        Ad: Any = robot.integrate_derivatives(z_q).dq_dq
        J_inverse: Any = robot._run("right_jacobian_inverse", (z_q,), None)
        z[..., : robot.nv], z[..., robot.nv :] = z_q, _applied(J_inverse, d - _applied(Ad, b))
    else:
        z[..., : robot.nv], z[..., robot.nv :] = z_q, d - b
    return z


def _applied(A: Any, x: Any) -> Any:
    """A x."""
    return _product(np.asarray(A), np.asarray(x)[..., None])[..., 0]


# ---------------------------------------------------------------------------------------------------------------------
# States and tangents, with derivatives where they are wanted


@dataclass(frozen=True)
class Tangent:
    """A vector of 2nv entries, and its derivative by (z, u) at the start of the step, (..., 2nv, 2nv + m); empty if unwanted."""

    value: Array
    slope: Array

    def __add__(self, other: Tangent) -> Tangent:
        return Tangent(self.value + other.value, self.slope + other.slope)

    def times(self, factor: Array) -> Tangent:
        """Multiplied by numbers of shape (..., 1)."""
        return Tangent(factor * self.value, factor[..., None] * self.slope)


@dataclass(frozen=True)
class State:
    """A state, and its left-trivialized derivative by (z, u) at the start of the step."""

    q: Array
    nu: Array
    slope: Array


@dataclass(frozen=True)
class Motion:
    """A robot under its torques and wrenches, which determine the rate of its state."""

    robot: Robot
    q: Array
    nu: Array
    tau: Array
    forces: dict[str, Any]
    """The keyword argument `wrenches`, if there are any: without it calls are faster."""
    inputs: dict[str, str]
    """The option that says that tau are inputs of the robot; empty if they are generalized forces."""
    dt: Array
    """(..., 1)"""
    derivatives: bool

    def start(self) -> State:
        nv, m = self.robot.nv, self.robot.m
        return State(self.q, self.nu, np.eye(2 * nv, 2 * nv + m) if self.derivatives else np.zeros((0, 0)))

    def rate(self, x: State) -> Tangent:
        """k = (nu, FD) at a state."""
        nv = self.robot.nv
        a = self.dynamics("forward_dynamics", x)
        value = np.concatenate([x.nu, a], axis=-1)
        if not self.derivatives:
            return Tangent(value, x.slope)
        FD = self.dynamics("forward_dynamics_derivatives", x)
        rows = _product(FD.ddnu_dq, x.slope[..., :nv, :]) + _product(FD.ddnu_dnu, x.slope[..., nv:, :])
        rows[..., 2 * nv :] += self._by_inputs(x, np.asarray(FD.Minv))
        return Tangent(value, np.concatenate([np.broadcast_to(x.slope[..., nv:, :], rows.shape), rows], axis=-2))

    def dynamics(self, name: str, x: State) -> Any:
        if self.inputs.get("inputs") == "u":
            return self.robot._run(name, (x.q, x.nu, self.tau), None, self.forces.get("wrenches"), **self.inputs)
        return getattr(self.robot, name)(x.q, x.nu, self.tau, **self.forces)

    def _by_inputs(self, x: State, Minv: Array) -> Any:
        """M^-1 S."""
        if not self.inputs:
            return Minv[..., self.robot.nv - self.robot.n :]
        return _product(Minv, np.asarray(self.robot.actuation_matrix(x.q)))

    def plus(self, x: State, w: Tangent) -> State:
        """The state moved along w."""
        robot, nv = self.robot, self.robot.nv
        dx = np.ascontiguousarray(w.value[..., :nv])
        q, nu = robot.integrate(x.q, dx), x.nu + w.value[..., nv:]
        if not self.derivatives:
            return State(q, nu, x.slope)
        D = robot.integrate_derivatives(dx)
        upper = _product(D.dq_dq, x.slope[..., :nv, :]) + _product(D.dq_ddx, w.slope[..., :nv, :])
        lower = x.slope[..., nv:, :] + w.slope[..., nv:, :]
        return State(q, nu, np.concatenate([upper, np.broadcast_to(lower, upper.shape)], axis=-2))

    def half(self, k: Tangent, lower: bool) -> Tangent:
        """A tangent with one half of k and zeros in the other: the half of the velocity (lower) or of the configuration."""
        nv = self.robot.nv
        keep = np.repeat([0.0, 1.0] if lower else [1.0, 0.0], nv)
        return Tangent(keep * k.value, keep[:, None] * k.slope if self.derivatives else k.slope)

    def velocity(self, x: State) -> Tangent:
        """The tangent (nu, 0) of a state, which does not evaluate the dynamics."""
        nv = self.robot.nv
        slope = np.concatenate([x.slope[..., nv:, :], 0.0 * x.slope[..., nv:, :]], axis=-2) if self.derivatives else x.slope
        return Tangent(np.concatenate([x.nu, np.zeros_like(x.nu)], axis=-1), slope)


def _product(A: Any, B: Array) -> Any:
    """A B; if A is traced, a product that stays a loop in the compiled code."""
    if A.dtype != object and B.dtype != object:
        return matmul(A, B)
    if A.ndim != 2 or B.ndim != 2:
        return A @ B
    return np.array(scalar.matmul(A.tolist(), B.tolist()), dtype=object)


# ---------------------------------------------------------------------------------------------------------------------
# The methods


def _euler(motion: Motion, x: State, dt: Array) -> State:
    """Semi-implicit Euler: nu+ = nu + dt FD, q+ = integrate(q, dt nu+). First order."""
    faster = motion.plus(x, motion.half(motion.rate(x), lower=True).times(dt))
    return motion.plus(faster, motion.velocity(faster).times(dt))


def _midpoint(motion: Motion, x: State, dt: Array) -> State:
    """The explicit midpoint rule: x+ = x + dt k(x + dt/2 k(x)). Second order."""
    return motion.plus(x, motion.rate(motion.plus(x, motion.rate(x).times(dt / 2))).times(dt))


def _rk4(motion: Motion, x: State, dt: Array) -> State:
    """The commutator-free method of Celledoni, Marthinsen and Owren (2003), for left-trivialized velocities. Fourth order."""
    k1 = motion.rate(x)
    Y2 = motion.plus(x, k1.times(dt / 2))
    k2 = motion.rate(Y2)
    k3 = motion.rate(motion.plus(x, k2.times(dt / 2)))
    k4 = motion.rate(motion.plus(Y2, k3.times(dt) + k1.times(-dt / 2)))
    first = k1.times(dt / 4) + (k2 + k3).times(dt / 6) + k4.times(-dt / 12)
    second = k1.times(-dt / 12) + (k2 + k3).times(dt / 6) + k4.times(dt / 4)
    return motion.plus(motion.plus(x, first), second)


SCHEMES = {"euler": _euler, "midpoint": _midpoint, "rk4": _rk4}


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


def _scheme(method: str, known: Mapping[str, Any]) -> Any:
    check_choice("method", method, known)
    return known[method]


def generalized(robot: Robot, name: str, tau: Any) -> tuple[Any, dict[str, str]]:
    """Generalized forces, or the inputs of a robot that has its own, and the option that says which they are.

    Joint torques (..., n) get a base wrench of zero before them; arrays of other sizes are returned unchanged and refused later.
    """
    if type(tau) is not np.ndarray:
        refuse_non_numpy(name, "tau", tau)
    try:
        a = np.asarray(tau)
    except (ValueError, TypeError):
        a = np.array(None)
    size = a.shape[-1] if a.ndim and a.dtype.kind in "fiubO" else -1
    if robot._actuation is not None:
        if size not in (robot.m, robot.nv, -1):
            expected = f"(..., {robot.m}), the inputs of this robot, or (..., {robot.nv}), generalized forces"
            raise InputError(f"{name}: tau has the wrong shape", expected=expected, got=str(a.shape))
        forces = size == robot.nv and (robot.m != robot.nv or robot._inputs_of_file)
        return tau, {"inputs": "tau" if forces else "u"}
    if size != robot.n or robot.n == robot.nv:
        return tau, {}
    return np.concatenate([np.zeros((*a.shape[:-1], robot.nv - robot.n)), a], axis=-1), {}


def task_of(
    robot: Robot, name: str, values: tuple[Any, ...], forces: BodyWrenches | None, results: type | None
) -> tuple[Task, tuple[Any, ...], dict[str, str]]:
    """A task for the checks of arguments and outputs, the arguments themselves, and whether tau are inputs."""
    nq, nv, drive = robot.nq, robot.nv, dict[str, str]()
    names = {"state_plus": ("q", "nu", "z"), "state_minus": ("q0", "nu0", "q1", "nu1")}.get(name, ("q", "nu", "tau"))
    if "tau" in names:
        given, drive = generalized(robot, name, values[2])
        values = (*values[:2], given)
    sizes = {"q": nq, "n": nv, "t": robot.m if drive.get("inputs") == "u" else nv, "z": 2 * nv}
    places = quaternions(robot.model)
    inputs = [Input(x, sizes[x[0]], places if x[0] == "q" else ()) for x in names]
    outputs: tuple[Output, ...] = (Output("z", (2 * nv,)),)
    if results is Step:
        outputs = (Output("q", (nq,)), Output("nu", (nv,)))
    elif results is Discretization:
        outputs = (Output("A", (2 * nv, 2 * nv)), Output("B", (2 * nv, robot.m)))
    if forces is not None:
        inputs.append(Input("wrenches", forces.values.shape[-1]))
        values = (*values, forces.values)
    return Task(name, tuple(inputs), outputs, len, results=results), values, drive


def prepared(
    robot: Robot,
    task: Task,
    values: tuple[Any, ...],
    forces: BodyWrenches | None,
    inputs: dict[str, str],
    dt: ArrayLike,
    out: Any,
    derivatives: bool,
) -> tuple[tuple[Array, ...], Motion]:
    """Checked outputs, and the motion with all its arguments broadcast."""
    batch = robot._prepare(task, values, check=False)  # the robot's functions look at quaternions
    if type(dt) is not float:
        refuse_non_numpy(task.name, "dt", dt)
    try:
        h = robot._numbers(dt)
    except (TypeError, ValueError):
        h = np.array(np.nan)
    if not np.isfinite(stand_in(h, symbol=0.0)).all():
        raise InputError(f"{task.name}: dt is not a time", expected="a number, or one for each state", got=repr(dt))
    shape = common_axes(task.name, {"dt": h.shape, "the states": batch.shape}, core=0)
    results = robot._results(task, shape, out)
    q, nu, tau, *wrenches = (
        np.ascontiguousarray(robot._numbers(a if a.shape[:-1] == shape else np.broadcast_to(a, (*shape, a.shape[-1]))))
        for a in batch.arrays
    )
    given = {} if forces is None else {"wrenches": forces._replace(values=wrenches[0])}
    return results, Motion(robot, q, nu, tau, given, inputs, h[..., None], derivatives)


def _copied(results: tuple[Array, ...], values: tuple[Array, ...]) -> tuple[Array, ...]:
    if any(result.dtype == object for result in results):
        return tuple(np.broadcast_to(value, result.shape).copy() for result, value in zip(results, values, strict=True))
    for result, value in zip(results, values, strict=True):
        result[...] = value
    return results
