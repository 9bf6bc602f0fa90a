"""A traced program as expressions of CasADi.

The program is simplified already: constants are folded, zeros are removed, common subexpressions are shared. It is run once on
scalars of `casadi.SX`. Entries that are zero for every state are structural zeros of the result.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import casadi

from fallingcat.task import Output
from fallingcat.trace.interpret import interpret
from fallingcat.trace.program import Program
from fallingcat.trace.replay import SCALARS

OPERATIONS: dict[str, Callable[..., Any]] = SCALARS | {
    "sqrt": casadi.sqrt,
    "sin": casadi.sin,
    "cos": casadi.cos,
    "atan2": casadi.atan2,
    "select": lambda a, b, c, d: casadi.if_else(a < b, c, d),
}
"""The operations of `trace.ops` in CasADi."""


def symbolic(program: Program, name: str) -> casadi.Function:
    """The program as a function of CasADi, with the names of its inputs and outputs."""
    inputs = [casadi.SX.sym(spec.name, spec.size) for spec in program.inputs]
    values = interpret(program, [casadi.vertsplit(v) if v.numel() else [] for v in inputs], OPERATIONS)
    outputs = [matrix(output, flat) for output, flat in zip(program.outputs, values, strict=True)]
    return casadi.Function(function_name(name), inputs, outputs, [i.name for i in program.inputs], output_names(program))


def function_name(name: str) -> str:
    """The name of a function as CasADi takes it: letters, digits and single underscores, and no word that it uses itself."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return str(casadi.Function.fix_name("_".join(re.findall("[0-9A-Za-z]+", plain)) or "function"))


def output_names(program: Program) -> list[str]:
    """The names of outputs, which CasADi requires to differ from those of inputs: the q after a step is q_out."""
    taken = {i.name for i in program.inputs}
    names = []
    for name in [o.name for o in program.outputs]:
        while name in taken:
            name += "_out"
        taken.add(name)
        names.append(name)
    return names


def matrix(output: Output, flat: Sequence[Any]) -> casadi.SX:
    """A result as a matrix of CasADi; if it has three axes, its matrices one below the other."""
    rows, columns = shape_of(output)
    kept = [(k // columns, k % columns, x) for k, x in enumerate(flat) if not _is_zero(x)]
    kept.sort(key=lambda entry: (entry[1], entry[0]))  # column by column, as CasADi stores them
    sparsity = casadi.Sparsity.triplet(rows, columns, [i for i, _, _ in kept], [j for _, j, _ in kept])
    return casadi.SX(sparsity, casadi.vertcat(*[x for _, _, x in kept]) if kept else casadi.SX(0, 1))


def shape_of(output: Output) -> tuple[int, int]:
    """Rows and columns of a result in CasADi: a number is 1 x 1, a vector is a column."""
    if len(output.shape) < 2:
        return output.size, 1
    columns = output.shape[-1]
    return (output.size // columns if columns else 0), columns


def _is_zero(x: Any) -> bool:
    return x == 0.0 if isinstance(x, float) else bool(x.is_zero())
