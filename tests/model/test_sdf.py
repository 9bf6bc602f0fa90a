"""SDF files: against the same robots as URDF or from a builder, and what SDF alone can say."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mujoco_states import evaluate
from tests.sdf_twins import STYLES, sdf_twin
from tests.trees import random_tree

import fallingcat as fc

TYPES = ("revolute", "continuous", "prismatic", "helical", "universal", "spherical")
INERTIAL = "<inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.25</izz></inertia></inertial>"


def sdf(model: str, version: str = "1.9", attributes: str = "") -> str:
    return f'<sdf version="{version}"><model name="m" {attributes}>{model}</model></sdf>'


def link(name: str, pose: str = "", more: str = INERTIAL) -> str:
    return f'<link name="{name}">{f"<pose>{pose}</pose>" if pose else ""}{more}</link>'


def joint(name: str, parent: str, child: str, more: str = "<axis><xyz>0 0 1</xyz></axis>", kind: str = "revolute") -> str:
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{more}</joint>'


def same(a: fc.Robot, b: fc.Robot, rng: np.random.Generator, moved: dict[str, np.ndarray] | None = None) -> float:
    """The largest relative difference of M, inverse dynamics and frames at a random state."""
    assert (a.nq, a.nv, a.joint_names) == (b.nq, b.nv, b.joint_names)
    q = a.random_configuration(rng)
    nu, dnu = rng.normal(size=(2, a.nv))
    worst = 0.0
    for name, values in (("mass_matrix", (q,)), ("inverse_dynamics", (q, nu, dnu))):
        x, y = evaluate(a, name, *values), evaluate(b, name, *values)
        worst = max(worst, float(np.abs(x - y).max() / np.abs(x).max()))
    for name, T in (moved or {}).items():
        worst = max(worst, float(np.abs(a.frame_pose(q, name.removeprefix("inner::")) - b.frame_pose(q, name) @ T).max()))
    return worst


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("seed", range(4))
def test_random_trees(style: str, seed: int, rng: np.random.Generator) -> None:
    """Every type of joint, axes along nothing, mimics; dynamics inside joints as well, but for balls, which have none in SDF."""
    for options in ({}, {"floating": False}, {"joint_dynamics": True}):
        builder = random_tree(seed, 7, TYPES[:-1] if "joint_dynamics" in options else TYPES)
        text, moved = sdf_twin(builder.description(), style, rng)
        first = fc.load(builder, **options)
        second = fc.load(text.replace("1e-09", "0.0").replace("1e-12", "0.0"), **options)
        assert same(first, second, rng, {} if options else moved) < 1e-12


@pytest.mark.parametrize("name", ["quadruped", "humanoid", "spacearm", "tree9"])
@pytest.mark.parametrize("style", STYLES)
def test_urdf_twins(name: str, style: str, rng: np.random.Generator) -> None:
    robot = fc.load(name)
    text, moved = sdf_twin(robot.description, style, rng)
    twin = fc.load(text.replace("1e-09", "0.0").replace("1e-12", "0.0"))
    assert same(robot, twin, rng) < 1e-12
    assert len(moved) == len(robot.link_names)


def test_frames() -> None:
    """Frames on frames, in any order, attached to links through other frames."""
    text = sdf(
        link("a", "1 0 0 0 0 0")
        + '<frame name="tip" attached_to="wrist"><pose>0 0 3 0 0 0</pose></frame>'
        + '<frame name="wrist" attached_to="b"><pose relative_to="b">0 0 2 0 0 1.5707963267948966</pose></frame>'
        + '<frame name="plain"><pose>0 0 7 0 0 0</pose></frame>'
        + link("b", "1 1 0 0 0 0")
        + joint("j", "a", "wrist", "<pose>0 0 0.5 0 0 0</pose><axis><xyz expressed_in='a'>1 0 0</xyz></axis>")
    )
    robot = fc.load(text, floating=False)
    assert {"tip", "wrist", "plain"} <= set(robot.frame_names)
    q = np.array([np.pi / 2])
    # About x through (1, 1, 2.5), which in a is (0, 1, 2.5).
    assert robot.frame_pose(np.zeros(1), "wrist")[:3, 3] == pytest.approx([0.0, 1.0, 2.0])
    assert robot.frame_pose(q, "wrist")[:3, 3] == pytest.approx([0.0, 1.5, 2.5])
    assert robot.frame_pose(q, "tip")[:3, 3] == pytest.approx([0.0, -1.5, 2.5])
    assert robot.frame_pose(q, "plain")[:3, 3] == pytest.approx([-1.0, 0.0, 7.0])
    by_name = {frame.name: frame.link for frame in robot.description.frames}
    assert by_name == {"tip": "b", "wrist": "b", "plain": "a"}


def test_axes_of_old_files() -> None:
    """Up to 1.6, <use_parent_model_frame> turns the axis to the model's frame."""
    child = link("b", "0 0 0 0 0 1.5707963267948966")
    for more, axis in (("", [1, 0, 0]), ("<use_parent_model_frame>1</use_parent_model_frame>", [0, -1, 0])):
        text = sdf(link("a") + child + joint("j", "a", "b", f"<axis><xyz>1 0 0</xyz>{more}</axis>"), version="1.6")
        found = fc.load(text).description.joints[0].axis
        assert found == pytest.approx(axis, abs=1e-15)


def test_limits_and_dynamics() -> None:
    more = """<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>2</upper><effort>30</effort><velocity>-1</velocity></limit>
    <dynamics><damping>0.5</damping><friction>0.25</friction></dynamics></axis>
    <drake:rotor_inertia>0.001</drake:rotor_inertia><drake:gear_ratio>10</drake:gear_ratio>"""
    text = '<sdf version="1.9" xmlns:drake="d">' + sdf(link("a") + link("b") + joint("j", "a", "b", more)).split(">", 1)[1]
    (found,) = fc.load(text).description.joints
    assert (found.limits.lower, found.limits.upper, found.limits.effort, found.limits.velocity) == (-1.0, 2.0, 30.0, np.inf)
    assert (found.damping, found.friction, found.armature) == (0.5, 0.25, pytest.approx(0.1))
    no = "<limit><lower>-1e16</lower><upper>1e+16</upper></limit>"
    (free,) = fc.load(sdf(link("a") + link("b") + joint("j", "a", "b", f"<axis><xyz>0 0 1</xyz>{no}</axis>"))).description.joints
    assert (free.type, free.limits.lower) == ("continuous", -np.inf)
    inf = "<limit><lower>-inf</lower><upper>inf</upper></limit>"
    assert fc.load(sdf(link("a") + link("b") + joint("j", "a", "b", f"<axis><xyz>0 0 1</xyz>{inf}</axis>"))).n == 1


def test_mimic_with_a_reference() -> None:
    mimic = "<multiplier>2</multiplier><offset>0.5</offset><reference>0.25</reference>"
    more = f"<axis><xyz>0 0 1</xyz><mimic joint='j'>{mimic}</mimic></axis>"
    robot = fc.load(sdf(link("a") + link("b") + link("c") + joint("j", "a", "b") + joint("k", "b", "c", more), "1.11"))
    assert robot.n == 1
    found = robot.description.joints[1].mimic
    assert found is not None
    assert (found.joint, found.multiplier, found.offset) == ("j", 2.0, 0.0)


def test_screw_pitches() -> None:
    """Metres per turn, and the older radians per metre with the other sign."""
    parts = link("a") + link("b")
    axis = "<axis><xyz>0 0 1</xyz></axis>"
    new = fc.load(sdf(parts + joint("j", "a", "b", axis + "<screw_thread_pitch>0.5</screw_thread_pitch>", "screw"), "1.10"))
    old = fc.load(sdf(parts + joint("j", "a", "b", axis + f"<thread_pitch>{-2 * np.pi / 0.5}</thread_pitch>", "screw"), "1.6"))
    for robot in (new, old):
        assert robot.description.joints[0].pitch == pytest.approx(0.5 / (2 * np.pi))


def test_the_world() -> None:
    """A joint to the world, or a static model, and the base does not float."""
    free = fc.load(sdf(link("a") + link("b") + joint("j", "a", "b")))
    assert (free.floating, free.base, free.nv) == (True, "a", 7)
    text = sdf("<pose>0 0 2 0 0 0</pose>" + link("a", "1 0 0 0 0 0") + joint("j", "world", "a"))
    robot = fc.load(text)
    assert (robot.floating, robot.base, robot.nv) == (False, "world", 1)
    assert robot.frame_pose(np.zeros(1), "a")[:3, 3] == pytest.approx([1.0, 0.0, 2.0])
    static = fc.load(sdf("<static>true</static>" + link("a", "1 0 0 0 0 0") + link("b") + joint("j", "a", "b")))
    assert (static.floating, static.base, static.nv) == (False, "world", 1)
    assert static.frame_pose(np.zeros(1), "a")[:3, 3] == pytest.approx([1.0, 0.0, 0.0])
    model = sdf(link("a")).split(">", 1)[1].replace("</sdf>", "")
    inside = f'<sdf version="1.9"><world name="w"><gravity>0 0 -1.6</gravity>{model}</world></sdf>'
    assert fc.load(inside).gravity.tolist() == [0.0, 0.0, -1.6]


def test_nested_models() -> None:
    parts = link("hand", "0 1 0 0 0 0") + '<frame name="tip" attached_to="hand"/>'
    inner = f'<model name="arm"><pose relative_to="a">0 0 1 0 0 0</pose>{parts}</model>'
    robot = fc.load(sdf(link("a", "5 0 0 0 0 0") + inner + joint("j", "a", "arm::hand")), floating=False)
    assert robot.link_names == ("a", "arm::hand")
    assert robot.frame_pose(np.zeros(1), "arm::tip")[:3, 3] == pytest.approx([0.0, 1.0, 1.0])
    whole = fc.load(sdf(link("a") + inner + joint("j", "a", "arm", "", "fixed")))  # the model stands for its first link
    assert whole.n == 0


def test_a_joint_that_closes_a_loop_is_kept_as_a_constraint() -> None:
    text = sdf(
        link("a") + link("b", "1 0 0 0 0 0") + link("c", "0 1 0 0 0 0") + joint("j", "a", "b") + joint("k", "a", "c")
        + joint("rod", "b", "c", "<pose>0.5 0 0 0 0 0</pose><axis><xyz>0 0 1</xyz></axis>")
        + joint("ball", "a", "c", "", "ball")
    )  # fmt: skip
    robot = fc.load(text)
    assert robot.joint_names == ("j", "k")
    hinge, connect = robot.description.equalities
    assert (hinge.kind, hinge.name, hinge.axis, connect.kind) == ("hinge", "rod", (0.0, 0.0, 1.0), "connect")
    q = robot.neutral()
    assert hinge.frames is not None
    points = [robot.frame_pose(q, f.link)[:3, :] @ [*f.pose.position, 1.0] for f in hinge.frames]
    assert points[0] == pytest.approx(points[1])
    assert points[0] == pytest.approx([0.5, 1.0, 0.0])
    assert sum("closes a loop" in finding.message for finding in fc.diagnose(text)) == 2


def test_shapes() -> None:
    visual = """<visual name="v"><pose relative_to="f">0 0 1 0 0 0</pose>
    <geometry><mesh><uri>model://m/a.dae</uri><scale>2 2 2</scale></mesh></geometry>
    <material><diffuse>1 0 0 0.5</diffuse></material></visual>
    <visual name="w"><geometry><ellipsoid><radii>1 2 3</radii></ellipsoid></geometry></visual>
    <visual name="x"><geometry><plane/></geometry></visual>
    <collision name="c"><geometry><capsule><radius>0.1</radius><length>0.5</length></capsule></geometry></collision>"""
    robot = fc.load(sdf(link("a", "1 0 0 0 0 0", INERTIAL + visual) + '<frame name="f"><pose>0 0 1 0 0 0</pose></frame>'))
    (shown,) = robot.description.links
    mesh, ellipsoid = shown.visuals
    assert (mesh.file, mesh.scale, mesh.rgba) == ("model://m/a.dae", (2.0, 2.0, 2.0), (1.0, 0.0, 0.0, 0.5))
    assert mesh.pose.position == pytest.approx((-1.0, 0.0, 2.0))
    assert (ellipsoid.shape, ellipsoid.size) == ("ellipsoid", (1.0, 2.0, 3.0))
    assert shown.collisions[0].size == (0.1, 0.5)


def test_a_link_without_inertia_has_the_standard_one() -> None:
    robot = fc.load(sdf(link("a", more="")))
    assert robot.mass == 1.0
    assert "1 kg" in str(fc.diagnose(sdf(link("a", more="")))[0])


def test_pose_formats() -> None:
    degrees = '<pose degrees="true">0 0 0 0 0 90</pose>'
    quaternion = '<pose rotation_format="quat_xyzw">0 0 0 0 0 0.70710678118654757 0.70710678118654757</pose>'
    for pose in (degrees, quaternion):
        text = sdf(link("a") + f'<link name="b">{pose}{INERTIAL}</link>' + joint("j", "a", "b", "", "fixed"))
        R = np.array(fc.load(text).description.joints[0].pose.rotation)
        assert pytest.approx(np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), abs=1e-15) == R
