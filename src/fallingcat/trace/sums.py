"""A pass that starts sums of products from the value that they are added to.

    x + (a b + c d): multiply, fused multiply-add, add      becomes      (x + a b) + c d: two fused multiply-adds
Cross products and rotations consist of sums of two or three products, most of which are added to another value: the pass removes
one instruction in ten. The terms keep their order, and each product is still rounded together with the sum that it joins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

Instruction = tuple[Any, tuple[int, ...]]

LONGEST = 6
"""Largest number of products in a sum that is moved: its factors must stay in registers until the sum is used."""


class Term(NamedTuple):
    """A product with its sign, and the number of the value that adds it to the sum."""

    positive: bool
    left: int
    right: int
    value: int


Program = tuple[tuple[Instruction, ...], tuple[tuple[int, ...], ...], tuple[int, ...]]
"""Instructions, results, and those of the kept values that still exist."""


class Start(NamedTuple):
    """A sum of products that starts from another value, which is added (`added`) or subtracted."""

    added: bool
    other: int
    terms: list[Term]


def start_sums(
    first: int, instructions: Sequence[Instruction], results: Sequence[Sequence[int]], kept: Sequence[int] = ()
) -> Program:
    """The instructions, results and kept values of an equivalent program with fewer instructions; `first` numbers the first."""
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
    """The products whose sum a value is; None if it has other terms."""
    if op == "mul":
        return [Term(True, args[0], args[1], value)]
    if op not in ("fma", "fms", "fnma") or args[2] not in sums:
        return None
    before = sums[args[2]]
    if op == "fms":  # the product minus the sum
        before = [term._replace(positive=not term.positive) for term in before]
    return [*before, Term(op != "fnma", args[0], args[1], value)]


def _start(op: str, args: tuple[int, ...], sums: dict[int, list[Term]]) -> Start | None:
    """The sum that starts from x, for an operation x + sum, x - sum or sum - x; None if that is not possible."""
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
