"""The core of a program: the part that it has in common with other programs, compiled separately from the rest.

The core computes the values that the algorithm marks as common (`scalar.keep`). It reads inputs and writes slots of the
workspace, never a result, and its slots are assigned before those of the rest. So programs that read the same values of it
have the same text for it, and the second of them to be compiled finds its object code in the cache: the derivatives of forward
dynamics and `linearize`, with and without wrenches. Variants that read more values have a core of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from fallingcat.codegen.builder import Function
from fallingcat.trace.blocks import Entry, Product
from fallingcat.trace.dots import DotTable
from fallingcat.trace.program import Program, flops

SMALL = 2000
"""Operations below which there is no separate core: compiling it takes no longer than finding it in the cache."""


@dataclass(frozen=True)
class CoreText:
    """The module of a core, and the name of its one external function, which reads inputs and writes the workspace."""

    function: str = ""
    """The name contains a digest of the text, so that it is unique."""
    text: str = ""
    parameters: int = 0

    @property
    def declaration(self) -> str:
        """The declaration for the module that calls it."""
        return f"declare void @{self.function}({', '.join(['ptr'] * self.parameters)})" if self.function else ""


NO_CORE = CoreText()


def core_text(library: str, functions: Sequence[tuple[str, str]], parameters: Sequence[str]) -> CoreText:
    """The module with these functions (name, text), which are called in order with the same arguments."""
    f = Function("fc_core", "void", parameters)
    for name, _ in functions:
        f.call("void", name, *arguments(parameters))
    f.ret()
    parts = [library, *(text for _, text in functions)]
    name = f"fc_core_{hashlib.sha256(chr(0).join([*parts, f.text]).encode()).hexdigest()}"
    return CoreText(name, "\n".join([*parts, f.text.replace("@fc_core(", f"@{name}(", 1)]), len(parameters))


def arguments(parameters: Sequence[str]) -> list[str]:
    """The arguments of a call that passes on these pointer parameters."""
    return [f"ptr {p.split()[-1]}" for p in parameters]


def core_of(program: Program) -> frozenset[int]:
    """The values of the core; none if it is small.

    Products that nothing in the core reads are left to the rest, which can write them straight to the outputs.
    """
    first, ops = program.first, program.instructions
    needed = _needed(program)
    read = _read(program, needed)
    last = {v for v in needed if isinstance(ops[v - first][0], (Product, DotTable)) and v not in read}
    core = {v for v in needed - last if not isinstance(ops[v - first][0], Entry) or ops[v - first][1][0] not in last}
    large = sum(flops(ops[v - first][0]) for v in core) >= SMALL
    return frozenset(core) if large else frozenset()


def _needed(program: Program) -> set[int]:
    """The kept values and all computed values that they depend on."""
    needed = set(program.kept)
    for value in range(max(needed, default=-1), program.first - 1, -1):
        if value in needed:
            needed.update(a for a in program.instructions[value - program.first][1] if a >= program.first)
    return needed


def _read(program: Program, needed: set[int]) -> set[int]:
    """The values that some needed value reads, including blocks of which an entry is read."""
    first, ops = program.first, program.instructions
    read: set[int] = set()
    for value in needed:
        if not isinstance(ops[value - first][0], Entry):
            read.update(ops[value - first][1])
    entries = [v for v in needed & read if isinstance(ops[v - first][0], Entry)]
    return read | {ops[v - first][1][0] for v in entries}
