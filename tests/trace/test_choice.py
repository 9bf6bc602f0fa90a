"""Ways to compute the same, of which the cheapest stays; and matrices of dot products, written out or as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from counts import SMALL_SETS, constraint_cases, robot

import fallingcat as fc
from fallingcat import scalar
from fallingcat.functions import FUNCTIONS
from fallingcat.functions import task as robot_task
from fallingcat.robot import constraint_tasks
from fallingcat.task import Input, Output, Task
from fallingcat.tensors import MatrixOfDots, Term
from fallingcat.trace import Program, dot_matrix, interpret, trace
from fallingcat.trace.dots import DotTable
from spread import first
from trees import random_tree

N = 6


def task(evaluate: Any, size: int = 24, shape: tuple[int, ...] = (N, N)) -> Task:
    return Task("choice", (Input("x", size),), (Output("y", shape),), evaluate)


# ---------------------------------------------------------------------------------------------------------------------
# Ways


def powers(x: Any) -> list[Any]:
    """x^8 of every number, by seven products."""
    return [y * y * y * y * y * y * y * y for y in x]


def squares(x: Any) -> list[Any]:
    """The same by three."""
    doubled = [y * y for y in x]
    return [(y * y) * (y * y) for y in doubled]


@pytest.mark.parametrize("ways", [(powers, squares), (squares, powers)], ids=["the last", "the first"])
def test_the_cheapest_way_stays(ways: Any, rng: np.random.Generator) -> None:
    made = task(lambda x: scalar.cheapest(x, *(lambda way=way: way(x) for way in ways)), shape=(24,))
    alone = trace(task(squares, shape=(24,)))
    program = trace(made)
    assert program.operations == alone.operations == 3 * 24
    x = rng.uniform(0.5, 1.5, 24)
    np.testing.assert_allclose(interpret(program, [x])[0], x**8, rtol=1e-14)


def test_of_equal_ways_the_first_stays() -> None:
    made = trace(task(lambda x: scalar.cheapest(x, lambda: [y + 1.0 for y in x], lambda: [y + 2.0 for y in x]), shape=(24,)))
    assert made.constants == (1.0,)


def test_a_table_that_costs_more_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it is the last way: written out, there would be too many."""
    monkeypatch.setattr(dot_matrix, "MANY", 0)

    def table(x: Any) -> Any:
        return matrix_of_dots([Term(i, j, list(x) * 40, list(x) * 40) for i in range(N) for j in range(N)])

    def few(x: Any) -> Any:
        return [[x[i] * x[j] for j in range(N)] for i in range(N)]

    assert tables(trace(task(lambda x: scalar.cheapest(x, lambda: table(x), lambda: few(x))))) == 0
    assert tables(trace(task(lambda x: scalar.cheapest(x, lambda: few(x), lambda: table(x))))) == 1


def test_plain_numbers_take_the_first_way() -> None:
    assert scalar.cheapest([1.0, 2.0], lambda: "first", lambda: "last") == "first"
    assert scalar.cheapest([1.0, 2j], lambda: "first", lambda: "last") == "first"


def test_a_way_that_has_lost_is_not_traced_to_its_end() -> None:
    """Or a choice would take as long as its longest way."""
    reached = []

    def endless(x: Any) -> list[Any]:
        for k in range(100_000):
            reached[:] = [k]
            x = [y * y + 1.0 for y in x]
        return list(x)

    program = trace(task(lambda x: scalar.cheapest(x, lambda: endless(x), lambda: squares(x)), shape=(24,)))
    assert program.operations == 3 * 24
    assert reached[0] < 100


def test_a_choice_within_a_way_that_has_lost() -> None:
    def inner(x: Any) -> list[Any]:
        for _ in range(1000):
            x = scalar.cheapest(x, lambda x=x: [y * y + 1.0 for y in x], lambda x=x: [y * y + 2.0 for y in x])
        return list(x)

    program = trace(task(lambda x: scalar.cheapest(x, lambda: inner(x), lambda: squares(x)), shape=(24,)))
    assert program.operations == 3 * 24


# ---------------------------------------------------------------------------------------------------------------------
# Matrices of dot products


def terms(x: Any, symmetric: bool) -> list[Term]:
    """Vectors of six and of three, factors, places that meet, zeros and ones; four vectors of six are all there is."""
    vectors = [list(x[6 * k : 6 * k + 6]) for k in range(4)]
    unit = [1.0, *[0.0] * 5]
    found = [Term(i, j, vectors[(i + j) % 4], vectors[(3 * i * j) % 4]) for i in range(N) for j in range(i + 1)]
    found += [Term(2, 1, vectors[0], vectors[1], -2.0), Term(3, 0, unit, vectors[2]), Term(4, 4, (x[5],), (1.0,))]
    if not symmetric:
        found += [Term(0, j, vectors[j % 4][:3], vectors[1][3:]) for j in range(2, N)]
    return found


def matrix_of_dots(terms: list[Term], symmetric: bool = False) -> Any:
    found = MatrixOfDots(N, N, symmetric)
    for term in terms:
        found.put(*term)
    return found.matrix()


def expected(x: np.ndarray, symmetric: bool) -> np.ndarray:
    out = np.zeros((N, N))
    for i, j, left, right, factor in terms(x, symmetric):
        out[i, j] += factor * np.dot(left, right)
    return np.tril(out) + np.tril(out, -1).T if symmetric else out


@pytest.mark.parametrize("many", [0, 10**9], ids=["a table", "written out"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_matrices_of_dot_products(symmetric: bool, many: int, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr(dot_matrix, "MANY", many)
    x = rng.normal(size=24)
    made = task(lambda y: matrix_of_dots(terms(y, symmetric), symmetric))
    program = trace(made)
    assert tables(program) == (many == 0)
    np.testing.assert_allclose(interpret(program, [x])[0], expected(x, symmetric).ravel(), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(made.flat([list(x)])[0], expected(x, symmetric).ravel(), rtol=1e-13, atol=1e-13)


def test_neighbours_in_a_row_are_one_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """And equal vectors are one vector, whatever list they come in; positions that are zero in all vectors are left out."""
    monkeypatch.setattr(dot_matrix, "MANY", 0)

    def evaluate(x: Any) -> Any:
        return matrix_of_dots(
            [Term(i, j, [0.0, x[i], x[i + 1]], [x[0], x[6 + j], x[12 + j]]) for i in range(N) for j in range(N)]
        )

    program = trace(task(evaluate))
    (table,) = [op for op, _ in program.instructions if isinstance(op, DotTable)]
    assert len(table.jobs) == N
    assert (table.inner, table.right_width) == (2, N)


OVER_PAIRS = [
    "coriolis_matrix", "coriolis_terms", "equations_of_motion", "forward_dynamics_derivatives", "gravity_torque_derivatives",
    "inverse_dynamics_derivatives", "inverse_dynamics_second_derivatives", "linearize", "mass_matrix", "mass_matrix_rate",
    "reduced_dynamics", "shape_inertia", "task_space_dynamics", "transformed_coriolis",
]  # fmt: skip
"""Functions with matrices over pairs of joints."""


def tables(program: Program) -> int:
    return sum(isinstance(op, DotTable) for op, _ in program.instructions)


@pytest.mark.parametrize("name", OVER_PAIRS)
def test_functions_take_tables(name: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """The matrices of a large robot become tables, with the same values."""
    builder = random_tree(7, joints=5, types=("revolute", "prismatic", "spherical"), mimic=0.0)
    robot = fc.load(builder, floating=True)
    options = {"frame": robot.link_names[-1]} if "frame" in FUNCTIONS[name].options else {}
    options |= {"base": (robot.link_names[-1], robot.base)} if "base" in FUNCTIONS[name].options else {}
    options |= {"representation": "mixed"} if "representation" in FUNCTIONS[name].options else {}
    made = robot_task(robot.model, name, **options)
    vectors = []
    for given in made.inputs:
        vectors.append(robot.random_configuration(rng) if given.quaternions else rng.normal(size=given.size))
    wanted, written_out = made.flat([list(x) for x in vectors]), trace(made)
    monkeypatch.setattr(dot_matrix, "MANY", 0)
    program = trace(made)
    assert tables(program) > tables(written_out)
    found = interpret(program, vectors)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * max(1.0, *map(abs, b)))


@pytest.mark.parametrize("case", first(1, SMALL_SETS))
def test_every_function_of_constraints_takes_tables(case: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    given, options = SMALL_SETS[case]
    c = robot(case.partition(",")[0]).constraints(*given, **options)
    for name, chosen in constraint_cases(c):
        made = constraint_tasks.task(c.robot.model, c.rows, name, **chosen)
        vectors = []
        for x in made.inputs:
            vectors.append(c.robot.random_configuration(rng) if x.quaternions else rng.uniform(0.6, 1.0, x.size))
        wanted = made.flat([list(x) for x in vectors])
        with monkeypatch.context() as patch:
            patch.setattr(dot_matrix, "MANY", 0)
            found = interpret(trace(made), vectors)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * max(1.0, *map(abs, b), 1.0))
