"""Arrays of every kind as arguments and as `out=`: a call reads them all, and does not write where it must not."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from shared import PAIR, Pair, refused

import fallingcat as fc
from fallingcat.codegen import Kernel
from trees import Array

# ---------------------------------------------------------------------------------------------------------------------
# Arguments in memory of other kinds


def strided(v: Array) -> Array:
    wide = np.full((*v.shape[:-1], 2 * v.shape[-1]), np.nan)
    wide[..., ::2] = v
    return wide[..., ::2]


def misaligned(v: Array) -> Array:
    raw = np.empty(v.nbytes + 1, dtype=np.uint8)[1:]
    result = raw.view(np.float64).reshape(v.shape)
    result[...] = v
    assert not result.flags.aligned
    return result


def readonly(v: Array) -> Array:
    v = v.copy()
    v.flags.writeable = False
    return v


KINDS: dict[str, Callable[[Array], Any]] = {
    "strided": strided,
    "Fortran": np.asfortranarray,
    "negative stride of entries": lambda v: v[..., ::-1].copy()[..., ::-1],
    "negative stride of rows": lambda v: v[::-1].copy()[::-1],
    "a transposed batch": lambda v: np.ascontiguousarray(np.moveaxis(v, -1, 0)).swapaxes(0, -1) if v.ndim == 2 else v,
    "misaligned": misaligned,
    "read-only": readonly,
    "memmap-like subclass": lambda v: v.view(np.recarray) if v.ndim == 1 else v.view(np.matrix),
    "dtype with metadata": lambda v: v.astype(np.dtype(np.float64, metadata={"unit": "rad"})),
    "__array__": lambda v: Holder(v),
}


class Holder:
    def __init__(self, v: Array) -> None:
        self.v = v

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.v


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_memory(ball: fc.Robot, batch: Any, kind: str) -> None:
    expected = ball.inverse_dynamics(*batch)
    for k in range(3):  # one argument of this kind, then all of them
        values = [KINDS[kind](v) if j == k else v for j, v in enumerate(batch)]
        assert ball.inverse_dynamics(*values).tobytes() == expected.tobytes()
        single = [KINDS[kind](v[0]) if j == k else v[0] for j, v in enumerate(batch)]
        assert ball.inverse_dynamics(*single).tobytes() == expected[0].tobytes()
    assert ball.inverse_dynamics(*map(KINDS[kind], batch)).tobytes() == expected.tobytes()


def test_memory_mapped_files(ball: fc.Robot, batch: Any, tmp_path: Path) -> None:
    mapped = []
    for k, v in enumerate(batch):
        np.save(tmp_path / f"{k}.npy", v)
        mapped.append(np.load(tmp_path / f"{k}.npy", mmap_mode="r"))
    expected = ball.inverse_dynamics(*batch)
    assert ball.inverse_dynamics(*mapped).tobytes() == expected.tobytes()
    assert ball.inverse_dynamics(*(m[2] for m in mapped)).tobytes() == expected[2].tobytes()


@pytest.mark.parametrize("stride", [2, 3, -1])
def test_one_entry_with_any_stride(pendulum: fc.Robot, stride: int) -> None:
    """An array of one entry is contiguous whatever its stride."""
    q = np.linspace(0.1, 0.9, 7)[3::stride][:1]
    expected = pendulum.gravity_torque(np.array([q[0]]))
    for _ in range(3):
        assert pendulum.gravity_torque(q).tobytes() == expected.tobytes()
    assert expected[0] == pytest.approx(2.0 * 9.81 * 0.5 * math.sin(q[0]))


def test_inputs_are_not_changed(ball: fc.Robot, batch: Any) -> None:
    """Quaternions are normalised inside, not in the caller's array."""
    q, nu, dnu = batch
    q[:, 3:7] *= 1.003
    before = [v.copy() for v in batch]
    ball.inverse_dynamics(q, nu, dnu)
    ball.inverse_dynamics(q[0], nu[0], dnu[0])
    ball.integrate(q, nu)
    assert all((a == b).all() for a, b in zip(before, batch, strict=True))


# ---------------------------------------------------------------------------------------------------------------------
# out=


def test_out_is_filled_and_returned(ball: fc.Robot, batch: Any) -> None:
    expected = ball.mass_matrix(batch[0])
    for out in (
        np.full(expected.shape, np.nan),
        np.full(expected.shape, np.nan, order="F"),
        np.full((6, 11, 22), np.nan)[..., ::2],
        np.full((12, 11, 11), np.nan)[::-2],
        misaligned(expected * np.nan),
    ):
        assert ball.mass_matrix(batch[0], out=out) is out
        assert out.tobytes() == expected.tobytes()


def test_out_of_a_view_leaves_the_rest_alone(ball: fc.Robot, batch: Any) -> None:
    whole = np.full((8, ball.nv), 7.0)
    ball.inverse_dynamics(*batch, out=whole[1:7])
    assert (whole[[0, 7]] == 7.0).all()
    assert whole[1:7].tobytes() == ball.inverse_dynamics(*batch).tobytes()


@pytest.mark.parametrize("argument", [1, 2])
def test_out_may_be_an_argument(ball: fc.Robot, batch: Any, argument: int) -> None:
    expected = ball.inverse_dynamics(*batch)
    values = [v.copy() for v in batch]
    ball.inverse_dynamics(*values, out=values[argument])
    assert values[argument].tobytes() == expected.tobytes()
    single = [v[3].copy() for v in batch]
    ball.inverse_dynamics(*single, out=single[argument])
    assert single[argument].tobytes() == expected[3].tobytes()


def test_out_may_overlap_an_argument(ball: fc.Robot, batch: Any) -> None:
    q, nu, _ = batch
    expected = ball.integrate(q, nu)
    shared = np.zeros((7, ball.nq))
    shared[:6] = q
    ball.integrate(shared[:6], nu, out=shared[1:])
    assert shared[1:].tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "bad",
    [np.empty((6, 11), dtype=np.float32), np.empty((6, 11), dtype=">f8"), np.empty((6, 11), dtype=complex), np.empty((5, 11)),
     np.empty(11), np.empty((1, 6, 11)), [0.0] * 11, "out", 1.0, np.empty((6, 11)).tolist(), ()],
    ids=lambda x: f"{type(x).__name__} {getattr(x, 'dtype', '')} {np.shape(x)}",
)  # fmt: skip
def test_out_that_does_not_fit_is_refused(ball: fc.Robot, batch: Any, bad: Any) -> None:
    refused(lambda: ball.inverse_dynamics(*batch, out=bad), "out", "expected: ", "got: ")


def test_read_only_out_is_refused(ball: fc.Robot, batch: Any) -> None:
    out = readonly(np.zeros((6, 11)))
    refused(lambda: ball.inverse_dynamics(*batch, out=out), "read-only")
    assert (out == 0.0).all()


def test_out_whose_entries_share_memory_is_refused(ball: fc.Robot, batch: Any) -> None:
    """One number cannot hold several results; views that only look like it are fine."""
    expected = ball.inverse_dynamics(*batch)
    rows, columns = expected.shape
    for strides in ((0, 0), (0, 8), (8, 0), (8, 8), (16, 8), (4, 8 * rows)):
        out = as_strided(np.empty(rows * columns), (rows, columns), strides)
        refused(lambda out=out: ball.inverse_dynamics(*batch, out=out), "share memory", "strides")
    assert rows < columns  # so that no sum of steps comes twice
    interleaved = as_strided(np.empty(rows * columns * 4), (rows, columns), (8 * columns, 8 * (columns + 1)))
    assert ball.inverse_dynamics(*batch, out=interleaved).tobytes() == expected.tobytes()
    one_row = as_strided(np.empty(columns), (1, columns), (0, 8))
    assert ball.inverse_dynamics(*(v[:1] for v in batch), out=one_row).tobytes() == expected[:1].tobytes()


# ---------------------------------------------------------------------------------------------------------------------
# Several results


def test_several_results_come_in_their_named_tuple() -> None:
    kernel = Kernel(PAIR)
    x, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    for result in (kernel(x, y), kernel.entry(x, y), kernel.entry(x.tolist(), y)):
        assert type(result) is Pair
        assert result.total.tolist() == [5.0, 7.0, 9.0]
        assert type(result.number) is float
        assert result.number == 4.0
        assert repr(result).startswith("Pair(total=array(")
    many = kernel(np.stack([x, x]), y)
    assert type(many) is Pair
    assert many.number.tolist() == [4.0, 4.0]
    outs = (np.empty(3), np.empty(()))
    assert kernel(x, y, out=outs).total is outs[0]
    assert outs[1] == 4.0
    refused(lambda: kernel(x, y, out=outs[0]), "a tuple of 2 arrays (total, number)")


def test_outputs_that_share_memory_are_refused() -> None:
    """Each result needs memory of its own; views that interleave without sharing a number are fine."""
    robot = fc.load("tree9")
    nv = robot.nv
    q, nu = robot.random_configuration(0), robot.random_velocity(1)
    for values in ((q, nu, nu), (np.stack([q] * 3), nu, nu)):
        shape = (3, nv, nv) if np.ndim(values[0]) == 2 else (nv, nv)
        same, other = np.empty(shape), np.empty(shape)
        with pytest.raises(fc.InputError, match="dtau_dq and dtau_dnu share memory"):
            robot.inverse_dynamics_derivatives(*values, out=(same, same, other))
    pair = np.empty((nv, nv, 2))
    expected = robot.inverse_dynamics_derivatives(np.stack([q] * 3), nu, nu)
    got = robot.inverse_dynamics_derivatives(q, nu, nu, out=(pair[..., 0], pair[..., 1], np.empty((nv, nv))))
    assert np.array_equal(got.dtau_dq, expected.dtau_dq[0])
    assert np.array_equal(got.dtau_dnu, expected.dtau_dnu[0])
