"""The table of functions of constraints: inputs, outputs, and the algorithm behind each; and the tasks they become."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fallingcat.algorithms import constrained, constrained_derivatives
from fallingcat.algorithms.constrained import ConstraintSet
from fallingcat.algorithms.held_wrenches import SIZES, on_bodies
from fallingcat.algorithms.singular import is_singular
from fallingcat.choices import REPRESENTATIONS, check_choice
from fallingcat.errors import InputError
from fallingcat.functions import ZeroInertia, configuration_input
from fallingcat.model.model import Model
from fallingcat.origin import is_library_code
from fallingcat.task import Input, Output, Task
from fallingcat.text import shown

Size = str | int


@dataclass(frozen=True)
class Function:
    """One row of the table."""

    algorithm: Callable[..., Any]
    inputs: tuple[tuple[str, Size], ...]
    outputs: tuple[tuple[str, tuple[Size, ...]], ...]
    results: type | None = None
    inverts: bool = True


Q, NU, TAU, DNU = ("q", "nq"), ("nu", "nv"), ("tau", "nv"), ("dnu", "nv")
SQUARE: tuple[Size, ...] = ("nv", "nv")
ROWS: tuple[Size, ...] = ("m", "nv")

FUNCTIONS: dict[str, Function] = {
    "jacobian": Function(constrained.jacobian, (Q,), (("J", ROWS),), inverts=False),
    "jacobian_rate": Function(constrained.jacobian_rate, (Q, NU), (("J_rate", ROWS),), inverts=False),
    "drift": Function(constrained.drift, (Q, NU), (("drift", ("m",)),), inverts=False),
    "violation": Function(constrained.violation, (Q,), (("violation", ("m",)),), inverts=False),
    "residual": Function(constrained.residual, (Q, NU, DNU), (("residual", ("m",)),), inverts=False),
    "forward_dynamics": Function(
        constrained.forward_dynamics, (Q, NU, TAU), (("dnu", ("nv",)), ("forces", ("m",))), constrained.ConstrainedMotion
    ),
    "forward_dynamics_derivatives": Function(
        constrained_derivatives.forward_dynamics_derivatives,
        (Q, NU, TAU),
        (
            ("ddnu_dq", SQUARE), ("ddnu_dnu", SQUARE), ("ddnu_dtau", SQUARE),
            ("dforces_dq", ROWS), ("dforces_dnu", ROWS), ("dforces_dtau", ROWS),
        ),
        constrained_derivatives.ConstrainedDerivatives,
    ),
    "impulse": Function(
        constrained.impulse, (Q, NU, ("restitution", "k")), (("nu", ("nv",)), ("impulses", ("m",))), constrained.Impact
    ),
    "impulse_derivatives": Function(
        constrained_derivatives.impulse_derivatives,
        (Q, NU, ("restitution", "k")),
        (("dnu_dq", SQUARE), ("dnu_dnu", SQUARE), ("dimpulses_dq", ROWS), ("dimpulses_dnu", ROWS)),
        constrained_derivatives.ImpactDerivatives,
    ),
    "inverse_dynamics": Function(
        constrained.inverse_dynamics, (Q, NU, DNU), (("tau", ("nv",)), ("forces", ("m",))), constrained.Supported, inverts=False
    ),
    "correction": Function(
        constrained.correction, (Q, NU), (("dx", ("nv",)), ("nu", ("nv",)), ("violation", ("m",))), constrained.Correction
    ),
    "operational_space": Function(
        constrained.operational_space,
        (Q,),
        (("inertia", ("m", "m")), ("inverse", ("nv", "m")), ("projector", SQUARE)),
        constrained.OperationalSpace,
    ),
    "tangent": Function(
        constrained_derivatives.tangent,
        (Q, NU, TAU),
        (("A", ("2nv", "2nv")), ("B", ("2nv", "nv")), ("J", ROWS), ("dJnu_dq", ROWS), ("J_rate", ROWS)),
        constrained_derivatives.Tangent,
    ),
}  # fmt: skip


OPTIONAL = ("active", "anchors", "reference", "wrenches")
"""Optional inputs of functions, in this order."""


def optional(name: str) -> tuple[str, ...]:
    """The optional inputs that a function takes; in its algorithm wrenches are called `f_ext`."""
    known = {x.replace("f_ext", "wrenches") for x in inspect.signature(FUNCTIONS[name].algorithm).parameters}
    return tuple(x for x in OPTIONAL if x in known)


def check_inputs(name: str, inputs: tuple[Any, ...], wrenches: Any) -> None:
    """Refuse optional inputs that a function does not take, and wrenches without a choice of their axes."""
    known = optional(name)
    if tuple(x for x in known if x in inputs) != inputs:
        expected = f"some of {', '.join(known)}, in this order" if known else "none"
        raise InputError(f"{name} of constraints: inputs do not fit", expected=expected, got=shown(inputs))
    if ("wrenches" in inputs) != bool(wrenches):
        hint = 'inputs=["wrenches"], wrenches="body"'
        raise InputError(f"{name} of constraints: wrenches need the axes that they are in, and axes need wrenches", hint=hint)
    if wrenches:
        check_choice("axes of wrenches", wrenches, REPRESENTATIONS)


METHODS = {"correction": "project", "tangent": "linearize"}
"""Functions whose methods have another name."""
BEHIND = {method: name for name, method in METHODS.items()}


def completed(name: str, inputs: tuple[Any, ...], constraints: ConstraintSet, fixed: Any = None) -> tuple[Any, ...]:
    """The optional inputs, with "anchors" added if the function needs them and they are neither given nor fixed."""
    wanted = constraints.anchor_size and (constraints.gains.kp or name in ("violation", "correction"))
    known = optional(name)
    if not wanted or "anchors" in (*inputs, *dict(fixed or ())) or "anchors" not in known or set(inputs) - set(known):
        return inputs
    return tuple(x for x in known if x in (*inputs, "anchors"))


def task(
    model: Model, constraints: ConstraintSet, name: str, more: tuple[str, ...] = (), wrenches: str = "", fixed: Any = None
) -> Task:
    """One function of constraints with some of its optional inputs: active, anchors, reference, wrenches, in this order.

    fixed: arguments by name whose values are fixed.
    """
    function = FUNCTIONS[name]
    sizes = {
        "nq": model.nq, "nv": model.nv, "2nv": 2 * model.nv, "m": constraints.size, "k": len(constraints.parts),
        "active": len(constraints.parts), "anchors": constraints.anchor_size, "reference": constraints.size,
        "wrenches": SIZES[wrenches] * len(model.bodies) if wrenches else 0,
    }  # fmt: skip

    def size(s: Size) -> int:
        return sizes[s] if isinstance(s, str) else s

    inputs = [configuration_input(n, model) if s == "nq" else Input(n, size(s)) for n, s in function.inputs]
    inputs += [Input(n, size(n)) for n in more]
    outputs = tuple(Output(n, tuple(size(s) for s in shape)) for n, shape in function.outputs)
    own = is_library_code(function.algorithm, model, {type(part) for part in constraints.parts})
    functions = any(hasattr(part, "function") for part in constraints.parts)
    key = f"constrained {name} {more} {wrenches} {fixed} {constraints} {model.digest}" if own and not functions else ""
    return Task(
        METHODS.get(name, name),
        tuple(inputs),
        outputs,
        Evaluate(model, constraints, name, more, wrenches, fixed),
        key,
        function.results,
        ZeroInertia(model) if function.inverts else None,
    )


@dataclass(frozen=True)
class Evaluate:
    """The algorithm of a task, with all arguments but its input vectors filled in; can be pickled."""

    model: Model
    constraints: ConstraintSet
    name: str
    more: tuple[str, ...] = ()
    wrenches: str = ""
    fixed: Any = None

    def __call__(self, *vectors: Any) -> Any:
        function = FUNCTIONS[self.name]
        if function.inverts and is_singular(self.model):
            raise ZeroDivisionError
        count = len(function.inputs)
        named = dict(zip(self.more, vectors[count:], strict=True)) | dict(self.fixed or ())
        if "wrenches" in named:
            named["f_ext"] = on_bodies(self.model, vectors[0], named.pop("wrenches"), self.wrenches)
        return function.algorithm(self.model, *vectors[:count], constraints=self.constraints, **named)
