"""The same robot as SDF, written in the ways that SDF allows: poses in any frame, links off their joints, models in models."""

from __future__ import annotations

from typing import Any

import numpy as np

from fallingcat.model.description import Description, Joint, Pose
from fallingcat.model.rotations import rotation_from_rpy, rpy_of

Array = np.ndarray[Any, Any]
TYPES = {"helical": "screw", "spherical": "ball", "continuous": "continuous"}
STYLES = ("model", "relative", "moved", "nested")


def matrix(pose: Pose) -> Array:
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = pose.rotation, pose.position
    return H


def numbers(values: Any) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def pose_text(H: Array, relative_to: str = "", quaternion: bool = False) -> str:
    rotation = tuple(map(tuple, H[:3, :3]))
    attribute = f' relative_to="{relative_to}"' if relative_to else ""
    if not quaternion:
        return f"<pose{attribute}>{numbers(H[:3, 3])} {numbers(rpy_of(rotation))}</pose>"
    w = np.sqrt(max(0.0, 1.0 + np.trace(H[:3, :3]))) / 2.0
    if w < 0.1:
        return pose_text(H, relative_to)
    x, y, z = ((H[i, j] - H[j, i]) / (4.0 * w) for i, j in ((2, 1), (0, 2), (1, 0)))
    return f'<pose{attribute} rotation_format="quat_xyzw">{numbers(H[:3, 3])} {numbers([x, y, z, w])}</pose>'


def sdf_twin(robot: Description, style: str, rng: np.random.Generator, version: str = "1.9") -> tuple[str, dict[str, Array]]:
    """SDF text, and for every link its old frame in the new one."""
    joints = {joint.child: joint for joint in robot.joints}
    world: dict[str, Array] = {}
    moved: dict[str, Array] = {}

    def place(link: str) -> Array:
        if link not in world:
            joint = joints.get(link)
            world[link] = np.eye(4) if joint is None else place(joint.parent) @ matrix(joint.pose)
        return world[link]

    for link in robot.links:
        T = np.eye(4)
        if style in ("moved", "nested") and link.name in joints:  # the root stays where it is, as the base
            T[:3, :3], T[:3, 3] = rotation_from_rpy(*rng.uniform(-1, 1, 3)), rng.uniform(-0.2, 0.2, 3)
        place(link.name)
        moved[link.name] = T
    at = {name: world[name] @ np.linalg.inv(moved[name]) for name in world}
    links = [_link(link, joints.get(link.name), at, moved[link.name], style) for link in robot.links]
    text = [_joint(joint, moved[joint.child], at, style) for joint in robot.joints]
    names = [link.name for link in robot.links]
    if style == "nested":  # the last link in a model of its own
        inner = pose_text(at[names[-1]], quaternion=True)
        links[-1] = f'<model name="inner">{inner}<link name="{names[-1]}">{links[-1].split("</pose>", 1)[1]}</model>'
        for tag in ("child", "parent"):
            text = [t.replace(f"<{tag}>{names[-1]}</", f"<{tag}>inner::{names[-1]}</") for t in text]
        text = [t.replace(f'expressed_in="{names[-1]}"', f'expressed_in="inner::{names[-1]}"') for t in text]
        moved[f"inner::{names[-1]}"] = moved.pop(names[-1])
    body = "\n".join([*text, *links] if style == "relative" else [*links, *text])
    head = f'<?xml version="1.0"?>\n<sdf version="{version}" xmlns:drake="http://drake.mit.edu">'
    return f'{head}<model name="{robot.name}">\n{body}\n</model></sdf>\n', moved


def _link(link: Any, joint: Joint | None, at: dict[str, Array], T: Array, style: str) -> str:
    where = pose_text(at[link.name])
    if style == "relative" and joint is not None:
        where = pose_text(np.linalg.inv(at[joint.parent]) @ at[link.name], joint.parent, quaternion=True)
    mass, moments, pose = 1e-9, np.full(6, 1e-12) * [1, 0, 0, 1, 0, 1], np.eye(4)
    if link.inertial is not None:
        mass, moments, pose = link.inertial.mass, link.inertial.inertia, matrix(link.inertial.pose)
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    inertia = "".join(f"<{name}>{float(x)!r}</{name}>" for name, x in zip(names, moments, strict=True))
    inertial = f"<inertial>{pose_text(T @ pose)}<mass>{mass!r}</mass><inertia>{inertia}</inertia></inertial>"
    return f'<link name="{link.name}">{where}{inertial}</link>'


def _joint(joint: Joint, T: Array, at: dict[str, Array], style: str) -> str:
    kind = TYPES.get(joint.type, joint.type)
    parts = [f"<parent>{joint.parent}</parent><child>{joint.child}</child>"]
    frame, R = "", np.eye(3)
    if style == "moved":
        parts.append(pose_text(T))
        frame, R = "__model__", (at[joint.child] @ T)[:3, :3]
    elif style == "nested":
        parts.append(pose_text(T))
        frame, R = joint.parent, at[joint.parent][:3, :3].T @ (at[joint.child] @ T)[:3, :3]
    expressed = f' expressed_in="{frame}"' if frame else ""
    if kind not in ("fixed", "ball"):
        limits = joint.limits
        limit = f"<limit><lower>{limits.lower}</lower><upper>{limits.upper}</upper></limit>" if np.isfinite(limits.lower) else ""
        dynamics = f"<dynamics><damping>{joint.damping!r}</damping><friction>{joint.friction!r}</friction></dynamics>"
        mimic = ""
        if joint.mimic is not None:
            m = joint.mimic
            mimic = f'<mimic joint="{m.joint}"><multiplier>{m.multiplier!r}</multiplier><offset>{m.offset!r}</offset></mimic>'
        axis = numbers(R @ joint.axis)
        parts.append(f"<axis><xyz{expressed}>{axis}</xyz>{limit}{dynamics}{mimic}</axis>")
    if kind == "universal":
        parts.append(f"<axis2><xyz{expressed}>{numbers(R @ joint.axis2)}</xyz></axis2>")
    if joint.armature:
        parts.append(f"<drake:rotor_inertia>{joint.armature!r}</drake:rotor_inertia>")
    if kind == "screw":
        parts.append(f"<screw_thread_pitch>{2.0 * np.pi * joint.pitch!r}</screw_thread_pitch>")
    return f'<joint name="{joint.name}" type="{kind}">{"".join(parts)}</joint>'
