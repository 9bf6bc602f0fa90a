"""Equalities of MJCF as constraints, against MuJoCo's own residuals and Jacobians."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import fallingcat as fc

ROBOT = """
<mujoco>
  <worldbody>
    <body name="upper" pos="0 0 1"><freejoint/>
      <inertial pos="0 0 0" mass="2" diaginertia="0.1 0.2 0.3"/>
      <body name="thigh" pos="0.1 0 0"><joint name="hip" axis="0 1 0"/>
        <inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.02 0.01"/>
        <body name="shin" pos="0 0 -0.4"><joint name="knee" axis="0 1 0"/>
          <inertial pos="0 0.1 -0.2" mass="0.5" diaginertia="0.01 0.02 0.01"/></body></body>
      <body name="arm" pos="-0.1 0 0"><joint name="shoulder" axis="0 1 1"/>
        <inertial pos="0 0 -0.1" mass="0.7" diaginertia="0.01 0.01 0.01"/>
        <body name="hand" pos="0 0 -0.3"><joint name="wrist" axis="1 0 0"/>
          <inertial pos="0 0 -0.1" mass="0.3" diaginertia="0.01 0.01 0.01"/></body></body>
    </body>
  </worldbody>
  <equality>{items}</equality>
</mujoco>
"""
ITEMS = {
    "connect": '<connect body1="shin" body2="hand" anchor="0.1 0.2 -0.3"/>',
    "weld": '<weld body1="shin" relpose="0.1 0.2 0.3 0.8 0.2 -0.4 0.4"/>',
    "joint": '<joint joint1="knee" joint2="wrist" polycoef="0.1 0.5 0.2 0 0"/>',
    "held": '<joint joint1="knee" polycoef="0.3 0 0 0 0"/>',
}


def rows_of_mujoco(model: mujoco.MjModel, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    return data.efc_pos.copy(), data.efc_J.reshape(data.nefc, model.nv).copy()


@pytest.mark.parametrize("kind", ITEMS)
def test_violation_and_directions(kind: str) -> None:
    """The same rows up to their order, signs and axes: the same null space of the Jacobian, and zero at the same places."""
    text = ROBOT.format(items=ITEMS[kind])
    robot, model = fc.load(text), mujoco.MjModel.from_xml_string(text)
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    c = robot.constraints()
    to = fc.converters.mujoco(robot)
    q, nu = robot.random_configuration(3), robot.random_velocity(3)
    on = c.project(q, nu)
    assert np.abs(c.violation(on.q)).max() < 1e-10
    residual, J = rows_of_mujoco(model, to.q(on.q))
    assert len(residual) == c.m
    assert np.abs(residual).max() < 1e-9
    admissible = to.nu(on.q, on.nu)  # a velocity that keeps to our constraints keeps to theirs
    assert np.abs(J @ admissible).max() < 1e-9
    away, _ = rows_of_mujoco(model, to.q(q))
    assert np.abs(away).max() > 1e-3
    assert np.abs(c.violation(q)).max() > 1e-3


def test_switched_off() -> None:
    off = ITEMS["connect"].replace("<connect", '<connect active="false"')
    assert fc.load(ROBOT.format(items=off + ITEMS["held"])).constraints().m == 1


BODY = "<inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"
LINK = "<link name='{}'><pose>{}</pose>" + BODY + "</link>"
JOINT = "<joint name='{}' type='revolute'>{}<parent>{}</parent><child>{}</child><axis><xyz>0 1 0</xyz></axis></joint>"
FOUR_BAR = (
    "<sdf version='1.9'><model name='four_bar'>"
    "<joint name='root' type='fixed'><parent>world</parent><child>a</child></joint>"
    + LINK.format("a", "0 0 0 0 0 0") + LINK.format("b", "0 0 1 0 0 0")
    + LINK.format("c", "1 0 1 0 0 0") + LINK.format("d", "2 0 0.9 0 0 0")
    + JOINT.format("j1", "", "a", "b") + JOINT.format("j2", "", "b", "c") + JOINT.format("j3", "", "c", "d")
    + JOINT.format("j4", "<pose relative_to='d'>0.1 0 -0.5 0 0 0</pose>", "a", "d")
    + "</model></sdf>"
)  # fmt: skip


def test_a_loop_of_sdf() -> None:
    """The joint that closes a loop holds its two places together: a four-bar has one degree of freedom."""
    robot = fc.load(FOUR_BAR)
    c = robot.constraints()
    assert np.abs(c.violation(robot.neutral())).max() < 1e-15
    assert np.linalg.matrix_rank(c.jacobian(robot.neutral())) == robot.nv - 1
    moved = c.project(np.array([0.2, -0.1, 0.3]), np.array([1.0, 0.3, 0.2]))
    assert np.abs(moved.q).max() > 0.05
    assert np.abs(moved.nu).max() > 0.05
    place = robot.frame_pose(moved.q, "d") @ [0.1, 0.0, -0.5, 1.0]
    assert np.abs(place[:3] - [2.1, 0.0, 0.4]).max() < 1e-9


def test_equalities_of_locked_joints_can_be_left_out() -> None:
    robot = fc.load(ROBOT.format(items=ITEMS["joint"]), joints=["hip", "shoulder", "wrist"])
    with pytest.raises(fc.InputError, match="no movable joint 'knee'"):
        robot.constraints(fc.point("hand"))
    assert robot.constraints(fc.point("hand"), loops=False).m == 3
