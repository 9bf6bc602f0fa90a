"""Sums of products start from what they are added to.

    x + (a b + c d): multiply, fused multiply-add, add      becomes      (x + a b) + c d: two fused multiply-adds
Sums of two or three products are what cross products and rotations are made of, and they are added to something more often than
not: one instruction in ten goes. The terms stay in their order, each product is still rounded with the sum it joins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

Instruction = tuple[Any, tuple[int, ...]]

LONGEST = 6
"""Products in a sum that is taken apart: what it needs must stay in registers until the sum is used."""


class Term(NamedTuple):
    """A product with its sign, and the value that was computed where it joined the sum."""

    positive: bool
    left: int
    right: int
    value: int


Program = tuple[tuple[Instruction, ...], tuple[tuple[int, ...], ...], tuple[int, ...]]
"""Instructions, results, and which of the kept values are left."""


class Start(NamedTuple):
    """A sum of products that starts from another value, which is added or taken away."""

    added: bool
    other: int
    terms: list[Term]


def start_sums(
    first: int, instructions: Sequence[Instruction], results: Sequence[Sequence[int]], kept: Sequence[int] = ()
) -> Program:
    """The instructions and results of an equal program with fewer instructions; values are numbered from `first`."""
    uses = Counter(chain.from_iterable(args for _, args in instructions))
    uses.update(value for flat in results for value in flat)
    sums: dict[int, list[Term]] = {}
    started: dict[int, Start] = {}
    gone: set[int] = set()
    for value, (op, args) in enumerate(instructions, start=first):
        if op in ("add", "sub"):
            start = _start(op, args, sums)
            if start is not None:
                started[value] = start
                gone.update(term.value for term in start.terms)
        elif uses[value] == 1:
            terms = _terms(op, args, value, sums)
            if terms is not None and len(terms) <= LONGEST:
                sums[value] = terms
    return _renumbered(first, instructions, results, kept, started, gone)


def _terms(op: Any, args: tuple[int, ...], value: int, sums: dict[int, list[Term]]) -> list[Term] | None:
    """The products that a value is the sum of, if nothing else is in it."""
    if op == "mul":
        return [Term(True, args[0], args[1], value)]
    if op not in ("fma", "fms", "fnma") or args[2] not in sums:
        return None
    before = sums[args[2]]
    if op == "fms":  # the product minus the sum
        before = [term._replace(positive=not term.positive) for term in before]
    return [*before, Term(op != "fnma", args[0], args[1], value)]


def _start(op: str, args: tuple[int, ...], sums: dict[int, list[Term]]) -> Start | None:
    """For x + sum, x - sum and sum - x."""
    for other, taken in (args, args[::-1]):
        terms = sums.get(taken, [])
        if len(terms) < 2:
            continue
        if op == "add":
            return Start(True, other, terms)
        if taken == args[1]:  # x - sum
            return Start(True, other, [term._replace(positive=not term.positive) for term in terms])
        if terms[0].positive:  # sum - x starts with a product minus x
            return Start(False, other, terms)
    return None


def _renumbered(
    first: int,
    instructions: Sequence[Instruction],
    results: Sequence[Sequence[int]],
    kept: Sequence[int],
    started: dict[int, Start],
    gone: set[int],
) -> Program:
    number = {k: k for k in range(first)}
    made: list[Instruction] = []

    def make(op: Any, *args: int) -> int:
        made.append((op, args))
        return first + len(made) - 1

    for value, (op, args) in enumerate(instructions, start=first):
        if value in gone:
            continue
        if value not in started:
            number[value] = make(op, *[number[a] for a in args])
            continue
        added, other, terms = started[value]
        total = number[other]
        for k, term in enumerate(terms):
            kind = "fms" if k == 0 and not added else "fma" if term.positive else "fnma"
            total = make(kind, number[term.left], number[term.right], total)
        number[value] = total
    flats = tuple(tuple(number[value] for value in flat) for flat in results)
    return tuple(made), flats, tuple(number[value] for value in kept if value in number)
