"""Sums of products that start from what they are added to: the same value, term by term, with fewer instructions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fallingcat.trace.sums import LONGEST, Instruction, start_sums

P = 2**61 - 1
"""Numbers are residues of this prime: sums and products are exact and stay small."""
EXACT: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
}
ARGUMENTS = {"neg": 1, "add": 2, "sub": 2, "mul": 2, "fma": 3, "fms": 3, "fnma": 3}


def evaluated(inputs: Sequence[int], instructions: Sequence[Instruction], results: Sequence[Sequence[int]]) -> list[Any]:
    """Without rounding, so that equal formulas give equal numbers."""
    values = list(inputs)
    for op, args in instructions:
        assert all(a < len(values) for a in args)
        values.append(EXACT[op](*(values[a] for a in args)) % P)
    return [[values[i] for i in flat] for flat in results]


@pytest.mark.parametrize(
    ("op", "sums", "expected"),
    [
        # x is value 0, the products are of values 1 to 6
        ("add 0 s", ["mul 1 2", "fma 3 4 s"], ["fma 1 2 0", "fma 3 4 s"]),
        ("add s 0", ["mul 1 2", "fnma 3 4 s"], ["fma 1 2 0", "fnma 3 4 s"]),
        ("sub 0 s", ["mul 1 2", "fma 3 4 s", "fnma 5 6 s"], ["fnma 1 2 0", "fnma 3 4 s", "fma 5 6 s"]),
        ("sub s 0", ["mul 1 2", "fma 3 4 s"], ["fms 1 2 0", "fma 3 4 s"]),
        ("add 0 s", ["mul 1 2", "fms 3 4 s"], ["fnma 1 2 0", "fma 3 4 s"]),
    ],
)
def test_a_sum_starts_from_what_it_is_added_to(op: str, sums: list[str], expected: list[str]) -> None:
    """`s` is the value before."""

    def parsed(lines: list[str]) -> list[Instruction]:
        return [(w[0], tuple(6 + k if x == "s" else int(x) for x in w[1:])) for k, w in enumerate(map(str.split, lines))]

    before = parsed([*sums, op])
    after, results, _ = start_sums(7, before, [[6 + len(before)]])
    assert list(after) == parsed(expected)
    inputs = [3, 5, 7, 11, 13, 17, 19]
    assert evaluated(inputs, after, results) == evaluated(inputs, before, [[6 + len(before)]])


@pytest.mark.parametrize(
    ("instructions", "results"),
    [
        ([("mul", (1, 2)), ("add", (0, 3))], [[4]]),  # one product is fused elsewhere
        ([("mul", (1, 2)), ("fma", (0, 1, 3)), ("add", (0, 4))], [[5], [4]]),  # the sum is a result itself
        ([("mul", (1, 2)), ("fma", (0, 1, 3)), ("add", (0, 4)), ("mul", (4, 5))], [[6]]),  # it is used twice
        ([("mul", (1, 2)), ("fms", (0, 1, 3)), ("sub", (4, 2))], [[5]]),  # it starts with a minus
        ([("fma", (1, 2, 0)), ("fma", (0, 1, 3)), ("add", (0, 4))], [[5]]),  # it is more than products
    ],
)
def test_what_stays_as_it_is(instructions: list[Instruction], results: list[list[int]]) -> None:
    assert start_sums(3, instructions, results) == (tuple(instructions), tuple(map(tuple, results)), ())


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_keep_their_values(seed: int) -> None:
    choose = random.Random(seed)
    inputs = [choose.randint(-9, 9) for _ in range(5)]
    instructions: list[Instruction] = []
    for value in range(5, 5 + choose.randint(1, 120)):
        op = choose.choice(list(ARGUMENTS))
        # mostly what is new, so that many values are used once
        args = tuple(max(0, value - 1 - int(choose.expovariate(0.4))) for _ in range(ARGUMENTS[op]))
        instructions.append((op, args))
    last = 4 + len(instructions)
    results = [[last], [choose.randint(0, last) for _ in range(3)]]
    after, renamed, _ = start_sums(5, instructions, results)
    assert evaluated(inputs, after, renamed) == evaluated(inputs, instructions, results)
    assert len(after) <= len(instructions)


def test_long_sums_are_left_whole() -> None:
    sums: list[Instruction] = [("mul", (1, 2)), *(("fma", (1, 2, 3 + k)) for k in range(LONGEST))]
    before = (*sums, ("add", (0, 3 + LONGEST)))
    assert start_sums(3, before, [[len(before) + 2]])[0] == before
