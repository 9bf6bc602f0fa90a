"""A compiled function as an operator of PyTorch: the kernel runs on the memory of the tensors, without copies.

Eager calls go through a `torch.autograd.Function`, which knows reverse mode, forward mode and `torch.func.vmap`. Inside of
`torch.compile`, and wherever else operations are recorded or tensors have no numbers yet, the same kernel is a custom operator,
one node of the graph. Its derivatives are operators of the same kind, those of the adjoint and the tangent program, so that they
can be differentiated again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from fallingcat.codegen import Kernel
from fallingcat.codegen.spread import spread
from fallingcat.errors import InputError
from fallingcat.frameworks.calls import RESULTS
from fallingcat.frameworks.entries import by_entries
from fallingcat.lazy import lazy
from fallingcat.task import Input, Output, Task

Caller = Callable[["Operator", Sequence[Tensor]], Sequence[Tensor]]
"""Calls an operator and returns the sequence of its results, even if there is only one."""


class Operator:
    """A kernel for tensors: call it with one vector per input; leading axes broadcast."""

    def __init__(self, kernel: Any, task: Task) -> None:
        self.kernel = kernel
        self.task = task
        self.name = task.name
        self.inputs = task.inputs
        self.shapes = tuple(o.shape for o in task.outputs)
        self.results = task.results
        self.eager = _function(self).apply

    def __call__(self, *values: Any) -> Any:
        given = checked(self.name, self.inputs, values)
        recorded = _recorded(given)
        plain = None if recorded else _plain(given)
        if plain is not None:
            found = self.one_or_all(self._run(plain))
        elif recorded and any(map(_is_functional, given)):  # which an autograd.Function does not know
            found = self.one_or_all(tuple(run(self.key, given)))
        else:
            found = self.eager(*given)
        return found if self.results is None else self.results(*found)

    def numbers(self, values: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Run the kernel without tracking derivatives; where operations are recorded, it is one operator."""
        return tuple(run(self.key, list(values))) if _recorded(values) else self.at_once(values)

    def at_once(self, values: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Run the kernel on tensors that hold numbers."""
        return self._run([v.detach().resolve_neg().numpy() for v in values])

    def _run(self, arrays: Sequence[NDArray[np.float64]]) -> tuple[Tensor, ...]:
        found = (self.kernel.entry if arrays[0].ndim == 1 else self.kernel)(*arrays)
        return tuple([torch.from_numpy(np.asarray(x)) for x in (found if self.results is not None else (found,))])

    def like(self, values: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Tensors with the shapes of the results of `numbers`, not initialized."""
        lead = torch.broadcast_shapes(*[v.shape[:-1] for v in values])
        return tuple([values[0].new_empty((*lead, *shape)) for shape in self.shapes])

    def one_or_all(self, found: tuple[Tensor, ...]) -> Any:
        """What an operator returns: a tensor, or a tuple if there are several results."""
        return found if self.results is not None else found[0]

    # -----------------------------------------------------------------------------------------------------------------
    # Derivatives

    @lazy
    def entries(self) -> Kernel:
        """The kernel with derivatives by entries, which is differentiated."""
        return by_entries(self.kernel)

    @lazy
    def adjoint(self) -> Operator:
        """(inputs, cotangents of results) -> cotangents of inputs."""
        return of_kernel(self.entries.vjp())

    @lazy
    def tangent(self) -> Operator:
        """(inputs, tangents of inputs) -> tangents of results."""
        return of_kernel(self.entries.jvp())

    def backward(self) -> Operator:
        """The operator that `pull_back` calls."""
        return self.adjoint

    def pull_back(self, call: Caller, values: Sequence[Tensor], bars: Sequence[Tensor]) -> list[Tensor]:
        """The cotangents of the inputs, each in the shape of its input."""
        flat = [flattened(bar, len(shape)) for bar, shape in zip(bars, self.shapes)]
        found = call(self.adjoint, [*values, *flat])
        return [bar.sum_to_size(v.shape) for bar, v in zip(found, values)]

    def push_forward(self, call: Caller, values: Sequence[Tensor], tangents: Sequence[Tensor | None]) -> Sequence[Tensor]:
        """The tangents of the results."""
        return call(self.tangent, [*values, *[torch.zeros_like(v) if t is None else t for v, t in zip(values, tangents)]])

    @lazy
    def key(self) -> str:
        """Identifies the computation, the same in every process; asking for it enters the operator into `OPERATORS`."""
        task = self.task
        text = f"{task.key or self.kernel.program}\0{task.name}\0{task.inputs}\0{task.outputs}"
        key = f"{task.name if self.results is None else self.results.__name__} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
        OPERATORS.setdefault(key, self)
        return key


def of_kernel(kernel: Kernel) -> Operator:
    """The operator of a compiled function."""
    return Operator(kernel, kernel.task)


class Spread(Operator):
    """The linear map from wrenches on frames to wrenches on bodies, as a sparse table; it is its own tangent."""

    def __init__(self, lines: NDArray[np.float64], columns: int, rows: int) -> None:
        self.lines, self.columns, self.rows = lines, columns, rows
        task = Task("wrenches", (Input("wrenches", columns),), (Output("wrenches", (rows,)),), len, f"{lines.tolist()}")
        super().__init__(None, task)

    def _run(self, arrays: Sequence[NDArray[np.float64]]) -> tuple[Tensor, ...]:
        return (torch.from_numpy(spread(self.lines, arrays[0], self.rows)),)

    def backward(self) -> Operator:
        """The transposed table."""
        return self.transposed

    def pull_back(self, call: Caller, values: Sequence[Tensor], bars: Sequence[Tensor]) -> list[Tensor]:
        """The cotangents of wrenches on frames, by the transposed table."""
        return list(call(self.transposed, bars))

    def push_forward(self, call: Caller, values: Sequence[Tensor], tangents: Sequence[Tensor | None]) -> Sequence[Tensor]:
        """The tangents of wrenches on bodies, by the table itself."""
        return call(self, [t for t in tangents if t is not None])

    @lazy
    def transposed(self) -> Spread:
        """The transposed map."""
        return Spread(np.ascontiguousarray(self.lines[:, [0, 2, 1]]), self.rows, self.columns)


OPERATORS: dict[str, Operator] = {}
"""Operators that graphs of `torch.compile` may call. They outlive their robots, as graphs do; equal ones share an entry."""


def called(key: str) -> Operator:
    """The operator of a key, which may be a derivative that is new here: PyTorch keeps graphs from other processes."""
    for known in () if key in OPERATORS else list(OPERATORS.values()):
        if known.backward().key == key:
            break
    return OPERATORS[key]


# ---------------------------------------------------------------------------------------------------------------------
# Eager calls


def _eager(operator: Operator, values: Sequence[Tensor]) -> Sequence[Tensor]:
    found = operator.eager(*values)
    return found if operator.results is not None else (found,)


_modes: Callable[[], int] = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)
_is_functional: Callable[[Tensor], bool] = getattr(torch, "_is_functional_tensor", lambda value: False)


def _recorded(values: Sequence[Tensor]) -> bool:
    """Must the call be recorded as an operator? This is needed by `torch.func.linearize`, `functionalize`, `make_fx`,
    `torch.jit.trace` and shapes without numbers: the results of a kernel that ran unseen would be constants to them.

    There is no public test for dispatch modes, nor for functional tensors, which give NumPy memory that is not theirs.
    """
    if torch.jit.is_tracing() or _modes() > 0:
        return True
    return any(type(v).__torch_dispatch__ is not Tensor.__torch_dispatch__ or _is_functional(v) for v in values)


def _plain(values: Sequence[Tensor]) -> list[NDArray[np.float64]] | None:
    """The tensors as arrays over the same memory; None if derivatives are tracked or an axis is hidden by vmap.

    PyTorch refuses `numpy()` for all of these but for tangents of forward mode.
    """
    try:
        arrays = [v.numpy() for v in values]
    except RuntimeError:
        return None
    return arrays if all(unpack_dual(v).tangent is None for v in values) else None


def _function(operator: Operator) -> Any:
    """The operator with the rules of differentiation and of vmap, for eager calls."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(*values: Tensor) -> Any:
            return operator.one_or_all(operator.numbers(values))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, *bars: Tensor) -> Any:
            return tuple(operator.pull_back(_eager, ctx.saved_tensors, bars))

        @staticmethod
        def jvp(ctx: Any, *tangents: Tensor | None) -> Any:
            return operator.one_or_all(tuple(operator.push_forward(_eager, ctx.saved_tensors, tangents)))

        @staticmethod
        def vmap(info: Any, dims: tuple[int | None, ...], *values: Tensor) -> Any:
            found = operator.eager(*batched(values, dims))
            return found, (0,) * len(found) if operator.results is not None else 0

    Function.__name__ = Function.__qualname__ = operator.name
    return Function


# ---------------------------------------------------------------------------------------------------------------------
# Graphs of torch.compile: one custom operator for all functions, whose first argument is the key


@torch.library.custom_op("fallingcat::run", mutates_args=(), device_types="cpu")
def run(key: str, values: list[Tensor]) -> list[Tensor]:
    """The results of a compiled function."""
    return list(called(key).at_once(values))


@run.register_fake
def _shapes(key: str, values: list[Tensor]) -> list[Tensor]:
    operator = called(key)
    return list(operator.like(checked(operator.name, operator.inputs, values)))


def _keep(ctx: Any, inputs: tuple[str, list[Tensor]], output: Any) -> None:
    ctx.key = inputs[0]
    ctx.save_for_backward(*inputs[1])


def _pull_back(ctx: Any, bars: list[Tensor]) -> Any:
    return None, called(ctx.key).pull_back(lambda operator, values: run(operator.key, list(values)), ctx.saved_tensors, bars)


run.register_autograd(_pull_back, setup_context=_keep)


def in_graph(key: str, values: Sequence[Any]) -> Any:
    """A call while `torch.compile` traces; arguments are checked together with the shapes."""
    found = run(key, [v if isinstance(v, Tensor) else torch.as_tensor(v, dtype=torch.float64) for v in values])
    return found[0] if len(found) == 1 else RESULTS[key.split()[0]](*found)


@run.register_vmap
def _over_axis(info: Any, dims: Any, key: str, values: list[Tensor]) -> Any:
    found = run(key, batched(values, dims[1]))
    return found, [0] * len(found)


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


def batched(values: Sequence[Tensor], dims: Sequence[int | None]) -> list[Tensor]:
    """Vectors with the axis of vmap moved in front of the axes that they broadcast over."""
    moved = [v if d is None else v.movedim(d, 0) for v, d in zip(values, dims)]
    axes = max([v.ndim - (0 if d is None else 1) for v, d in zip(moved, dims)])
    return [v if d is None else v[(slice(None), *[None] * (axes - v.ndim + 1))] for v, d in zip(moved, dims)]


def flattened(bar: Tensor, axes: int) -> Tensor:
    """A result of a kernel as a vector."""
    return bar[..., None] if axes == 0 else bar.flatten(-axes) if axes > 1 else bar


def checked(name: str, inputs: Sequence[Input], values: Sequence[Any]) -> list[Tensor]:
    """The arguments of an operator as tensors."""
    if len(values) != len(inputs):
        expected = f"{len(inputs)} ({', '.join([spec.name for spec in inputs])})"
        raise InputError(f"{name}: wrong number of arguments", expected=expected, got=str(len(values)))
    return [tensor(name, spec, value) for spec, value in zip(inputs, values)]


def tensor(name: str, spec: Input, value: Any) -> Tensor:
    """An argument as a tensor of doubles on the CPU; Python numbers and NumPy arrays become constants."""
    if not isinstance(value, Tensor):
        value = _constant(name, spec, value)
    if value.dtype != torch.float64:
        hint = "x.double(), or torch.set_default_dtype(torch.float64) before anything is made"
        if not value.dtype.is_floating_point:
            hint = "x.real, or x.imag" if value.dtype.is_complex else "x.double()"
        raise InputError(f"{name}: {spec.name} is of {value.dtype}", expected="torch.float64", hint=hint)
    if value.device.type != "cpu":
        raise InputError(f"{name}: {spec.name} is on {value.device}", expected="a tensor on the CPU", hint="x.cpu()")
    if value.layout != torch.strided:
        raise InputError(f"{name}: {spec.name} is {value.layout}", expected="a dense tensor", hint="x.to_dense()")
    if value.ndim == 0 or value.shape[-1] != spec.size:
        hint = ""
        if spec.quaternions and value.ndim and value.shape[-1] == spec.size - len(spec.quaternions):
            hint = "q holds a quaternion (x y z w): one entry more than the velocity; see robot.neutral()"
        got = str(tuple(value.shape))
        raise InputError(f"{name}: {spec.name} has the wrong shape", expected=f"(..., {spec.size})", got=got, hint=hint)
    return value


def _constant(name: str, spec: Input, value: Any) -> Tensor:
    try:
        # a copy of its own: tensors know neither strides that go backwards nor memory that must not be written
        return torch.from_numpy(np.asarray(value).astype(np.float64, order="C", casting="same_kind"))
    except (TypeError, ValueError, RuntimeError):
        got = type(value).__name__
        raise InputError(f"{name}: {spec.name} is not a tensor", expected=f"float64 (..., {spec.size})", got=got) from None
