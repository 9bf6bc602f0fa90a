"""A task: one function of one robot, ready to be run on any scalar, traced or compiled.

The only thing the tracer, the compiler and the array code know about a robot's functions: named
input vectors, named outputs with shapes, and a callable between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fallingcat.errors import SingularError
from fallingcat.scalar import Scalar


@dataclass(frozen=True)
class Output:
    """A named result."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        total = 1
        for n in self.shape:
            total *= n
        return total


class Tangents(Protocol):
    """The velocities of a vector that lives on a group, where they are not the rates of its entries."""

    @property
    def size(self) -> int:
        """Number of entries of a velocity."""

    def rate(self, x: Sequence[Scalar], velocity: Sequence[Scalar]) -> Sequence[Scalar]:
        """The rates of the entries of x; linear in the velocity."""


@dataclass(frozen=True)
class Input:
    """A named argument vector."""

    name: str
    size: int
    quaternions: tuple[int, ...] = ()
    """Where unit quaternions start in it."""
    tangents: Tangents | None = field(default=None, compare=False, repr=False)
    """Its velocities, if they are not the rates of its entries: a configuration's are left-trivialized."""


@dataclass(frozen=True)
class Task:
    """inputs -> outputs, over any scalar."""

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    evaluate: Callable[..., Any] = field(compare=False)
    """From one vector per input to one nested list per output (or the single output itself)."""
    key: str = ""
    """Identifies everything that the result depends on besides the inputs, for caches."""
    results: type | None = field(default=None, compare=False)
    """The named tuple of a task with several outputs."""
    explain: Callable[..., str] | None = field(default=None, compare=False)
    """From finite inputs for which the first result is NaN, a text that says what is singular there; empty if nothing is.
    None for tasks without divisions by numbers that can be zero."""

    def flat(self, vectors: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
        """One flat list of scalars per output, in row-major order."""
        try:
            values = self.evaluate(*vectors)
        except ZeroDivisionError:
            raise SingularError(
                f"{self.name}: division by zero", got="a robot whose mass matrix is singular",
                hint="some motion meets no inertia: give the links rotational inertia; 'fallingcat doctor' names the suspects",
            ) from None  # fmt: skip
        if self.results is None:
            values = (values,)
        flats = []
        for output, value in zip(self.outputs, values, strict=True):
            if getattr(value, "shaped", None) is not None:  # a traced tensor stays whole
                flats.append(value.shaped((output.size,)))
                continue
            flat: list[Scalar] = []
            _flatten(value, len(output.shape), flat)
            if len(flat) != output.size:
                raise ValueError(f"{self.name}: output {output.name!r} has {len(flat)} entries, not {output.shape}")
            flats.append(flat)
        return flats


def _flatten(value: Any, depth: int, into: list[Scalar]) -> None:
    if depth == 0:
        into.append(value)
    else:
        for x in value:
            _flatten(x, depth - 1, into)
