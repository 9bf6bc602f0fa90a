"""Results of large batches are written past the caches: the same numbers, whole, in every array that can be had."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import fallingcat as fc
from fallingcat.codegen import Kernel, batch, native
from fallingcat.codegen.lanes import Lanes
from fallingcat.codegen.schedule import schedule
from fallingcat.functions import task
from fallingcat.trace import trace
from trees import random_tree

Array = NDArray[np.float64]
NAMES = ("mass_matrix", "inverse_mass_matrix", "forward_dynamics_derivatives", "curvature")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every batch goes past the caches, however small; nothing comes from the cache of compiled code."""
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    monkeypatch.setattr(batch, "MANY_BYTES", 0)


def arguments(robot: fc.Robot, kernel: Kernel, count: int) -> list[Array]:
    rng = np.random.default_rng(count)
    q = np.array([robot.random_configuration(rng) for _ in range(count)])
    return [q if i.name == "q" else rng.normal(size=(count, i.size)) for i in kernel.task.inputs]


def shifted(shape: tuple[int, ...], offset: int) -> Array:
    """An array with that many bytes between its start and a multiple of 64; filled with something else."""
    size = 8 * int(np.prod(shape))
    memory = np.empty(size + 128, dtype=np.uint8)
    start = -memory.ctypes.data % 64 + offset
    result = memory[start : start + size].view(np.float64).reshape(shape)
    result.fill(7.0)
    return result


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bits(always: None, name: str) -> None:
    """Products that are written to the outputs at once, zeros, the last vector with fewer states; arrays wherever they begin."""
    robot = fc.load("quadruped")
    kernel = Kernel(task(robot.model, name))
    for count, offset in ((1, 0), (3, 16), (8, 32), (21, 48), (6, 8), (9, 56)):
        values = arguments(robot, kernel, count)
        outs = tuple(shifted((count, *o.shape), offset) for o in kernel.task.outputs)
        kernel(*values, out=outs if len(outs) > 1 else outs[0])
        for k, row in enumerate(zip(*values, strict=True)):
            alone = kernel.entry(*row)
            for out, expected in zip(outs, alone if kernel.task.results else (alone,), strict=True):
                assert np.array_equal(out[k], expected), (count, offset, k)


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("seed", range(2))
def test_any_number_of_degrees_of_freedom(always: None, with_lanes: Callable[[int], None], seed: int, width: int) -> None:
    """Rows of odd length begin anywhere in a line of the caches."""
    with_lanes(width)
    robot = fc.load(random_tree(seed, joints=4 + seed % 2))
    for name in ("mass_matrix", "inverse_dynamics_derivatives"):
        kernel = Kernel(task(robot.model, name))
        values = arguments(robot, kernel, 6)
        found = kernel(*values)
        for k, row in enumerate(zip(*values, strict=True)):
            alone = kernel.entry(*row)
            pairs = zip(found, alone, strict=True) if kernel.task.results else [(found, alone)]
            assert all(np.array_equal(a[k], b) for a, b in pairs)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 17])
def test_neighbours_are_left_alone(always: None, count: int) -> None:
    """What lies before and after the results, in the same lines of the caches, stays as it was."""
    robot = fc.load("quadruped")
    kernel = Kernel(task(robot.model, "mass_matrix"))
    (q,) = arguments(robot, kernel, count) if count else [np.empty((0, robot.nq))]
    for offset in range(0, 64, 8):
        around = shifted((count + 2, robot.nv, robot.nv), offset)
        kernel(q, out=around[1:-1])
        assert np.all(around[[0, -1]] == 7.0)
        assert not np.any(around[1:-1] == 7.0)


def test_only_large_batches_of_matrices_go_there() -> None:
    robot = fc.load("quadruped")
    program = trace(task(robot.model, "mass_matrix"))
    text = batch.batch_text(program, schedule(program, keep_results=True), Lanes(4))
    assert str(batch.MANY_BYTES) in text
    assert "!nontemporal" in text
    for name in ("inverse_dynamics", "christoffel_symbols"):  # few results, and more than wait near the core
        program = trace(task(fc.load("humanoid").model, name))
        assert "!nontemporal" not in batch.batch_text(program, schedule(program, keep_results=True), Lanes(8)), name


def test_a_batch_of_many_megabytes() -> None:
    """Nothing but its size makes it go past the caches; every state is there, also with threads."""
    robot = fc.load("quadruped")
    count = batch.MANY_BYTES // (8 * robot.nv**2) + 3
    kernel = robot.kernel("mass_matrix")
    (q,) = arguments(robot, kernel, 64)
    q = np.concatenate([q] * (count // 64 + 1))[:count]
    M = robot.mass_matrix(q)
    assert M.nbytes >= batch.MANY_BYTES
    few = robot.mass_matrix(q[:64])
    for start in range(0, count, 64):
        assert np.array_equal(M[start : start + 64], few[: count - start])


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"index0": "48K", "index2": "1024K", "index3": "32768K"}, 32768 << 10),
        ({"index0": "48K", "index1": "?"}, 48 << 10),
        ({}, native.CACHE_BYTES),
        (None, native.CACHE_BYTES),
    ],
    ids=["three levels", "one that cannot be read", "nothing told", "another system"],
)
def test_how_large_the_largest_cache_is(
    files: dict[str, str] | None, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    for name, size in (files or {}).items():
        (folder / name).mkdir(parents=True)
        (folder / name / "size").write_text(f"{size}\n")
    if files == {}:
        folder.mkdir()
    monkeypatch.setattr(native, "CACHES", str(folder))
    assert native.largest_cache.__wrapped__() == expected
