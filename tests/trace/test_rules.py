"""The rewrite rules of the tracer: each does what its docstring says, and none changes a value."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallingcat import scalar
from fallingcat.task import Input, Output, Task
from fallingcat.trace import interpret, trace
from fallingcat.trace.expr import Expr
from fallingcat.trace.graph import Graph
from fallingcat.trace.ops import OPS, fused
from fallingcat.trace.rules import RULES


class Symbols:
    """A graph with three inputs x, y, z."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.x, self.y, self.z = (Expr(self.graph, self.graph.input(k)) for k in range(3))

    def node(self, value: Any) -> tuple[Any, ...]:
        return self.graph.nodes[value.index]

    def same(self, a: Any, b: Any) -> bool:
        """Are two traced values the same node?"""
        return type(a) is Expr and type(b) is Expr and a.index == b.index


@pytest.fixture
def s() -> Symbols:
    return Symbols()


# Each case: what is written, and what the graph must hold instead. Constants come back as floats.
IDENTITIES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "x + 0": (lambda x, y: x + 0.0, lambda x, y: x),
    "0 + x": (lambda x, y: 0.0 + x, lambda x, y: x),
    "x + -y": (lambda x, y: x + -y, lambda x, y: x - y),
    "-x + y": (lambda x, y: -x + y, lambda x, y: y - x),
    "x + y ordered": (lambda x, y: y + x, lambda x, y: x + y),
    "x - 0": (lambda x, y: x - 0.0, lambda x, y: x),
    "0 - x": (lambda x, y: 0.0 - x, lambda x, y: -x),
    "x - -y": (lambda x, y: x - -y, lambda x, y: x + y),
    "-x - y": (lambda x, y: -x - y, lambda x, y: -(x + y)),
    "x - y beside y - x": (lambda x, y: (y - x, x - y)[1], lambda x, y: -(y - x)),
    "1 x": (lambda x, y: 1.0 * x, lambda x, y: x),
    "x 1": (lambda x, y: x * 1.0, lambda x, y: x),
    "-1 x": (lambda x, y: -1.0 * x, lambda x, y: -x),
    "-c x": (lambda x, y: -3.0 * x, lambda x, y: -(3.0 * x)),
    "-x y": (lambda x, y: -x * y, lambda x, y: -(x * y)),
    "x -y": (lambda x, y: x * -y, lambda x, y: -(x * y)),
    "-x -y": (lambda x, y: -x * -y, lambda x, y: x * y),
    "x y ordered": (lambda x, y: y * x, lambda x, y: x * y),
    "x / 4": (lambda x, y: x / 4.0, lambda x, y: x * 0.25),
    "x / -4": (lambda x, y: x / -4.0, lambda x, y: -(x * 0.25)),
    "-x / y": (lambda x, y: -x / y, lambda x, y: -(x / y)),
    "x / -y": (lambda x, y: x / -y, lambda x, y: -(x / y)),
    "-(-x)": (lambda x, y: operator.neg(-x), lambda x, y: x),
    "-(x - y)": (lambda x, y: -(x - y), lambda x, y: y - x),
    "sin -x": (lambda x, y: scalar.sin(-x), lambda x, y: -scalar.sin(x)),
    "cos -x": (lambda x, y: scalar.cos(-x), lambda x, y: scalar.cos(x)),
    "either way": (lambda x, y: scalar.where_less(x, y, x, x), lambda x, y: x),
    "known choice": (lambda x, y: scalar.where_less(1.0, 2.0, x, y), lambda x, y: x),
    "known other choice": (lambda x, y: scalar.where_less(2.0, 1.0, x, y), lambda x, y: y),
    "x ** 3": (lambda x, y: x**3, lambda x, y: x * x * x),
    "x ** 0.5": (lambda x, y: x**0.5, lambda x, y: scalar.sqrt(x)),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_what_is_written_becomes_what_is_meant(name: str, s: Symbols) -> None:
    written, meant = IDENTITIES[name]
    assert s.same(written(s.x, s.y), meant(s.x, s.y))


CONSTANTS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "0 x": (lambda x: 0.0 * x, 0.0),
    "x 0": (lambda x: x * 0.0, 0.0),
    "x - x": (lambda x: x - x, 0.0),
    "0 / x": (lambda x: 0.0 / x, 0.0),
    "x ** 0": (lambda x: x**0, 1.0),
    "known choice of constants": (lambda x: scalar.where_less(x, x + 0.0, 7.0, 7.0), 7.0),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_what_is_known_while_tracing_is_a_float_again(name: str, s: Symbols) -> None:
    written, value = CONSTANTS[name]
    result = written(s.x)
    assert type(result) is float
    assert result == value


@pytest.mark.parametrize("op", [op for op in RULES if op not in ("select", "taint")])
def test_operations_on_constants_are_done_at_once(op: str, s: Symbols) -> None:
    values = [0.7, 0.3][: OPS[op].arity]
    index = s.graph.apply(op, *map(s.graph.constant, values))
    assert s.graph.constants[index] == OPS[op].evaluate(*values)


def test_division_by_a_constant_stays_where_its_reciprocal_is_not_exact(s: Symbols) -> None:
    assert s.node(s.x / 3.0)[0] == "div"
    assert s.node(s.x / 4.0)[0] == "mul"
    assert s.node(s.x / 2.0**1000)[0] == "div"  # 2^-1000 x may round where x / 2^1000 does not
    assert s.node(s.x / 0.0)[0] == "div"


def test_equal_terms_are_one_node(s: Symbols) -> None:
    before = (s.x * s.y + s.z, scalar.sin(s.x))
    count = len(s.graph.nodes)
    after = (s.z + s.y * s.x, scalar.sin(s.x))
    assert len(s.graph.nodes) == count
    assert all(map(s.same, before, after))


def test_zeros_of_either_sign_and_nan_are_constants_of_their_own() -> None:
    graph = Graph()
    assert graph.constant(0.0) != graph.constant(-0.0)
    assert graph.constant(math.nan) == graph.constant(-math.nan + 1.0)
    assert graph.constant(0.1) == graph.constant(0.1 + 0.0)
    assert graph.constant(0.1) != graph.constant(math.nextafter(0.1, 1.0))


def test_a_constant_that_is_not_finite_is_left_alone(s: Symbols) -> None:
    assert s.node(math.nan * s.x)[0] == "mul"
    assert s.node(s.x + math.inf)[0] == "add"


def test_fused_rounds_once() -> None:
    a, b = 1.0 + 2.0**-30, 1.0 - 2.0**-30
    assert a * b - 1.0 == 0.0  # rounded twice
    assert fused(a, b, -1.0) == -(2.0**-60)
    assert fused(1e308, 10.0, -math.inf) == -math.inf  # the product is finite until it is rounded
    assert fused(1e308, 10.0, 0.0) == math.inf
    assert math.isnan(fused(math.inf, 0.0, 1.0))
    assert math.copysign(1.0, fused(-1.0, 0.0, -0.0)) == -1.0


# ---------------------------------------------------------------------------------------------------------------------
# Random expressions. Products and sums lose little in every step, so an error bound carried along with the value
# (in exact arithmetic it would be zero) says how far fused and plain evaluation may be apart.

Bounded = tuple[float, float]
EPS = 2.0**-52
BINARY: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg, "sin": scalar.sin, "cos": scalar.cos, "abs": abs, "half": lambda x: x / 2.0, "third": lambda x: x / 3.0,
}  # fmt: skip

leaves = st.one_of(st.integers(0, 3), st.sampled_from([0.0, 1.0, -1.0, 0.5, -3.7, 2.25]))
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(BINARY)), inner, inner),
        st.tuples(st.sampled_from(sorted(UNARY)), inner),
        st.tuples(st.just("less"), inner, inner),
    ),
    max_leaves=25,
)


def evaluate(tree: Any, inputs: Any) -> Any:
    """An expression over floats or symbols. Integers are inputs, floats are constants."""
    if isinstance(tree, int):
        return inputs[tree]
    if isinstance(tree, float):
        return tree
    op, *rest = tree
    values = [evaluate(t, inputs) for t in rest]
    if op == "less":  # continuous, so that rounding cannot switch to something else
        return scalar.where_less(values[0], values[1], values[0], values[1])
    return BINARY[op](*values) if len(values) == 2 else UNARY[op](*values)


def bound(tree: Any, inputs: list[float]) -> Bounded:
    """(an upper bound of the size of a term, one of its rounding errors)."""
    if isinstance(tree, int):
        return abs(inputs[tree]), 0.0
    if isinstance(tree, float):
        return abs(tree), 0.0
    op, *rest = tree
    parts = [bound(t, inputs) for t in rest]
    sizes, errors = zip(*parts, strict=True)
    if op == "*":
        size = sizes[0] * sizes[1]
        error = sizes[0] * errors[1] + sizes[1] * errors[0] + errors[0] * errors[1]
    elif op in ("sin", "cos"):
        size, error = 1.0, errors[0]
    else:
        size, error = sum(sizes), sum(errors)
    return size, error + EPS * size


@given(tree=expressions, seed=st.integers(0, 1000))
def test_traced_expressions_have_the_value_of_the_expression(tree: Any, seed: int) -> None:
    inputs = np.random.default_rng(seed).uniform(-2.0, 2.0, size=4).tolist()
    task = Task("f", (Input("x", 4),), (Output("y", ()),), lambda x: evaluate(tree, x))
    ((traced,),) = interpret(trace(task), [inputs])
    direct = evaluate(tree, inputs)
    assert abs(traced - direct) <= 4.0 * bound(tree, inputs)[1] + 1e-300


@given(tree=expressions)
def test_tracing_the_same_expression_twice_gives_the_same_program(tree: Any) -> None:
    task = Task("f", (Input("x", 4),), (Output("y", ()),), lambda x: evaluate(tree, x))
    assert trace(task) == trace(task)
