"""Against MuJoCo: a third program, with conventions of its own.

MuJoCo's free joint has the quaternion as w x y z, the linear velocity in world axes and the angular velocity in body
axes: nu_mujoco = B nu with B = diag(R, 1, ...). In these coordinates its bias also holds the rate of B.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import mujoco
import numpy as np
import pytest

import fallingcat as fc
from trees import Array, places, relative_error, state

TOLERANCE = 1e-9
CASES = [(name, floating) for name in ("quadruped", "humanoid") for floating in (True, False)]


@cache
def peer(name: str, floating: bool) -> tuple[fc.Robot, mujoco.MjModel]:
    text = resources.files("fallingcat").joinpath("model").joinpath("robots").joinpath(f"{name}.urdf").read_text()
    spec = mujoco.MjSpec.from_string(text)
    spec.compiler.fusestatic = False
    if floating:
        spec.worldbody.first_body().add_freejoint()
    return fc.load(name, floating=floating), spec.compile()


def to_mujoco(robot: fc.Robot, model: mujoco.MjModel, q: Array) -> tuple[Array, Array]:
    """The configuration of MuJoCo and the matrix B with nu_mujoco = B nu."""
    qpos, B = np.zeros(model.nq), np.zeros((model.nv, robot.nv))
    if robot.floating:
        qpos[:3], qpos[3:7] = q[:3], q[[6, 3, 4, 5]]
        B[:3, :3], B[3:6, 3:6] = robot.split(q)[0][:3, :3], np.eye(3)
    for name in robot.joint_names:
        at, nu_at = places(robot)[name]
        joint = model.joint(name)
        qpos[joint.qposadr[0]] = q[at][0]
        B[joint.dofadr[0], nu_at] = 1.0
    return qpos, B


@pytest.mark.parametrize(("name", "floating"), CASES)
def test_mass_matrix_bias_and_centre_of_mass(name: str, floating: bool, rng: np.random.Generator) -> None:
    """M = B^T M_mj B, h = B^T (h_mj + M_mj dB/dt nu), and the same centre of mass."""
    robot, model = peer(name, floating)
    assert model.nv == robot.nv
    data = mujoco.MjData(model)
    for _ in range(3):
        q, nu, _ = state(robot, rng)
        qpos, B = to_mujoco(robot, model, q)
        data.qpos, data.qvel = qpos, B @ nu
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        drift = np.zeros(model.nv)  # dB/dt nu: the linear velocity R v turns with the base
        if floating:
            drift[:3] = B[:3, :3] @ np.cross(nu[3:6], nu[:3])
        assert relative_error(robot.mass_matrix(q), B.T @ M @ B) < TOLERANCE
        assert relative_error(robot.bias(q, nu), B.T @ (data.qfrc_bias + M @ drift)) < TOLERANCE
        assert relative_error(robot.frame_pose(q, robot.link_names[-1])[:3, 3], data.body(robot.link_names[-1]).xpos) < TOLERANCE
        if floating:  # MuJoCo counts a welded base among the masses
            assert relative_error(robot.center_of_mass(q), data.subtree_com[0]) < TOLERANCE


@pytest.mark.parametrize(("name", "floating"), CASES)
def test_inverse_dynamics(name: str, floating: bool, rng: np.random.Generator) -> None:
    """tau = B^T mj_inverse(B dnu + dB/dt nu), without MuJoCo's passive joint forces and contacts."""
    robot, model = peer(name, floating)
    data = mujoco.MjData(model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    q, nu, dnu = state(robot, rng)
    qpos, B = to_mujoco(robot, model, q)
    data.qpos, data.qvel, data.qacc = qpos, B @ nu, B @ dnu
    if floating:
        data.qacc[:3] += B[:3, :3] @ np.cross(nu[3:6], nu[:3])
    mujoco.mj_inverse(model, data)
    tau = B.T @ (data.qfrc_inverse + data.qfrc_passive)
    assert relative_error(robot.inverse_dynamics(q, nu, dnu), tau) < TOLERANCE
