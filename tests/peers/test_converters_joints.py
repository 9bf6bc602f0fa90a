"""The converters on joints with several degrees of freedom, mimicking and unbounded ones, against the libraries.

RBDL has no package for Python to install; its numbers here were computed with RBDL 2.6.0, compiled from its source.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from libraries import Drake, Mujoco, Pinocchio
from test_pinocchio import urdf

import fallingcat as fc
from fallingcat import converters
from trees import Array, plain, relative_error, state

TOLERANCE = 1e-11
MASS, COM = 1.5, (0.05, 0.12, -0.2)
INERTIA = (0.05, 0.01, 0.002, 0.04, -0.003, 0.06)
AT = (0.3, 0.1, -0.2)


def robot_with(type_: str, floating: bool = True) -> fc.Robot:
    """base - (joint of this type) - middle - (revolute about y) - tip."""
    builder = fc.Builder("three")
    for link in ("base", "middle", "tip"):
        builder.link(link, mass=MASS, com=COM, inertia=INERTIA)
    builder.joint("middle_joint", type_, "base", "middle", xyz=AT, axis=(0, 0, 1))
    builder.joint("tip_joint", "revolute", "middle", "tip", xyz=AT, axis=(0, 1, 0), lower=-2, upper=2)
    return plain(fc.load(builder, floating=floating))


def same_dynamics(robot: fc.Robot, peer: Any, to: converters.Converter, rng: np.random.Generator) -> None:
    q, nu, dnu = state(robot, rng)
    there = to.q(q), to.nu(q, nu)
    assert relative_error(peer.kinetic_energy(*there), robot.kinetic_energy(q, nu)) < TOLERANCE
    assert relative_error(to.from_matrix(there[0], peer.mass_matrix(there[0])), robot.mass_matrix(q)) < TOLERANCE
    tau = peer.inverse_dynamics(*there, to.dnu(q, nu, dnu))
    assert relative_error(to.from_tau(there[0], tau), robot.inverse_dynamics(q, nu, dnu)) < TOLERANCE


def symmetric(inertia: tuple[float, ...]) -> Array:
    xx, xy, xz, yy, yz, zz = inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@pytest.mark.parametrize("type_", ["spherical", "planar", "floating"])
def test_pinocchio(type_: str, rng: np.random.Generator) -> None:
    """A model made joint by joint: spherical, planar and free joints inside a tree."""
    pin = pytest.importorskip("pinocchio")
    joints = {"spherical": pin.JointModelSpherical, "planar": pin.JointModelPlanar, "floating": pin.JointModelFreeFlyer}
    peer = Pinocchio.__new__(Pinocchio)
    peer.pin, peer.model, parent = pin, pin.Model(), 0
    for name, joint in (("root_joint", "floating"), ("middle_joint", type_), ("tip_joint", "")):
        place = pin.SE3(np.eye(3), np.array(AT if parent else (0.0, 0.0, 0.0)))
        parent = peer.model.addJoint(parent, joints[joint]() if joint else pin.JointModelRY(), place, name)
        peer.model.appendBodyToJoint(parent, pin.Inertia(MASS, np.array(COM), symmetric(INERTIA)), pin.SE3.Identity())
    peer.data = peer.model.createData()
    robot = robot_with(type_)
    to = converters.pinocchio(robot, peer.model.names)
    assert (to.nq, to.nv) == (peer.model.nq, peer.model.nv)
    same_dynamics(robot, peer, to, rng)


def test_mujoco(rng: np.random.Generator) -> None:
    """A ball joint."""
    mj = pytest.importorskip("mujoco")
    xx, xy, xz, yy, yz, zz = INERTIA
    full = f'<inertial mass="{MASS}" pos="{COM[0]} {COM[1]} {COM[2]}" fullinertia="{xx} {yy} {zz} {xy} {xz} {yz}"/>'
    at = f'pos="{AT[0]} {AT[1]} {AT[2]}"'
    spec = mj.MjSpec.from_string(
        f"""<mujoco><worldbody><body name="base"><freejoint/>{full}
              <body name="middle" {at}><joint name="middle_joint" type="ball"/>{full}
                <body name="tip" {at}><joint name="tip_joint" axis="0 1 0"/>{full}
            </body></body></body></worldbody></mujoco>"""
    )
    robot, peer = robot_with("spherical"), Mujoco.of(spec)
    same_dynamics(robot, peer, converters.mujoco(robot, peer.joint_names), rng)


@pytest.mark.parametrize("floating", [True, False])
def test_drake(floating: bool, rng: np.random.Generator) -> None:
    """A planar joint, whose velocity is in the axes of its parent."""
    at = " ".join(map(str, AT))
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = " ".join(f'{name}="{x}"' for name, x in zip(names, INERTIA, strict=True))
    inertial = f'<inertial><origin xyz="{COM[0]} {COM[1]} {COM[2]}"/><mass value="{MASS}"/><inertia {moments}/></inertial>'
    text = f"""<robot name="three">
      <link name="base">{inertial}</link><link name="middle">{inertial}</link><link name="tip">{inertial}</link>
      <joint name="middle_joint" type="planar"><origin xyz="{at}"/><axis xyz="0 0 1"/>
        <parent link="base"/><child link="middle"/></joint>
      <joint name="tip_joint" type="revolute"><origin xyz="{at}"/><axis xyz="0 1 0"/>
        <limit lower="-2" upper="2" effort="9" velocity="9"/><parent link="middle"/><child link="tip"/></joint></robot>"""
    robot, peer = robot_with("planar", floating), Drake(text, floating)
    to = converters.drake(robot, peer.joint_names)
    assert (to.nq, to.nv) == (peer.plant.num_positions(), peer.plant.num_velocities())
    same_dynamics(robot, peer, to, rng)


@pytest.mark.parametrize("name", ["kinova", "panda", "talos", "tiago"])
@pytest.mark.parametrize("floating", [True, False])
def test_robots_from_the_field(name: str, floating: bool, rng: np.random.Generator) -> None:
    """With Pinocchio's own list of joints: unbounded angles, and joints that mimic here and move on their own there."""
    text = urdf(name).read_text()
    robot, peer = plain(fc.load(text, floating=floating)), Pinocchio(text, floating)
    to = converters.pinocchio(robot, peer.model.names)
    assert (to.nq, to.nv) == (peer.model.nq, peer.model.nv)
    same_dynamics(robot, peer, to, rng)


@pytest.mark.parametrize("name", ["panda", "baxter"])
@pytest.mark.parametrize("floating", [True, False])
def test_pinocchio_where_joints_follow_others(name: str, floating: bool, rng: np.random.Generator) -> None:
    """A model built with mimic=True has no coordinates for joints that follow: told by the model itself, or by a word."""
    pin = pytest.importorskip("pinocchio")
    text = urdf(name).read_text()
    robot = plain(fc.load(text, floating=floating))
    assert robot.model.mimics
    peer = Pinocchio.__new__(Pinocchio)
    root = [pin.JointModelFreeFlyer()] if floating else []
    peer.pin, peer.model = pin, pin.buildModelFromXML(text, *root, mimic=True)
    peer.data = peer.model.createData()
    for to in (converters.pinocchio(robot, peer.model), converters.pinocchio(robot, peer.model.names, mimic=True)):
        assert (to.nq, to.nv) == (peer.model.nq, peer.model.nv)
        q, nu, dnu = state(robot, rng)  # Pinocchio's kinetic energy does not know such joints
        tau = peer.inverse_dynamics(to.q(q), to.nu(q, nu), to.dnu(q, nu, dnu))
        assert relative_error(to.from_tau(to.q(q), tau), robot.inverse_dynamics(q, nu, dnu)) < TOLERANCE
        assert relative_error(to.matrix(q, robot.mass_matrix(q)), peer.mass_matrix(to.q(q))) < TOLERANCE


def test_rbdl() -> None:
    """A floating base, a spherical joint and a revolute one: both w's stand at the end of q."""
    builder = fc.Builder("ball")
    builder.link("base", mass=2.0, com=(0.1, 0.02, -0.05), inertia=(0.05, 0.01, 0.002, 0.04, -0.003, 0.06))
    for link in ("ball", "tip"):
        builder.link(link, mass=1.0, com=(-0.03, 0.2, 0.1), inertia=(0.02, 0.001, 0.0, 0.03, 0.002, 0.04))
    builder.joint("ball_joint", "spherical", "base", "ball", xyz=(0.3, 0.1, -0.2))
    builder.joint("tip_joint", "revolute", "ball", "tip", xyz=(0.0, 0.1, 0.3), axis=(0, 1, 0), lower=-2, upper=2)
    robot = plain(fc.load(builder))
    to = converters.rbdl(robot)
    # In: RBDL's q, qdot and qddot.
    q = np.array([0.3, -0.2, 0.5, 0.5, -0.1, 0.7, 0.1, 0.1, -0.7, 0.4, 0.5, 0.7])
    v = np.array([1.0, -0.5, 0.8, 0.3, 1.2, -0.7, -0.4, 0.9, 0.6, 1.5])
    a = np.array([0.2, 0.7, -1.1, 2.0, -0.6, 0.4, 1.3, -0.8, 0.5, -2.1])
    # Out: InverseDynamics, with and without motion; CalcBodyToBaseCoordinates and CalcPointVelocity6D of the tip.
    tau = [
        -0.6259233286677102, -0.7749626730356365, 32.54282829507994, 0.6363500928479897, -5.513182771864412,
        3.489070881156256, -1.168865814732798, -2.040905663114078, 1.9876179964472003, -0.4752844410395342,
    ]  # fmt: skip
    gravity = [
        0.0, 0.0, 39.24, 0.5896775948589268, -6.208785866390072,
        3.673793408361008, -2.187933322606612, -2.3062344051410726, 2.207720914615789, -0.528662405141073,
    ]  # fmt: skip
    ours = to.from_q(q), to.from_nu(q, v), to.from_dnu(q, v, a)
    assert relative_error(to.tau(ours[0], robot.inverse_dynamics(*ours)), tau) < TOLERANCE
    assert relative_error(to.tau(ours[0], robot.gravity_torque(ours[0])), gravity) < TOLERANCE
    assert relative_error(robot.kinetic_energy(*ours[:2]), 3.116535684134577) < TOLERANCE
    assert relative_error(robot.frame_pose(ours[0], "tip")[:3, 3], [0.34, -0.024, 0.868]) < TOLERANCE
    R = robot.frame_pose(ours[0], "tip")[:3, :3]
    linear, angular = R @ robot.frame_velocity(*ours[:2], "tip").reshape(2, 3, 1)
    assert relative_error(np.vstack([angular, linear])[:, 0], [-1.14, 0.948, 2.664, 1.054, 0.24688, 0.53584]) < TOLERANCE
