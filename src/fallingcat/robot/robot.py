"""The robot a user holds: thin methods over the algorithms.

Conventions: SI units; 6-vectors are (linear; angular); q = base position, base quaternion (x y z w), joint
positions; nu = body-fixed base twist, joint velocities. Every function broadcasts over leading axes and
takes `out=`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fallingcat.algorithms import configuration
from fallingcat.arrays.non_numpy import deferrable
from fallingcat.choices import check_truth, several_names
from fallingcat.errors import ModelError, NotConstantError
from fallingcat.model.assemble import Floating, LockValue, assemble, floats
from fallingcat.model.constraints import Constraint, of_equality
from fallingcat.model.description import Description, Limits
from fallingcat.model.doctor import examine
from fallingcat.model.joints import Representation
from fallingcat.model.sources import Source, read
from fallingcat.model.tree_text import tree_text
from fallingcat.robot import poses
from fallingcat.robot.base import AnyBase
from fallingcat.robot.constraints import Constraints
from fallingcat.robot.control import Control
from fallingcat.robot.coriolis import Coriolis
from fallingcat.robot.derivatives import Derivatives
from fallingcat.robot.frames import Frames
from fallingcat.robot.gradients import Gradients
from fallingcat.robot.inputs import Inputs, Thruster, WrenchInput, acts, actuation_of, for_another_base
from fallingcat.robot.motion import Motions
from fallingcat.robot.reduced import Reduced
from fallingcat.robot.runner import Wrenches, in_representation
from fallingcat.robot.writing import Writing

Array = NDArray[np.float64]


def load(
    source: Source,
    floating: Floating = "auto",
    base: str | None = None,
    gravity: Sequence[float] | None = None,
    joints: Iterable[str] | None = None,
    lock: Mapping[str, LockValue] | None = None,
    joint_dynamics: bool = False,
    package_dirs: Iterable[str | os.PathLike[str]] = (),
) -> Robot:
    """Load a robot.

    source: the path of a URDF, xacro, MJCF or SDF file, XML text, a `Builder`, a `Description`, a compiled `mujoco.MjModel`, the
    name of a bundled robot (`fc.robots()`), or "robot_descriptions:NAME".
    floating: does the base move freely, or is it welded to the world? "auto": it floats, unless the file joins it to the world.
    base: any link; the file's root when None. The order of the joints stays that of the file.
    gravity: the file's when None, (0, 0, -9.81) where it says nothing.
    joints: the joints that stay movable, in this order; the rest are locked at `lock[name]` or 0.
    lock: where joints are locked; without `joints`, these are locked and the others move.
    joint_dynamics: add the joints' damping, friction and armature to the dynamics.
    package_dirs: folders in which packages and meshes are looked for, before ROS_PACKAGE_PATH and its like.

    Raises `fc.ModelError` with every problem of a description that cannot be used.
    """
    if not _auto(floating):
        check_truth("floating", floating)
    description, findings = read(source, package_dirs)
    errors = [f for f in findings if f.severity == "error"]
    if description is not None and not errors:
        errors = [f for f in examine(description) if f.severity == "error"]
    if description is None or errors:
        count = f"{len(errors)} error" + ("s" if len(errors) != 1 else "")
        raise ModelError(f"cannot load this robot: {count}", errors)
    named = None if joints is None else several_names("joints", joints)
    options = {"gravity": gravity, "joints": named, "lock": lock}
    return Robot(description, floating=floating, base=base, joint_dynamics=joint_dynamics, **options)  # type: ignore[arg-type]


class Robot(Frames, Derivatives, Coriolis, AnyBase, Reduced, Control, Motions, Gradients, Writing):
    """A robot and everything that can be asked about its motion."""

    def __init__(
        self,
        description: Description,
        *,
        floating: Floating = "auto",
        base: str | None = None,
        gravity: Sequence[float] | None = None,
        joints: Iterable[str] | None = None,
        lock: Mapping[str, LockValue] | None = None,
        joint_dynamics: bool = False,
        inputs: Inputs | None = None,
    ) -> None:
        floating = floats(description, base) if _auto(floating) else floating
        check_truth("floating", floating)
        check_truth("joint_dynamics", joint_dynamics)
        self.description = description
        options: dict[str, Any] = {
            "floating": bool(floating), "gravity": gravity, "joints": joints, "lock": lock,
            "joint_dynamics": bool(joint_dynamics),
        }  # fmt: skip
        self._options: dict[str, Any] = options | {"inputs": inputs}
        super().__init__(assemble(description, base=base, **options))
        found = description.actuators if inputs is None else inputs
        self._actuation = actuation_of(self.model, found) if inputs is not None or found else None
        self._inputs_of_file = inputs is None

    # -----------------------------------------------------------------------------------------------------------------
    # What it is

    @property
    def name(self) -> str:
        """The name that the description gives."""
        return self.model.name

    @property
    def nq(self) -> int:
        """Length of a configuration q."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Length of a velocity nu: the degrees of freedom, base included."""
        return self.model.nv

    @property
    def n(self) -> int:
        """Degrees of freedom of the joints."""
        return self.model.n

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Movable joints in the order of their coordinates. Mimic joints are not among them: they follow."""
        return self.model.joint_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """All links, in the order of the tree, those that are welded to others among them."""
        return self.model.link_names

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Everything that can be named as a frame: links, and joints that are not named like a link."""
        return tuple(name for name, _ in self.model.frames)

    @property
    def base(self) -> str:
        """The link that floats, or that is welded to the world."""
        return self.model.base

    @property
    def floating(self) -> bool:
        """Does the base move freely, or is it welded to the world?"""
        return self.model.floating

    @property
    def mass(self) -> float:
        """The mass of all that can move, kg: a welded base does not count."""
        return self.model.mass

    @property
    def gravity(self) -> Array:
        """(3,): the acceleration of free fall, in the world."""
        return np.array(self.model.gravity)

    @property
    def m(self) -> int:
        """Number of inputs: the joint torques, unless `with_actuation` has set others."""
        return self.n if self._actuation is None else self._actuation.m

    @property
    def actuation(self) -> Array:
        """The nv x m matrix S that takes inputs u to generalized forces S u: joint torques, unless `with_actuation` says else.

        Raises where it depends on q, for thrusters and wrenches on other bodies than the base: see `actuation_matrix`.
        """
        if self._actuation is None:
            return np.eye(self.nv)[:, self.nv - self.n :]
        if not self._actuation.constant:
            frames = ", ".join(sorted({repr(x.frame) for x in self._actuation.frames}))
            raise NotConstantError(
                "the actuation depends on q", got=f"inputs on {frames}, on other bodies than the base",
                hint="robot.actuation_matrix(q) is the matrix at a configuration",
            )  # fmt: skip
        return np.array(self._actuation.matrix).reshape(self.nv, self.m)

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """The actuators that the robot's file names and that move anything, in the order of u; empty where there are none."""
        if self._options["inputs"] is not None:
            return ()
        return tuple(actuator.name for actuator in self.description.actuators if acts(self.model, actuator))

    @property
    def position_limits(self) -> Array:
        """(n, 2): lower and upper bound of every joint degree of freedom."""
        return np.array([(x.lower, x.upper) for x in self._limits()]).reshape(self.n, 2)

    @property
    def velocity_limits(self) -> Array:
        """(n,)"""
        return np.array([x.velocity for x in self._limits()]).reshape(self.n)

    @property
    def effort_limits(self) -> Array:
        """(n,)"""
        return np.array([x.effort for x in self._limits()]).reshape(self.n)

    def _limits(self) -> list[Limits]:
        """The limits of every joint degree of freedom, in the order of nu."""
        own = sorted((b for b in self.model.bodies if not b.mimics), key=lambda b: b.nu_at)
        return [body.limits for body in own if body.nu_at >= self.nv - self.n for _ in range(body.joint.nv)]

    def with_base(self, link: str) -> Robot:
        """The same robot with another link as its base; the order of the joints stays (paper 004)."""
        for_another_base(self._options["inputs"], self.model)
        return Robot(self.description, base=link, **self._options)

    def with_actuation(self, inputs: Inputs) -> Robot:
        """The same robot with other inputs u: `linearize`, `discretize` and `step` take them, and have a column of B for each.

        inputs: any matrix S (nv, m) with tau = S u; or a list of joints by name, `fc.thruster(...)` and `fc.wrench_input(...)`,
        in the order of u.

        >>> drone = robot.with_actuation([fc.thruster("rotor1", (0, 0, 1), moment_ratio=0.02), ..., "shoulder", "elbow"])
        """
        given = inputs if isinstance(inputs, (str, np.ndarray)) or not isinstance(inputs, Iterable) else list(inputs)
        actuation = actuation_of(self.model, given)
        matrix = not isinstance(given, list) or not all(isinstance(x, (str, Thruster, WrenchInput)) for x in given)
        kept = np.array(actuation.matrix).reshape(self.nv, actuation.m) if matrix else tuple(given)  # type: ignore[arg-type]
        return Robot(self.description, base=self.base, **(self._options | {"inputs": kept}))

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to set the actuation, which is compiled into functions: `with_actuation` returns another robot."""
        if name == "actuation":
            raise AttributeError("the actuation of a robot cannot be set: robot.with_actuation(...) is another robot that has it")
        super().__setattr__(name, value)

    def view(self, q: ArrayLike | None = None, nu: ArrayLike | None = None, **options: Any) -> Any:
        """Show the robot in the browser, with sliders, and return the viewer: v.q = ..., v.play(trajectory), v.record(path).

        options: port=8080, host="127.0.0.1", open_browser=True, dark=False. Needs viser: pip install 'fallingcat[view]'.
        """
        # Imported by name, because no module of the library may depend on the viewer.
        return import_module("fallingcat.apps.viewer").view(self, q, nu, **options)

    def __str__(self) -> str:
        return tree_text(self.model, self.description)

    def __repr__(self) -> str:
        base = "floating" if self.floating else "fixed"
        return f"<Robot {self.name!r}: {self.n} joint dof, {base} base {self.base!r}, {self.mass:.4g} kg>"

    def __dask_tokenize__(self) -> Any:
        from fallingcat.robot.deferred import token_of

        return "fallingcat robot", token_of(self)

    def __reduce__(self) -> Any:
        return _rebuild, (self.description, self.base, self._options)

    # -----------------------------------------------------------------------------------------------------------------
    # Configurations

    def neutral(self) -> Array:
        """The configuration with all joints at zero and the base at the origin, (nq,)."""
        return np.array(configuration.neutral(self.model))

    def random_configuration(self, rng: np.random.Generator | int | None = None) -> Array:
        """A random configuration: joints within their limits (+-pi, +-1 m without), base within a metre."""
        rng = np.random.default_rng(rng)
        q = self.neutral()
        for body in self.model.bodies:
            if body.mimics:
                continue
            lower, upper = coordinate_range(body.limits) if body.joint.nq == 1 else (-1.0, 1.0)
            for k in range(body.joint.nq):
                q[body.q_at + k] = rng.uniform(lower, upper)
            start = body.joint.quaternion_at
            if start is not None:
                at = slice(body.q_at + start, body.q_at + start + 4)
                q[at] = rng.normal(size=4)
                q[at] /= np.sqrt((q[at] * q[at]).sum())
        return q

    def random_velocity(self, rng: np.random.Generator | int | None = None) -> Array:
        """A velocity with independent standard normal entries."""
        return np.random.default_rng(rng).normal(size=self.nv)

    def integrate(self, q: ArrayLike, dx: ArrayLike, *, out: Array | None = None) -> Array:
        """The configuration reached from q with body-fixed velocity dx in one second: exp on each joint's group."""
        return self._run("integrate", (q, dx), out)

    def difference(self, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None) -> Array:
        """The shortest dx with integrate(q0, dx) = q1."""
        return self._run("difference", (q0, q1), out)

    @deferrable
    def configuration(self, H: ArrayLike, s: ArrayLike) -> Array:
        """q from the base pose H (..., 4, 4) and the joint coordinates s (paper 000, Sec. 2)."""
        return poses.configuration_from_pose(self.floating, H, s, self.nq)

    @deferrable
    def split(self, q: ArrayLike) -> tuple[Array, Array]:
        """The base pose H (..., 4, 4) and the joint coordinates s of a configuration."""
        return poses.split_configuration(self.floating, q, self.nq)

    def xarray(self, *, dims: Sequence[str] | str | None = None, coords: Mapping[str, Any] | None = None, **arrays: Any) -> Any:
        """Arrays as an xarray data set whose axes have names, labels and units; the methods of a robot take its variables.

        arrays: q, nu, dnu, tau, ... by name, of NumPy or Dask, (..., nq) or (..., nv). dims: names of the batch axes, ("sample",)
        for one of them if none are given. coords: their coordinates, as in xarray. A configuration has the dimension
        "coordinate", velocities, accelerations and forces have "dof"; their labels are the names of the joints.

        >>> states = robot.xarray(q=Q, nu=V, dims="time", coords={"time": t})
        >>> robot.kinetic_energy(states.q, states.nu)  # a DataArray along time
        """
        from fallingcat.robot.labels import dataset

        return dataset(self, arrays, dims, coords)

    # -----------------------------------------------------------------------------------------------------------------
    # Kinematics

    def center_of_mass(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """The centre of mass in the world, (..., 3)."""
        return self._run("center_of_mass", (q,), out)

    def center_of_mass_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """The matrix from nu to the velocity of the centre of mass in the world, (..., 3, nv)."""
        return self._run("center_of_mass_jacobian", (q,), out)

    # -----------------------------------------------------------------------------------------------------------------
    # Dynamics

    def inverse_dynamics(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        dnu: ArrayLike,
        wrenches: Wrenches | None = None,
        representation: Representation = "body",
        *,
        out: Array | None = None,
    ) -> Array:
        """tau = M dnu + h - sum J^T w, (..., nv): the extended inverse dynamics of paper 000 (Table 4), base wrench first.

        wrenches: frame name -> (..., 6), acting on the robot, body-fixed in that frame; or `fc.Wrenches`, in other axes.
        representation: of the base twist in nu, its rate in dnu, and the base wrench (paper 004).
        """
        return self._run("inverse_dynamics", (q, nu, dnu), out, wrenches, **in_representation(representation))

    def forward_dynamics(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        wrenches: Wrenches | None = None,
        representation: Representation = "body",
        *,
        out: Array | None = None,
    ) -> Array:
        """dnu with M dnu + h = tau + sum J^T w, (..., nv), by articulated bodies. tau has nv entries, base wrench first."""
        return self._run("forward_dynamics", (q, nu, tau), out, wrenches, **in_representation(representation))

    def mass_matrix(self, q: ArrayLike, representation: Representation = "body", *, out: Array | None = None) -> Array:
        """M(q), (..., nv, nv), full and symmetric, by composite rigid bodies."""
        return self._run("mass_matrix", (q,), out, **in_representation(representation))

    def bias(self, q: ArrayLike, nu: ArrayLike, representation: Representation = "body", *, out: Array | None = None) -> Array:
        """h(q, nu): Coriolis, centrifugal and gravity terms, (..., nv)."""
        return self._run("bias", (q, nu), out, **in_representation(representation))

    def gravity_torque(self, q: ArrayLike, representation: Representation = "body", *, out: Array | None = None) -> Array:
        """g(q): what holds the robot still, (..., nv)."""
        return self._run("gravity_torque", (q,), out, **in_representation(representation))

    def kinetic_energy(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Any:
        """nu^T M nu / 2, (...)."""
        return self._run("kinetic_energy", (q, nu), out)

    def potential_energy(self, q: ArrayLike, *, out: Array | None = None) -> Any:
        """-m g . c, (...)."""
        return self._run("potential_energy", (q,), out)

    def base_acceleration(self, q: ArrayLike, nu: ArrayLike, ddr: ArrayLike, *, out: Array | None = None) -> Array:
        """The base acceleration, (..., 6), with which joint accelerations ddr need no base wrench (paper 000, after Table 4)."""
        return self._run("base_acceleration", (q, nu, ddr), out)

    # -----------------------------------------------------------------------------------------------------------------
    # Constraints

    def constraints(
        self,
        *constraints: Constraint,
        kp: float = 0.0,
        kd: float = 0.0,
        damping: float = 0.0,
        redundant: bool | None = None,
        home: ArrayLike | None = None,
        loops: bool = True,
    ) -> Constraints:
        """This robot with constraints: `fc.point("foot")`, `fc.weld("a", "b")`, ...; those of its description come first.

        Those are loops of `fc.Builder` and equalities of MJCF and SDF; `loops=False` leaves them out, as it must be when a joint
        that one of them names is locked.

        kp, kd: gains with which violations die out (Baumgarte), 1/s^2 and 1/s. damping: compliance of the rows, m/s^2 per newton.
        redundant: rows depend on each other, and share forces; found out when None. home: the configuration (nq,) at which
        constraints hold that do not say where, neutral() if None; `held_at` moves them.

        >>> c = robot.constraints(fc.point("lf_foot"), fc.point("rf_foot"))
        >>> dnu, forces = c.forward_dynamics(q, nu, tau)
        """
        of_file = [*self.description.loops, *(c for item in self.description.equalities for c in of_equality(item))]
        return Constraints(self, (*(of_file if loops else ()), *constraints), kp, kd, damping, redundant, home)


NO_LIMIT = 1e3
"""Some files write a huge number for a joint that turns freely; an angle drawn up to it would have no digits left."""


def coordinate_range(limits: Limits) -> tuple[float, float]:
    """Bounds to draw a coordinate from: its limits, or a turn where there are none (or as good as none)."""
    lower = limits.lower + 0.0 if limits.lower > -NO_LIMIT else -np.inf  # NumPy takes 0 to -0 for a range upside down
    upper = limits.upper + 0.0 if limits.upper < NO_LIMIT else np.inf
    if not np.isfinite(lower):
        lower = min(-np.pi, upper - 2 * np.pi) if np.isfinite(upper) else -np.pi
    return lower, upper if np.isfinite(upper) else max(np.pi, lower + 2 * np.pi)


def _auto(floating: object) -> bool:
    return isinstance(floating, str) and floating == "auto"


def _rebuild(description: Description, base: str, options: dict[str, Any]) -> Robot:
    return Robot(description, base=base, **options)
