"""Methods that are made of several functions, as other libraries get them: derivatives against a complex step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bench.robots import robot_file

import fallingcat as fc
from fallingcat import scalar
from fallingcat.frameworks.calls import COMPOSED, Calls
from fallingcat.trace import interpret
from frameworks.every_function import arguments
from trees import STEP

TOLERANCE = 1e-10

CASES: list[tuple[str, dict[str, Any]]] = [
    ("step", {"method": "euler"}), ("step", {"method": "midpoint"}), ("step", {"method": "rk4"}),
    ("state_plus", {}), ("state_minus", {}), ("linearize", {}),
    ("discretize", {"method": "euler"}), ("discretize", {"method": "midpoint"}), ("discretize", {"method": "rk4"}),
]  # fmt: skip

COMPLEX: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a, "fma": lambda a, b, c: a * b + c, "fms": lambda a, b, c: a * b - c, "fnma": lambda a, b, c: c - a * b,
    "sqrt": scalar.sqrt, "sin": scalar.sin, "cos": scalar.cos, "atan2": scalar.atan2, "select": scalar.where_less,
    "taint": lambda a: 0.0 * a,
}  # fmt: skip


def check(robot: fc.Robot, name: str, options: dict[str, Any]) -> None:
    """J v and v^T J of the program, by velocities of configurations."""
    rng = np.random.default_rng(5)
    kernel = Calls(robot).kernel_of(name, dict(options))
    inputs = kernel.task.inputs
    values = [np.reshape(x, -1) for x in arguments(robot, name, rng)]
    if name == "state_minus":  # not far, where the way round does not change
        values[2] = robot.integrate(values[0], 0.3 * values[1])
    dots = [rng.normal(size=i.size if i.tangents is None else i.tangents.size) for i in inputs]
    rates = [d if i.tangents is None else i.tangents.rate(v, d) for i, v, d in zip(inputs, values, dots, strict=True)]
    moved = [[complex(x, STEP * r) for x, r in zip(v, rate, strict=True)] for v, rate in zip(values, rates, strict=True)]
    expected = [np.array([complex(x).imag for x in flat]) / STEP for flat in interpret(kernel.program, moved, COMPLEX)]
    size = max(1.0, *(np.abs(x).max() for x in expected))
    for a, e in zip(interpret(kernel.jvp().program, [*values, *dots]), expected, strict=True):
        np.testing.assert_allclose(a, e, atol=TOLERANCE * size, rtol=0, err_msg=f"jvp of {name} {options}")
    bars = [rng.normal(size=e.size) for e in expected]
    pulled = interpret(kernel.vjp().program, [*values, *bars])
    scale = max(size * float(np.sqrt(sum(b.size for b in bars))), *(np.abs(x).max() for x in pulled))
    paired = sum(np.asarray(x) @ d for x, d in zip(pulled, dots, strict=True))
    assert abs(paired - sum(b @ e for b, e in zip(bars, expected, strict=True))) <= TOLERANCE * scale, f"vjp of {name} {options}"


@pytest.mark.parametrize(("name", "options"), CASES)
def test_steps_and_states(name: str, options: dict[str, Any]) -> None:
    check(fc.load("spacearm", joints=["joint1", "joint2", "joint4"]), name, options)


@pytest.mark.sweep
@pytest.mark.parametrize("robot_name", ["cat", "quadruped", "talos_reduced"])
def test_steps_and_states_of_larger_robots(robot_name: str) -> None:
    robot = fc.load(robot_file(robot_name) if robot_name == "talos_reduced" else robot_name)
    for name, options in CASES:
        if name != "discretize" and (options.get("method") != "rk4" or robot_name != "talos_reduced"):  # long programs
            check(robot, name, options)


def test_every_such_method_is_tested() -> None:
    assert {name for name, _ in CASES} == set(COMPOSED) - {"actuation_matrix"}  # which is one of the table, too
