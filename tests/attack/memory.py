"""Robots that are made, asked for derivatives and own functions, and dropped: their memory must come back."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np

import fallingcat as fc

from .subjects import ARM, held

TIME_LIMIT = 1200.0


def setup(counts: Counter[str]) -> Any:
    return fc.load(ARM).random_configuration(1)


class Owner:
    """Holds the compiled form of its own method."""

    def __init__(self, robot: fc.Robot) -> None:
        self.height = fc.compile(self.cost, robot)
        robot.friend = self  # type: ignore[attr-defined]

    def cost(self, r: Any, q: Any) -> Any:
        return r.center_of_mass(q)[2]


def case(q: Any, index: int, random: Random, counts: Counter[str]) -> None:
    robot = fc.load(ARM)
    many, nu = np.array([q] * 3), np.ones(robot.nv)
    constraints = held(robot)
    uses = [
        lambda: robot.vjp("gravity_torque")(q, nu),
        lambda: robot.vjp("gravity_torque")(many, nu),
        lambda: robot.jvp("gravity_torque")(q, nu),
        lambda: Owner(robot).height(q),
        lambda: Owner(robot).height(many),
        lambda: Owner(robot).height.jacobian(q),
        lambda: constraints.forward_dynamics(q, nu, nu),
        lambda: robot.inverse_dynamics(q, nu, nu, fc.Wrenches("upper", np.ones(6))),
    ]
    random.shuffle(uses)
    for use in uses:
        use()
    counts["robots made and dropped"] += 1
