"""A compiled function as an operation of JAX, with all its rules: types, code, derivatives in both directions, and vmap.

The derivative of an operation is the operation of its tangent program, which is linear in its last arguments; the transpose of
that is the operation of the adjoint program, and vice versa. All of them have the same rules, so that derivatives can be nested.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from fallingcat.codegen import Kernel
from fallingcat.codegen.xla import API_MAJOR, FRAME_SIZE, Handler
from fallingcat.errors import InputError
from fallingcat.frameworks.entries import by_entries
from fallingcat.task import Input

Array = Any
"""jax.Array, or what JAX traces in its place."""


class Operation:
    """A kernel for JAX: call it with one array per input; leading axes broadcast."""

    def __init__(self, kernel: Kernel, key: str, constants: int, transposed: Kernel | None) -> None:
        self.kernel, self.task, self.name = kernel, kernel.task, kernel.task.name
        self.key = key
        self.shapes = tuple(o.shape for o in kernel.task.outputs)
        self.constants = constants
        """Number of arguments before those in which it is linear; all of them for the function itself."""
        self._transposed = transposed
        self._targets: dict[bool, str] = {}

    def __call__(self, *values: Any) -> Any:
        found = self.bind(same_axes([array(self.name, spec, v) for spec, v in zip(*self._counted(values), strict=True)]))
        return found[0] if self.task.results is None else self.task.results(*found)

    def _counted(self, values: Sequence[Any]) -> tuple[Sequence[Input], Sequence[Any]]:
        inputs = self.task.inputs
        if len(values) != len(inputs):
            expected = f"{len(inputs)} ({', '.join(spec.name for spec in inputs)})"
            raise InputError(f"{self.name}: wrong number of arguments", expected=expected, got=str(len(values)))
        return inputs, values

    def bind(self, values: Sequence[Array]) -> list[Array]:
        """All results, as a list; the arguments have the same leading axes."""
        return list(run_p.bind(*values, operation=self))

    def tangent(self) -> Operation:
        """(arguments, their tangents) -> tangents of results."""
        kernel = by_entries(self.kernel)
        return operation(kernel.jvp(), len(self.task.inputs), kernel.vjp())

    def transpose(self) -> Operation:
        """(arguments that are constant, cotangents of results) -> cotangents of the others."""
        if self._transposed is None:
            hint = "jax.vjp, or jax.linearize before jax.linear_transpose"
            raise InputError(f"{self.name}: only a linear function can be transposed", hint=hint)
        return operation(self._transposed, self.constants, self.kernel)

    def target(self, batch: bool) -> str:
        """The name under which XLA knows the code, for one state or for batches."""
        with _LOCK:
            if batch not in self._targets:
                self._targets[batch] = _registered(self.kernel, f"fallingcat_{self.key}_{'many' if batch else 'one'}", batch)
            return self._targets[batch]

    def __repr__(self) -> str:
        return self.name


_OPERATIONS: dict[tuple[str, int], Operation] = {}
"""Operations by their key and number of constants. They are kept forever, as XLA never releases a handler."""

_LOCK = threading.RLock()
"""Held while an operation is made or registered, as XLA accepts each name once."""


def operation(kernel: Kernel, constants: int | None = None, transposed: Kernel | None = None) -> Operation:
    """The operation of a kernel; equal ones share their code."""
    count = len(kernel.task.inputs) if constants is None else constants
    key = kernel.key()
    with _LOCK:
        if (key, count) not in _OPERATIONS:
            _OPERATIONS[key, count] = Operation(kernel, key, count, transposed)
        return _OPERATIONS[key, count]


# ---------------------------------------------------------------------------------------------------------------------
# Code


@cache
def api_minor() -> int:
    """The version of XLA's foreign function interface, if it is one whose layout is known."""
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    try:
        found = dict(re.findall(r"#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", header.read_text()))
        major, minor = int(found["MAJOR"]), int(found["MINOR"])
    except (OSError, KeyError):
        return 1  # a handler is checked again when it is registered
    if major != API_MAJOR:
        _refuse(f"version {major}.{minor}")
    return minor


def _refuse(got: str) -> None:
    raise ImportError(
        f"fc.jax: this jaxlib has another foreign function interface than fallingcat knows: expected API {API_MAJOR}.x, "
        f"got {got}; install an older jaxlib or a newer fallingcat"
    )


def _registered(kernel: Kernel, name: str, batch: bool) -> str:
    """Register a handler with XLA, after checking the structs that it is called with."""
    jax.local_devices(backend="cpu")  # without a backend XLA would keep the name for later, and call nothing yet
    handler = Handler(kernel, batch, api_minor())
    jax.ffi.register_ffi_target(name, handler.capsule(), platform="cpu")
    if handler.frame_size() not in (0, *range(FRAME_SIZE, 2 * FRAME_SIZE)):
        _refuse(f"call frames of {handler.frame_size()} bytes")
    return name


# ---------------------------------------------------------------------------------------------------------------------
# Rules


run_p = Primitive("fallingcat")
run_p.multiple_results = True


@run_p.def_abstract_eval
def _types(*values: Any, operation: Operation) -> list[Any]:
    lead = values[0].shape[:-1]
    for spec, value in zip(operation.task.inputs, values, strict=True):
        if value.shape != (*lead, spec.size) or value.dtype != np.float64:
            expected = f"float64 {(*lead, spec.size)}"
            raise InputError(f"{operation.name}: {spec.name} does not fit", expected=expected, got=str(value))
    return [jax.core.ShapedArray((*lead, *shape), np.dtype(np.float64)) for shape in operation.shapes]


@run_p.def_impl
def _now(*values: Any, operation: Operation) -> list[Any]:
    with jax.disable_jit(False):  # else jit would call this rule again, without end
        return list(_jitted(operation)(*values))


@cache
def _jitted(operation: Operation) -> Any:
    return jax.jit(lambda *values: run_p.bind(*values, operation=operation))


def _lowered(ctx: Any, *values: Any, operation: Operation) -> Any:
    states = int(np.prod(ctx.avals_in[0].shape[:-1], dtype=np.int64))
    return jax.ffi.ffi_lowering(operation.target(batch=states != 1))(ctx, *values)


def _on_another_device(ctx: Any, *values: Any, operation: Operation) -> Any:
    raise InputError(
        f"{operation.name} runs on the CPU", got="another device of JAX",
        hint="jax.config.update('jax_platforms', 'cpu'), or jax.jit(f, device=jax.devices('cpu')[0])",
    )  # fmt: skip


mlir.register_lowering(run_p, _on_another_device)
mlir.register_lowering(run_p, _lowered, platform="cpu")


def _differentiated(primals: Sequence[Any], tangents: Sequence[Any], *, operation: Operation) -> tuple[Any, Any]:
    moved = [ad.instantiate_zeros(t) for t in tangents]
    return operation.bind(primals), operation.tangent().bind([*primals, *moved])


ad.primitive_jvps[run_p] = _differentiated


def _transposed(bars: Sequence[Any], *values: Any, operation: Operation) -> list[Any]:
    constants = operation.constants
    flat = [_flat(ad.instantiate_zeros(bar), shape) for bar, shape in zip(bars, operation.shapes, strict=True)]
    found = operation.transpose().bind([*values[:constants], *flat])
    wanted = values[constants:]
    shaped = [bar.reshape(x.aval.shape) if ad.is_undefined_primal(x) else None for bar, x in zip(found, wanted, strict=True)]
    return [*[None] * constants, *shaped]


ad.primitive_transposes[run_p] = _transposed


def _flat(bar: Any, shape: tuple[int, ...]) -> Any:
    """A result as the vector that kernels take."""
    return bar if len(shape) == 1 else bar.reshape((*bar.shape[: bar.ndim - len(shape)], math.prod(shape)))


def _mapped(values: Sequence[Any], axes: Sequence[Any], *, operation: Operation) -> tuple[Any, Any]:
    size = next(v.shape[a] for v, a in zip(values, axes, strict=True) if a is not None)
    front = [
        jnp.broadcast_to(v, (size, *v.shape)) if a is None else jnp.moveaxis(v, a, 0) for v, a in zip(values, axes, strict=True)
    ]
    return operation.bind(front), [0] * len(operation.shapes)


batching.primitive_batchers[run_p] = _mapped


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


def array(name: str, spec: Input, value: Any) -> Array:
    """An argument as an array of JAX; Python numbers and NumPy arrays become constants."""
    if not isinstance(value, jax.Array):
        value = _constant(name, spec, value)
    if value.dtype != jnp.float64:
        if jnp.issubdtype(value.dtype, jnp.integer) and jax.config.jax_enable_x64:
            value = value.astype(jnp.float64)
        else:
            kind = "x.astype('float64')" if value.dtype == jnp.bool_ else "x.real, or x.imag"
            if jnp.issubdtype(value.dtype, jnp.floating) or not jax.config.jax_enable_x64:
                kind = "jax.config.update('jax_enable_x64', True), before the first array is made; or x.astype('float64')"
            raise InputError(f"{name}: {spec.name} is of {value.dtype}", expected="float64", hint=kind)
    if value.ndim == 0 or value.shape[-1] != spec.size:
        hint = ""
        if spec.quaternions and value.ndim and value.shape[-1] == spec.size - len(spec.quaternions):
            hint = "q holds a quaternion (x y z w): one entry more than the velocity; see robot.neutral()"
        raise InputError(
            f"{name}: {spec.name} has the wrong shape", expected=f"(..., {spec.size})", got=str(value.shape), hint=hint
        )
    return value


def _constant(name: str, spec: Input, value: Any) -> Array:
    try:
        return jnp.asarray(np.asarray(value).astype(np.float64, casting="same_kind"))
    except (TypeError, ValueError):
        got = type(value).__name__
        raise InputError(f"{name}: {spec.name} is not an array", expected=f"float64 (..., {spec.size})", got=got) from None


def same_axes(values: Sequence[Array]) -> list[Array]:
    """The arrays, broadcast to common leading axes."""
    leads = {v.shape[:-1] for v in values}
    if len(leads) == 1:
        return list(values)
    try:
        lead = np.broadcast_shapes(*leads)
    except ValueError:
        raise InputError("leading axes do not broadcast", got=" and ".join(str(v.shape) for v in values)) from None
    return [jnp.broadcast_to(v, (*lead, v.shape[-1])) for v in values]
