"""Order the instructions of a program and cut them into pieces.

One huge function is slow to compile and slow to run: the register allocator gives up. Pieces of a
few hundred instructions that are never inlined compile in linear time; values that cross from one
piece to another live in slots of a workspace, which are reused once their last reader is past.
"""

from __future__ import annotations

from dataclasses import dataclass

from fallingcat.trace.program import Program

PIECE = 400
"""Instructions in a piece."""


@dataclass(frozen=True)
class Schedule:
    """Pieces in order, and where values live between them."""

    angles: tuple[int, ...]
    """Arguments of sin and cos that are inputs: taken together, before everything else."""
    pieces: tuple[tuple[int, ...], ...]
    """Per piece, the values it computes, in order."""
    slots: dict[int, int]
    """The workspace slot of every value that is read outside its piece."""
    slot_count: int


def schedule(program: Program, keep_results: bool, piece: int = PIECE) -> Schedule:
    """Cut a program; with `keep_results`, results stay in slots until the end."""
    first, ops = program.first, program.instructions
    early = {args[0] for op, args in ops if op in ("sin", "cos") and args[0] < program.input_count}
    body = [first + k for k, (op, args) in enumerate(ops) if not (op in ("sin", "cos") and args[0] in early)]
    prologue = [first + k for k, (op, args) in enumerate(ops) if op in ("sin", "cos") and args[0] in early]
    pieces = [tuple(body[i : i + piece]) for i in range(0, len(body), piece)]

    where = dict.fromkeys(prologue, -1)
    for k, values in enumerate(pieces):
        where.update(dict.fromkeys(values, k))
    last = _last_readers(program, where)
    if keep_results:
        for flat in program.results:
            for value in flat:
                if value >= first:
                    last[value] = len(pieces)
    slots, count = _assign_slots(prologue, pieces, where, last)
    return Schedule(tuple(sorted(early)), tuple(pieces), slots, count)


def _last_readers(program: Program, where: dict[int, int]) -> dict[int, int]:
    """The last piece that reads each value, for values read outside their own piece."""
    last: dict[int, int] = {}
    for k, (_, args) in enumerate(program.instructions):
        reader = where[program.first + k]
        for a in args:
            if a >= program.first and where[a] != reader:
                last[a] = max(last.get(a, -1), reader)
    return last


def _assign_slots(
    prologue: list[int], pieces: list[tuple[int, ...]], where: dict[int, int], last: dict[int, int]
) -> tuple[dict[int, int], int]:
    """A slot per crossing value; a slot is free again in the piece after its last reader."""
    slots: dict[int, int] = {}
    free: list[int] = []
    count = 0
    leaving: dict[int, list[int]] = {}
    for k, values in enumerate([tuple(prologue), *pieces], start=-1):
        for value in leaving.pop(k - 1, ()):
            free.append(slots[value])
        free.sort(reverse=True)  # the lowest slot first keeps the workspace dense
        for value in values:
            if value in last:
                if free:
                    slots[value] = free.pop()
                else:
                    slots[value] = count
                    count += 1
                leaving.setdefault(last[value], []).append(value)
    return slots, count
