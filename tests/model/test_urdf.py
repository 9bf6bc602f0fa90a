"""Good files are read as they are meant."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from fallingcat.model.description import IDENTITY, INFINITY, Description, Joint, Limits, Link, Mimic, Pose, Visual
from fallingcat.model.doctor import diagnose, read_examined
from fallingcat.model.rotations import rotation_from_rpy
from fallingcat.model.sources import read
from fallingcat.model.urdf import read_urdf


def read_good(text: str | bytes) -> Description:
    description, findings = read_urdf(text)
    assert findings == ()
    assert description is not None
    return description


def read_joint(inside: str, kind: str = "continuous") -> Joint:
    text = (
        '<robot name="r"><link name="a"/><link name="b"/>'
        f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{inside}</joint></robot>'
    )
    return read_good(text).joints[0]


def read_link(inside: str, before: str = "") -> Link:
    return read_good(f'<robot name="r">{before}<link name="a">{inside}</link></robot>').links[0]


def visual(geometry: str, more: str = "") -> str:
    return f"<visual>{more}<geometry>{geometry}</geometry></visual>"


BODY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def test_names_lines_and_order() -> None:
    text = (
        '<?xml version="1.0"?>\n<!-- a robot -->\n<robot name="cat">\n  <link name="a"/>\n  <joint name="j" type="fixed">\n'
        '    <parent link="a"/>\n    <child link="b"/>\n  </joint>\n  <link\n     name="b"/>\n</robot>\n'
    )
    description, findings = read_urdf(text, "cat.urdf")
    assert description == Description(
        "cat", (Link("a", line=4), Link("b", line=9)), (Joint("j", "fixed", "a", "b", line=5),), "cat.urdf"
    )
    assert findings == ()
    assert hash(description)


def test_windows_line_ends_count_once() -> None:
    assert read_good('<robot name="r">\r\n\r\n<link name="a"/>\r\n</robot>').links[0].line == 3


def test_foreign_elements_are_passed_over() -> None:
    text = """<robot name="r" xmlns="http://www.ros.org" xmlns:drake="http://drake.mit.edu">
      <link name="a"><drake:inertial/><collision><geometry><box size="not read"/></geometry></collision></link>
      <link name="b"/>
      <joint name="j" type="fixed"><parent link="a"/><child link="b"/><drake:limit/></joint>
      <transmission name="t"><joint name="inner"><hardwareInterface/></joint><actuator name="m"/></transmission>
      <ros2_control name="c" type="system"><joint name="inner2"/></ros2_control>
      <gazebo reference="a"><link name="inner3"/><material>Gazebo/Red</material></gazebo>
      <drake:joint name="other" type="ball"/>
      <sensor/><verbose/><some_extension><deeper><link name="inner4"/></deeper></some_extension>
    </robot>"""
    description = read_good(text)
    assert [link.name for link in description.links] == ["a", "b"]
    assert [joint.name for joint in description.joints] == ["j"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_bytes_follow_their_declaration(encoding: str) -> None:
    name = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{name}"?><robot name="Käse"><link name="é"/></robot>'
    description = read_good(text.encode(encoding))
    assert (description.name, description.links[0].name) == ("Käse", "é")
    assert read_good(text).name == "Käse"


def test_a_plain_document_type_does_no_harm() -> None:
    assert read_good('<!DOCTYPE robot><robot name="r"><link name="a"/></robot>').name == "r"


# Links


def test_inertial() -> None:
    found = read_link(
        '<inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="4"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="2.5"/></inertial>'
    ).inertial
    assert found is not None
    assert found.mass == 4.0
    assert found.inertia == (1.0, 0.1, 0.2, 2.0, 0.3, 2.5)
    assert found.pose == Pose(((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), (1.0, 2.0, 3.0))
    assert found.line == 1


def test_massless_links() -> None:
    assert read_link("").inertial is None
    found = read_link('<inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0"/></inertial>').inertial
    assert found is not None
    assert (found.mass, found.inertia) == (0.0, (0.0,) * 6)


def test_shapes() -> None:
    found = read_link(
        visual('<box size="1 2 3"/>', '<origin xyz="1 0 0"/>')
        + visual('<cylinder radius="0.1" length="2"/>')
        + visual('<sphere radius="0.5"/>')
        + visual('<mesh filename="package://x/y.dae" scale="1 1 2"/>')
        + visual('<capsule radius="1" length="1.5"/>')
    ).visuals
    assert found == (
        Visual("box", (1.0, 2.0, 3.0), Pose(position=(1.0, 0.0, 0.0)), line=1),
        Visual("cylinder", (0.1, 2.0), line=1),
        Visual("sphere", (0.5,), line=1),
        Visual("mesh", file="package://x/y.dae", scale=(1.0, 1.0, 2.0), line=1),
        Visual("capsule", (1.0, 1.5), line=1),
    )


def test_materials() -> None:
    ball = '<sphere radius="1"/>'
    found = read_link(
        visual(ball, '<material name="red"/>')
        + visual(ball, '<material name="blue"><color rgba="0 0 1 0.5"/></material>')
        + visual(ball, '<material name="blue"/>')
        + visual(ball, '<material name="unknown"/>')
        + visual(ball, '<material name=""><color rgba="0 1 0 1"/></material>'),
        before='<material name="red"><color rgba="1 0 0 1"/></material>',
    ).visuals
    default = Visual("sphere", (1.0,)).rgba
    assert [shape.rgba for shape in found] == [(1, 0, 0, 1), (0, 0, 1, 0.5), (0, 0, 1, 0.5), default, (0, 1, 0, 1)]


# Joints


@pytest.mark.parametrize(
    "kind", ["fixed", "continuous", "planar", "floating", "helical", "cylindrical", "universal", "spherical"]
)
def test_types_without_limits(kind: str) -> None:
    assert read_joint("", kind) == Joint("j", kind, "a", "b", line=1)  # type: ignore[arg-type]


def test_pose_and_axes() -> None:
    found = read_joint('<origin rpy=" 0\t0 0 " xyz="\n 1e-1   +2. .5"/><axis xyz="0 0 1"/>')
    assert found.pose == Pose(IDENTITY, (0.1, 2.0, 0.5))
    assert found.axis == (0.0, 0.0, 1.0)
    found = read_joint('<axis xyz="0 0 1"/><axis2 xyz="1 0 0"/>', "universal")
    assert (found.axis, found.axis2) == ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
    assert read_joint('<axis xyz="0 0 1" pitch="0.01"/>', "helical").pitch == 0.01


@pytest.mark.parametrize(
    ("kind", "limit", "expected"),
    [
        ("revolute", LIMIT, Limits(-1.0, 2.0, 3.0, 4.0)),
        ("prismatic", LIMIT, Limits(-1.0, 2.0, 3.0, 4.0)),
        ("continuous", LIMIT, Limits(-INFINITY, INFINITY, 3.0, 4.0)),
        ("revolute", '<limit upper="2" velocity="3" effort="4"/>', Limits(0.0, 2.0, 3.0, 4.0)),
        ("prismatic", '<limit lower="-2"/>', Limits(-2.0, 0.0)),
        ("helical", '<limit velocity="3"/>', Limits(velocity=3.0)),
    ],
)
def test_limits(kind: str, limit: str, expected: Limits) -> None:
    assert read_joint(limit, kind).limits == expected


@pytest.mark.parametrize(("lower", "upper"), [("0", "-0"), ("-0", "0"), ("-0.0", "-0.0"), ("-1", "-0")])
def test_zero_has_no_sign(lower: str, upper: str) -> None:
    limits = read_joint(f'<limit lower="{lower}" upper="{upper}"/>', "revolute").limits
    assert "-0.0" not in f"{limits.lower} {limits.upper}"


def test_dynamics() -> None:
    found = read_joint('<dynamics damping="0.1" friction="0.2" armature="0.3"/>')
    assert (found.damping, found.friction, found.armature) == (0.1, 0.2, 0.3)


def test_mimic() -> None:
    assert read_joint('<mimic joint="k"/>').mimic == Mimic("k")
    assert read_joint('<mimic joint="k" multiplier="-2" offset="0.5"/>').mimic == Mimic("k", -2.0, 0.5)


def test_a_chain_of_mimics_is_fine() -> None:
    links = "".join(f'<link name="l{i}">{BODY}</link>' for i in range(4))
    mimics = ["", '<mimic joint="j0"/>', '<mimic joint="j1"/>']
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/>{mimic}</joint>'
        for i, mimic in enumerate(mimics)
    )
    assert diagnose(f'<robot name="r">{links}{joints}</robot>') == ()


# Rotations


def turn(axis: int, angle: float) -> np.ndarray:
    R = np.eye(3)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    R[i, i] = R[j, j] = math.cos(angle)
    R[i, j], R[j, i] = -math.sin(angle), math.sin(angle)
    return R


def test_roll_pitch_yaw_turns_about_fixed_axes() -> None:
    rng = np.random.default_rng(0)
    for roll, pitch, yaw in rng.uniform(-4, 4, (20, 3)):
        expected = turn(2, yaw) @ turn(1, pitch) @ turn(0, roll)
        np.testing.assert_allclose(rotation_from_rpy(roll, pitch, yaw), expected, atol=1e-15)


def test_right_angles_are_exact() -> None:
    quarter = math.pi / 2
    for angles in np.ndindex(4, 4, 4):
        entries = {entry for row in rotation_from_rpy(*(quarter * k for k in angles)) for entry in row}
        assert entries <= {-1.0, 0.0, 1.0}


# Sources


def test_every_kind_of_source_gives_the_same(tmp_path: Path) -> None:
    text = f'<robot name="r"><link name="a">{BODY}</link></robot>'
    path = tmp_path / "r.urdf"
    path.write_text(text)
    from_text = read_good(text)

    class Builder:
        def description(self) -> Description:
            return from_text

    for source in (text, text.encode(), from_text, Builder()):
        assert read(source) == (from_text, ())
    for place in (path, str(path)):
        description, findings = read_examined(place)
        assert description is not None
        assert description.links == from_text.links
        assert description.file == str(path)
        assert findings == ()


def test_text_may_start_with_blanks_or_a_byte_order_mark() -> None:
    for before in ("\n  ", "\ufeff"):
        assert diagnose(f'{before}<robot name="r"><link name="a">{BODY}</link></robot>') == ()
