"""Gradients of a robot's functions: products with their Jacobians, without forming the Jacobians.

    vjp: (inputs, cotangents of the results) -> cotangents of the inputs          v^T J, by reverse mode
    jvp: (inputs, tangents of the inputs) -> tangents of the results              J v
A gradient costs two to three times the function, however many inputs there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.arrays.arguments import in_order, refuse_masked
from fallingcat.arrays.non_numpy import refuse_non_numpy
from fallingcat.choices import check_truth
from fallingcat.codegen import Kernel
from fallingcat.errors import InputError
from fallingcat.robot.runner import Part, Wrenches
from fallingcat.robot.wrenches import Table, taken_apart
from fallingcat.task import Input, Output


class Derivative:
    """A compiled derivative: call it with one state or a batch, by position or by name.

    Cotangents have the shapes of the results they belong to, batch axes first.
    """

    def __init__(self, kernel: Kernel, results: Sequence[Output] = ()) -> None:
        """`results`: of the function itself, if the derivative takes cotangents of them."""
        self.kernel = kernel
        self.__name__ = kernel.task.name
        self._count = len(kernel.task.inputs)
        shapes = [o.shape for o in results]
        self._shapes = None if all(len(shape) == 1 for shape in shapes) else shapes

    @property
    def program(self) -> Any:
        """The program that is compiled."""
        return self.kernel.program

    @property
    def operations(self) -> int:
        """Floating-point operations for one state."""
        return self.kernel.operations

    def __call__(self, *values: Any, out: Any = None, **named: Any) -> Any:
        if named or len(values) != self._count:
            values = in_order(self.kernel.task, values, named)
        if self._shapes is not None:
            task, first = self.kernel.task, self._count - len(self._shapes)
            bars = zip(task.inputs[first:], values[first:], self._shapes, strict=True)
            values = (*values[:first], *(as_vector(task.name, spec, value, shape) for spec, value, shape in bars))
        return self.kernel.entry(*values) if out is None else self.kernel(*values, out=out)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}>"

    def __reduce__(self) -> Any:
        return _again, (self.kernel, self._shapes)


def _again(kernel: Kernel, shapes: Any) -> Derivative:
    return Derivative(kernel, () if shapes is None else [Output("", tuple(shape)) for shape in shapes])


def as_vector(name: str, spec: Input, value: Any, shape: tuple[int, ...]) -> Any:
    """A cotangent with the axes of its result flattened to one; a value that is no array is left for the checks to refuse."""
    if len(shape) == 1 or value is None:
        return value
    refuse_non_numpy(name, spec.name, value)
    refuse_masked(f"{name}: {spec.name}", value)
    try:
        a = np.asarray(value)
    except (ValueError, TypeError):
        return value
    if not shape:
        return a[..., None]
    if a.shape[-len(shape) :] == shape:
        return a.reshape((*a.shape[: a.ndim - len(shape)], -1))
    if a.shape[-1:] == (spec.size,):
        return a
    expected = f"(..., {', '.join(map(str, shape))}), as the result itself"
    raise InputError(f"{name}: {spec.name} has the wrong shape", expected=expected, got=str(a.shape))


def vjp_of(kernel: Kernel, ambient: bool = False) -> Derivative:
    """The derivative that a user calls: cotangents come in the shapes of the results."""
    return Derivative(kernel.vjp(ambient), kernel.task.outputs)


class VectorJacobian(Derivative):
    """The vjp of a robot's function, which also takes wrenches on frames as the function does."""

    def __init__(self, robot: Gradients, name: str, ambient: bool, options: dict[str, Any]) -> None:
        self._robot, self._name, self._ambient, self._options = robot, name, ambient, options
        kernel = robot.kernel(name, **options)
        super().__init__(kernel.vjp(ambient), kernel.task.outputs)
        self._inputs = len(kernel.task.inputs)

    def __call__(self, *values: Any, wrenches: Wrenches | None = None, out: Any = None, **named: Any) -> Any:
        if wrenches is None:
            return super().__call__(*values, out=out, **named)
        found = self._robot._on_bodies(self._name, wrenches)
        if found is None:
            return super().__call__(*values, out=out, **named)
        values = in_order(self.kernel.task, values, named)
        on_bodies = VectorJacobian(self._robot, self._name, self._ambient, self._options | {"wrenches": found.axes})
        bars = on_bodies(*values[: self._inputs], found.values, *values[self._inputs :], out=out)
        key, _ = taken_apart(self._name, wrenches)
        return bars._replace(wrenches=_on_frames(self._robot._tables[key], key[0], bars.wrenches))

    def __reduce__(self) -> Any:
        return VectorJacobian, (self._robot, self._name, self._ambient, self._options)


def _on_frames(table: Table, frames: tuple[str, ...], bars: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Cotangents of wrenches on frames, from those of wrenches on bodies: the transpose of the table's map."""
    pulled = np.zeros((*bars.shape[:-1], 6 * len(frames)))
    for factor, start, end in table.lines:
        pulled[..., int(start)] += factor * bars[..., int(end)]
    return {frame: pulled[..., 6 * k : 6 * k + 6] for k, frame in enumerate(frames)}


class Gradients(Part):
    """The part of `Robot` that differentiates any of its functions."""

    def vjp(self, name: str, *, ambient: bool = False, **options: Any) -> VectorJacobian:
        """v^T J of a function: (inputs, a cotangent for each result) -> a cotangent for each input, as a named tuple.

        The cotangent of a configuration is left-trivialized, with nv entries. ambient: with nq entries, the gradient by the
        entries of q, of which that of a quaternion is tangent to its unit sphere. Options are those of the function; external
        wrenches come as they do there, `wrenches={"foot": w}`, and have their cotangents in `.wrenches`.

        >>> q_bar, nu_bar, dnu_bar = robot.vjp("inverse_dynamics")(q, nu, dnu, tau_bar)
        """
        check_truth("ambient", ambient)
        return VectorJacobian(self, name, bool(ambient), options)

    def jvp(self, name: str, *, ambient: bool = False, **options: Any) -> Derivative:
        """J v of a function: (inputs, a tangent for each input) -> a tangent for each result.

        The tangent of a configuration is a body-fixed velocity, with nv entries; ambient: rates of its nq entries.

        >>> tau_dot = robot.jvp("inverse_dynamics")(q, nu, dnu, q_dot, nu_dot, dnu_dot)
        """
        check_truth("ambient", ambient)
        return Derivative(self.kernel(name, **options).jvp(bool(ambient)))
