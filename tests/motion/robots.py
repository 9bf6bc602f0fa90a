"""A robot with every type of joint, and smooth motions of it that are known exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import fallingcat as fc
from trees import ALL, random_tree

Array = NDArray[np.float64]


def every_joint(floating: bool = True) -> fc.Robot:
    """All types of joints, and the base on a link in the middle, so that some joints are seen from their other side."""
    robot = fc.load(random_tree(3, 9, types=ALL, mimic=0.0), floating=floating)
    return robot.with_base(robot.link_names[4])


class Wave(NamedTuple):
    """q(t) = integrate(integrate(start, f(t) a), g(t) b): two one-parameter motions after each other, with f, g known."""

    robot: fc.Robot
    start: Array
    a: Array
    b: Array

    def at(self, t: Array) -> Array:
        f, g = np.sin(1.3 * t)[..., None], (0.5 * np.cos(2.1 * t) + 0.4 * t)[..., None]
        return self.robot.integrate(self.robot.integrate(self.start, f * self.a), g * self.b)


def wave(robot: fc.Robot, seed: int, size: float = 0.6) -> Wave:
    rng = np.random.default_rng(seed)
    a, b = size * rng.normal(size=(2, robot.nv))
    return Wave(robot, robot.random_configuration(rng), a, b)


def rates(robot: fc.Robot, at: object, t: Array, h: float) -> Array:
    """Body-fixed velocities of a curve by central differences of fourth order on the group."""
    here = at(t)
    near, far = (robot.difference(here, at(t + k * h)) - robot.difference(here, at(t - k * h)) for k in (1, 2))
    return (8.0 * near - far) / (12.0 * h)
