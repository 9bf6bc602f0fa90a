"""xarray arguments: names of axes, labels of joints and units go in and come out; Dask inside stays lazy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from fallingcat.functions import FUNCTIONS
from fallingcat.robot.constraint_tasks import FUNCTIONS as CONSTRAINED
from fallingcat.robot.labels import METHODS
from fallingcat.robot.units import units

da = extra("dask.array")
xr = extra("xarray")
pytestmark = pytest.mark.dask

ROBOT = fc.load("spacearm")
COUNT = 12
TIME = np.linspace(0.0, 1.0, COUNT)


@pytest.fixture
def arrays(rng: np.random.Generator) -> dict[str, Any]:
    q = np.stack([ROBOT.random_configuration(rng) for _ in range(COUNT)])
    return {"q": q} | {name: rng.normal(size=(COUNT, ROBOT.nv)) for name in ("nu", "dnu", "tau")}


def test_a_data_set(arrays: dict[str, Any]) -> None:
    data = ROBOT.xarray(**arrays, dims="time", coords={"time": TIME})
    assert data.q.dims == ("time", "coordinate")
    assert data.nu.dims == data.tau.dims == ("time", "dof")
    assert list(data.coordinate.values[:8]) == ["x", "y", "z", "qx", "qy", "qz", "qw", "joint1"]
    assert list(data.dof.values[5:7]) == ["wz", "joint1"]
    assert data.tau.attrs["units"] == "N, N m"
    assert data.attrs["robot"] == "spacearm"
    np.testing.assert_array_equal(data.time, TIME)
    grid = ROBOT.xarray(q=arrays["q"].reshape(3, 4, -1), nu=arrays["nu"][:4])
    assert grid.q.dims == ("batch_0", "batch_1", "coordinate")
    assert ROBOT.xarray(q=arrays["q"]).q.dims == ("sample", "coordinate")
    assert ROBOT.xarray(tau=arrays["tau"][:, 6:]).tau.dims == ("sample", "joint")


def test_results_are_labelled(arrays: dict[str, Any]) -> None:
    data = ROBOT.xarray(**arrays, dims="time", coords={"time": TIME})
    tau = ROBOT.inverse_dynamics(data.q, data.nu, data.dnu)
    assert tau.name == "tau"
    assert tau.dims == ("time", "dof")
    assert tau.attrs["units"] == "N, N m"
    np.testing.assert_array_equal(tau.values, ROBOT.inverse_dynamics(arrays["q"], arrays["nu"], arrays["dnu"]))
    np.testing.assert_array_equal(tau.time, TIME)
    assert float(tau.sel(dof="joint3", time=TIME[4])) == tau.values[4, 8]
    d = ROBOT.forward_dynamics_derivatives(data.q, data.nu, data.tau)
    assert type(d).__name__ == "ForwardDynamicsDerivatives"
    assert d.ddnu_dq.dims == ("time", "dof", "dof_j")
    assert list(d.ddnu_dq.dof_j.values) == list(data.dof.values)
    plain = ROBOT.forward_dynamics_derivatives(arrays["q"], arrays["nu"], arrays["tau"])
    np.testing.assert_array_equal(d.Minv, plain.Minv)
    assert ROBOT.frame_poses(data.q, ["hand", "base"]).dims == ("time", "frame", "row", "column")
    assert list(ROBOT.frame_poses(data.q, ["hand", "base"]).frame.values) == ["hand", "base"]
    assert ROBOT.center_of_mass(data.q).dims == ("time", "xyz")
    assert ROBOT.kinetic_energy(data.q, data.nu).attrs["units"] == "J"
    stepped = ROBOT.step(data.q, data.nu, data.tau, xr.DataArray(0.01 * np.ones(COUNT), dims="time"))
    assert stepped.q.dims == ("time", "coordinate")
    np.testing.assert_array_equal(stepped.nu, ROBOT.step(arrays["q"], arrays["nu"], arrays["tau"], 0.01).nu)
    assert ROBOT.discretize(data.q, data.nu, data.tau[..., 6:], 0.01).B.dims == ("time", "state", "input")
    assert ROBOT.mass_matrix(data.q[0]).dims == ("dof", "dof_j")
    assert ROBOT.christoffel_symbols(data.q).dims == ("time", "dof", "dof_j", "dof_k")


def test_lazy_when_backed_by_dask(arrays: dict[str, Any]) -> None:
    lazy = {name: da.from_array(value, chunks=(5, 3)) for name, value in arrays.items()}
    data = ROBOT.xarray(**lazy, dims="time", coords={"time": TIME})
    assert isinstance(data.q.data, da.Array)
    d = ROBOT.inverse_dynamics_derivatives(data.q, data.nu, arrays["dnu"])
    assert isinstance(d.M.data, da.Array)
    assert d.M.data.chunks == ((5, 5, 2), (13,), (13,))
    plain = ROBOT.inverse_dynamics_derivatives(*(arrays[name] for name in ("q", "nu", "dnu")))
    np.testing.assert_array_equal(d.M.compute(scheduler="synchronous"), plain.M)


def test_axes_meet_by_their_names(arrays: dict[str, Any]) -> None:
    data = ROBOT.xarray(**arrays, dims="time")
    turned = ROBOT.bias(data.q.transpose("coordinate", "time"), data.nu)
    np.testing.assert_array_equal(turned.transpose("time", "dof"), ROBOT.bias(arrays["q"], arrays["nu"]))
    crossed = ROBOT.bias(data.q[:4], data.nu[:3].rename(time="trial"))
    assert crossed.dims == ("time", "trial", "dof")
    np.testing.assert_array_equal(crossed, ROBOT.bias(arrays["q"][:4, None], arrays["nu"][:3]))


def test_entries_meet_by_their_labels(arrays: dict[str, Any]) -> None:
    data = ROBOT.xarray(**arrays, dims="time")
    shuffled = data.nu.isel(dof=np.random.default_rng(1).permutation(ROBOT.nv))
    np.testing.assert_array_equal(ROBOT.bias(data.q, shuffled), ROBOT.bias(arrays["q"], arrays["nu"]))
    wrong = data.nu.assign_coords(dof=[f"leg{k}" for k in range(ROBOT.nv)])
    with pytest.raises(fc.InputError, match="not this robot's"):
        ROBOT.bias(data.q, wrong)
    plain = xr.DataArray(arrays["nu"], dims=("time", "anything"))  # no labels: the last axis, as everywhere
    np.testing.assert_array_equal(ROBOT.bias(data.q, plain), ROBOT.bias(arrays["q"], arrays["nu"]))


def test_wrenches_and_own_functions(arrays: dict[str, Any]) -> None:
    data = ROBOT.xarray(**arrays, dims="time", coords={"time": TIME})
    w = np.random.default_rng(3).normal(size=(COUNT, 6))
    pushed = ROBOT.inverse_dynamics(data.q, data.nu, data.dnu, {"hand": xr.DataArray(w, dims=("time", "spatial"))})
    plain = ROBOT.inverse_dynamics(arrays["q"], arrays["nu"], arrays["dnu"], {"hand": w})
    np.testing.assert_array_equal(pushed, plain)
    with pytest.raises(fc.InputError, match="xarray object"):
        fc.Wrenches("hand", xr.DataArray(w, dims=("time", "spatial")))
    height = fc.compile(lambda r, q: r.center_of_mass(q)[2], ROBOT)
    assert height(data.q).dims == ("time",)
    np.testing.assert_array_equal(height(data.q), height(arrays["q"]))


def test_what_does_not_fit(arrays: dict[str, Any]) -> None:
    data = ROBOT.xarray(**arrays, dims="time", coords={"time": TIME})
    with pytest.raises(fc.InputError, match="not an array"):
        ROBOT.bias(data, data.nu)
    with pytest.raises(fc.InputError, match="no variable 'p'"):
        ROBOT.xarray(p=arrays["q"])
    with pytest.raises(fc.InputError, match="wrong shape"):
        ROBOT.xarray(q=arrays["nu"])
    with pytest.raises(fc.InputError, match="more batch axes"):
        ROBOT.xarray(q=arrays["q"].reshape(3, 4, -1), dims="time")
    with pytest.raises(fc.InputError, match="wrong shape"):
        ROBOT.bias(xr.DataArray(arrays["nu"], dims=("time", "x")), data.nu)
    with pytest.raises(fc.InputError, match="q and nu have different coordinates along 'time'"):
        ROBOT.bias(data.q, data.nu.assign_coords(time=TIME + 1))
    with pytest.raises(fc.InputError, match="q and nu differ along 'time'"):
        ROBOT.bias(data.q, data.nu[:-1])
    with pytest.raises(fc.InputError, match="q and nu differ along 'time'"):
        ROBOT.bias(data.q.drop_vars("time"), data.nu.drop_vars("time")[:-1])


@pytest.mark.parametrize("table", [FUNCTIONS, CONSTRAINED, METHODS], ids=["functions", "constraints", "methods"])
def test_every_result_has_units(table: Any) -> None:
    for method, function in table.items():
        for name, _ in getattr(function, "outputs", function):
            assert units(name, method), (method, name)
    assert units("dtau_dnu") == {"units": "N, N m per m/s, rad/s"}
    assert units("dh_rate_ddnu") == {"units": "N, N m per m/s2, rad/s2"}
    assert units("h", "centroidal_momentum") != units("h", "bias")
    assert units("x") == units("dx_dy") == {}


@pytest.mark.parametrize("lazy", [False, True])
def test_rollouts_are_labelled(arrays: dict[str, Any], lazy: bool) -> None:
    """Times are coordinates; controls by the names of their axes, in any order of these."""
    controls = np.random.default_rng(3).normal(size=(COUNT, 5, ROBOT.n))
    data = ROBOT.xarray(q=arrays["q"], nu=arrays["nu"], dims="robot")
    u = xr.DataArray(controls, dims=("robot", "time", "joint"), coords={"joint": list(ROBOT.joint_names)})
    turned = u.isel(joint=slice(None, None, -1)).transpose("time", "joint", "robot")
    if lazy:
        data, turned = data.chunk(robot=5), turned.chunk(robot=5)
    now = ROBOT.rollout(arrays["q"], arrays["nu"], controls, 0.01, "rk4", every=2)
    later = ROBOT.rollout(data.q, data.nu, turned, 0.01, "rk4", every=2)
    assert (later.q.chunks is not None) == lazy
    assert later.q.dims == ("robot", "time", "coordinate")
    assert later.dnu.dims == ("robot", "time", "dof")
    assert later.q.attrs["function"] == "rollout"
    assert later.t.attrs["units"] == "s"
    np.testing.assert_array_equal(later.t.values, now.t)
    np.testing.assert_array_equal(later.nu.time.values, now.t)
    for name in ("q", "nu", "dnu"):
        np.testing.assert_array_equal(getattr(later, name).values, getattr(now, name))
    fed = ROBOT.rollout(data.q, data.nu, lambda q, nu, t: -nu[..., 6:], 0.01, steps=3)
    np.testing.assert_array_equal(
        fed.q.values, ROBOT.rollout(arrays["q"], arrays["nu"], lambda q, nu, t: -nu[..., 6:], 0.01, steps=3).q
    )
