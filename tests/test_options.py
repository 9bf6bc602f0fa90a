"""Options and batch axes that do not fit: refused in words, and never with NumPy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import converters

NOT_WORDS: dict[str, Any] = {
    "an array of words": np.array(["body", "mixed"]),
    "an array of one word": np.array(["body"]),
    "a word as an array": np.array("body"),
    "numbers": np.zeros(3),
    "a list": ["mixed"],
    "a mapping": {"body": 1},
    "a number": 3,
    "bytes": b"mixed",
    "nothing": None,
    "another word": "bodily",
}


def pendulum() -> fc.Robot:
    b = fc.Builder("pendulum")
    b.link("trunk", mass=1.0, inertia=(0.1, 0, 0, 0.1, 0, 0.1))
    b.link("bob", mass=2.0, com=(0.0, 0.0, -0.5), inertia=(0.01, 0, 0, 0.01, 0, 0.01))
    b.joint("hinge", "revolute", "trunk", "bob", axis=(0, 1, 0))
    return fc.load(b)


ROBOT = pendulum()
Q, NU = ROBOT.neutral(), np.zeros(ROBOT.nv)
CALLS: dict[str, Callable[[Any], Any]] = {
    "representation of mass_matrix": lambda x: ROBOT.mass_matrix(Q, x),
    "representation of inverse_dynamics": lambda x: ROBOT.inverse_dynamics(Q, NU, NU, {"bob": NU[:6]}, x),
    "representation of frame_jacobian": lambda x: ROBOT.frame_jacobian(Q, "bob", x),
    "representation of coriolis_terms": lambda x: ROBOT.coriolis_terms(Q, NU, representation=x),
    "representation of mass_matrix_rate": lambda x: ROBOT.mass_matrix_rate(Q, NU, x),
    "representation of centroidal_momentum": lambda x: ROBOT.centroidal_momentum(Q, NU, x),
    "representation of frame_velocity_derivatives": lambda x: ROBOT.frame_velocity_derivatives(Q, NU, "bob", x),
    "representation of gravity_torque_derivatives": lambda x: ROBOT.gravity_torque_derivatives(Q, None, x),
    "representation of centroidal_momentum_derivatives": lambda x: ROBOT.centroidal_momentum_derivatives(Q, NU, x),
    "representation of second derivatives": lambda x: ROBOT.inverse_dynamics_second_derivatives(Q, NU, NU, x),
    "representation of geometric derivatives": lambda x: ROBOT.inverse_dynamics_geometric_derivatives(Q, NU, NU, None, x),
    "group of linearize": lambda x: ROBOT.linearize(Q, NU, NU, group=x),
    "group of state_plus": lambda x: ROBOT.state_plus(Q, NU, [0.0] * (2 * len(NU)), x),
    "group of state_minus": lambda x: ROBOT.state_minus(Q, NU, Q, NU, x),
    "representation of equations_of_motion": lambda x: ROBOT.equations_of_motion(Q, NU, representation=x),
    "representation of base_change": lambda x: ROBOT.base_change(Q, NU, "bob", x),
    "factorization": lambda x: ROBOT.coriolis_matrix(Q, NU, x),
    "velocity": lambda x: ROBOT.linearize(Q, NU, NU, None, x),
    "method of step": lambda x: ROBOT.step(Q, NU, NU, 0.1, x),
    "method of discretize": lambda x: ROBOT.discretize(Q, NU, NU, 0.1, x),
    "frame": lambda x: ROBOT.frame_pose(Q, x),
    "frame of derivatives": lambda x: ROBOT.frame_velocity_derivatives(Q, NU, x),
    "pair of frames": lambda x: ROBOT.base_change(Q, NU, ("bob", x)),
    "pair of frames, the first": lambda x: ROBOT.base_change(Q, NU, (x, "bob")),
    "floating": lambda x: fc.load(ROBOT.description, floating=x),
    "joint_dynamics": lambda x: fc.load(ROBOT.description, joint_dynamics=x),
    "floating of Robot": lambda x: fc.Robot(ROBOT.description, floating=x),
    "name of a kernel": lambda x: ROBOT.kernel(x),
    "wrenches of a kernel": lambda x: ROBOT.kernel("inverse_dynamics", wrenches=x),
    "representation of a kernel": lambda x: ROBOT.kernel("mass_matrix", representation=x),
    "factorization of a kernel": lambda x: ROBOT.kernel("coriolis_matrix", factorization=x),
    "velocity of a kernel": lambda x: ROBOT.kernel("linearize", representation=x),
    "frame of a kernel": lambda x: ROBOT.kernel("frame_pose", frame=x),
    "unknown option of a kernel": lambda x: ROBOT.kernel("bias", nonsense=x),
}
WITH_NONE: dict[str, Callable[[Any], Any]] = {
    "base": lambda x: ROBOT.equations_of_motion(Q, NU, x),
    "base of a kernel": lambda x: ROBOT.kernel("base_change", base=x, representation="mixed"),
    "base of load": lambda x: fc.load(ROBOT.description, base=x),
    "with_base": lambda x: ROBOT.with_base(x),
    "joints": lambda x: fc.load(ROBOT.description, joints=x),
    "lock": lambda x: fc.load(ROBOT.description, lock=x),
}
"""None means something there."""


@pytest.mark.parametrize("call", [*CALLS, *WITH_NONE])
def test_an_option_that_is_none_of_the_words(call: str) -> None:
    for name, value in NOT_WORDS.items():
        if name == "nothing" and call in WITH_NONE:
            continue
        with pytest.raises((fc.InputError, fc.FrameError)) as caught:
            (CALLS | WITH_NONE)[call](value)
        assert "ambiguous" not in str(caught.value), name
        assert "\n" not in str(caught.value)


def test_words_of_numpy_are_words() -> None:
    assert np.array_equal(ROBOT.mass_matrix(Q, np.str_("mixed")), ROBOT.mass_matrix(Q, "mixed"))
    assert np.array_equal(ROBOT.base_change(Q, NU, ["bob", "trunk"]).T, ROBOT.base_change(Q, NU, ("bob", "trunk")).T)  # type: ignore[arg-type]
    assert ROBOT.kernel("base_change", base=["bob", "trunk"], representation="mixed").operations > 0
    assert fc.load(ROBOT.description, floating=np.True_).floating is True  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------------------------
# Batch axes


def spread(a: Any, axes: int) -> Any:
    return np.broadcast_to(a, (1,) * axes + np.shape(a))


BATCHES: dict[str, Callable[[int], Any]] = {
    "one argument": lambda k: ROBOT.mass_matrix(spread(Q, k)),
    "one of two": lambda k: ROBOT.bias(spread(Q, k), NU),
    "both": lambda k: ROBOT.bias(spread(Q, k), spread(NU, k)),
    "of another type": lambda k: ROBOT.bias(spread(Q, k).astype(np.float32), NU),
    "tensors": lambda k: ROBOT.mass_matrix_derivatives(spread(Q, k)),
    "wrenches": lambda k: ROBOT.inverse_dynamics(Q, NU, NU, {"bob": spread(NU[:6], k)}),
    "step": lambda k: ROBOT.step(spread(Q, k), NU, NU, 0.1),
    "dt": lambda k: ROBOT.step(Q, NU, NU, spread(0.1, k)),
    "split": lambda k: ROBOT.split(spread(Q, k)),
    "configuration": lambda k: ROBOT.configuration(spread(np.eye(4), k), np.zeros(1)),
    "converters": lambda k: converters.pinocchio(ROBOT).nu(spread(Q, k), NU),
}


@pytest.mark.parametrize("call", BATCHES)
def test_too_many_batch_axes(call: str) -> None:
    BATCHES[call](20)
    for axes in (33, 50, 61):
        with pytest.raises(fc.InputError):
            BATCHES[call](axes)
    with pytest.raises(fc.InputError, match=r"mass_matrix: q has too many batch axes; expected: at most .*; got: 40"):
        ROBOT.mass_matrix(spread(Q, 40))


def test_poses_and_joints_that_do_not_broadcast() -> None:
    with pytest.raises(fc.InputError, match="configuration: batch axes do not fit together"):
        ROBOT.configuration(np.stack([np.eye(4)] * 3), np.zeros((2, 1)))
