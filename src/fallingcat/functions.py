"""Tasks of a robot's functions: a row of the table (`table.py`) for one robot, with its options fixed.

`task(model, name, **options)` makes the task that the eager runner, the tracer and the compiler share.
Options (a frame's name, a representation, the axes of external wrenches) are fixed per task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fallingcat.algorithms import configuration
from fallingcat.algorithms.actuation import Actuation, add_wrenches, driven
from fallingcat.algorithms.held_wrenches import SIZES, on_bodies
from fallingcat.algorithms.posed import NO_FORCES
from fallingcat.algorithms.singular import always_zero_inertia, zero_inertia_joints
from fallingcat.choices import check_choice, check_floating
from fallingcat.errors import InputError, SingularError
from fallingcat.lazy import lazy
from fallingcat.model.model import Model
from fallingcat.model.report import listed
from fallingcat.origin import is_library_code
from fallingcat.table import BEHIND, FUNCTIONS, NU, Function, Q, Size
from fallingcat.task import Input, Output, Task
from fallingcat.text import quoted

__all__ = [
    "BEHIND",
    "FUNCTIONS",
    "NU",
    "Evaluate",
    "Function",
    "Q",
    "Size",
    "ZeroInertia",
    "configuration_input",
    "moving_axes",
    "quaternions",
    "task",
]  # fmt: skip


def task(
    model: Model, name: str, wrenches: str = "", inputs: str = "tau", actuation: Actuation | None = None, **options: Any
) -> Task:
    """The task for one function of one robot with its options fixed.

    wrenches: the axes of one more input, wrenches on all bodies (`algorithms.held_wrenches`); empty for none.
    actuation: what m inputs do, if they are not the joint torques. inputs: "u" if they stand in place of tau.
    """
    function = FUNCTIONS.get(name) or BEHIND[name]
    _check_model(name, function, model, options)
    _check_wrenches(name, function, wrenches)
    if function.any_representation:
        model = model.in_representation(options.pop("representation", "body"))
    sizes = {"nq": model.nq, "nv": model.nv, "n": model.n, "2nv": 2 * model.nv, "parameters": 10 * len(model.bodies)}
    sizes |= {"frames": len(model.frames), "m": model.n if actuation is None else actuation.m, "geometry": 6 * len(model.bodies)}

    def size(s: Size) -> int:
        return sizes[s] if isinstance(s, str) else s

    taken = [("u", "m") if n == "tau" and inputs == "u" else (n, s) for n, s in function.inputs]
    vectors = [configuration_input(n, model) if s == "nq" else Input(n, size(s)) for n, s in taken]
    if wrenches:
        vectors.append(Input("wrenches", SIZES[wrenches] * len(model.bodies)))
    outputs = tuple(Output(n, tuple(size(s) for s in shape)) for n, shape in function.outputs)
    if "frame" in options:
        model.frame(options["frame"])

    evaluate = Evaluate(model, name, wrenches, inputs, actuation, tuple(sorted(options.items())))
    # A user-defined algorithm, joint or factor may change without its name: there the traced program is the key.
    library = is_library_code(function.algorithm, model) and not any(map(callable, options.values()))
    key = f"{name} {wrenches} {inputs} {actuation} {evaluate.options} {model.digest}" if library else ""
    explain = ZeroInertia(model) if function.inverts else None
    return Task(function.method or name, tuple(vectors), outputs, evaluate, key, function.results, explain)


def _check_model(name: str, function: Function, model: Model, options: Mapping[str, Any]) -> None:
    """Refuse a robot for which the function is not defined; every robot has its own base (`base=None`)."""
    if function.floating_only and options.get("base", "") is not None:
        check_floating(name, model.floating)
    moving = moving_axes(model) if function.constant_axes else []
    if moving:
        raise InputError(
            f"{name} takes joints whose axes are constant in the body they move", got=listed(moving),
            hint="write a universal joint as two revolute joints; keep the file's root as base",
        )  # fmt: skip
    if function.needs_mass and model.mass == 0.0:
        raise InputError(f"{name} has no meaning where nothing moves", got="a robot without moving mass")


def moving_axes(model: Model) -> list[str]:
    """The joints whose axes move in the body that they move."""
    return [b.joint_name for b in model.bodies if b.joint.axes_move]


def _check_wrenches(name: str, function: Function, axes: Any) -> None:
    if axes and not function.wrenches:
        takes = ", ".join(k for k, f in FUNCTIONS.items() if f.wrenches)
        raise InputError(f"{name} takes no wrenches", expected=f"one of {takes}")
    if axes:
        check_choice("axes of wrenches", axes, tuple(SIZES))


@dataclass(frozen=True)
class ZeroInertia:
    """The joints that meet no inertia at a state, in words; empty if all meet some. Can be pickled."""

    model: Model

    def __call__(self, q: Sequence[float], *_: Any) -> str:
        return what_is_singular(self.model, q)


@dataclass(frozen=True)
class Evaluate:
    """The algorithm behind a task with everything but its input vectors filled in; can be pickled."""

    model: Model
    name: str
    wrenches: str = ""
    inputs: str = "tau"
    actuation: Actuation | None = None
    options: tuple[tuple[str, Any], ...] = ()

    @lazy
    def _always_zero_inertia(self) -> list[str]:
        return always_zero_inertia(self.model)

    def __call__(self, *vectors: Any) -> Any:
        function = FUNCTIONS.get(self.name) or BEHIND[self.name]
        if function.inverts and self._always_zero_inertia:
            # Whether a pivot is zero but for rounding depends on the function and the representation: none of them is tried.
            raise SingularError(
                f"{self.name}: the mass matrix is singular",
                got=f"at every configuration no inertia resists {_in_words(self.model, self._always_zero_inertia)}",
                hint="some motion meets no inertia: give the links rotational inertia; 'fallingcat doctor' names the suspects",
            )
        own = list(vectors[: len(function.inputs)])
        options = dict(self.options)
        if self.actuation is not None and function.actuated:
            options["actuation"] = self.actuation
        forces = on_bodies(self.model, own[0], vectors[-1], self.wrenches) if self.wrenches else NO_FORCES
        if self.actuation is not None and self.inputs == "u":
            own[-1], thrust = driven(self.model, own[-1], self.actuation)
            forces = add_wrenches(forces, thrust)
        return function.algorithm(self.model, *own, *([forces] if forces else []), **options)


def what_is_singular(model: Model, q: Sequence[float]) -> str:
    """The joints that meet no inertia at a configuration, in words; empty if all meet some."""
    joints = zero_inertia_joints(model, q)
    return f"at this configuration no inertia resists {_in_words(model, joints)}" if joints else ""


def _in_words(model: Model, joints: Sequence[str]) -> str:
    """Joints by name, and the floating base by its link."""
    base = model.bodies[0].joint_name if model.floating else None
    words = [listed([name for name in joints if name != base])] if set(joints) != {base} else []
    return " and ".join(words + [f"the floating base {quoted(model.base)}"] * (base in joints))


@dataclass(frozen=True)
class Velocities:
    """The velocities of configurations: left-trivialized, nv entries."""

    model: Model

    @property
    def size(self) -> int:
        return self.model.nv

    def rate(self, q: Any, velocity: Any) -> list[Any]:
        return configuration.rate(self.model, q, velocity)


def configuration_input(name: str, model: Model) -> Input:
    """An argument that is a configuration."""
    return Input(name, model.nq, quaternions(model), Velocities(model))


def quaternions(model: Model) -> tuple[int, ...]:
    """Where unit quaternions start in q."""
    at = []
    for body in model.bodies:
        start = body.joint.quaternion_at
        if start is not None:
            at.append(body.q_at + start)
    return tuple(sorted(at))
