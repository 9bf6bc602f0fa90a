"""The bundled robots are what they claim to be, judged without our own reader."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

ROBOTS = Path(__file__).resolve().parents[2] / "src" / "fallingcat" / "model" / "robots"

LEGS = [f"{end}_{side}" for end in ("front", "rear") for side in ("left", "right")]
SIDES = ("left", "right")

JOINTS: dict[str, set[str]] = {
    "cat": {"neck_yaw", "neck_pitch", "waist_bend", "waist_side", "waist_twist", "tail_pitch", "tail_yaw"}
    | {f"front_{side}_{joint}" for side in SIDES for joint in ("shoulder", "elbow")}
    | {f"rear_{side}_{joint}" for side in SIDES for joint in ("hip", "knee")},
    "spacearm": {f"joint{i}" for i in range(1, 8)},
    "quadruped": {f"{leg}_{joint}" for leg in LEGS for joint in ("hip_abduction", "hip_flexion", "knee")},
    "humanoid": {"waist_yaw", "waist_pitch", "neck_yaw", "neck_pitch"}
    | {
        f"{side}_{joint}"
        for side in SIDES
        for joint in (
            "hip_yaw", "hip_roll", "hip_pitch", "knee", "ankle_pitch", "ankle_roll",
            "shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_yaw", "wrist_pitch", "wrist_roll",
        )
    },
    "tree9": {f"{kind}_{axis}" for kind in ("revolute", "prismatic", "helical") for axis in "xyz"},
}  # fmt: skip
COUNTS = {"cat": 15, "spacearm": 7, "quadruped": 12, "humanoid": 30, "tree9": 9}
ROOTS = {"cat": "front", "spacearm": "base", "quadruped": "trunk", "humanoid": "pelvis", "tree9": "base"}
MASSES = {"cat": (3.8, 4.2), "spacearm": (17.5, 18.5), "quadruped": (12, 25), "humanoid": (57, 63), "tree9": (5, 20)}
NAMES = list(JOINTS)
PINOCCHIO = [name for name in NAMES if name != "tree9"]  # its URDF reader has no helical joint

each_robot = pytest.mark.parametrize("name", NAMES)


@cache
def robot(name: str) -> ET.Element:
    return ET.parse(ROBOTS / f"{name}.urdf").getroot()


def numbers(element: ET.Element | None, attribute: str, default: str = "0 0 0") -> np.ndarray:
    text = default if element is None else element.get(attribute, default)
    return np.array([float(word) for word in text.split()])


def child(element: ET.Element, path: str) -> ET.Element:
    found = element.find(path)
    assert found is not None, f"{element.tag} {element.get('name')} has no {path}"
    return found


def moving(name: str) -> list[ET.Element]:
    return [joint for joint in robot(name).findall("joint") if joint.get("type") != "fixed"]


@cache
def pinocchio_model(name: str) -> pin.Model:
    return pin.buildModelFromUrdf(str(ROBOTS / f"{name}.urdf"), pin.JointModelFreeFlyer())


@each_robot
def test_names_and_joints(name: str) -> None:
    root = robot(name)
    assert root.tag == "robot"
    assert root.get("name") == name
    joints = [joint.get("name") for joint in moving(name)]
    assert set(joints) == JOINTS[name]
    assert len(joints) == COUNTS[name]
    for tag in ("link", "joint", "material"):
        names = [element.get("name") for element in root.findall(tag)]
        assert len(names) == len(set(names)), tag


@each_robot
def test_is_a_tree_with_the_right_root(name: str) -> None:
    root = robot(name)
    links = {link.get("name") for link in root.findall("link")}
    parent = {child(j, "child").get("link"): child(j, "parent").get("link") for j in root.findall("joint")}
    assert len(parent) == len(root.findall("joint")) == len(links) - 1
    assert links - set(parent) == {ROOTS[name]}
    for link in links:
        seen = set()
        while link != ROOTS[name]:
            assert link not in seen
            seen.add(link)
            link = parent[link]


@each_robot
def test_types_axes_and_limits(name: str) -> None:
    for joint in moving(name):
        kind, axis = joint.get("type"), child(joint, "axis")
        if name == "tree9":
            expected_kind, letter = str(joint.get("name")).split("_")
            assert kind == expected_kind
            np.testing.assert_array_equal(numbers(axis, "xyz"), np.eye(3)["xyz".index(letter)])
        else:
            assert kind == "revolute"
        assert (kind == "helical") == ("pitch" in axis.attrib)
        if kind == "helical":
            assert float(axis.attrib["pitch"]) != 0
        assert np.linalg.norm(numbers(axis, "xyz")) == pytest.approx(1)
        limit = child(joint, "limit")
        assert float(limit.attrib["lower"]) < 0 < float(limit.attrib["upper"])
        assert float(limit.attrib["velocity"]) > 0
        assert float(limit.attrib["effort"]) > 0
        assert float(child(joint, "dynamics").attrib["damping"]) > 0


@each_robot
def test_masses(name: str) -> None:
    root = robot(name)
    masses = [float(mass.attrib["value"]) for mass in root.findall("link/inertial/mass")]
    assert min(masses) > 0
    low, high = MASSES[name]
    assert low <= sum(masses) <= high
    weighty = {ROOTS[name]} | {child(joint, "child").get("link") for joint in moving(name)}
    for link in root.findall("link"):
        if link.get("name") in weighty:
            assert link.find("inertial/mass") is not None, link.get("name")


@each_robot
def test_inertias_are_physical(name: str) -> None:
    for link in robot(name).findall("link"):
        if link.find("inertial") is None:
            continue
        i = {key: float(value) for key, value in child(link, "inertial/inertia").attrib.items()}
        tensor = np.array([[i["ixx"], i["ixy"], i["ixz"]], [i["ixy"], i["iyy"], i["iyz"]], [i["ixz"], i["iyz"], i["izz"]]])
        a, b, c = np.linalg.eigvalsh(tensor)
        assert a > 0, link.get("name")
        assert a + b > c, link.get("name")
        # A radius of gyration of half a centimetre to half a metre: neither grams for kilograms nor millimetres for metres.
        mass = float(child(link, "inertial/mass").attrib["value"])
        assert 0.005 < np.sqrt(c / mass) < 0.5, link.get("name")


@each_robot
def test_visuals_are_coloured_primitives(name: str) -> None:
    root = robot(name)
    materials = {material.get("name"): numbers(child(material, "color"), "rgba") for material in root.findall("material")}
    assert all(rgba.shape == (4,) and (rgba >= 0).all() and (rgba <= 1).all() for rgba in materials.values())
    used = Counter()
    for link in root.findall("link"):
        assert (link.find("visual") is None) == (link.find("inertial") is None), link.get("name")
        for visual in link.findall("visual"):
            (shape,) = child(visual, "geometry")
            assert shape.tag in ("box", "cylinder", "sphere")
            sizes = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",)}[shape.tag]
            assert all((numbers(shape, key) > 0).all() for key in sizes)
            used[child(visual, "material").get("name")] += 1
    assert set(used) == set(materials)


def test_tree9_branches_at_the_base_and_further_out() -> None:
    children = Counter(child(joint, "parent").get("link") for joint in moving("tree9"))
    assert children["base"] >= 2
    assert sum(count >= 2 for link, count in children.items() if link != "base") >= 1
    for joint in moving("tree9"):
        origin = child(joint, "origin")
        assert (numbers(origin, "xyz") != 0).all()
        assert (numbers(origin, "rpy") != 0).all()
    for inertial in robot("tree9").findall("link/inertial"):
        assert (numbers(inertial.find("origin"), "rpy") != 0).all()


def test_spacearm_base_and_hand() -> None:
    base = child(robot("spacearm"), "link[@name='base']/inertial")
    assert float(child(base, "mass").attrib["value"]) == 3.5
    inertia = child(base, "inertia").attrib
    assert [float(inertia[key]) for key in ("ixx", "iyy", "izz")] == [0.12, 0.14, 0.12]
    weld = child(robot("spacearm"), "joint[@type='fixed']")
    assert (child(weld, "parent").get("link"), child(weld, "child").get("link")) == ("link7", "hand")


@pytest.mark.parametrize("name", PINOCCHIO)
def test_pinocchio_loads(name: str) -> None:
    model = pinocchio_model(name)
    assert model.nv == 6 + COUNTS[name]
    assert set(model.names) - {"universe", "root_joint"} == JOINTS[name]
    masses = [float(mass.attrib["value"]) for mass in robot(name).findall("link/inertial/mass")]
    assert pin.computeTotalMass(model) == pytest.approx(sum(masses))
    M = pin.crba(model, model.createData(), pin.neutral(model))
    assert np.linalg.eigvalsh(np.triu(M) + np.triu(M, 1).T)[0] > 0


@pytest.mark.parametrize(
    ("name", "feet", "height"),
    [
        ("quadruped", [f"{leg}_foot" for leg in LEGS], (0.25, 0.45)),
        ("humanoid", [f"{side}_sole" for side in SIDES], (0.75, 0.95)),
    ],
)
def test_stands_at_neutral(name: str, feet: list[str], height: tuple[float, float]) -> None:
    model = pinocchio_model(name)
    data = model.createData()
    q = pin.neutral(model)
    pin.framesForwardKinematics(model, data, q)
    places = np.array([data.oMf[model.getFrameId(foot, pin.FrameType.BODY)].translation for foot in feet])
    np.testing.assert_allclose(places[:, 2], places[0, 2], atol=1e-9)
    assert height[0] < -places[0, 2] < height[1]
    assert np.abs(pin.centerOfMass(model, data, q)[:2] - places[:, :2].mean(axis=0)).max() < 0.03


def test_the_cat_rights_itself() -> None:
    """Kane and Scher: bend the waist, take the bend once round without twisting, straighten. No momentum, half a turn."""
    model = pinocchio_model("cat")
    data = model.createData()
    q = pin.neutral(model)
    waist = ("waist_bend", "waist_side", "waist_twist")

    def index(joint: str) -> int:
        return model.joints[model.getJointId(joint)].idx_v

    tucked = {"front_{}_shoulder": 0.3, "front_{}_elbow": -1.75, "rear_{}_hip": -0.75, "rear_{}_knee": 1.3}
    for joint, angle in tucked.items():
        for side in SIDES:
            q[index(joint.format(side)) + 1] = angle

    cone = 1.38
    ramp, turn = np.linspace(0, 1, 60), np.linspace(0, 2 * np.pi, 400)
    path = [(cone * s, 0.0) for s in ramp] + [(cone, s) for s in turn] + [(cone * (1 - s), 0.0) for s in ramp]
    angles = []
    for bend, direction in path:
        R = pin.exp3(bend * np.array([0, np.cos(direction), np.sin(direction)]))  # = Ry(bend) Rz(side) Rx(twist)
        angles.append([np.arctan2(-R[2, 0], R[0, 0]), np.arcsin(R[1, 0]), np.arctan2(-R[1, 2], R[1, 1])])

    columns = [index(joint) for joint in waist]
    for now, then in pairwise(angles):
        step = np.zeros(model.nv)
        step[columns] = np.subtract(then, now)
        A = pin.computeCentroidalMap(model, data, pin.integrate(model, q, step / 2))
        step[:6] = -np.linalg.solve(A[:, :6], A[:, 6:] @ step[6:])
        q = pin.integrate(model, q, step)
        assert (q >= model.lowerPositionLimit)[7:].all()
        assert (q <= model.upperPositionLimit)[7:].all()

    up = pin.Quaternion(q[3:7]).matrix()[:, 2]
    assert up[2] < -0.99  # the back, which was up, is down: within 8 degrees
