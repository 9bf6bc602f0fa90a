"""Functions of constraints with Dask arguments: lazy, and NumPy's bits."""

from __future__ import annotations

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from trees import random_tree

da = extra("dask.array")
pytestmark = pytest.mark.dask


def test_constraints_stay_lazy() -> None:
    robot = fc.load(random_tree(5, joints=3, types=("revolute", "prismatic", "spherical"), mimic=0.0))
    tips = [body.name for body in robot.model.bodies[-2:]]
    c = robot.constraints(fc.point(tips[0]), fc.distance("world", tips[1]))
    rng = np.random.default_rng(0)
    q = np.stack([robot.random_configuration(rng) for _ in range(23)])
    nu, tau = rng.normal(size=(2, 23, robot.nv))
    active = rng.integers(0, 2, size=(23, 2)).astype(float)
    lazy = [da.from_array(x, chunks=(10, -1)) for x in (q, nu, tau, active)]
    later, now = c.forward_dynamics(*lazy), c.forward_dynamics(q, nu, tau, active)
    for a, b in zip(later, now, strict=True):
        assert a.chunks[0] == (10, 10, 3)
        assert np.array_equal(a.compute(), b)
    assert np.array_equal(c.violation(lazy[0]).compute(), c.violation(q))
    assert np.array_equal(c.impulse(lazy[0], nu, 0.3).nu.compute(), c.impulse(q, nu, 0.3).nu)
    assert c.token != c.held_at(q[0]).token


SIGNATURES = {
    "jacobian": "q", "jacobian_rate": "q nu", "drift": "q nu", "violation": "q", "residual": "q nu dnu",
    "forward_dynamics": "q nu tau active", "forward_dynamics_derivatives": "q nu tau active", "inverse_dynamics": "q nu dnu",
    "impulse": "q nu", "impulse_derivatives": "q nu", "operational_space": "q active", "project": "q nu",
}  # fmt: skip


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("name", SIGNATURES)
def test_labels(name: str, chunked: bool) -> None:
    """Every function: dims and coordinates of the states stay, rows have the names of their constraints, and NumPy's bits."""
    xr = extra("xarray")
    robot = fc.load("quadruped")
    foot, other = robot.frame_names[-1], robot.frame_names[-2]
    c = robot.constraints(fc.point(foot), fc.distance("world", other))
    rng = np.random.default_rng(1)
    arrays = {"q": robot.integrate(robot.neutral(), 0.1 * rng.normal(size=(7, robot.nv)))}
    arrays |= {n: 0.1 * rng.normal(size=(7, robot.nv)) for n in ("nu", "dnu", "tau")}
    data = robot.xarray(**arrays, dims="time", coords={"time": np.arange(7.0)})
    arrays["active"] = np.ones((7, 2))
    given = {n: data[n] for n in arrays if n != "active"}
    given["active"] = xr.DataArray(arrays["active"], dims=("time", "constraint"), coords={"time": np.arange(7.0)})
    if chunked:
        given = {n: x.chunk(time=3) for n, x in given.items()}
    inputs = SIGNATURES[name].split()
    named = "active" in inputs
    values = [n for n in inputs if n != "active"]
    later = getattr(c, name)(*(given[n] for n in values), **({"active": given["active"]} if named else {}))
    now = getattr(c, name)(*(arrays[n] for n in values), **({"active": arrays["active"]} if named else {}))
    several = isinstance(now, tuple)
    for x, y in zip(later if several else (later,), now if several else (now,), strict=True):
        assert isinstance(x, xr.DataArray)
        assert (x.chunks is not None) == chunked
        assert x.dims[0] == "time"
        assert np.array_equal(x.time, np.arange(7.0))
        assert np.array_equal(x.values, y)
        for dim, size in zip(x.dims[1:], y.shape[1:], strict=True):
            assert len(x.coords[dim]) == size
        assert x.attrs["function"] == name
    if name == "forward_dynamics":
        assert later.forces.dims == ("time", "constraint_row")
        assert str(later.forces.constraint_row.values[0]).endswith("[0]")
        assert later.forces.attrs["units"] == "N, N m"
        assert list(later.dnu.dof.values[:6]) == ["vx", "vy", "vz", "wx", "wy", "wz"]
    if name == "operational_space":
        assert later.inertia.dims == ("time", "constraint_row", "constraint_row_j")
        assert later.inverse.dims == ("time", "dof", "constraint_row")


def test_equal_constraints_have_labels_of_their_own() -> None:
    extra("xarray")
    robot = fc.load("spacearm")
    c = robot.constraints(fc.point("hand"), fc.point("hand"))
    rows = c.violation(robot.xarray(q=robot.neutral()).q).constraint_row.values
    assert len(set(rows)) == c.m


def test_where_sizes_depend_on_numbers_arrays_must_be_here() -> None:
    extra("xarray")
    robot = fc.load("spacearm")
    c = robot.constraints(fc.point("hand"))
    q = robot.xarray(q=robot.neutral()).q
    zero = np.zeros(robot.nv)
    for call in (lambda: c.rank(q), lambda: c.held_at(q), lambda: c.linearize(q, zero, zero)):
        with pytest.raises(fc.InputError, match="xarray object"):
            call()
