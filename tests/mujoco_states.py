"""MuJoCo's M and inverse dynamics at a state of ours."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import fallingcat as fc
from fallingcat.arrays import eager
from fallingcat.functions import task

Array = np.ndarray[Any, Any]


def evaluate(robot: fc.Robot, name: str, *values: Array) -> Array:
    """A function of a robot in plain Python, which takes no time to compile."""
    return np.asarray(eager.run(task(robot.model, name), list(values)))


def disagreement(model: mujoco.MjModel, rng: np.random.Generator) -> tuple[float, float]:
    """Relative errors of M and of the inverse dynamics at a random state, in MuJoCo's coordinates.

    M with armature, tau = M dnu + h without springs, dampers, friction and contacts: those are MuJoCo's passive and
    constraint forces.
    """
    robot, plain = fc.load(model, joint_dynamics=True), fc.load(model)
    assert robot.nv == model.nv
    to, data = fc.converters.mujoco(robot), mujoco.MjData(model)
    q = robot.random_configuration(rng)
    nu, dnu = rng.normal(size=(2, robot.nv))
    data.qpos[:], data.qvel[:], qacc = to.q(q), to.nu(q, nu), to.dnu(q, nu, dnu)
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    ours = evaluate(robot, "mass_matrix", q)
    armature = (ours - evaluate(plain, "mass_matrix", q)) @ dnu
    tau = to.tau(q, evaluate(plain, "inverse_dynamics", q, nu, dnu) + armature)
    theirs = M @ qacc + data.qfrc_bias
    return _relative(to.matrix(q, ours), M), _relative(tau, theirs)


def _relative(a: Array, b: Array) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())
