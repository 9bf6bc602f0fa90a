"""A quaternion that is not finite gives NaN in every entry that depends on it, and never a number made of garbage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fallingcat as fc
from fallingcat.codegen import Kernel
from fallingcat.functions import FUNCTIONS, task

Array = NDArray[np.float64]
QUICK = ("integrate", "difference", "frame_pose", "mass_matrix", "gravity_torque", "center_of_mass_jacobian")
OPTIONS = {
    "frame": "ball", "base": "hand", "representation": "mixed", "factorization": "christoffel",
    "target_representation": "body", "source": "body", "target": "inertial", "group": "tangent",
}  # fmt: skip


def results(kernel: Kernel, values: list[Array]) -> Array:
    found: Any = kernel(*values)
    parts = found if isinstance(found, tuple) else (found,)
    return np.concatenate([np.asarray(part).reshape(len(values[0]), -1) for part in parts], axis=-1)


def check(robot: fc.Robot, name: str) -> None:
    kernel = Kernel(task(robot.model, name, **{key: OPTIONS[key] for key in FUNCTIONS[name].options}))
    inputs = kernel.task.inputs
    rng = np.random.default_rng(3)
    usual = [robot.random_configuration(rng) if spec.quaternions else rng.normal(size=spec.size) for spec in inputs]
    for which, at in ((j, at) for j, spec in enumerate(inputs) for at in spec.quaternions):
        rows = [np.repeat(x[None], 15, axis=0) for x in usual]
        turned = rows[which][:, at : at + 4]  # three other rotations, then infinities and NaN in each component
        turned[1:3] = [[0.5, 0.5, -0.5, 0.5], [0.1, -0.7, 0.1, 0.7]]
        for component, bad in enumerate((np.inf, -np.inf, np.nan)):
            turned[3 + 4 * component : 7 + 4 * component][np.diag_indices(4)] = bad
        found = results(kernel, rows)
        depends = (np.abs(found[1:3] - found[0]) > 1e-9 * (1.0 + np.abs(found[0]))).any(axis=0)
        assert np.isfinite(found[:3]).all()
        assert np.isnan(found[3:, depends]).all()
        assert (np.isnan(found[3:]) == np.isnan(found[-1])).all(), "infinity and NaN have the same effect"


@pytest.mark.parametrize("name", QUICK)
def test_a_quaternion_that_is_not_finite(ball: fc.Robot, name: str) -> None:
    check(ball, name)


@pytest.mark.sweep
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "integrate_derivatives"])
def test_in_every_function(ball: fc.Robot, name: str) -> None:
    check(ball, name)
