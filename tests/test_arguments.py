"""Arrays that no compiled function looks at itself: what holds no real numbers is refused, in one way, by everybody."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import converters
from fallingcat.arrays.arguments import real_array

ROBOT = fc.load("tree9")
Q, NU = ROBOT.random_configuration(1), np.ones(ROBOT.nv)
SHAPES = np.zeros((5, ROBOT.nq - 7))
FRAME = ROBOT.frame_names[-1]
TIMES = np.linspace(0.0, 1.0, 5)

ODD: dict[str, Any] = {
    "masked": lambda v: np.ma.masked_array(v, mask=True),
    "nothing hidden": lambda v: np.ma.masked_array(v, mask=False),
    "complex": lambda v: v.astype(complex),
    "dates": lambda v: np.zeros(v.shape, "M8[s]"),
    "durations": lambda v: np.zeros(v.shape, "m8[s]"),
    "texts": lambda v: np.zeros(v.shape, "U8"),
    "structures": lambda v: np.zeros(v.shape, [("x", "f8"), ("y", "f8")]),
    "void": lambda v: np.zeros(v.shape, "V8"),
    "ragged": lambda v: [[1.0], [1.0, 2.0]],
    "text": lambda v: "abc",
    "bytes": lambda v: b"abcdefgh",
    "dict": lambda v: {"q": 1.0},
    "set": lambda v: {1.0},
    "generator": lambda v: (x for x in (1.0, 2.0)),
    "slice": lambda v: slice(3),
    "module": lambda v: np,
    "beyond floats": lambda v: [10**400],
    "objects": lambda v: np.full(v.shape, object()),
}

PLAN: dict[str, Any] = {"R": np.eye(ROBOT.m), "max_iterations": 1}
TAKE = {
    "configuration, H": (lambda x: ROBOT.configuration(x, Q[7:]), np.eye(4)),
    "configuration, s": (lambda x: ROBOT.configuration(np.eye(4), x), Q[7:]),
    "split": (ROBOT.split, Q),
    "cotangent": (lambda x: ROBOT.vjp("mass_matrix")(Q, x), np.ones((ROBOT.nv, ROBOT.nv))),
    "times": (lambda x: fc.Trajectory.from_samples(ROBOT, x, np.tile(Q, (5, 1))), TIMES),
    "samples": (lambda x: fc.Trajectory.from_samples(ROBOT, TIMES, x), np.tile(Q, (5, 1))),
    "simulate": (lambda x: ROBOT.simulate(Q, NU, x), np.array([0.0, 1e-3])),
    "shapes": (lambda x: ROBOT.area_estimate(x, TIMES), SHAPES),
    "momentum": (lambda x: ROBOT.reconstruct(ROBOT.neutral(), SHAPES, TIMES, momentum=x), np.zeros(6)),
    "actuation": (ROBOT.with_actuation, np.eye(ROBOT.nv)),
    "thruster": (lambda x: fc.thruster("arm", x), np.array([0.0, 0.0, 1.0])),
    "rollout": (lambda x: ROBOT.rollout(Q, NU, x, 0.01), np.zeros((5, ROBOT.nv))),
    "inverse kinematics, target": (
        lambda x: fc.inverse_kinematics(ROBOT, {FRAME: x}, Q, max_iterations=1), ROBOT.frame_pose(Q, FRAME)
    ),
    "inverse kinematics, q": (
        lambda x: fc.inverse_kinematics(ROBOT, {FRAME: ROBOT.frame_pose(Q, FRAME)}, x, max_iterations=1), Q
    ),
    "lqr": (lambda x: fc.lqr(x, np.ones((2, 1)), np.eye(2), np.eye(1)), np.array([[0.0, 1.0], [-1.0, -1.0]])),
    "dlqr": (lambda x: fc.dlqr(0.5 * np.eye(2), np.array([[1.0], [0.5]]), x, np.eye(1)), np.eye(2)),
    "ilqr, controls": (
        lambda x: fc.ilqr(ROBOT, Q, NU, x, 0.01, (Q, NU), Q=np.eye(2 * ROBOT.nv), **PLAN), np.zeros((2, ROBOT.m))
    ),
    "ilqr, Q": (
        lambda x: fc.ilqr(ROBOT, Q, NU, np.zeros((2, ROBOT.m)), 0.01, (Q, NU), Q=x, **PLAN), np.eye(2 * ROBOT.nv)
    ),
    "converters": (lambda x: converters.pinocchio(ROBOT).nu(Q, x), NU),
    "base change": (lambda x: ROBOT.base_change(Q, NU, ROBOT.base).velocity(x), NU),
}  # fmt: skip
for k, (name, shape) in enumerate({"M": (2, 2), "C": (2, 2), "g": (2,), "A": (2, 2), "A_rate": (2, 2)}.items()):
    given = [np.eye(2), np.eye(2), np.ones(2), np.eye(2), np.eye(2)]
    TAKE[f"change_coordinates, {name}"] = (
        lambda x, k=k, given=given: fc.change_coordinates(*given[:k], x, *given[k + 1 :]), np.ones(shape)
    )  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("function", TAKE)
def test_what_holds_no_real_numbers_is_refused(function: str, odd: str) -> None:
    call, plain = TAKE[function]
    call(plain)
    with pytest.raises(fc.InputError):
        call(ODD[odd](plain))


def test_numbers_of_every_kind_are_taken() -> None:
    for value in (
        [1, 2],
        (1.0, 2.0),
        np.array([1, 2], ">i4"),
        np.array([1.0, 2.0], np.float16),
        memoryview(np.array([1.0, 2.0])),
    ):
        found = real_array("x", value)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, [1.0, 2.0])
    same = np.ones(3)
    assert real_array("x", same) is same
    with pytest.raises(fc.InputError, match="shape of the foot is a masked array; expected: an array of real numbers"):
        real_array("shape of the foot", np.ma.masked_array([1.0]))
