"""Dask arguments: every method stays lazy, says the right chunks, and computes NumPy's bits."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from extras import extra
from fallingcat.arrays import shared_objects
from fallingcat.functions import FUNCTIONS
from fallingcat.robot.labels import METHODS
from trees import random_tree

dask = extra("dask")
da = extra("dask.array")
extra("dask.blockwise")
pytestmark = pytest.mark.dask

COUNT, CHUNK = 23, 10
ROBOT = fc.load(random_tree(5, joints=3, types=("revolute", "prismatic", "spherical"), mimic=0.0))
FRAMES = ROBOT.frame_names
OPTIONS: dict[str, dict[str, Any]] = {
    "base_change": {"frame": FRAMES[-1]},
    "frame_poses": {"frames": FRAMES[:2]},
    "inverse_dynamics": {"representation": "mixed"},
    "coriolis_matrix": {"factorization": "body"},
    "step": {"method": "rk4"},
}


def states(robot: fc.Robot, count: int = COUNT) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    q = np.stack([robot.random_configuration(rng) for _ in range(count)])
    vectors = {name: rng.normal(size=(count, robot.nv)) for name in ("nu", "nu0", "nu1", "dnu", "tau", "dx", "w")}
    joints = {name: rng.normal(size=(count, robot.n)) for name in ("ddr", "r", "tau0")}
    H, s = robot.split(q)
    rest = {"z": rng.normal(size=(count, 2 * robot.nv)), "dt": rng.uniform(0.01, 0.1, count)}
    rest |= {name: rng.normal(size=(count, 6)) for name in ("mu", "a")}
    return {"q": q, "q0": q, "q1": q[::-1].copy(), "H": H, "s": s} | vectors | joints | rest


VALUES = states(ROBOT)


@pytest.fixture(autouse=True)
def _in_this_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def lazy(value: Any) -> Any:
    return da.from_array(value, chunks=(CHUNK, *value.shape[1:]))


def arguments(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and options for a method."""
    taken = inspect.signature(getattr(fc.Robot, name)).parameters
    options = dict(OPTIONS.get(name, {}))
    if "frame" in taken:
        options.setdefault("frame", FRAMES[-1])
    return {n: VALUES[n] for n in taken if n in VALUES}, options


def parts(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)


COMPOSED = {*METHODS, "actuation_matrix"} - {"rollout"}  # whose arguments have an axis of steps: test_lazy_rollout.py
METHOD_NAMES = [name for name in (*FUNCTIONS, *sorted(COMPOSED)) if hasattr(fc.Robot, name)]


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_every_method_is_lazy_and_gives_the_bits_of_numpy(name: str) -> None:
    arrays, options = arguments(name)
    plain = getattr(ROBOT, name)(**arrays, **options)
    later = getattr(ROBOT, name)(**{n: lazy(v) for n, v in arrays.items()}, **options)
    assert type(later) is type(plain) or isinstance(later, da.Array)
    for x, y in zip(parts(later), parts(plain), strict=True):
        assert isinstance(x, da.Array)
        assert x.shape == y.shape
        assert x.dtype == np.float64
        assert type(x._meta) is np.ndarray
        assert x.chunks == ((10, 10, 3), *((n,) for n in y.shape[1:]))
    for x, y in zip(dask.compute(*parts(later)), parts(plain), strict=True):
        np.testing.assert_array_equal(x, y)


def test_nothing_is_computed_while_the_graph_is_built() -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("computed")

    q = da.map_blocks(refuse, lazy(VALUES["q"]), dtype=float, meta=np.empty((0, 0)))
    fresh = fc.load(ROBOT.description)
    d = fresh.inverse_dynamics_derivatives(q, lazy(VALUES["nu"]), VALUES["dnu"])
    fresh.step(q, VALUES["nu"], VALUES["tau"], 0.1)
    assert d.M.shape == (COUNT, ROBOT.nv, ROBOT.nv)
    assert all(kernel._program is None and kernel._batch is None for kernel in fresh._kernels.values())


def test_the_graph_does_not_grow_with_the_number_of_blocks() -> None:
    """A million blocks: a few symbolic layers."""
    q = da.zeros((10**12, ROBOT.nq), chunks=(10**6, -1))
    M = ROBOT.inverse_dynamics_derivatives(q, 0.0 * q[:, : ROBOT.nv], np.zeros(ROBOT.nv)).M
    assert M.numblocks == (10**6, 1, 1)
    ours = [layer for name, layer in M.dask.layers.items() if name.startswith("inverse_dynamics_derivatives")]
    assert len(ours) == 2
    assert all(isinstance(layer, dask.blockwise.Blockwise) and not layer.is_materialized() for layer in ours)


def test_broadcasting_and_several_batch_axes() -> None:
    q, nu = VALUES["q"], VALUES["nu"]
    plain = ROBOT.bias(q[:, None], nu[:5])
    later = ROBOT.bias(da.from_array(q[:, None], chunks=(7, 1, 2)), da.from_array(nu[:5], chunks=(2, -1)))
    assert later.chunks == ((7, 7, 7, 2), (2, 2, 1), (ROBOT.nv,))
    np.testing.assert_array_equal(later.compute(), plain)
    np.testing.assert_array_equal(ROBOT.bias(lazy(q), nu).compute(), ROBOT.bias(q, nu))  # one of them is here
    np.testing.assert_array_equal(ROBOT.bias(q[0], lazy(nu)).compute(), ROBOT.bias(q[0], nu))
    one = ROBOT.kinetic_energy(lazy(q)[0], lazy(nu)[0])
    assert one.shape == ()
    assert one.compute() == ROBOT.kinetic_energy(q[0], nu[0])


def test_unequal_and_unknown_chunks() -> None:
    q, nu = VALUES["q"], VALUES["nu"]
    later = ROBOT.bias(da.from_array(q, chunks=(10, -1)), da.from_array(nu, chunks=(6, 3)))
    np.testing.assert_array_equal(later.compute(), ROBOT.bias(q, nu))
    mask = np.arange(COUNT) % 3 > 0
    unknown = ROBOT.bias(lazy(q)[da.from_array(mask, chunks=10)], lazy(nu)[da.from_array(mask, chunks=10)])
    assert np.isnan(unknown.shape[0])
    np.testing.assert_array_equal(unknown.compute(), ROBOT.bias(q[mask], nu[mask]))


def test_blocks_of_unknown_lengths_must_match() -> None:
    q, nu = VALUES["q"], VALUES["nu"]
    mask = np.arange(COUNT) % 3 > 0
    some = lazy(q)[da.from_array(mask, chunks=10)]
    with pytest.raises(fc.InputError, match="different blocks"):  # 3 blocks and 1
        ROBOT.bias(some, da.from_array(nu[mask], chunks=-1))
    with pytest.raises(fc.InputError, match="different blocks"):
        ROBOT.bias(some[None], da.from_array(nu[mask], chunks=-1))
    others = ROBOT.bias(some, lazy(nu)[da.from_array(~mask, chunks=10)])
    with pytest.raises(fc.InputError, match="do not match"):
        others.compute()
    single = np.arange(COUNT) % 10 == 0  # a state in each block: it is not spread over the states of the other blocks
    with pytest.raises(fc.InputError, match="do not match"):
        ROBOT.bias(some, lazy(nu)[da.from_array(single, chunks=10)]).compute()
    np.testing.assert_array_equal(ROBOT.bias(some, nu[3]).compute(), ROBOT.bias(q[mask], nu[3]))
    np.testing.assert_array_equal(ROBOT.bias(some, lazy(nu[3:4])).compute(), ROBOT.bias(q[mask], nu[3]))


def test_other_numbers_than_float64() -> None:
    q, nu = VALUES["q"].astype(np.float32), (10 * VALUES["nu"]).astype(int)
    np.testing.assert_array_equal(ROBOT.bias(lazy(q), lazy(nu)).compute(), ROBOT.bias(q, nu))


def test_wrenches() -> None:
    rng = np.random.default_rng(0)
    q, nu, dnu = (VALUES[n] for n in ("q", "nu", "dnu"))
    w, both = rng.normal(size=(COUNT, 6)), rng.normal(size=(COUNT, 2, 6))
    one, two = FRAMES[-1], FRAMES[:2]
    later = ROBOT.inverse_dynamics(q, nu, dnu, {one: lazy(w), two[0]: np.ones(6)})
    np.testing.assert_array_equal(later.compute(), ROBOT.inverse_dynamics(q, nu, dnu, {one: w, two[0]: np.ones(6)}))
    later = ROBOT.inverse_dynamics(lazy(q), nu, dnu, wrenches=fc.Wrenches(two, lazy(both), axes="mixed", point=(0.1, 0.2, 0.3)))
    plain = ROBOT.inverse_dynamics(q, nu, dnu, wrenches=fc.Wrenches(two, both, axes="mixed", point=(0.1, 0.2, 0.3)))
    np.testing.assert_array_equal(later.compute(), plain)
    stepped = ROBOT.step(lazy(q), nu, dnu, 0.1, wrenches={one: w})
    np.testing.assert_array_equal(stepped.nu.compute(), ROBOT.step(q, nu, dnu, 0.1, wrenches={one: w}).nu)


def test_inputs_of_a_robot() -> None:
    driven = ROBOT.with_actuation([ROBOT.joint_names[0], fc.thruster(FRAMES[-1], (0, 0, 1))])
    u = VALUES["tau"][:, :2].copy()
    q, nu = VALUES["q"], VALUES["nu"]
    later, plain = driven.linearize(lazy(q), lazy(nu), lazy(u)), driven.linearize(q, nu, u)
    assert later.B.shape == plain.B.shape == (COUNT, 2 * driven.nv, 2)
    np.testing.assert_array_equal(later.A.compute(), plain.A)


def effort(r: Any, q: Any, nu: Any, scale: Any) -> Any:
    return scale[0] * r.bias(q, nu)


def test_functions_of_fc_compile() -> None:
    f = fc.compile(effort, ROBOT, scale=1)
    scale = np.full((COUNT, 1), 3.0)
    later = f(lazy(VALUES["q"]), nu=lazy(VALUES["nu"]), scale=scale)
    assert later.chunks == ((10, 10, 3), (ROBOT.nv,))
    np.testing.assert_array_equal(later.compute(), f(VALUES["q"], VALUES["nu"], scale))
    with pytest.raises(fc.InputError, match="Dask"):
        f(lazy(VALUES["q"]), VALUES["nu"], scale, out=np.empty((COUNT, ROBOT.nv)))


# ---------------------------------------------------------------------------------------------------------------------
# Names of results, and what travels


def test_equal_calls_have_equal_names() -> None:
    q, nu = lazy(VALUES["q"]), lazy(VALUES["nu"])
    again = fc.load(ROBOT.description)
    assert ROBOT.bias(q, nu).name == ROBOT.bias(q, nu).name == again.bias(q, nu).name
    assert dask.base.tokenize(ROBOT) == dask.base.tokenize(again)
    other = fc.load(ROBOT.description, gravity=(0, 0, -1.62))
    names = {r.bias(q, nu, representation=x).name for r in (ROBOT, other, ROBOT.with_base(FRAMES[1])) for x in ("body", "mixed")}
    assert len(names) == 6


def test_a_robot_is_one_task_and_arrives_once() -> None:
    q = lazy(VALUES["q"])
    graph = dict(ROBOT.bias(q, lazy(VALUES["nu"])).__dask_graph__())
    (key,) = [k for k in graph if str(k).startswith("fallingcat-")]
    assert sum(len(pickle.dumps(v)) > 2000 and k != key for k, v in graph.items() if "bias" in str(k)) == 0
    first = pickle.loads(pickle.dumps(shared_objects.SharedObject("a token of this test", ROBOT, fc.__version__)))
    second = pickle.loads(pickle.dumps(shared_objects.SharedObject("a token of this test", ROBOT, fc.__version__)))
    assert first.value is second.value
    assert first.value is not ROBOT


def test_a_worker_of_another_version_refuses() -> None:
    arrived = pickle.loads(pickle.dumps(shared_objects.SharedObject("another token", ROBOT, "0.0.1")))
    with pytest.raises(fc.InputError, match="another version"):
        _ = arrived.value


# ---------------------------------------------------------------------------------------------------------------------
# What is wrong is said before anything runs


def test_errors_come_at_once() -> None:
    q, nu = lazy(VALUES["q"]), lazy(VALUES["nu"])
    with pytest.raises(fc.InputError, match="q has the wrong shape"):
        ROBOT.bias(q[:, :4], nu)
    with pytest.raises(fc.InputError, match="do not fit together"):
        ROBOT.bias(q[:7], nu)
    with pytest.raises(fc.InputError, match="real numbers"):
        ROBOT.bias(q.astype(complex), nu)
    with pytest.raises(fc.FrameError):
        ROBOT.frame_pose(q, "nowhere")
    with pytest.raises(fc.InputError, match="unknown representation"):
        ROBOT.bias(q, nu, representation="sideways")
    with pytest.raises(fc.InputError, match="out="):
        ROBOT.bias(q, nu, out=np.empty((COUNT, ROBOT.nv)))
    with pytest.raises(fc.InputError, match="list of arrays"):
        ROBOT.bias([q[0], q[1]], nu)
    with pytest.raises(fc.InputError, match="not an array"):
        ROBOT.bias(dask.delayed(VALUES["q"]), nu)
    with pytest.raises(fc.InputError, match="Dask array"):
        ROBOT.kernel("bias")(q, nu)
    with pytest.raises(fc.InputError):
        ROBOT.step(q, nu, nu, da.asarray("now"))


def test_a_bad_quaternion_is_found_in_its_block() -> None:
    q = VALUES["q"].copy()
    q[12, 3:7] = 5.0
    later = ROBOT.bias(lazy(q), lazy(VALUES["nu"]))
    later[:10].compute()
    with pytest.raises(fc.InputError, match="unit length"):
        later.compute()
