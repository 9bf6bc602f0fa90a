"""Programs: what the verifier refuses, how they print, where multiply-adds are fused, and what cannot be traced."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import scalar
from fallingcat.functions import task as make_task
from fallingcat.task import Input, Output, Task
from fallingcat.trace import Program, interpret, trace
from fallingcat.trace.blocks import Entry
from fallingcat.trace.ops import OPS


def traced(function: Callable[..., Any], size: int = 3, shape: tuple[int, ...] = ()) -> Program:
    return trace(Task("f", (Input("x", size),), (Output("y", shape),), function))


@pytest.fixture
def good() -> Program:
    return traced(lambda x: x[0] * x[1] + 2.5 * scalar.sin(x[2]))


# ---------------------------------------------------------------------------------------------------------------------
# Verification


def test_a_traced_program_is_well_formed(good: Program) -> None:
    assert good.verify() is good


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"instructions": (("spin", (0,)),)}, "unknown operation 'spin'"),
        ({"instructions": (("add", (0,)),)}, "has 1 arguments, not 2"),
        ({"instructions": (("add", (0, 4)),)}, "not there yet"),  # itself
        ({"instructions": (("add", (0, -1)),)}, "not there yet"),
        ({"instructions": ()}, "never computed"),
        ({"results": ()}, "0 results for 1 outputs"),
        ({"results": ((0, 1),)}, "has 2 entries, not 1"),
        ({"results": ((-1,),)}, "never computed"),
        ({"outputs": (Output("y", (2, 2)),)}, "has 1 entries, not 4"),
    ],
)
def test_malformed_programs_are_refused(good: Program, change: dict[str, Any], words: str) -> None:
    with pytest.raises(fc.TraceError, match=words):
        dataclasses.replace(good, **change).verify()


# ---------------------------------------------------------------------------------------------------------------------
# Printing and counting


def test_it_reads_like_a_program(good: Program) -> None:
    assert str(good) == "\n".join(
        [
            "program f(x[3]) -> y[]    # 4 operations",
            "  t0 = x[0] * x[1]",
            "  t1 = sin x[2]",
            "  t2 = t1 * 2.5 + t0",
            "  y = [t2]",
        ]
    )


def test_every_operation_prints_its_arguments() -> None:
    """The text is the key of a user's function in the cache: what differs must look different."""
    for name, op in OPS.items():
        text = op.text.format("A", "B", "C", "D")
        assert [letter in text for letter in "ABCD"] == [k < op.arity for k in range(4)], name
    texts = [op.text for op in OPS.values()]
    assert len(set(texts)) == len(texts)


def test_constants_print_exactly() -> None:
    value = math.nextafter(0.1, 1.0)
    assert repr(value) in str(traced(lambda x: x[0] + value))


def test_counts(good: Program) -> None:
    assert good.counts() == {"fma": 1, "mul": 1, "sin": 1}
    assert good.operations == 4  # a fused multiply-add counts as two


def test_signs_cost_nothing() -> None:
    assert traced(lambda x: -x[0], 1).operations == 0


def test_names_of_values_count_through_the_inputs() -> None:
    inputs = (Input("a", 2), Input("b", 1))
    program = trace(Task("f", inputs, (Output("y", (3,)),), lambda a, b: [b[0], a[1], a[0] - b[0]]))
    assert [program.value_name(v) for v in program.results[0]] == ["b[0]", "a[1]", "t0"]


# ---------------------------------------------------------------------------------------------------------------------
# Fused multiply-adds


@pytest.mark.parametrize(
    ("function", "counts"),
    [
        (lambda x: x[0] * x[1] + x[2], {"fma": 1}),
        (lambda x: x[2] + x[0] * x[1], {"fma": 1}),
        (lambda x: x[0] * x[1] - x[2], {"fms": 1}),
        (lambda x: x[2] - x[0] * x[1], {"fnma": 1}),
        (lambda x: x[0] * x[1] + x[1] * x[2], {"fma": 1, "mul": 1}),
        (lambda x: (x[0] * x[1] + x[0] * x[1]) * x[2], {"add": 1, "mul": 2}),  # the product is used twice
        (lambda x: (x[0] + x[1]) * x[2], {"add": 1, "mul": 1}),
    ],
)
def test_which_sums_are_fused(function: Callable[..., Any], counts: dict[str, int]) -> None:
    program = traced(function)
    assert program.counts() == counts
    state = [1.1, -2.3, 0.7]
    assert interpret(program, [state])[0][0] == pytest.approx(function(state), rel=4e-16)


def test_a_product_that_is_a_result_is_not_swallowed() -> None:
    program = traced(lambda x: [x[0] * x[1], x[0] * x[1] + x[2]], shape=(2,))
    assert program.counts() == {"add": 1, "mul": 1}


def test_a_product_with_two_readers_is_not_swallowed() -> None:
    program = traced(lambda x: [x[0] * x[1] + x[2], x[0] * x[1] - x[2]], shape=(2,))
    assert program.counts() == {"add": 1, "mul": 1, "sub": 1}


def test_fusion_is_seen_in_the_rounding() -> None:
    """The interpreter rounds once where the program says so."""
    program = traced(lambda x: x[0] * x[1] - 1.0, 2)
    a, b = 1.0 + 2.0**-30, 1.0 - 2.0**-30
    assert interpret(program, [[a, b]]) == [[-(2.0**-60)]]


def test_what_no_result_needs_is_dropped() -> None:
    program = traced(lambda x: [scalar.sin(x[0]), x[0] + x[1] + x[2]][1])
    assert "sin" not in program.counts()


# ---------------------------------------------------------------------------------------------------------------------
# Blocks


def matrix(x: Any, rows: int, columns: int) -> list[list[Any]]:
    return [list(x[i * columns : (i + 1) * columns]) for i in range(rows)]


@pytest.mark.parametrize("negate", [False, True])
def test_a_large_product_of_matrices_stays_a_product(negate: bool, rng: np.random.Generator) -> None:
    """Columns with the same zeros share a product that skips them; small rests are written out."""
    keep = np.ones((6, 12))
    keep[1, 5:10] = 0.0
    keep[2:, 10] = 0.0
    keep[:, 11] = 0.0

    def function(x: Any) -> Any:
        A, B = matrix(x[:48], 8, 6), matrix(x[48:], 6, 12)
        B = [[b if k else 0.0 for b, k in zip(row, kept, strict=True)] for row, kept in zip(B, keep, strict=True)]
        return scalar.matmul(A, B, negate)

    program = traced(function, size=120, shape=(8, 12))
    counts = program.counts()
    assert (counts["pack"], counts["product"], counts["entry"]) == (3, 2, 8 * 10)
    x = rng.normal(size=120)
    (flat,) = interpret(program, [x])
    expected = (-1.0 if negate else 1.0) * x[:48].reshape(8, 6) @ (keep * x[48:].reshape(6, 12))
    np.testing.assert_allclose(np.reshape(flat, (8, 12)), expected, rtol=1e-13, atol=1e-14)


def square(size: int) -> Program:
    return traced(lambda x: scalar.matmul(matrix(x, size, size), matrix(x, size, size)), size=size**2, shape=(size, size))


def test_a_small_product_is_written_out() -> None:
    assert set(square(2).counts()) == {"mul", "fma"}


def test_blocks_and_numbers_are_not_mixed_up() -> None:
    program = square(6)
    pack, product, *entries = program.instructions
    first = program.first
    assert (type(pack[0]).__name__, type(product[0]).__name__) == ("Pack", "Product")
    for wrong in (
        (pack, ("add", (0, first))),  # a block as a number
        (pack, (product[0], (first, 0))),  # a number as a block
        ((pack[0], pack[1][:-1]), product, *entries),  # too few entries
    ):
        with pytest.raises(fc.TraceError, match=r"mixes up|has 35 arguments, not 36"):
            dataclasses.replace(program, instructions=wrong).verify()
    with pytest.raises(fc.TraceError, match="never computed"):
        dataclasses.replace(program, results=((first,) * 36,)).verify()


def test_operations_stay_within_their_blocks() -> None:
    pack, (product, args), entry, *rest = square(6).instructions
    for wrong in (
        ((dataclasses.replace(product, first_row=1), args), entry),
        ((dataclasses.replace(product, first_column=1), args), entry),
        ((dataclasses.replace(product, inner=(0, 1, 2, 3, 4, 6)), args), entry),
        ((dataclasses.replace(product, right_width=5), args), entry),
        ((product, args), (Entry(36), entry[1])),
    ):
        with pytest.raises(fc.TraceError, match="beyond its blocks"):
            dataclasses.replace(square(6), instructions=(pack, *wrong, *rest)).verify()


@pytest.mark.parametrize(
    "change", [{"left": 2}, {"left": -1}, {"right": 3}, {"columns": 3}, {"place": 3}, {"place": -1}, {"step": 3}]
)
def test_listed_dot_products_stay_within_their_blocks(change: dict[str, int]) -> None:
    job = scalar.Dots(1, 1, 2, 0, 2)

    def program(jobs: scalar.Dots) -> Program:
        return traced(lambda x: scalar.dots(list(x[:4]), matrix(x[4:], 3, 3), [jobs], 3), size=13, shape=(3,))

    program(job).verify()
    with pytest.raises(fc.TraceError, match="beyond its blocks"):
        program(job._replace(**change)).verify()


def test_blocks_print_their_shape() -> None:
    text = str(square(6))
    assert "t0 = pack 6x6 x[0], x[1], x[2]" in text
    assert "t1 = product 6x6x6 over columns [0, 1, 2, 3, 4, 5] t0, t0" in text
    assert f"{2 * 6**3} operations" in text


# ---------------------------------------------------------------------------------------------------------------------
# What cannot be traced


BRANCHES: dict[str, Callable[[Any], Any]] = {
    "if": lambda x: x[0] if x[0] else x[1],
    "<": lambda x: x[0] < x[1],
    "<=": lambda x: x[0] <= 1.0,
    ">": lambda x: x[0] > 0.0,
    ">=": lambda x: x[0] >= x[1],
    "==": lambda x: x[0] == 0.0,
    "!=": lambda x: x[0] != x[1],
    "max": lambda x: max(x[0], x[1]),
    "in": lambda x: x[0] in [1.0],
    "not": lambda x: not x[0],
    "sorted": lambda x: sorted(x),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_on_a_traced_value_is_an_error_that_helps(name: str) -> None:
    with pytest.raises(fc.TraceError, match=r"cannot branch.*where_less"):
        traced(BRANCHES[name])


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[0]),
    "complex": lambda x: complex(x[0]),
    "index": lambda x: [1.0, 2.0][x[0]],
    "math.sin": lambda x: math.sin(x[0]),
    "float array": lambda x: np.array(x, dtype=float)[0],
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_traced_value_is_no_number(name: str) -> None:
    with pytest.raises(fc.TraceError, match=r"fallingcat\.scalar"):
        traced(CONVERSIONS[name])


@pytest.mark.parametrize("power", [0, 1, 2, 3, 7, 2.0, -1, -2.0, 0.5, -0.5, 1.5, np.int64(3), np.float64(2.0), np.array(2), True])
def test_powers(power: Any) -> None:
    ((found,),) = interpret(traced(lambda x: x[0] ** power, size=1), [[1.7]])
    assert found == pytest.approx(1.7**power, rel=1e-15)


def test_powers_by_squaring() -> None:
    assert traced(lambda x: x[0] ** 16, size=1).operations == 4


@pytest.mark.parametrize("power", [0.25, 1.0 / 3.0, math.inf, math.nan, "x"])
def test_unusual_powers_are_refused(power: Any) -> None:
    with pytest.raises(fc.TraceError, match=r"raised to whole numbers and their halves, not to"):
        traced(lambda x: x[0] ** (x[1] if power == "x" else power))


def test_operations_that_do_not_exist_are_trace_errors() -> None:
    with pytest.raises(fc.TraceError, match="cannot be traced"):
        traced(lambda x: 2.0 ** x[0])
    with pytest.raises(fc.TraceError, match="cannot be traced"):
        traced(lambda x: x[0] + "1")
    with pytest.raises(fc.TraceError, match="cannot be traced"):
        traced(lambda x: None)


def test_arrays_of_one_entry_stay_arrays() -> None:
    program = traced(lambda x: x[0] * np.array([2.0]) + np.array([1.0]) / x[0], size=1, shape=(1,))
    assert interpret(program, [[4.0]]) == [[8.25]]


def test_a_traced_value_cannot_be_a_key() -> None:
    with pytest.raises(fc.TraceError, match="unhashable"):
        traced(lambda x: {x[0]: 1.0}[x[0]])


def test_a_result_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(ValueError, match="has 2 entries"):
        traced(lambda x: [x[0], x[1]], shape=(3,))


# ---------------------------------------------------------------------------------------------------------------------
# What is not finite


def test_inputs_that_do_not_matter_still_spoil_the_result() -> None:
    program = traced(lambda x: [2.0 * x[0], x[0]], shape=(2,))
    assert program.counts()["taint"] == 2
    assert interpret(program, [[3.0, -7.0, 5.0]]) == [[6.0, 3.0]]
    for bad in (math.nan, math.inf, -math.inf):
        for k in range(3):
            state = [3.0, -7.0, 5.0]
            state[k] = bad
            assert not all(map(math.isfinite, interpret(program, [state])[0]))


def test_a_constant_result_is_spoilt_too() -> None:
    program = traced(lambda x: 4.0)
    assert interpret(program, [[1.0, 2.0, 3.0]]) == [[4.0]]
    assert math.isnan(interpret(program, [[1.0, math.inf, 3.0]])[0][0])


def test_nothing_is_tainted_where_everything_is_used(good: Program) -> None:
    assert "taint" not in good.counts()


def test_the_base_position_spoils_inverse_dynamics() -> None:
    """No dynamics depends on where the robot is; a position that is none must not pass unseen all the same."""
    robot = fc.load("spacearm", joints=["joint1"])
    program = trace(make_task(robot.model, "inverse_dynamics"))
    q, nu = robot.neutral(), np.zeros(robot.nv)
    assert np.isfinite(interpret(program, [q, nu, nu])).all()
    for k in range(robot.nq):
        bad = q.copy()
        bad[k] = np.nan
        assert not np.isfinite(interpret(program, [bad, nu, nu])).all()
