"""A robot's functions for PyTorch: `fc.torch(robot)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fallingcat.arrays.arguments import in_order
from fallingcat.codegen import Kernel
from fallingcat.frameworks.calls import Calls, Finder, Options, with_methods
from fallingcat.frameworks.constraint_calls import ConstraintCalls, ConstraintMethods, with_constraint_methods
from fallingcat.frameworks.torch_operator import Operator, Spread, in_graph, of_kernel, tensor
from fallingcat.robot.constraints import Constraints
from fallingcat.robot.robot import Robot
from fallingcat.robot.runner import Wrenches
from fallingcat.robot.user_functions import CompiledFunction
from fallingcat.robot.wrenches import BodyWrenches, Key, table, taken_apart
from fallingcat.task import Input


@with_methods
class TorchRobot:
    """The functions of a robot over tensors: float64, on the CPU, with leading axes that broadcast.

    Results are those of `Robot`, bit for bit. Gradients by q are ambient, nq entries: moving along them keeps quaternions
    at unit length to first order.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._calls = _Calls(robot)

    def neutral(self) -> Tensor:
        """The configuration with all joints at zero and the base at the origin, (nq,)."""
        return torch.from_numpy(self.robot.neutral())

    def __repr__(self) -> str:
        return f"<functions of {self.robot!r} for PyTorch>"

    def __reduce__(self) -> Any:
        return TorchRobot, (self.robot,)


@with_constraint_methods
class TorchConstraints(ConstraintMethods):
    """The functions of constraints over tensors; results are those of `Constraints`, as in `TorchRobot`."""

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self._calls = _ConstraintCalls(constraints, _Calls(constraints.robot), torch.tensor(constraints.anchors))

    def with_anchors(self, anchors: Tensor) -> TorchConstraints:
        """The same constraints holding elsewhere, (..., a), by which results can be differentiated; see `Constraints`."""
        moved = TorchConstraints(self.constraints)
        moved._calls = self._calls.held(anchors)
        return moved

    def __repr__(self) -> str:
        return f"<functions of {self.constraints!r} for PyTorch>"

    def __reduce__(self) -> Any:
        return TorchConstraints, (self.constraints,)


class TorchFunction:
    """A function from `fc.compile` over tensors, called by position or by name."""

    def __init__(self, function: CompiledFunction) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._operator = of_kernel(function.kernel)

    def __call__(self, *values: Any, **named: Any) -> Tensor:
        given = in_order(self._operator.task, values, named, self.function._defaults)
        if torch.compiler.is_compiling():
            return in_graph(_function_key(self), given)
        return self._operator(*given)

    def __repr__(self) -> str:
        return f"<{self.function!r} for PyTorch>"

    def __reduce__(self) -> Any:
        return TorchFunction, (self.function,)


class _Graphs(Finder):
    def run(self, name: str, options: Options, size: int, values: Sequence[Any]) -> Any:
        if torch.compiler.is_compiling():
            return in_graph(_key(self, name, options, size), values)
        return self.find(name, options, size)(*values)


class _ConstraintCalls(_Graphs, ConstraintCalls):
    pass


class _Calls(_Graphs, Calls):
    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        self._spreads: dict[Key, Spread] = {}

    def made(self, kernel: Kernel) -> Operator:
        return of_kernel(kernel)

    def places_of(self, name: str, frames: tuple[str, ...]) -> list[int]:
        return list(_places(self, name, frames))

    def vector(self, name: str, spec: Input, value: Any) -> Tensor:
        return tensor(name, spec, value)

    def length(self, value: Any) -> int:
        shape = value.shape if isinstance(value, Tensor) else np.shape(value)
        return int(shape[-1]) if shape else 0

    def number(self, value: Any) -> Any:
        return value[..., None] if isinstance(value, Tensor) else np.asarray(value)[..., None]

    def mask(self, value: Any) -> Any:
        return value.double() if isinstance(value, Tensor) and not value.dtype.is_floating_point else value

    def _on_bodies(self, name: str, wrenches: Wrenches) -> BodyWrenches | None:
        key, values = taken_apart(name, wrenches)
        if not key[0]:
            return None
        checks = [Input(f"wrenches[{frame!r}]", 6) for frame in key[0]]
        parts = tuple(np.moveaxis(values, -2, 0)) if isinstance(values, np.ndarray) else values
        given = [tensor(name, spec, value) for spec, value in zip(checks, parts)]
        lead = torch.broadcast_shapes(*[v.shape[:-1] for v in given])
        together = torch.cat([v.expand((*lead, 6)) for v in given], dim=-1)
        if torch.compiler.is_compiling():
            return BodyWrenches(in_graph(_spread_key(self, key), [together]), key[1])
        return BodyWrenches(self.spread_of(key)(together), key[1])

    def spread_of(self, key: Key) -> Spread:
        """The map from wrenches on these frames to wrenches on bodies."""
        if key not in self._spreads:
            found = table(self.model, key)
            self._spreads[key] = Spread(found.lines, 6 * len(key[0]), found.size)
        return self._spreads[key]

    def pick(self, result: Tensor, chosen: Sequence[int], axes: int) -> Tensor:
        return result.index_select(result.ndim - axes, torch.tensor(chosen, dtype=torch.int64))


# Quantities that depend on names alone are computed once while `torch.compile` traces, and are constants of its graph.


@torch.compiler.assume_constant_result
def _key(calls: Finder, name: str, options: Options, size: int) -> str:
    found: Operator = calls.find(name, options, size)
    return found.key


@torch.compiler.assume_constant_result
def _spread_key(calls: _Calls, key: Key) -> str:
    return calls.spread_of(key).key


@torch.compiler.assume_constant_result
def _places(calls: _Calls, name: str, frames: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(Calls.places_of(calls, name, frames))


@torch.compiler.assume_constant_result
def _function_key(function: TorchFunction) -> str:
    return function._operator.key
