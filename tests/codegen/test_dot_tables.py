"""Listed dot products in machine code: the same bits in one call, in batches and for any vector width, and no surprises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import scalar
from fallingcat.apps.papers.paper001_numbers import SERIAL
from fallingcat.arrays import eager
from fallingcat.codegen import Kernel
from fallingcat.functions import task
from fallingcat.scalar import Dots
from fallingcat.task import Input, Output, Task
from fallingcat.trace import interpret, trace
from fallingcat.trace.dots import DotTable
from trees import Array, random_tree, relative_error

WIDTH = 11
"""Columns of B."""
TENSORS = ("christoffel_symbols", "mass_matrix_derivatives")


def jobs_of(rng: np.random.Generator, slab: int, slabs: int, meet: bool) -> list[Dots]:
    """Jobs of every length, with and without a step, that stay within their slabs and, unless told otherwise, apart."""
    jobs = []
    for s in rng.permutation(slabs):
        place, end = int(s) * slab, int(s + 1) * slab
        while place < end:
            columns, step = int(rng.integers(1, WIDTH + 1)), int(rng.choice([1, 1, 1, 2, 3]))
            if place + (columns - 1) * step >= end:
                break
            jobs.append(Dots(int(rng.integers(20)), int(rng.integers(WIDTH + 1 - columns)), columns, place, step))
            place += int(rng.integers(1, 4)) if meet else (columns - 1) * step + 1 + int(rng.integers(3))
    return jobs


def made_of(seed: int, inner: int, slab: int, slabs: int, meet: bool, use: str) -> Task:
    """use: is the block the output itself, or are its entries used, or is it the left side of another one?"""
    rng = np.random.default_rng(seed)
    jobs = jobs_of(rng, slab, slabs, meet)
    zeros = {int(k) for k in rng.choice(WIDTH, size=2, replace=False)} if seed % 2 else set()
    jobs = [job._replace(terms=int(rng.integers(inner + 1))) for job in jobs]  # 0 means all
    size = slab * slabs

    def evaluate(a: Any, b: Any) -> Any:
        B = [[0.0 if k in zeros else b[m * WIDTH + k] for k in range(WIDTH)] for m in range(inner)]
        block = scalar.dots(list(a), B, jobs, size, slab, meet)
        if use == "entries":
            return [2.0 * x + a[0] for x in block]
        if use == "again":
            return scalar.dots(block, B, [Dots(k, 0, WIDTH, k * WIDTH, 1) for k in range(size - inner)], size * WIDTH, WIDTH)
        return block

    inputs = Input("a", 20 + inner), Input("b", inner * WIDTH)
    return Task("dots", inputs, (Output("c", (size * WIDTH if use == "again" else size,)),), evaluate)


CASES = [
    (1, 3, 40, 3, False, "whole"),
    (2, 3, 121, 2, False, "whole"),
    (3, 6, 7, 5, False, "whole"),  # slabs shorter than a vector of eight
    (4, 3, 1, 9, False, "whole"),
    (5, 6, 60, 2, True, "whole"),
    (6, 1, 33, 1, True, "whole"),
    (7, 3, 30, 2, False, "entries"),
    (8, 3, 30, 2, True, "entries"),
    (9, 6, 24, 2, False, "again"),
]


def flat(kernel: Kernel, values: tuple[Array, ...]) -> Array:
    return np.array([kernel.entry(*row) for row in zip(*values, strict=True)])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_bits(case: Any, with_lanes: Callable[[int], None], rng: np.random.Generator) -> None:
    """Interpreted, one call, and batches of 1 to 9 states, on vectors of 2, 4 and 8."""
    made = made_of(*case)
    values = tuple(rng.normal(size=(9, i.size)) for i in made.inputs)
    program = trace(made)
    judge = np.array([interpret(program, row)[0] for row in zip(*values, strict=True)])
    np.testing.assert_allclose(judge, eager.run(made, values), rtol=1e-12, atol=1e-12)
    for width in (2, 4, 8):
        with_lanes(width)
        kernel = Kernel(made)
        assert flat(kernel, values).tobytes() == judge.tobytes()
        for count in (1, 2, 3, 5, 8, 9):
            assert kernel(*(v[:count] for v in values)).tobytes() == judge[:count].tobytes(), (width, count)


def test_an_output_that_is_reused_is_overwritten(rng: np.random.Generator) -> None:
    """Places that no job writes are zeroed at every call, and nothing outside is touched."""
    made = made_of(*CASES[0])
    kernel = Kernel(made)
    values = tuple(rng.normal(size=(6, i.size)) for i in made.inputs)
    judge = kernel(*values)
    space = np.full((8, made.outputs[0].size), np.nan)
    kernel(*values, out=space[1:7])
    assert space[1:7].tobytes() == judge.tobytes()
    assert np.isnan(space[[0, 7]]).all()
    assert np.count_nonzero(judge == 0.0) > 0


# ---------------------------------------------------------------------------------------------------------------------
# The tensors of robots


def tree(seed: int, **options: Any) -> fc.Robot:
    return fc.load(random_tree(seed, joints=5, **options), floating=bool(seed % 2))


ROBOTS = {
    "every joint": lambda: tree(11),
    "mimics": lambda: tree(4, types=("revolute", "prismatic", "helical"), mimic=0.6),
    "universal": lambda: tree(7, types=("universal", "revolute")),
    "sliders": lambda: tree(8, types=("prismatic",), mimic=0.0),
    "chain": lambda: SERIAL.robot(9),
}


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("which", ROBOTS)
def test_tensors_of_robots(which: str, name: str, rng: np.random.Generator) -> None:
    """Compiled against eager; one call against batches, bit by bit."""
    robot = ROBOTS[which]()
    kernel = robot.kernel(name)
    q = np.array([robot.random_configuration(rng) for _ in range(7)])
    batch = kernel(q)
    assert relative_error(batch, eager.run(kernel.task, (q,))) < 1e-12
    assert flat(kernel, (q,)).tobytes() == batch.tobytes()
    for count in (1, 3, 6):
        assert kernel(q[:count]).tobytes() == batch[:count].tobytes()


def test_the_robots_cover_the_table(rng: np.random.Generator) -> None:
    """Mimics and universal joints add up, sliders have columns of zeros."""
    assert ROBOTS["mimics"]().model.mimics
    adds = {}
    for which, make in ROBOTS.items():
        program = trace(task(make().model, TENSORS[0]))
        adds[which] = [op.add for op, _ in program.instructions if isinstance(op, DotTable)]
    assert adds["mimics"][-1] is False  # the sums are copied to the output
    assert any(adds["mimics"])
    assert any(adds["universal"])
    assert not any(adds["chain"])
    sliders = ROBOTS["sliders"]()
    G = sliders.christoffel_symbols(sliders.random_configuration(rng))
    n = sliders.nv - sliders.n
    assert np.all(G[..., n:][:, n:] == 0.0)


@pytest.mark.parametrize("name", TENSORS)
def test_what_is_no_number_goes_in_and_none_comes_out(name: str, rng: np.random.Generator) -> None:
    robot = ROBOTS["every joint"]()
    q = np.array([robot.random_configuration(rng) for _ in range(5)])
    kernel = robot.kernel(name)
    good = kernel(q)
    for k in range(robot.nq):
        bad = q.copy()
        bad[2, k] = np.nan
        batch = kernel(bad)
        assert not np.isfinite(batch[2]).all(), k
        assert not np.isfinite(kernel.entry(bad[2])).all(), k
        assert batch[[0, 1, 3, 4]].tobytes() == good[[0, 1, 3, 4]].tobytes()


def test_a_robot_that_cannot_move() -> None:
    robot = fc.load("spacearm", floating=False, joints=[])
    for name in TENSORS:
        assert getattr(robot, name)(np.zeros(0)).shape == (0, 0, 0)
        assert getattr(robot, name)(np.zeros((4, 0))).shape == (4, 0, 0, 0)


# ---------------------------------------------------------------------------------------------------------------------
# A user's own functions


def test_own_functions_of_the_symbols(rng: np.random.Generator) -> None:
    """Entries, slices, products and the whole tensor, as for any array."""
    robot = fc.load("spacearm", joints=["joint2", "joint4"])
    q = np.array([robot.random_configuration(rng) for _ in range(5)])
    nu = rng.normal(size=(5, robot.nv))
    G, C = robot.christoffel_symbols(q), robot.coriolis_matrix(q, nu)
    i, j, k = (int(x) for x in np.unravel_index(np.abs(G).min(axis=0).argmax(), G.shape[1:]))
    assert np.abs(G[:, i, j, k]).min() > 0.0
    functions: dict[str, tuple[Callable[..., Any], Array]] = {
        "entry": (lambda r, q: r.christoffel_symbols(q)[i, j, k], G[:, i, j, k]),
        "nested": (lambda r, q: r.christoffel_symbols(q)[i][j][k] + 0.0, G[:, i, j, k]),
        "slice": (lambda r, q: 2.0 * r.christoffel_symbols(q)[6:, j], 2.0 * G[:, 6:, j]),
        "whole": (lambda r, q: r.christoffel_symbols(q), G),
        "matrix": (lambda r, q, nu: r.christoffel_symbols(q) @ nu, C),
    }
    for name, (function, value) in functions.items():
        f = fc.compile(function, robot)
        arguments = (q, nu) if name == "matrix" else (q,)
        assert relative_error(f(*arguments), value) < 1e-12, name
        assert relative_error(f(*(a[0] for a in arguments)), value[0]) < 1e-12, name


def test_functions_that_differ_in_a_table_do_not_share_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache knows a user's function by its program's text."""
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    robot = fc.load("spacearm", joints=["joint2"])
    q = robot.random_configuration(0)

    def reading(place: int) -> Callable[..., Any]:
        return lambda r, q: list(scalar.dots(list(q[:3]), [[1.0, 2.0]] * 1, [Dots(0, 0, 2, place, 1)], 4))

    for place in (0, 1, 2):
        found = fc.compile(reading(place), robot)(q)
        wanted = np.zeros(4)
        wanted[place : place + 2] = q[0] * np.array([1.0, 2.0])
        np.testing.assert_array_equal(found, wanted)


def test_code_grows_with_the_robot_not_with_its_cube() -> None:
    """Lines of LLVM text, where a table is one line."""
    lines = [len(Kernel(task(SERIAL.robot(n).model, TENSORS[0]))._single_module()[1].splitlines()) for n in (10, 20, 40)]
    assert lines[1] / lines[0] < 2.3
    assert lines[2] / lines[1] < 2.3
