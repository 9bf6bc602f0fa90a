"""Rollouts with Dask arguments: lazy, blockwise over robots, and NumPy's bits."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from extras import extra

dask = extra("dask")
da = extra("dask.array")
pytestmark = pytest.mark.dask

ROBOT = fc.load("cat")
COUNT = 23


@pytest.fixture(autouse=True)
def _in_this_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def states(rng: np.random.Generator) -> tuple[Any, Any]:
    return ROBOT.integrate(ROBOT.neutral(), rng.normal(size=(COUNT, ROBOT.nv))), 0.1 * rng.normal(size=(COUNT, ROBOT.nv))


def brake(q: Any, nu: Any, t: float) -> Any:
    """Of the joints, with the time in it."""
    return -1e-4 * nu[..., 6:] + 1e-3 * t


def same(later: Any, now: fc.Trajectory) -> None:
    assert np.array_equal(later.t, now.t)
    for name in ("q", "nu", "dnu"):
        array, wanted = getattr(later, name), getattr(now, name)
        assert isinstance(array, da.Array)
        assert array.shape == wanted.shape
        assert array.chunks[0] == (10, 10, 3)
        assert np.array_equal(array.compute(), wanted)


def test_controls(rng: np.random.Generator) -> None:
    """Any of the arguments may be lazy, in blocks of robots; blocks along the steps are put together."""
    q, nu = states(rng)
    controls = 1e-3 * rng.normal(size=(COUNT, 6, ROBOT.n))
    push = {ROBOT.base: rng.normal(size=(COUNT, 6))}
    now = ROBOT.rollout(q, nu, controls, 1e-3, "rk4", every=2, wrenches=push)
    Q, V = (da.from_array(x, chunks=(10, -1)) for x in (q, nu))
    U = da.from_array(controls, chunks=(10, 4, 3))
    same(ROBOT.rollout(Q, V, U, 1e-3, "rk4", every=2, wrenches=push), now)
    same(ROBOT.rollout(Q, nu, controls, 1e-3, "rk4", every=2, wrenches=push), now)
    lazy_push = {frame: da.from_array(w, chunks=(10, -1)) for frame, w in push.items()}
    same(ROBOT.rollout(q, nu, U, 1e-3, "rk4", every=2, wrenches=lazy_push), now)


def test_feedback(rng: np.random.Generator) -> None:
    """Python functions and compiled ones travel with the robot."""
    q, nu = states(rng)
    Q = da.from_array(q, chunks=(10, -1))
    same(ROBOT.rollout(Q, nu, brake, 1e-3, steps=4), ROBOT.rollout(q, nu, brake, 1e-3, steps=4))
    compiled = fc.compile(lambda r, nu: -1e-4 * nu[6:], ROBOT)
    later = ROBOT.rollout(Q, nu, compiled, 1e-3, steps=4)
    same(later, ROBOT.rollout(q, nu, compiled, 1e-3, steps=4))
    sent = pickle.loads(pickle.dumps(ROBOT.rollout(Q, nu, brake, 1e-3, steps=4).q))
    assert np.array_equal(sent.compute(), ROBOT.rollout(q, nu, brake, 1e-3, steps=4).q)


def test_other_feedback_other_name(rng: np.random.Generator) -> None:
    """A graph is known by what it computes."""
    q, nu = states(rng)
    Q = da.from_array(q, chunks=(10, -1))
    names = [ROBOT.rollout(Q, nu, lambda q, nu, t, k=k: k * nu[..., 6:], 1e-3, steps=2).q.name for k in (1e-4, 2e-4)]
    assert len(set(names)) == 2
    assert ROBOT.rollout(Q, nu, brake, 1e-3, steps=2).q.name == ROBOT.rollout(Q, nu, brake, 1e-3, steps=2).q.name
    assert ROBOT.rollout(Q, nu, brake, 1e-3, steps=2).q.name != ROBOT.rollout(Q, nu, brake, 1e-3, steps=4).q.name


def test_bad_arguments_are_refused_before_anything_is_computed(rng: np.random.Generator) -> None:
    q, nu = states(rng)
    Q = da.from_array(q, chunks=(10, -1))
    with pytest.raises(fc.InputError, match="torques have the wrong shape"):
        ROBOT.rollout(Q, nu, np.zeros((COUNT, 5, 3)), 1e-3)
    with pytest.raises(fc.InputError, match="does not say how many steps"):
        ROBOT.rollout(Q, nu, brake, 1e-3)
    with pytest.raises(fc.InputError, match="dt"):
        ROBOT.rollout(Q, nu, brake, da.ones(COUNT), steps=3)
    with pytest.raises(fc.InputError, match="torques have the wrong shape"):
        ROBOT.rollout(Q, nu, lambda q, nu, t: nu[..., :3], 1e-3, steps=3)
    with pytest.raises(fc.InputError, match="controls"):
        ROBOT.rollout(q, nu, dask.delayed(np.zeros)((COUNT, 5, ROBOT.n)), 1e-3)
