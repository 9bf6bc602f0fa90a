"""A robot with constraints: feet on the ground, closed loops, driven joints; its dynamics, derivatives and linearization.

    c = robot.constraints(fc.point("lf_foot"), fc.point("rf_foot"))
    dnu, forces = c.forward_dynamics(q, nu, tau)

Every function broadcasts over leading axes, takes `out=` and runs compiled code, as those of `Robot` do. Which of the constraints
are active, where they hold, and the motion they follow are given at run time: another choice compiles nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms.constrained import (
    ConstrainedMotion,
    ConstraintSet,
    Impact,
    OperationalSpace,
    Supported,
)
from fallingcat.algorithms.constrained_derivatives import ConstrainedDerivatives, ImpactDerivatives
from fallingcat.algorithms.constraint_rows import Gains
from fallingcat.arrays.arguments import real_array
from fallingcat.arrays.non_numpy import deferrable, refuse_non_numpy
from fallingcat.codegen import Kernel
from fallingcat.control.steps import Step
from fallingcat.errors import InputError
from fallingcat.model.constraints import Constraint
from fallingcat.robot.ahead import as_jobs, compile_ahead
from fallingcat.robot.constraint_sets import (
    anchor_of,
    anchors_at,
    checked,
    dependent,
    floats,
    generalized,
    home_of,
    null_space,
    number,
    unactuated,
)
from fallingcat.robot.constraint_specs import resolve
from fallingcat.robot.constraint_tasks import BEHIND, FUNCTIONS, OPTIONAL, check_inputs, completed, task
from fallingcat.robot.gradients import Derivative, vjp_of
from fallingcat.robot.methods import CompiledMethod, has_code
from fallingcat.suggest import closest
from fallingcat.text import printable, shown

if TYPE_CHECKING:
    from fallingcat.robot.robot import Robot
    from fallingcat.robot.runner import Wrenches

Array = NDArray[np.float64]
Result = TypeVar("Result")
Reference = Sequence[Any]
"""(position, velocity, acceleration) of the rows, each (..., m) or None."""

STEPS = 50
"""Newton's method takes at most so many steps in `project`."""
LARGEST_STEP = 1.0
"""The longest step of Newton's method, in radians and metres: far from the constraints a longer one may lead astray."""


class ConstrainedLinearization(NamedTuple):
    """y' = A y + B u in minimal coordinates y, with perturbations z = basis y of the state."""

    A: Array
    """(..., 2k, 2k), k = nv - rank of J."""
    B: Array
    """(..., 2k, m): of the robot's inputs."""
    basis: Array
    """(..., 2nv, 2k): of the perturbations (z_q, z_nu) that the constraints allow; its transpose takes z back to y for z_q."""


class Constraints:
    """Constraints of one robot; see `Robot.constraints`."""

    def __init__(
        self, robot: Robot, constraints: Sequence[Constraint], kp: float = 0.0, kd: float = 0.0, damping: float = 0.0,
        redundant: bool | None = None, home: ArrayLike | None = None, anchors: Array | None = None,
    ) -> None:  # fmt: skip
        given = checked(constraints)
        self.robot, self.constraints = robot, given
        self.options: dict[str, Any] = {"kp": kp, "kd": kd, "damping": damping, "redundant": redundant, "home": home}
        numbers = [number(name, x) for name, x in (("kp", kp), ("kd", kd), ("damping", damping))]
        at_home = home_of(robot, home)
        self.options["home"] = None if home is None else np.array(at_home)
        resolved = [resolve(c, robot.model, at_home) for c in given]
        parts = tuple(rows for rows, _ in resolved)
        if anchors is None:
            anchors = anchors_at(robot, given, resolved, at_home)
        anchors.setflags(write=False)  # kernels and results of others rely on them
        self.anchors: Array = anchors
        """(..., a): where the constraints hold, in the numbers of the compiled functions."""
        plain = ConstraintSet(parts, Gains(numbers[0], numbers[1]), numbers[2])
        found = dependent(robot, plain) if redundant is None else bool(redundant)
        self.rows = ConstraintSet(parts, plain.gains, plain.damping, found)
        self._anchored = self._where(kp_only=True) is not None
        places = ("anchors",) if self._anchored else ()
        self._quick = tuple(("forward_dynamics", (*switched, *places), "", None) for switched in ((), ("active",)))
        self._kernels: dict[Any, Kernel] = {}
        self._calls: dict[Any, Callable[..., Any]] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            raise AttributeError(f"constraints are frozen: {name} cannot be set; make others with robot.constraints(...)")
        super().__setattr__(name, value)

    def __reduce__(self) -> Any:
        return _rebuild, (self.robot, self.constraints, self.options | {"redundant": self.rows.redundant}, self.anchors)

    def __repr__(self) -> str:
        return f"<{self.m} rows on {printable(self.robot.name)}: {', '.join(map(str, self.constraints))}>"

    def __len__(self) -> int:
        """Number of constraints."""
        return len(self.constraints)

    @property
    def m(self) -> int:
        """Number of rows."""
        return self.rows.size

    @property
    def slices(self) -> tuple[slice, ...]:
        """Where the rows of each constraint stand."""
        return tuple(at for _, at, _ in self.rows.each(None))

    def held_at(self, q: ArrayLike) -> Constraints:
        """The same constraints holding at other configurations, (..., nq): feet where they are at q. Compiles nothing."""
        Q = real_array("held_at: q", q)
        if Q.ndim == 0 or Q.shape[-1] != self.robot.nq:
            raise InputError("held_at: q has the wrong shape", expected=f"(..., {self.robot.nq})", got=str(Q.shape))
        parts = list(zip(self.constraints, self.rows.parts, strict=True))
        flat = [
            [float(x) for c, part in parts for x in anchor_of(c, part, self.robot.model, row.tolist())]
            for row in Q.reshape(-1, Q.shape[-1])
        ]
        return self.with_anchors(np.array(flat).reshape(*Q.shape[:-1], self.rows.anchor_size))

    def with_anchors(self, anchors: ArrayLike) -> Constraints:
        """The same constraints holding elsewhere, (..., a): `anchors` has the numbers of now. Compiles nothing.

        A point has its position (3), a surface its position and the rows of its rotation (12), a distance its length, a joint its
        coordinates; loops whose pose is part of the mechanism have none.
        """
        given = np.array(real_array("with_anchors: anchors", anchors))
        if given.ndim == 0 or given.shape[-1] != self.rows.anchor_size or not np.isfinite(given).all():
            expected = f"numbers (..., {self.rows.anchor_size})"
            raise InputError("with_anchors: anchors do not fit", expected=expected, got=f"shape {given.shape}")
        moved = _rebuild(self.robot, self.constraints, self.options | {"redundant": self.rows.redundant}, given)
        moved.__dict__["_kernels"], moved.__dict__["_calls"] = self._kernels, self._calls
        return moved

    # -----------------------------------------------------------------------------------------------------------------
    # Rows

    def jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """J(q), (..., m, nv): from nu to the velocity of the rows."""
        return self._run("jacobian", (q,), out)

    def jacobian_rate(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """The rate of J along nu, (..., m, nv)."""
        return self._run("jacobian_rate", (q, nu), out)

    def drift(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """The acceleration of the rows at dnu = 0, (..., m): the rate of J times nu."""
        return self._run("drift", (q, nu), out)

    @deferrable
    def violation(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """How far each row is from holding, (..., m), in metres and radians. Its derivative is J where it vanishes."""
        return self._run("violation", (q,), out, anchors=self._where())

    @deferrable
    def residual(
        self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, reference: Reference | None = None, *, out: Array | None = None
    ) -> Array:
        """J dnu + drift + kd J nu + kp violation - reference, (..., m): zero where dnu obeys the constraints."""
        more = {"anchors": self._where(kp_only=True), "reference": self._reference(reference)}
        return self._run("residual", (q, nu, dnu), out, **more)

    def rank(self, q: ArrayLike, active: ArrayLike | None = None) -> Any:
        """The rank of J, (...): of m rows that many are independent. Fewer than m: forces are not unique, or rows contradict."""
        refuse_non_numpy("rank", "q", q)
        J = self.jacobian(q)
        if active is not None:
            on = floats("rank: active", active, len(self)) >= 0.5
            J = J * np.repeat(on, [part.size for part in self.rows.parts], axis=-1)[..., None]
        if not np.isfinite(J).all():
            raise InputError("rank: J is not finite", expected="a configuration of finite numbers")
        s = np.linalg.svd(J, compute_uv=False)
        return np.sum(s > 1e-9 * np.maximum(s[..., :1], 1e-300), axis=-1) if s.shape[-1] else np.zeros(J.shape[:-2], dtype=int)

    # -----------------------------------------------------------------------------------------------------------------
    # Dynamics

    def forward_dynamics(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, active: ArrayLike | None = None, reference: Reference | None = None,
        wrenches: Wrenches | None = None, *, out: Any = None,
    ) -> ConstrainedMotion:  # fmt: skip
        """The motion under constraints: .dnu (..., nv) .forces (..., m), with M dnu + h = tau + J^T forces.

            J dnu + drift = -kd J nu - kp violation + reference - damping forces

        active: (..., number of constraints) of 0 and 1; the force of one that is not active is zero. reference: the motion that
        violations follow, (position, velocity, acceleration), each (..., m) or None. wrenches: as in `Robot.forward_dynamics`.
        """
        if reference is None and wrenches is None and out is None:  # the way of a loop in time
            call = self._calls.get(self._quick[active is not None])
            if call is not None:
                more = () if active is None else (active,)
                return call(q, nu, tau, *more, self.anchors) if self._anchored else call(q, nu, tau, *more)  # type: ignore[no-any-return]
        return self._run("forward_dynamics", (q, nu, tau), out, **self._inputs("forward_dynamics", active, reference, wrenches))

    def forward_dynamics_derivatives(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, active: ArrayLike | None = None, reference: Reference | None = None,
        wrenches: Wrenches | None = None, *, out: Any = None,
    ) -> ConstrainedDerivatives:  # fmt: skip
        """.ddnu_dq .ddnu_dnu .ddnu_dtau (..., nv, nv), .dforces_dq .dforces_dnu .dforces_dtau (..., m, nv), left-trivialized.

        Where rows always depend on each other, these are the derivatives of the forces of least norm.
        """
        more = self._inputs("forward_dynamics_derivatives", active, reference, wrenches)
        return self._run("forward_dynamics_derivatives", (q, nu, tau), out, **more)

    @deferrable
    def inverse_dynamics(
        self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, active: ArrayLike | None = None, forces: ArrayLike | None = None,
        *, out: Any = None,
    ) -> Supported:  # fmt: skip
        """What a motion takes: .tau (..., nv) .forces (..., m), with M dnu + h = tau + J^T forces.

        Of all forces with which the robot's inputs can cause the motion, those of least norm; the base wrench in tau then
        is zero. Where there are none (a robot on one point), it is what is missing. forces: chosen ones, instead.
        """
        if forces is not None:
            if active is not None:
                raise InputError("inverse_dynamics: active chooses among forces that are not given", hint="give one of the two")
            return self._with_forces(q, nu, dnu, forces, out)
        fixed = (("unactuated", unactuated(self.robot)),)
        return self._run("inverse_dynamics", (q, nu, dnu), out, fixed=fixed, active=active)

    @deferrable
    def impulse(
        self, q: ArrayLike, nu: ArrayLike, restitution: ArrayLike = 0.0, active: ArrayLike | None = None, *, out: Any = None
    ) -> Impact:
        """An impact: .nu after it (..., nv), .impulses (..., m), with M (after - before) = J^T impulses.

        restitution: a number, or one for each constraint; each row leaves with -restitution times the velocity it came with.
        """
        return self._run("impulse", (q, nu, self._each(restitution)), out, active=active)

    @deferrable
    def impulse_derivatives(
        self, q: ArrayLike, nu: ArrayLike, restitution: ArrayLike = 0.0, active: ArrayLike | None = None, *, out: Any = None
    ) -> ImpactDerivatives:
        """.dnu_dq .dnu_dnu (..., nv, nv) .dimpulses_dq .dimpulses_dnu (..., m, nv) of `impulse`, left-trivialized."""
        return self._run("impulse_derivatives", (q, nu, self._each(restitution)), out, active=active)

    @deferrable
    def operational_space(self, q: ArrayLike, active: ArrayLike | None = None, *, out: Any = None) -> OperationalSpace:
        """Dynamics along the rows: .inertia (..., m, m) = (J M^-1 J^T)^-1, .inverse (..., nv, m) = M^-1 J^T inertia.

        The latter is the dynamically consistent inverse of J. .projector (..., nv, nv) = 1 - J^T inverse^T: torques that pass
        through it do not accelerate the rows.
        """
        return self._run("operational_space", (q,), out, active=active)

    # -----------------------------------------------------------------------------------------------------------------
    # The manifold

    @deferrable
    def project(
        self, q: ArrayLike, nu: ArrayLike | None = None, active: ArrayLike | None = None, tolerance: float = 1e-10
    ) -> Step:
        """The state moved onto the constraints: .q (..., nq) .nu (..., nv).

        Newton's method on the group of configurations; nu loses what the constraints forbid, and as little energy as possible.
        Raises where the constraints cannot be satisfied, such as a loop that does not close.
        """
        robot = self.robot
        Q = real_array("project: q", q)
        if not np.isfinite(Q).all():
            raise InputError("project: q is not finite", expected="a configuration to start from")
        V = np.zeros((*Q.shape[:-1], robot.nv)) if nu is None else nu
        for _ in range(STEPS):
            step: Any = self._run("correction", (Q, V), None, active=active, anchors=self._where())
            worst = float(np.max(np.abs(step.violation), initial=0.0))
            if worst <= tolerance:
                return Step(np.array(np.broadcast_to(Q, (*step.nu.shape[:-1], robot.nq))), step.nu)
            length = np.max(np.abs(step.dx), axis=-1, initial=0.0, keepdims=True)
            Q = robot.integrate(Q, step.dx * np.minimum(1.0, LARGEST_STEP / np.maximum(length, 1e-300)))
        left = np.max(np.abs(step.violation).reshape(-1, self.m), axis=0)
        which = [str(c) for c, at in zip(self.constraints, self.slices, strict=True) if left[at].max(initial=0.0) > tolerance]
        raise InputError(
            f"project: the constraints cannot be satisfied, {worst:.3g} m or rad is left in {', '.join(which)}",
            expected="constraints that hold somewhere near q", hint="a loop may not close, or q be too far away",
        )  # fmt: skip

    def linearize(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, active: ArrayLike | None = None, reference: Reference | None = None,
        wrenches: Wrenches | None = None,
    ) -> ConstrainedLinearization:  # fmt: skip
        """The linearization on the constraint manifold, y' = A y + B u: .A (..., 2k, 2k) .B (..., 2k, m) .basis (..., 2nv, 2k).

        Perturbations z = (z_q, z_nu) of a state on the constraints are z = basis y, with k = nv - rank of J coordinates and as
        many velocities: J z_q = 0 and d(J nu)/dq z_q + J z_nu = 0. Exact at rest; along a motion, in a basis that is
        carried along without turning. tau: nv entries, base wrench first. u: the robot's inputs.
        """
        for name, x in (("q", q), ("nu", nu), ("tau", tau)):  # how many columns there are depends on the numbers
            refuse_non_numpy("linearize", name, x)
        more = self._inputs("tangent", active, reference, wrenches)
        T: Any = self._run("tangent", (q, nu, generalized(self.robot, tau)), None, **more)
        Z, pseudo = null_space(T.J)
        zero, Y, Z_rate = np.zeros_like(Z), -pseudo @ (T.dJnu_dq @ Z), -pseudo @ (T.J_rate @ Z)
        basis = np.concatenate([np.concatenate([Z, zero], -1), np.concatenate([Y, Z], -1)], -2)
        left = np.swapaxes(np.concatenate([np.concatenate([Z, zero], -1), np.concatenate([zero, Z], -1)], -2), -1, -2)
        A, k = left @ T.A @ basis, Z.shape[-1]
        A[..., k:, :k] += np.swapaxes(Z_rate, -1, -2) @ Y  # y_nu = Z^T z_nu, and Z turns with the null space of J
        S = self.robot.actuation_matrix(q) if self.robot._actuation is not None else self.robot.actuation
        return ConstrainedLinearization(A, left @ T.B @ S, basis)

    # -----------------------------------------------------------------------------------------------------------------
    # Running

    def kernel(self, name: str, inputs: Iterable[str] = (), wrenches: str = "", fixed: Any = None) -> Kernel:
        """The compiled function behind a method. inputs: those of "active", "anchors", "reference", "wrenches" that it takes;
        "anchors" come by themselves where there is no result without them."""
        name = BEHIND.get(name, name) if isinstance(name, str) else name
        if not isinstance(name, str) or name not in FUNCTIONS:
            raise InputError(f"no function {shown(name)} of constraints", hint=closest(name, FUNCTIONS))
        if name == "inverse_dynamics" and fixed is None:
            fixed = (("unactuated", unactuated(self.robot)),)
        key = (name, completed(name, tuple(inputs), self.rows, fixed), wrenches, fixed)
        found = self._kernels.get(key)
        if found is None:
            check_inputs(name, key[1], wrenches)
            found = self._kernels.setdefault(key, Kernel(task(self.robot.model, self.rows, *key)))
        return found

    def vjp(self, name: str, *, ambient: bool = False, **options: Any) -> Derivative:
        """v^T J of a function, as `Robot.vjp`: (inputs, a cotangent for each result) -> a cotangent for each input.

        >>> q_bar, nu_bar, tau_bar = c.vjp("forward_dynamics")(q, nu, tau, dnu_bar, forces_bar)
        """
        return vjp_of(self.kernel(name, **options), bool(ambient))

    def jvp(self, name: str, *, ambient: bool = False, **options: Any) -> Derivative:
        """J v of a function, as `Robot.jvp`: (inputs, a tangent for each input) -> a tangent for each result."""
        return Derivative(self.kernel(name, **options).jvp(bool(ambient)))

    def _deferred(self, function: Callable[..., Any], values: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """A method with arguments of Dask or xarray: a lazy result, computed block by block."""
        from fallingcat.robot.deferred import defer_method

        return defer_method(self, function, values, named)

    @property
    def token(self) -> str:
        """A name that differs whenever what these constraints compute does."""
        words = (self.robot.model.digest, repr(self.rows), self.anchors.tobytes().hex(), repr(self.robot._actuation))
        return hashlib.sha256("\0".join(words).encode()).hexdigest()

    def compile(
        self, functions: Iterable[str | tuple[str, Mapping[str, Any]]], *, single: bool = True, batch: bool = False,
        progress: bool = True,
    ) -> None:  # fmt: skip
        """Prepare functions ahead, as `Robot.compile` does; options are those of `kernel`."""
        compile_ahead(self, as_jobs([functions] if isinstance(functions, str) else functions), single, batch, progress)

    def _run(self, name: str, values: tuple[Any, ...], out: Any, fixed: Any = None, **more: Any) -> Result:  # type: ignore[type-var]
        """Run a compiled function with those of its optional inputs that are given."""
        given = {n: x for n, x in more.items() if x is not None}
        axes = given["wrenches"].axes if "wrenches" in given else ""
        if "wrenches" in given:
            given["wrenches"] = given["wrenches"].values
        order = tuple(n for n in OPTIONAL if n in given)
        key = (name, order, axes, fixed)
        values = (*values, *(given[n] for n in order))
        if self.robot._run_task is not None:  # over symbols
            return cast(Result, self.robot._run_task(self.kernel(*key).task, values, out))
        call = self._calls.get(key)
        if call is None:
            call = self.kernel(*key)
        result: Result = call(*values) if out is None else call(*values, out=out)
        if type(call) is Kernel:
            self._calls[key] = call.entry if call.entry_made else call
            if not order and fixed is None:
                has_code(self, call)
        return result

    def _inputs(self, name: str, active: Any, reference: Any, wrenches: Any) -> dict[str, Any]:
        forces = None if wrenches is None else self.robot._on_bodies(name, wrenches)
        return {
            "active": active, "anchors": self._where(kp_only=True), "reference": self._reference(reference), "wrenches": forces,
        }  # fmt: skip

    def _where(self, kp_only: bool = False) -> Array | None:
        """The anchors, for functions that depend on them; else None."""
        wanted = self.rows.anchor_size and (self.rows.gains.kp or not kp_only)
        return self.anchors if wanted else None

    def _reference(self, reference: Reference | None) -> Any:
        """r'' + kd r' + kp r of a reference motion r, (..., m); None without one."""
        if reference is None:
            return None
        if not isinstance(reference, (tuple, list)) or len(reference) != 3:
            expected = f"(position, velocity, acceleration), each (..., {self.m}) or None"
            raise InputError("reference does not fit", expected=expected, got=shown(reference))
        total: Any = np.zeros(self.m)
        for factor, x in zip((self.rows.gains.kp, self.rows.gains.kd, 1.0), reference, strict=True):
            if x is None:
                continue
            total = total + factor * floats("reference", x, self.m, self.robot._numbers)
        return total

    def _each(self, restitution: ArrayLike) -> Any:
        e = floats("impulse: restitution", restitution, None, self.robot._numbers)
        if e.dtype != object and np.any((e < 0.0) | (e > 1.0)):
            raise InputError("impulse: restitution does not fit", expected="numbers from 0 to 1", got=shown(restitution))
        return np.full(len(self), e[()]) if e.ndim == 0 else e

    def _with_forces(self, q: ArrayLike, nu: ArrayLike, dnu: ArrayLike, forces: ArrayLike, out: Any) -> Supported:
        f = floats("inverse_dynamics: forces", forces, self.m, self.robot._numbers)
        needed = self.robot.inverse_dynamics(q, nu, dnu)
        tau = needed - (np.swapaxes(self.jacobian(q), -1, -2) @ f[..., None])[..., 0]
        found = Supported(tau, np.array(np.broadcast_to(f, (*tau.shape[:-1], self.m))))
        if out is None:
            return found
        for target, value in zip(
            self.robot._results(self.kernel("inverse_dynamics").task, tau.shape[:-1], out), found, strict=True
        ):
            target[...] = value
        return Supported(*out)


_INPUTS = {"jacobian": 1, "jacobian_rate": 2, "drift": 2, "forward_dynamics": 3, "forward_dynamics_derivatives": 3}
for _name, _count in _INPUTS.items():
    # Seen from an object these are built-in functions, as the methods of a robot are.
    setattr(Constraints, _name, CompiledMethod(Constraints.__dict__[_name], _count))


def _rebuild(robot: Robot, constraints: Sequence[Constraint], options: dict[str, Any], anchors: Array) -> Constraints:
    return Constraints(robot, constraints, **options, anchors=anchors)
