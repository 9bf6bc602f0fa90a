"""A compiled function of CasADi with its derivatives: the function, its Jacobian, its adjoint, and the tangent of that.

CasADi differentiates by the entries of q. The Jacobians of the dynamics are the analytical ones (paper 002), taken from
velocities to rates of entries by a matrix E; those of all other functions are made from the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import casadi
import numpy as np

from fallingcat import scalar
from fallingcat.codegen import Kernel
from fallingcat.frameworks.casadi_external import Argument, Signature, external
from fallingcat.frameworks.casadi_symbols import function_name, output_names, shape_of
from fallingcat.frameworks.entries import by_columns
from fallingcat.functions import Evaluate, task
from fallingcat.robot import constraint_tasks
from fallingcat.scalar import Scalar
from fallingcat.task import Input, Output, Task

ANALYTICAL = {
    "inverse_dynamics": "inverse_dynamics_derivatives",
    "forward_dynamics": "forward_dynamics_derivatives",
    "gravity_torque": "gravity_torque_derivatives",
    "frame_velocity": "frame_velocity_derivatives",
    "frame_acceleration": "frame_acceleration_derivatives",
}
"""Functions, and those that compute their derivatives by each argument."""


def compiled(kernel: Kernel, order: int) -> casadi.Function:
    """The function of a kernel for CasADi, with derivatives up to an order of 0, 1 or 2."""
    name, inputs, outputs = function_name(kernel.task.name), kernel.task.inputs, kernel.task.outputs
    results = [(x, shape_of(o)) for x, o in zip(output_names(kernel.program), outputs, strict=True)]
    given = tuple([Argument(i.name, (i.size, 1), k) for k, i in enumerate(inputs)])
    known = tuple([Argument(f"out_{x}", shape) for x, shape in results])
    blocks = [(f"jac_{x}_{i.name}", (o.size, i.size)) for (x, o), i in product(zip([x for x, _ in results], outputs), inputs)]
    signatures = {name: Signature(kernel, given, tuple(results))}
    if order > 0:
        signatures[f"jac_{name}"] = Signature(jacobian(kernel), (*given, *known), tuple(blocks))
    if order > 1:
        adjoint = by_columns(kernel).vjp()
        bars = tuple([Argument(f"adj_{x}", shape, len(inputs) + k) for k, (x, shape) in enumerate(results)])
        taken = (*given, *known, *bars)
        signatures[f"adj1_{name}"] = Signature(
            adjoint, taken, tuple([(f"adj_{i.name}", (i.size, 1)) for i in inputs]), dense=True
        )
        count = len(adjoint.task.inputs)
        dots = [Argument(f"fwd_{x.name}", x.shape, None if x.slot is None else count + x.slot) for x in taken]
        also = [Argument(f"out_adj_{i.name}", (i.size, 1)) for i in inputs]
        pushed = tuple([(f"fwd_adj_{i.name}", (i.size, 1)) for i in inputs])
        signatures[f"fwd1_adj1_{name}"] = Signature(adjoint.jvp(), (*taken, *also, *dots), pushed, dense=True)
    return external(name, signatures, {})


# ---------------------------------------------------------------------------------------------------------------------
# Jacobians


def jacobian(kernel: Kernel) -> Kernel:
    """inputs -> the derivative of every result, columns one after the other, by the entries of every input."""
    source = kernel.task
    made = _analytical(source)
    if made is None:
        return by_columns(kernel).jacobian()
    inputs = tuple([Input(i.name, i.size) for i in source.inputs])
    outputs = tuple([Output(f"{o.name}_{i.name}", (o.size, i.size)) for o, i in product(source.outputs, source.inputs)])
    key = f"analytical jacobian of {source.key}" if source.key else ""
    return Kernel(Task(f"{source.name}_jacobian", inputs, outputs, made, key, tuple if len(outputs) > 1 else None))


def _analytical(source: Task) -> Analytical | None:
    """The analytical derivatives of a function by all of its arguments, if the library has them."""
    evaluate = source.evaluate
    if isinstance(evaluate, constraint_tasks.Evaluate):
        return _of_constraints(source, evaluate)
    if not isinstance(evaluate, Evaluate) or evaluate.name not in ANALYTICAL or evaluate.wrenches or evaluate.inputs != "tau":
        return None
    options = dict(evaluate.options)
    root = evaluate.model.bodies[0].joint if evaluate.model.bodies else None
    if {options.pop("representation", "body"), getattr(root, "velocity", "body")} != {"body"}:
        return None
    made = Analytical(task(evaluate.model, ANALYTICAL[evaluate.name], **options), source.inputs)
    return made if made.fits() else None


def _of_constraints(source: Task, evaluate: constraint_tasks.Evaluate) -> Analytical | None:
    """Likewise for constraints: by q, nu and tau. Those by masks are zero; redundant constraints have none here."""
    if evaluate.name != "forward_dynamics" or evaluate.constraints.redundant or not set(evaluate.more) <= {"active"}:
        return None
    made = constraint_tasks.task(
        evaluate.model, evaluate.constraints, "forward_dynamics_derivatives", evaluate.more, "", evaluate.fixed
    )
    found = Analytical(made, source.inputs, evaluate.more)
    return found if found.fits() else None


@dataclass(frozen=True)
class Analytical:
    """Derivatives along velocities, converted to derivatives by the entries of arguments."""

    derivatives: Task
    inputs: tuple[Input, ...]
    flat: tuple[str, ...] = ()
    """Inputs whose derivatives are zero, and have no block among those of the library."""

    def __call__(self, *vectors: Any) -> Any:
        found = self.derivatives.evaluate(*vectors)
        blocks = list(found) if self.derivatives.results is not None else [found]
        by_entries = []
        while blocks:  # the derivatives of one result by all inputs
            rows = len(blocks[0])
            by_entries += [self._by_entries(i, x, rows, blocks) for i, x in zip(self.inputs, vectors, strict=True)]
        return tuple(by_entries) if len(by_entries) > 1 else by_entries[0]

    def _by_entries(self, spec: Input, x: Any, rows: int, blocks: list[Any]) -> Any:
        if spec.name in self.flat:
            return [[0.0] * spec.size] * rows
        D = blocks.pop(0)
        return D if spec.tangents is None else scalar.matmul([list(row) for row in D], velocities(spec, x))

    def fits(self) -> bool:
        """Does E recover velocities from the rates of entries, E G = 1? This is true of all joint types of the library."""
        q = np.random.default_rng(0).normal(size=self.inputs[0].size).tolist()
        both: Any = np.array(velocities(self.inputs[0], q)) @ np.array(rates(self.inputs[0], q))
        return bool(np.allclose(both, np.eye(len(both)), atol=1e-12))


def rates(spec: Input, x: Sequence[Scalar]) -> list[list[Scalar]]:
    """The matrix G with: rates of entries = G velocities."""
    if spec.tangents is None:
        return [[float(i == k) for k in range(spec.size)] for i in range(spec.size)]
    size = spec.tangents.size
    columns = [spec.tangents.rate(x, [float(j == k) for j in range(size)]) for k in range(size)]
    return [list(row) for row in zip(*columns, strict=True)]


def velocities(spec: Input, x: Sequence[Scalar]) -> list[list[Scalar]]:
    """The matrix E with: velocities = E rates of entries. It is G^T, but for the factor of quaternions, 4 / |Q|^2."""
    columns = rates(spec, x)
    for at in spec.quaternions:
        quaternion = list(x[at : at + 4])
        factor = 4.0 / scalar.dot(quaternion, quaternion)
        columns[at : at + 4] = [[factor * g for g in row] for row in columns[at : at + 4]]
    return [list(row) for row in zip(*columns, strict=True)]
