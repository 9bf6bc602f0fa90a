"""A robot's functions for JAX: `fc.jax(robot)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fallingcat.arrays.arguments import in_order
from fallingcat.codegen import Kernel
from fallingcat.frameworks.calls import Calls, with_methods
from fallingcat.frameworks.constraint_calls import ConstraintCalls, ConstraintMethods, with_constraint_methods
from fallingcat.frameworks.jax_primitive import Array, Operation, operation
from fallingcat.robot.constraints import Constraints
from fallingcat.robot.robot import Robot
from fallingcat.robot.runner import Wrenches
from fallingcat.robot.user_functions import CompiledFunction
from fallingcat.robot.wrenches import BodyWrenches, Key, Table, table, taken_apart
from fallingcat.task import Output, Task


@with_methods
class JaxRobot:
    """The functions of a robot over arrays of JAX: float64, on the CPU, with leading axes that broadcast.

    Results are those of `Robot`, bit for bit, and named tuples are pytrees. Gradients by q are ambient, nq entries: moving along
    them keeps quaternions at unit length to first order.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._calls = _Calls(robot)

    def neutral(self) -> Array:
        """The configuration with all joints at zero and the base at the origin, (nq,)."""
        return jnp.asarray(self.robot.neutral())

    def __repr__(self) -> str:
        return f"<functions of {self.robot!r} for JAX>"


@with_constraint_methods
class JaxConstraints(ConstraintMethods):
    """The functions of constraints over arrays of JAX; results are those of `Constraints`, as in `JaxRobot`."""

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self._calls = ConstraintCalls(constraints, _Calls(constraints.robot))

    def with_anchors(self, anchors: Array) -> JaxConstraints:
        """The same constraints with other anchors (..., a), which may be traced and differentiated; see `Constraints`."""
        moved = JaxConstraints(self.constraints)
        moved._calls = self._calls.held(anchors)
        return moved

    def __repr__(self) -> str:
        return f"<functions of {self.constraints!r} for JAX>"


class JaxFunction:
    """A function from `fc.compile` over arrays of JAX, called by position or by name."""

    def __init__(self, function: CompiledFunction) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._operation = operation(function.kernel)

    def __call__(self, *values: Any, **named: Any) -> Array:
        return self._operation(*in_order(self._operation.task, values, named, self.function._defaults))

    def __repr__(self) -> str:
        return f"<{self.function!r} for JAX>"


class _Calls(Calls):
    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        self._maps: dict[Key, Operation] = {}

    def made(self, kernel: Kernel) -> Operation:
        return operation(kernel)

    def length(self, value: Any) -> int:
        shape = np.shape(value)
        return int(shape[-1]) if shape else 0

    def number(self, value: Any) -> Any:
        return (value if isinstance(value, jax.Array) else np.asarray(value))[..., None]

    def mask(self, value: Any) -> Any:
        return value.astype(jnp.float64) if isinstance(value, jax.Array) and value.dtype == jnp.bool_ else value

    def _on_bodies(self, name: str, wrenches: Wrenches) -> BodyWrenches | None:
        key, values = taken_apart(name, wrenches)
        if not key[0]:
            return None
        if key not in self._maps:
            self._maps[key] = operation(_spread(table(self.model, key)))
        parts = values if isinstance(values, tuple) else [values[..., k, :] for k in range(len(key[0]))]
        return BodyWrenches(self._maps[key](*parts), key[1])

    def pick(self, result: Array, chosen: Sequence[int], axes: int) -> Array:
        return jnp.take(result, np.array(chosen, dtype=np.intp), axis=result.ndim - axes)


@dataclass(frozen=True)
class _Spread:
    """The sparse linear map from wrenches on frames to wrenches on bodies."""

    lines: tuple[tuple[float, int, int], ...]
    size: int

    def __call__(self, *parts: Any) -> list[Any]:
        values = [x for part in parts for x in part]
        out: list[Any] = [0.0] * self.size
        for factor, start, end in self.lines:
            out[end] = out[end] + factor * values[start]
        return out


def _spread(found: Table) -> Kernel:
    lines = tuple((factor, int(start), int(end)) for factor, start, end in found.lines.tolist())
    return Kernel(Task("wrenches", found.checks, (Output("wrenches", (found.size,)),), _Spread(lines, found.size)))
