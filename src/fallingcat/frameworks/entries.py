"""Kernels with derivatives by the entries of every argument, as other libraries define derivatives.

There a configuration is an array like any other. The functions normalise quaternions, so that their derivative by the entries has
no component along the quaternion; but second derivatives have one, which libraries that differentiate again need. Hence there
is no projection, and there are no velocities of a group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fallingcat.codegen import Kernel
from fallingcat.task import Input, Output, Task
from fallingcat.trace.program import Program


class ByEntries(Kernel):
    """A kernel with the same program whose arguments are plain vectors: `vjp`, `jvp` and `jacobian` are by entries.

    Quaternions are still known as such, so that derivatives refuse the same arguments as the function itself.
    """

    def __init__(self, source: Kernel) -> None:
        task = source.task
        plain = tuple([replace(i, tangents=None) for i in task.inputs])
        super().__init__(replace(task, inputs=plain, key=f"by entries, {task.key}" if task.key else ""))
        self._source = source

    @property
    def program(self) -> Program:
        """The program of the source kernel."""
        if self._program is None:
            self._program = replace(self._source.program, inputs=self.task.inputs)
        return self._program

    def __reduce__(self) -> tuple[type[ByEntries], tuple[Kernel]]:
        return ByEntries, (self._source,)


def by_entries(source: Kernel) -> Kernel:
    """The kernel with derivatives by entries; the kernel itself if none of its arguments lives on a group."""
    plain = all(i.tangents is None for i in source.task.inputs)
    return source if plain else ByEntries(source)


def by_columns(source: Kernel) -> Kernel:
    """A kernel of plain vectors: arguments as their entries, and each result as its columns one after the other."""
    task = source.task
    if all(len(o.shape) < 2 for o in task.outputs):
        return ByEntries(source)
    inputs = tuple([Input(i.name, i.size) for i in task.inputs])
    outputs = tuple([Output(o.name, (o.size,)) for o in task.outputs])
    key = f"by entries and columns, {task.key}" if task.key else ""
    return Kernel(Task(task.name, inputs, outputs, _Columns(task), key, None if task.results is None else tuple))


@dataclass(frozen=True)
class _Columns:
    task: Task

    def __call__(self, *vectors: Any) -> Any:
        found = []
        for output, flat in zip(self.task.outputs, self.task.flat(vectors), strict=True):
            width = output.shape[-1] if len(output.shape) > 1 else 1
            entries = list(flat)
            found.append([x for c in range(width) for x in entries[c::width]])
        return found[0] if self.task.results is None else tuple(found)
