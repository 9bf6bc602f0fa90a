"""Reduces a call of a method of constraints to one compiled function, for arrays of any library: see `calls.py`.

The methods of `Constraints` choose functions and their optional inputs: masks, places, references, wrenches.
`ConstraintCalls` has the same methods; the `Calls` of the robot define the arrays.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from fallingcat.codegen import Kernel
from fallingcat.errors import InputError
from fallingcat.frameworks.calls import RESULTS, Calls, Finder, of_one, refuse_out, traced
from fallingcat.functions import configuration_input
from fallingcat.robot.constraint_tasks import FUNCTIONS, METHODS, OPTIONAL
from fallingcat.robot.constraints import Constraints, Reference
from fallingcat.robot.formulas import Formulas
from fallingcat.task import Input, Output, Task
from fallingcat.text import shown

CONSTRAINT_NAMES = tuple(name for name in FUNCTIONS if name not in METHODS)
"""The functions that other libraries have: those that are a single program. `project` and `linearize` branch on numbers."""

RESULTS |= {row.results.__name__: row.results for row in FUNCTIONS.values() if row.results is not None}

PARTS = ("position", "velocity", "acceleration")
"""The parts of a reference motion."""


class ConstraintCalls(Finder, Constraints):
    """The methods of constraints, for the library of a robot's calls."""

    def __init__(self, source: Constraints, calls: Calls, anchors: Any = None) -> None:
        """anchors: where the constraints hold, in the library's arrays; those of `source` if not given."""
        kept = ("constraints", "options", "rows", "_anchored", "_quick", "_kernels")
        self.__dict__.update({name: source.__dict__[name] for name in kept})
        self.source, self.anchors = source, source.anchors if anchors is None else anchors
        self.robot, self.library = calls, calls
        self._calls, self._found = {}, {}

    def held(self, anchors: Any) -> ConstraintCalls:
        """The same constraints with other anchors, sharing the functions that have been made already."""
        moved = type(self)(self.source, self.library, anchors)
        moved.__dict__["_found"] = self._found
        return moved

    def made(self, kernel: Kernel) -> Any:
        """What the library makes of a kernel."""
        return self.library.made(kernel)

    def kernel_of(self, name: str, options: dict[str, Any], size: int = 0) -> Kernel:
        """The compiled function behind a method, or behind what prepares its arguments."""
        if name == "reference":
            return self._weighted(options["given"])
        if name == "restitution":
            outputs = (Output("restitution", (len(self),)),)
            return Kernel(Task("restitution", (Input("restitution", 1),), outputs, _Repeated(len(self))))
        return self._by_forces() if "forces" in options else self.kernel(name, **options)

    # -----------------------------------------------------------------------------------------------------------------
    # What the methods of `Constraints` call

    def _run(self, name: str, values: tuple[Any, ...], out: Any, fixed: Any = None, **more: Any) -> Any:
        refuse_out(name, out)
        given = {n: x for n, x in more.items() if x is not None}
        axes = ""
        if "wrenches" in given:
            axes, given["wrenches"] = given["wrenches"].axes, given["wrenches"].values
        if "active" in given:
            given["active"] = self.library.mask(given["active"])
        order = tuple([n for n in OPTIONAL if n in given])
        options = (("inputs", order), ("wrenches", axes), ("fixed", fixed))
        return self.run(name, options, 0, (*values, *[given[n] for n in order]))

    def _reference(self, reference: Reference | None) -> Any:
        """r'' + kd r' + kp r of a reference, by one function of the parts that are given."""
        if reference is None:
            return None
        if not isinstance(reference, (tuple, list)) or len(reference) != len(PARTS):
            expected = f"({', '.join(PARTS)}), each of {self.m} entries or None"
            raise InputError("reference does not fit", expected=expected, got=shown(reference))
        given = tuple([k for k, x in enumerate(reference) if x is not None])
        return self.run("reference", (("given", given),), 0, [reference[k] for k in given]) if given else None

    def _weighted(self, given: tuple[int, ...]) -> Kernel:
        inputs = tuple(Input(PARTS[k], self.m) for k in given)
        factors = [(self.rows.gains.kp, self.rows.gains.kd, 1.0)[k] for k in given]
        return Kernel(Task("reference", inputs, (Output("reference", (self.m,)),), _Weighted(tuple(factors))))

    def _each(self, restitution: Any) -> Any:
        if isinstance(restitution, (int, float)):
            return np.full(len(self), float(restitution))
        if self.library.is_number(restitution):
            return self.run("restitution", (), 0, [self.library.number(restitution)])
        return restitution

    def _with_forces(self, q: Any, nu: Any, dnu: Any, forces: Any, out: Any) -> Any:
        refuse_out("inverse_dynamics", out)
        return self.run("inverse_dynamics", (("forces", True),), 0, (q, nu, dnu, forces))

    def _by_forces(self) -> Kernel:
        """Inverse dynamics with given constraint forces, as one kernel."""
        source, robot = self.source, self.source.robot
        nv = robot.nv
        inputs = (configuration_input("q", robot.model), Input("nu", nv), Input("dnu", nv), Input("forces", self.m))

        def method(*vectors: Sequence[Any]) -> Any:
            q, nu, dnu, forces = (np.array(v, dtype=object) for v in vectors)
            options = source.options | {"redundant": source.rows.redundant}
            over_symbols = Constraints(Formulas(robot), source.constraints, **options, anchors=source.anchors)
            return over_symbols.inverse_dynamics(q, nu, dnu, forces=forces)

        return traced("inverse_dynamics", inputs, method)


@dataclass(frozen=True)
class _Repeated:
    count: int

    def __call__(self, x: Any) -> Any:
        return [x[0]] * self.count


@dataclass(frozen=True)
class _Weighted:
    factors: tuple[float, ...]

    def __call__(self, *vectors: Any) -> Any:
        total = [0.0] * len(vectors[0])
        for factor, vector in zip(self.factors, vectors, strict=True):
            total = [a + factor * x for a, x in zip(total, vector, strict=True)]
        return total


class ConstraintMethods:
    """Base class of the objects that a user holds; their functions are those of the attribute `_calls`."""

    constraints: Constraints
    _calls: ConstraintCalls

    @property
    def m(self) -> int:
        """Number of rows."""
        return self.constraints.m

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse all other methods of constraints, which work on NumPy arrays only."""
        if name.startswith("_") or not hasattr(Constraints, name):
            raise AttributeError(f"no function {name!r}; there are {', '.join(CONSTRAINT_NAMES)}")
        raise AttributeError(f"{name} is for arrays of NumPy: it looks at numbers; call it on the constraints themselves")


def with_constraint_methods(cls: type) -> type:
    """Give a class the functions of constraints, which call its attribute `_calls`."""
    for name in CONSTRAINT_NAMES:
        method = inspect.getattr_static(Constraints, name)
        setattr(cls, name, of_one(method.__wrapped__))
    return cls
