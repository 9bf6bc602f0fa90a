"""Robots written as URDF and MJCF, and read again: the same M, whatever was built, locked, followed or re-based."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from tests.mujoco_states import evaluate
from tests.trees import ALL, ONE_AXIS, random_tree

import fallingcat as fc
from fallingcat.model.description import Visual
from fallingcat.model.meshes import shapes

ZOO = Path(__file__).parent / "files" / "zoo.xml"
MJCF_TYPES = (*ONE_AXIS, "cylindrical", "universal", "spherical")


def difference(robot: fc.Robot, again: fc.Robot, rng: np.random.Generator) -> float:
    """The largest relative difference of M and of the inverse dynamics."""
    assert (robot.nq, robot.nv, robot.floating) == (again.nq, again.nv, again.floating)
    q = robot.random_configuration(rng)
    nu, dnu = rng.normal(size=(2, robot.nv))
    worst = 0.0
    for name, values in (("mass_matrix", (q,)), ("inverse_dynamics", (q, nu, dnu))):
        x, y = evaluate(robot, name, *values), evaluate(again, name, *values)
        worst = max(worst, float(np.abs(x - y).max() / np.abs(x).max()))
    return worst


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("options", [{}, {"floating": False, "gravity": (1.0, 2.0, -3.0)}, {"joint_dynamics": True}])
def test_urdf_of_random_trees(seed: int, options: dict[str, object], tmp_path: Path, rng: np.random.Generator) -> None:
    """Every type of joint, mimics and chains of mimics."""
    robot = fc.load(random_tree(seed, 8, ALL), **options)  # type: ignore[arg-type]
    path = robot.to_urdf(tmp_path / "robot.urdf")
    again = fc.load(path, joint_dynamics=bool(options.get("joint_dynamics")))
    assert again.joint_names == robot.joint_names
    assert np.array_equal(again.gravity, robot.gravity)
    assert difference(robot, again, rng) < 1e-14
    assert set(robot.frame_names) <= set(again.frame_names)


@pytest.mark.parametrize("seed", range(8))
def test_urdf_with_locked_joints_another_order_and_base(seed: int, tmp_path: Path, rng: np.random.Generator) -> None:
    whole = fc.load(random_tree(seed, 8, (*ONE_AXIS, "cylindrical"), mimic=0.4))
    names = list(whole.joint_names)
    rng.shuffle(names)
    lock = {name: 0.3 for name in names[:2] if _size(whole, name) == 1}
    for base in (None, whole.link_names[-1], whole.link_names[len(whole.link_names) // 2]):
        robot = fc.load(whole.description, base=base, joints=[name for name in names if name not in lock], lock=lock)
        again = fc.load(robot.to_urdf(tmp_path / "robot.urdf"))
        assert again.joint_names == robot.joint_names
        assert again.base == robot.base
        assert difference(robot, again, rng) < 1e-14


def _size(robot: fc.Robot, name: str) -> int:
    return next(body.joint.nq for body in robot.model.bodies if body.joint_name == name)


@pytest.mark.parametrize("name", fc.robots())
def test_bundled_robots(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    for floating in (True, False):
        robot = fc.load(name, floating=floating)
        again = fc.load(robot.to_urdf(tmp_path / "robot.urdf"))
        assert difference(robot, again, rng) < 1e-14
        for limits in ("position_limits", "velocity_limits", "effort_limits"):
            assert np.array_equal(getattr(robot, limits), getattr(again, limits))
        mjcf = fc.load(robot.to_mjcf(tmp_path / "robot.xml"), joints=robot.joint_names)
        assert difference(robot, mjcf, rng) < 1e-14
        assert np.array_equal(robot.position_limits, mjcf.position_limits)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("floating", [True, False])
def test_mjcf_of_random_trees(seed: int, floating: bool, tmp_path: Path, rng: np.random.Generator) -> None:
    """Screws, cylinders, universal joints and mimics as well; MuJoCo takes the file."""
    robot = fc.load(random_tree(seed, 8, MJCF_TYPES), floating=floating, gravity=(1.0, 2.0, -3.0))
    path = robot.to_mjcf(tmp_path / "robot.xml")
    mujoco.MjModel.from_xml_path(str(path))
    again = fc.load(path)
    again = fc.load(path, joints=_in_order(robot, again))
    assert np.array_equal(again.gravity, robot.gravity)
    assert difference(robot, again, rng) < 1e-14


def _in_order(robot: fc.Robot, again: fc.Robot) -> list[str]:
    """Two joints of MuJoCo stand for a cylindrical or universal one."""
    parts = {name: [name, f"{name}/turn", f"{name}/second"] for name in robot.joint_names}
    return [part for name in robot.joint_names for part in parts[name] if part in again.joint_names]


@pytest.mark.parametrize("seed", range(6))
def test_mjcf_with_locked_joints_and_another_base(seed: int, tmp_path: Path, rng: np.random.Generator) -> None:
    whole = fc.load(random_tree(seed, 8, ONE_AXIS, mimic=0.4))
    lock = {whole.joint_names[0]: 0.4}
    for base in (None, whole.link_names[-1]):
        robot = fc.load(whole.description, base=base, lock=lock)
        again = fc.load(robot.to_mjcf(tmp_path / "robot.xml"), joints=robot.joint_names)
        assert again.base == robot.base
        assert difference(robot, again, rng) < 1e-14


def test_mjcf_of_fixed_joints_that_follow(tmp_path: Path, rng: np.random.Generator) -> None:
    """Grippers are taken out of a description by making their joints fixed; <mimic> stays behind in the file."""
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    links = "".join(f'<link name="{name}">{body}</link>' for name in "abc")
    joint = '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="0 0 1"/>{4}</joint>'
    joints = joint.format("j", "continuous", "a", "b", "") + joint.format("k", "fixed", "b", "c", '<mimic joint="j"/>')
    robot = fc.load(f'<robot name="r">{links}{joints}</robot>')
    path = robot.to_mjcf(tmp_path / "robot.xml")
    assert mujoco.MjModel.from_xml_path(str(path)).neq == 0
    assert difference(robot, fc.load(path), rng) < 1e-14


@pytest.mark.parametrize("floating", [True, False])
def test_mjcf_of_a_link_named_as_the_world(floating: bool, tmp_path: Path, rng: np.random.Generator) -> None:
    """MuJoCo keeps that name for itself."""
    b = fc.Builder()
    for name in ("world", "world'", "arm"):
        b.link(name, 1.0, inertia=(1, 0, 0, 1, 0, 1))
    b.joint("j", "revolute", "world", "world'")
    b.joint("k", "revolute", "world'", "arm", axis=(1, 0, 0))
    robot = fc.load(b, floating=floating)
    again = fc.load(robot.to_mjcf(tmp_path / "robot.xml"))
    assert {"world''", "world'", "arm"} <= set(again.link_names)
    assert difference(robot, again, rng) < 1e-14


def test_mjcf_to_mjcf(tmp_path: Path, rng: np.random.Generator) -> None:
    """Anchors, sites, actuators, constraints: what was read is written."""
    robot = fc.load(ZOO)
    again = fc.load(robot.to_mjcf(tmp_path / "zoo.xml"))
    assert again.joint_names == robot.joint_names
    assert difference(robot, again, rng) < 1e-14
    q = robot.random_configuration(rng)
    assert np.abs(np.asarray(robot.actuation_matrix(q)) - np.asarray(again.actuation_matrix(q))).max() < 1e-13
    assert [a.name for a in again.description.actuators] == [a.name for a in robot.description.actuators]
    for frame in ("imu", "foot", "shin", "arm"):
        assert np.abs(robot.frame_pose(q, frame) - again.frame_pose(q, frame)).max() < 1e-14
    before, after = robot.description.equalities, again.description.equalities
    assert [(e.kind, e.name) for e in before] == [(e.kind, e.name) for e in after]
    assert after[2].polynomial == pytest.approx(before[2].polynomial)
    twice = fc.load(again.to_mjcf(tmp_path / "twice.xml"))
    assert twice.frame_names == again.frame_names
    assert after[0].frames is not None
    assert before[0].frames is not None
    assert [f.link for f in after[0].frames] == [f.link for f in before[0].frames]


def test_mjcf_to_urdf(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = fc.load(ZOO)
    again = fc.load(robot.to_urdf(tmp_path / "zoo.urdf"))
    assert difference(robot, again, rng) < 1e-14
    assert {"imu", "foot"} <= set(again.frame_names)
    arm = fc.load('<mujoco><worldbody><body name="a"><joint name="j"/><geom size="0.1"/></body></worldbody></mujoco>')
    assert not fc.load(arm.to_urdf(tmp_path / "arm.urdf")).floating


def test_other_libraries_read_the_urdf(tmp_path: Path, rng: np.random.Generator) -> None:
    """Pinocchio, for what is plain URDF."""
    import pinocchio as pin

    robot = fc.load("humanoid", base=fc.load("humanoid").link_names[-1])
    path = robot.to_urdf(tmp_path / "robot.urdf")
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    to = fc.converters.pinocchio(fc.load(path), model)
    q = robot.random_configuration(rng)
    M = pin.crba(model, model.createData(), to.q(q))
    ours = to.matrix(q, evaluate(robot, "mass_matrix", q))
    assert np.abs(np.triu(M) + np.triu(M, 1).T - ours).max() < 1e-12 * np.abs(ours).max()


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_what_mujoco_has_not(kind: str, tmp_path: Path) -> None:
    b = fc.Builder()
    b.link("a", 1.0, inertia=(1, 0, 0, 1, 0, 1))
    b.link("b", 1.0, inertia=(1, 0, 0, 1, 0, 1))
    b.joint("j", kind, "a", "b", xyz=(1, 0, 0))  # type: ignore[arg-type]
    with pytest.raises(fc.InputError, match="MuJoCo"):
        fc.load(b).to_mjcf(tmp_path / "a.xml")
    assert list(tmp_path.iterdir()) == []


def test_other_refusals(tmp_path: Path) -> None:
    b = fc.Builder()
    b.link("a", 1.0, inertia=(1, 0, 0, 1, 0, 3))
    with pytest.raises(fc.InputError, match="principal moments"):
        fc.load(b).to_mjcf(tmp_path / "a.xml")
    b = fc.Builder()
    b.link("a", 1.0, inertia=(1, 0, 0, 1, 0, 1))
    for name in "bcd":
        b.link(name, float(name != "b"), inertia=(0.1, 0, 0, 0.1, 0, 0.1) if name != "b" else (0,) * 6)
    b.joint("j", "revolute", "a", "b")
    b.joint("k", "revolute", "b", "c", axis=(1, 0, 0))
    b.joint("l", "revolute", "b", "d", axis=(0, 1, 0))
    with pytest.raises(fc.InputError, match="moving bodies without mass"):
        fc.load(b).to_mjcf(tmp_path / "a.xml")
    ball = fc.Builder()
    ball.link("a", 1.0, inertia=(1, 0, 0, 1, 0, 1))
    ball.link("b", 1.0, inertia=(1, 0, 0, 1, 0, 1))
    ball.joint("j", "spherical", "a", "b")
    with pytest.raises(fc.InputError, match="a reversed spherical joint cannot be written"):
        fc.load(ball, base="b").to_urdf(tmp_path / "a.urdf")


@pytest.mark.parametrize("name", [" a ", "a\tb", "a\x01b", "a\ud800", "ü <&>\"'", "a b"])
def test_names(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    """Those that XML can hold come back; others are refused, and nothing is written."""
    b = fc.Builder(name)
    b.link(name, 1.0, inertia=(1, 0, 0, 1, 0, 1))
    robot = fc.load(b)
    try:
        again = fc.load(robot.to_urdf(tmp_path / "a.urdf"))
        assert again.link_names == (name,)
    except fc.InputError:
        assert name not in ("ü <&>\"'", "a b")
        assert list(tmp_path.iterdir()) == []


def test_shapes(tmp_path: Path) -> None:
    """Shapes that URDF has not are written as others; plain paths of meshes in full."""
    (tmp_path / "a.stl").write_bytes(b"solid\n")
    b = fc.Builder()
    meshes = [Visual("mesh", file="a.stl", scale=(1.0, 2.0, 3.0)), Visual("mesh", file="package://p/b.stl")]
    rest = [
        Visual("capsule", (0.1, 0.5), rgba=(1.0, 0.0, 0.0, 1.0)),
        Visual("ellipsoid", (1.0, 2.0, 4.0)),
        Visual("box", (1.0, 2.0, 3.0)),
    ]
    b.link("a", 1.0, inertia=(1, 0, 0, 1, 0, 1), visuals=[*meshes, *rest])
    robot = fc.load(b, package_dirs=[tmp_path])
    (tmp_path / "out").mkdir()
    found = [shape.visual for shape in shapes(fc.load(robot.to_urdf(tmp_path / "out" / "a.urdf")).description)]
    assert [visual.shape for visual in found] == ["mesh", "mesh", "cylinder", "sphere", "sphere", "sphere", "box"]
    assert [visual.file for visual in found[:2]] == [str(tmp_path / "a.stl"), "package://p/b.stl"]
    assert found[0].scale == (1.0, 2.0, 3.0)
    assert found[3].pose.position == (0.0, 0.0, -0.25)
    assert found[2].rgba == (1.0, 0.0, 0.0, 1.0)
    mjcf = [shape.visual for shape in shapes(fc.load(robot.to_mjcf(tmp_path / "out" / "a.xml")).description)]
    assert [(visual.shape, visual.size) for visual in mjcf] == [(v.shape, v.size) for v in rest]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(fc.FallingCatError, match="cannot write"):
        fc.load("cat").to_urdf(tmp_path)
    assert fc.load("cat").to_urdf(str(tmp_path / "new" / "cat.urdf")).exists()


@pytest.mark.parametrize("method", ["to_urdf", "to_mjcf"])
def test_loops_that_are_not_written_are_told_of(tmp_path: Path, method: str) -> None:
    b = fc.Builder("fork")
    b.link("stem", mass=1.0, inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    for name, y in (("left", 0.1), ("right", -0.1)):
        b.link(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
        b.joint(f"{name}_hinge", "revolute", "stem", name, xyz=(0.0, y, 0.0), axis=(0, 0, 1), lower=-1.0, upper=1.0)
    b.loop(fc.distance("left", "right", 0.2))
    with pytest.warns(UserWarning, match=r"loops are not written: distance\(left, right\)"):
        getattr(fc.load(b), method)(tmp_path / "fork.xml")
