"""What the page needs to know about the cat's turn: the gait of `apps.cat`, with more joints and both phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fallingcat.apps.cat.gait import MOVED, OPENING, TUCK, terms
from fallingcat.apps.cat.plan import comfort, plan
from fallingcat.robot.robot import Robot

PAIRS = tuple((f"{end}_left_{joint}", f"{end}_right_{joint}") for end, joint in (
    ("front", "shoulder"), ("front", "elbow"), ("rear", "hip"), ("rear", "knee"),
))  # fmt: skip
"""Legs that may swing together, for a turn about the side axis."""


def can_right_itself(robot: Robot) -> bool:
    """Has the robot the cat's joints, on a free base?"""
    needed = {*MOVED, *(name for pair in PAIRS for name in pair)}
    return robot.floating and needed <= set(robot.joint_names) and robot.nq == 7 + robot.n


def righting(robot: Robot, progress: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    """The path of shapes in plain types.

    terms: (shares of joints, harmonic, is it a sine, coefficient of the planned half turn, does it change sign in the mirror).
    """
    joints = robot.joint_names
    planned = dict(zip(terms(), plan(robot, progress).gait.coefficients, strict=True))
    found: list[list[Any]] = []
    for name, (sideways, most) in MOVED.items():
        for k in range(most + 1):
            for sine in (False, True)[: 1 if k == 0 else 2]:
                value = float(planned.get((name, k, sine), 0.0))
                found.append([[[joints.index(name), 1.0]], k, sine, value, sideways])
    for pair in PAIRS:
        for sine in (False, True):
            found.append([[[joints.index(name), 1.0] for name in pair], 1, sine, 0.0, False])
    tuck = [next((value for end, value in TUCK.items() if name.endswith(end)), 0.0) for name in joints]
    low, high = (np.clip(bound, -9.0, 9.0).tolist() for bound in comfort(robot))
    return {"terms": found, "tuck": tuck, "opening": OPENING, "low": low, "high": high}
