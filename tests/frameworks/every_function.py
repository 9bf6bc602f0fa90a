"""Every function that other libraries get, with arguments that fit."""

from __future__ import annotations

from importlib.metadata import files
from typing import Any

import numpy as np
from bench.robots import robot_file
from numpy.typing import NDArray

import fallingcat as fc
from fallingcat.frameworks.calls import NAMES
from fallingcat.functions import FUNCTIONS

Array = NDArray[np.float64]

ROBOTS = ("cat", "quadruped", "panda")
FLOATING_ONLY = {name for name, row in FUNCTIONS.items() if row.floating_only}

ARGUMENTS = {
    "integrate": "q dx", "difference": "q q1", "base_velocity": "q r mu", "base_acceleration": "q nu ddr",
    "coriolis_product": "q nu w", "coriolis_transpose_product": "q nu w", "integrate_derivatives": "dx",
    "step": "q nu tau dt", "discretize": "q nu tau dt", "linearize": "q nu tau", "actuation_matrix": "q",
    "state_plus": "q nu z", "state_minus": "q nu q1 nu1",
}  # fmt: skip
"""Of functions that are not in the table, or whose arguments have names of their own there."""
OPTIONS = {"discretize": {"method": "euler"}, "base_change": {"frame": "centroidal"}}


def load(name: str) -> fc.Robot:
    """A bundled robot, or one of the bench."""
    assert files("example-robot-data") is not None
    return fc.load(robot_file("panda"), floating=False) if name == "panda" else fc.load(name)


QUICK = ("integrate", "difference", "frame_pose", "inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy",
         "forward_dynamics_derivatives", "mass_matrix_derivatives", "reduced_dynamics", "linearize", "step")  # fmt: skip
"""Some of each kind."""


def names(robot: fc.Robot) -> list[str]:
    """The functions that make sense for a robot."""
    return [name for name in NAMES if robot.floating or name not in FLOATING_ONLY]


def arguments(robot: fc.Robot, name: str, rng: np.random.Generator, *shape: int) -> list[Array]:
    """Random arguments of a function, with leading axes of this shape."""
    words = ARGUMENTS[name].split() if name in ARGUMENTS else [word for word, _ in FUNCTIONS[name].inputs]
    sizes = {"ddr": robot.n, "r": robot.n, "mu": 6, "a": 6, "tau0": robot.n, "z": 2 * robot.nv}
    count = int(np.prod(shape))

    def draw(word: str) -> Array:
        if word.startswith("q"):
            flat = np.array([robot.random_configuration(rng) for _ in range(count)])
        else:
            flat = rng.normal(size=(count, sizes.get(word, robot.nv)))
        return np.full(shape, 0.01) if word == "dt" else flat.reshape((*shape, flat.shape[-1]))

    return [draw(word) for word in words]


def options(robot: fc.Robot, name: str) -> dict[str, Any]:
    """What a function needs besides."""
    if name in OPTIONS:
        return OPTIONS[name]
    return {"frame": robot.frame_names[-1]} if name in FUNCTIONS and "frame" in FUNCTIONS[name].options else {}


def parts(result: Any) -> tuple[Any, ...]:
    """All results."""
    return tuple(result) if isinstance(result, tuple) else (result,)
