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


SDF = """<?xml version="1.0"?>
<sdf version="1.9">
  <model name="arm" canonical_link="base">
    <pose>0 0 1 0 0 0.1</pose>
    <link name="base"><inertial><mass>3</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>
    <link name="upper"><pose relative_to="base">0 0 0.2 0 0 0</pose>
      <inertial><pose>0 0 0.1 0 0 0</pose><mass>1</mass>
      <inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.01</izz></inertia></inertial>
      <visual name="v"><geometry><capsule><radius>0.05</radius><length>0.2</length></capsule></geometry></visual>
      <collision name="c"><geometry><mesh><uri>model://x/y.stl</uri><scale>1 1 1</scale></mesh></geometry></collision>
    </link>
    <model name="hand">
      <pose relative_to="upper">0 0 0.3 0 0.1 0</pose>
      <link name="palm"><inertial><mass>0.5</mass>
      <inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></inertial></link>
      <frame name="grasp" attached_to="palm"><pose>0 0 0.1 0 0 0</pose></frame>
    </model>
    <frame name="tool" attached_to="hand::grasp"/>
    <joint name="shoulder" type="revolute"><parent>base</parent><child>upper</child><pose>0 0 -0.01 0 0 0</pose>
      <axis><xyz expressed_in="__model__">0 1 0</xyz><limit><lower>-1</lower><upper>2</upper><effort>3</effort></limit>
      <dynamics><damping>0.1</damping></dynamics></axis></joint>
    <joint name="wrist" type="universal"><parent>upper</parent><child>hand::palm</child>
      <axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
    <joint name="rod" type="ball"><parent>base</parent><child>hand::palm</child></joint>
  </model>
</sdf>
"""

MJCF = """<mujoco model="leg">
  <compiler angle="degree"/>
  <option gravity="0 0 -9.8"><flag contact="disable"/></option>
  <default><joint armature="0.01" damping="0.1"/><default class="leg"><geom type="capsule" size="0.03"/></default></default>
  <worldbody>
    <body name="trunk" pos="0 0 1" euler="10 20 30">
      <freejoint name="root"/>
      <inertial pos="0.01 0 0" mass="3" fullinertia="0.1 0.12 0.15 0.001 0.002 0.003"/>
      <site name="imu" pos="0 0 0.1" quat="0.7 0.1 0.2 0.3"/>
      <body name="thigh" pos="0.2 0 0" childclass="leg">
        <joint name="hip_x" axis="1 0 0" pos="0 0.01 0" ref="10"/>
        <joint name="hip_y" axis="0 1 0" range="-90 90" stiffness="2"/>
        <geom fromto="0 0 0 0 0 -0.3"/>
        <body name="ball" pos="0 0 -0.3"><joint name="ball" type="ball"/><geom type="ellipsoid" size="0.05 0.06 0.07"/></body>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="hip_x" joint2="hip_y" polycoef="0 1 0 0 0"/>
  <connect body1="ball" body2="trunk" anchor="0 0 0"/></equality>
  <actuator><motor name="hip" joint="hip_x" gear="20"/><general name="jet" site="imu" gear="0 0 1 0 0 0.1"/></actuator>
</mujoco>
"""


@cache
def corpora() -> dict[str, tuple[bytes, ...]]:
    """Healthy files by format; small ones first and repeated, because more of them can be tried."""
    small = tuple(text.encode() for text in (PENDULUM, TREE, SHELLS))
    folder = sources._robots_folder()
    large = tuple(folder.joinpath(f"{name}.urdf").read_bytes() for name in ("spacearm", "tree9"))
    # Those who have no MuJoCo see one error for every MJCF.
    return {"urdf": small * 6 + large, "sdf": (SDF.encode(),) * 6, "mjcf": (MJCF.encode(),) * 3}


REFERENCES = (
    *("link", "joint", "name", "type", "body", "parent", "child"),
    *("relative_to", "attached_to", "expressed_in", "body1", "body2", "joint1", "joint2", "site", "class"),
)
"""Attributes whose values are names; swapping them makes loops, orphans and doubles."""
