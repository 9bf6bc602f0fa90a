"""What the attack on files starts from: healthy descriptions, by format.

Another format joins by one more entry in `CORPORA`: the mutations know XML, not URDF, but for the names in `REFERENCES`.
"""

from __future__ import annotations

from functools import cache

from fallingcat.model import sources

PENDULUM = """<?xml version="1.0"?>
<robot name="pendulum">
  <link name="world"/>
  <link name="bob">
    <inertial>
      <origin xyz="0 0 -0.5" rpy="0 0.1 0"/>
      <mass value="2"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.02"/>
    </inertial>
  </link>
  <joint name="hinge" type="revolute">
    <parent link="world"/>
    <child link="bob"/>
    <origin xyz="0 0 1" rpy="0 0 0"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/>
    <dynamics damping="0.1" friction="0.01"/>
  </joint>
</robot>
"""


def _link(name: str, mass: float) -> str:
    inertia = '<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="-0.002" izz="0.015"/>'
    return f'  <link name="{name}"><inertial><origin xyz="0.1 0 0"/><mass value="{mass}"/>{inertia}</inertial></link>\n'


def _joint(name: str, kind: str, parent: str, child: str, more: str = "") -> str:
    return (
        f'  <joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.2 0 0.1" rpy="0.1 0 -0.2"/><axis xyz="0 0 1"/>{more}</joint>\n'
    )


TREE = (
    '<robot name="tree">\n'
    + "".join(_link(name, 1.0 + k) for k, name in enumerate(("trunk", "arm", "hand", "slide", "ball", "tool")))
    + _joint("shoulder", "continuous", "trunk", "arm")
    + _joint("wrist", "revolute", "arm", "hand", '<limit lower="-2" upper="2" effort="1" velocity="1"/><mimic joint="shoulder"/>')
    + _joint("rail", "prismatic", "trunk", "slide", '<limit lower="-0.1" upper="0.2" effort="1" velocity="1"/>')
    + _joint("free", "floating", "slide", "ball")
    + _joint("weld", "fixed", "hand", "tool")
    + "</robot>\n"
)

SHELLS = """<robot name="shells">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="a">
    <visual><geometry><box size="1 2 3"/></geometry><material name="grey"/></visual>
    <collision><geometry><cylinder radius="0.1" length="0.5"/></geometry></collision>
    <collision><geometry><mesh filename="package://x/y.stl" scale="1 1 1"/></geometry></collision>
    <inertial><mass value="1e0"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <transmission name="t"><joint name="j"><hardwareInterface>effort</hardwareInterface></joint></transmission>
  <gazebo reference="a"><selfCollide>1</selfCollide></gazebo>
</robot>
"""


@cache
def corpora() -> dict[str, tuple[bytes, ...]]:
    """Healthy files by format; small ones first and repeated, because more of them can be tried."""
    small = tuple(text.encode() for text in (PENDULUM, TREE, SHELLS))
    folder = sources._robots_folder()
    large = tuple(folder.joinpath(f"{name}.urdf").read_bytes() for name in ("spacearm", "tree9"))
    return {"urdf": small * 6 + large}


REFERENCES = ("link", "joint", "name", "type", "body", "parent", "child")
"""Attributes whose values are names; swapping them makes loops, orphans and doubles."""
