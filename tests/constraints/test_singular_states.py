"""Constraints where the mass matrix is singular: the same words as the robot's own functions."""

from __future__ import annotations

import numpy as np
import pytest

import fallingcat as fc

CALLS = {
    "forward_dynamics": 3, "forward_dynamics_derivatives": 3, "impulse": 2, "impulse_derivatives": 2, "operational_space": 1,
    "linearize": 3, "project": 2,
}  # fmt: skip


def on_a_stand(name: str, mimic: str | None = None) -> fc.Robot:
    """A point mass on a massless universal joint, beside a pendulum, which may mimic a joint of the other."""
    b = fc.Builder(name)
    for name, mass, com in (
        ("stand", 0.0, (0, 0, 0)),
        ("bob", 1.0, (0, 0, -1)),
        ("fork", 0.0, (0, 0, 0)),
        ("rod", 2.0, (0, 0, 0.5)),
    ):
        b.link(name, mass=mass, com=com)
    b.joint("swing", "revolute", "stand", "bob", axis=(0, 1, 0), mimic=mimic)
    b.joint("first", "revolute", "stand", "fork", axis=(0, 0, 1))
    b.joint("second", "revolute", "fork", "rod", axis=(0, 1, 0))
    return fc.load(b, floating=False)


@pytest.fixture(scope="module")
def gimbal() -> fc.Robot:
    """In line with the first axis nothing resists that axis."""
    return on_a_stand("gimbal")


@pytest.mark.parametrize("held", ["first", "second"])
@pytest.mark.parametrize("name", CALLS)
def test_one_state_raises_and_a_batch_warns(gimbal: fc.Robot, name: str, held: str) -> None:
    c = gimbal.constraints(fc.joint(held))
    q, x = np.array([0.2, 0.1, 0.0]), np.array([0.3, 0.2, 0.1])
    q[gimbal.joint_names.index(held)] = 0.0
    c = c.held_at(q)
    arguments = (q, x, x)[: CALLS[name]]
    with pytest.raises(fc.SingularError, match="no inertia resists 'first'"):
        getattr(c, name)(*arguments)
    if name in ("linearize", "project"):  # these look at numbers on their way
        return
    Q = np.stack([q, q + 0.3, q - 0.4])
    with pytest.warns(fc.SingularWarning, match=r"\[0\].*'first'") as caught:
        found = getattr(c, name)(Q, *arguments[1:])
    assert len(caught) == 1
    assert np.isnan(found[0][0].flat[0])
    assert np.isfinite(found[0][1:]).all()


def test_with_a_joint_that_follows() -> None:
    """There the mass matrix itself is factored."""
    robot = on_a_stand("follower", mimic="second")
    c = robot.constraints(fc.joint("second"))
    with pytest.raises(fc.SingularError, match="no inertia resists"):
        c.forward_dynamics([0.1, 0.0], [1.0, 1.0], [0.0, 0.0])
    assert np.isfinite(c.forward_dynamics([0.1, 0.4], [1.0, 1.0], [0.0, 0.0]).dnu).all()
