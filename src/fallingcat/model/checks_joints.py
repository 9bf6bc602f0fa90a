"""Checks of each joint by itself, and of the joint that it mimics."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fallingcat.model.checks_tree import find_cycle_members, joint_label
from fallingcat.model.description import JOINT_TYPES, Description, Joint, Pose, Vector
from fallingcat.model.mimics import resolve
from fallingcat.model.report import Report, Suggestions, listed, quoted

SINGLE_COORDINATE = ("revolute", "continuous", "prismatic", "helical")
_WITH_AXIS = (*SINGLE_COORDINATE, "cylindrical", "planar", "universal")
# Products of a few numbers below this do not overflow.
_LARGEST = 1e60
SMALLEST = 1 / _LARGEST
"""Least usable mass, inertia or multiplier: quotients of a few such numbers do not overflow."""
_SHORTEST = 1e-9
_PARALLEL = 1e-6


def check_joints(description: Description, report: Report) -> None:
    """Report wrong types, axes, limits, dynamics and mimic tags of joints."""
    types = Suggestions(JOINT_TYPES)
    for joint in description.joints:
        _check_type(joint, types, report)
        if check_finite(_joint_numbers(joint), joint_label(joint), joint.line, report):
            check_rotation(joint.pose, joint_label(joint), joint.line, report)
            _check_axes(joint, report)
            _check_limits(joint, report)
            _check_dynamics(joint, report)
    _check_mimics(description, report)


def check_finite(numbers: Iterator[tuple[str, tuple[float, ...]]], element: str, line: int, report: Report) -> bool:
    """Reports named numbers that are not finite or too large; true when all are fine."""
    fine = True
    for name, values in numbers:
        if not all(abs(value) < _LARGEST for value in values):
            fine = False
            fault = "too large" if all(math.isfinite(value) for value in values) else "not finite"
            shown = " ".join(f"{value:g}" for value in values)
            report.error(
                f"the {name} is {fault}: {shown}", hint="give it in kilograms, metres and radians", element=element, line=line
            )
    return fine


def pose_numbers(pose: Pose) -> Iterator[tuple[str, tuple[float, ...]]]:
    """The numbers of a pose with their names."""
    yield "position", pose.position
    yield "rotation", pose.rotation[0] + pose.rotation[1] + pose.rotation[2]


def check_rotation(pose: Pose, element: str, line: int, report: Report) -> None:
    """Reports a matrix that is not a rotation."""
    R = np.array(pose.rotation)
    with np.errstate(all="ignore"):
        off, det = float(np.abs(R.T @ R - np.eye(3)).max()), float(np.linalg.det(R))
    if not off <= 1e-6 or det < 0:
        report.error(
            f"the rotation is not a rotation matrix: R'R is off the identity by {off:.3g}, det R = {det:.3g}",
            hint="its columns must be three orthogonal unit vectors, right-handed",
            element=element,
            line=line,
        )


def _joint_numbers(joint: Joint) -> Iterator[tuple[str, tuple[float, ...]]]:
    yield from pose_numbers(joint.pose)
    yield "axis", joint.axis
    yield "second axis", joint.axis2
    for name, value in (
        ("pitch", joint.pitch),
        ("damping", joint.damping),
        ("friction", joint.friction),
        ("armature", joint.armature),
    ):
        yield name, (value,)
    if joint.mimic is not None:
        yield "mimic multiplier", (joint.mimic.multiplier,)
        yield "mimic offset", (joint.mimic.offset,)


def _check_type(joint: Joint, types: Suggestions, report: Report) -> None:
    if joint.type in JOINT_TYPES:
        return
    known = ", ".join(JOINT_TYPES)
    report.error(
        f"the joint type {quoted(joint.type)} is unknown" if joint.type else "the joint has no type",
        hint=types.hint(joint.type.lower(), f"the types are {known}"),
        element=joint_label(joint),
        line=joint.line,
    )


def _length(axis: Vector) -> float:
    return math.hypot(*axis)


def _parallel(a: Vector, b: Vector) -> bool:
    """Whether two vectors have the same or the opposite direction; false when one of them is zero."""
    if min(_length(a), _length(b)) < _SHORTEST:
        return False
    return float(np.linalg.norm(np.cross(np.array(a) / _length(a), np.array(b) / _length(b)))) < _PARALLEL


def _check_axes(joint: Joint, report: Report) -> None:
    if joint.type not in _WITH_AXIS:
        return
    label = joint_label(joint)
    axes = (("axis", joint.axis), ("second axis", joint.axis2))
    for name, axis in axes if joint.type == "universal" else axes[:1]:
        length = _length(axis)
        shown = " ".join(f"{value:g}" for value in axis)
        if length < _SHORTEST:
            report.error(
                f"the {name} is zero: {shown}",
                hint='give it a direction, for instance xyz="0 0 1"',
                element=label,
                line=joint.line,
            )
        elif abs(length - 1.0) > 1e-3:
            report.warning(
                f"the {name} {shown} has length {length:.6g}, not 1; only its direction is used",
                hint="write a unit vector",
                element=label,
                line=joint.line,
            )
    if joint.type == "universal" and _parallel(joint.axis, joint.axis2):
        report.error(
            "the two axes of the universal joint are parallel",
            hint="write <axis2 xyz=...> with another direction, best at a right angle to <axis>",
            element=label,
            line=joint.line,
        )
    if joint.type == "helical" and joint.pitch == 0.0:
        report.warning(
            "the helical joint has pitch 0 and only turns",
            hint='write <axis xyz="..." pitch="..."/> with the pitch in metres per radian, or type="revolute"',
            element=label,
            line=joint.line,
        )


def _check_limits(joint: Joint, report: Report) -> None:
    label, limits = joint_label(joint), joint.limits
    everything = (limits.lower, limits.upper, limits.velocity, limits.effort)
    if any(math.isnan(value) for value in everything) or limits.lower == math.inf or limits.upper == -math.inf:
        shown = ", ".join(f"{value:g}" for value in everything)
        report.error(
            f"the limits are not usable numbers: lower, upper, velocity, effort = {shown}",
            hint="leave a limit out when there is none",
            element=label,
            line=joint.line,
        )
        return
    if limits.lower > limits.upper:
        report.error(
            f"the limits are upside down: lower {limits.lower:g} is above upper {limits.upper:g}",
            hint="swap them",
            element=label,
            line=joint.line,
        )
    elif joint.type in SINGLE_COORDINATE and joint.mimic is None and not limits.lower <= 0.0 <= limits.upper:
        report.warning(
            f"the neutral position 0 is outside the limits {limits.lower:g} to {limits.upper:g}: it cannot stand as in neutral()",
            hint="start from random_configuration() or from a pose within the limits",
            element=label,
            line=joint.line,
        )
    for name, value in (("velocity", limits.velocity), ("effort", limits.effort)):
        if value < 0:
            report.error(
                f"the {name} limit is negative: {value:g}",
                hint="it bounds the magnitude; drop the sign",
                element=label,
                line=joint.line,
            )


def _check_dynamics(joint: Joint, report: Report) -> None:
    for name, value in (("damping", joint.damping), ("friction", joint.friction), ("armature", joint.armature)):
        if value < 0:
            report.error(
                f"the {name} is negative: {value:g}",
                hint=f"{name} cannot be below zero; drop the sign or the attribute",
                element=joint_label(joint),
                line=joint.line,
            )
    if 0 < joint.armature < SMALLEST:
        report.error(
            f"the armature is too small to be computed with: {joint.armature:g}",
            hint="write 0 where there is none",
            element=joint_label(joint),
            line=joint.line,
        )


def _check_mimics(description: Description, report: Report) -> None:
    known: dict[str, Joint] = {}
    for joint in description.joints:
        known.setdefault(joint.name, joint)
    names = Suggestions(name for name in known if name)
    follows: dict[str, str] = {}
    for joint in description.joints:
        if joint.mimic is not None and joint.type == "fixed":
            report.warning(
                "a fixed joint cannot follow another; its <mimic> is ignored",
                hint="delete <mimic>",
                element=joint_label(joint),
                line=joint.line,
            )
        elif joint.mimic is not None:
            _check_mimic(joint, known, names, report)
            if joint.mimic.joint != joint.name and known.get(joint.name) is joint:
                follows[joint.name] = joint.mimic.joint
    for cycle in find_cycle_members(follows):
        first = min((known[name] for name in cycle), key=lambda joint: joint.line)
        report.error(
            f"the joints {listed(cycle)} mimic each other in a cycle",
            hint="one of them must move on its own",
            element=joint_label(first),
            line=first.line,
        )
    if not report.has_errors():
        _check_chains(description, known, report)


def _check_chains(description: Description, known: dict[str, Joint], report: Report) -> None:
    """Report chains of mimic joints whose multipliers or offsets, each within bounds, overflow when they are combined."""
    reported: set[str] = set()
    for name, (leader, multiplier, offset) in resolve(description.joints).items():
        if leader in reported or (abs(multiplier) < _LARGEST and abs(offset) < _LARGEST):
            continue
        reported.add(leader)
        report.error(
            f"it follows {quoted(leader)} through a chain of mimics whose multipliers and offsets grow too large: "
            f"{multiplier:g} and {offset:g} in all",
            hint="mend the multipliers along the chain",
            element=joint_label(known[name]),
            line=known[name].line,
        )


def _check_mimic(joint: Joint, known: dict[str, Joint], names: Suggestions, report: Report) -> None:
    mimic, label = joint.mimic, joint_label(joint)
    assert mimic is not None
    leader = known.get(mimic.joint) if mimic.joint else None

    def error(message: str, hint: str) -> None:
        report.error(message, hint=hint, element=label, line=joint.line)

    if not mimic.joint:
        error("the mimic names no joint to follow", 'write <mimic joint="..."/>')
    elif mimic.joint == joint.name:
        error("the joint mimics itself", "name another joint, or delete <mimic>")
    elif leader is None:
        error(
            f"it mimics the joint {quoted(mimic.joint)}, which does not exist",
            names.hint(mimic.joint, "correct the name or delete <mimic>"),
        )
    elif leader.type == "fixed":
        error(f"it mimics the joint {quoted(leader.name)}, which is fixed and never moves", "follow a moving joint")
    elif leader.type in JOINT_TYPES and leader.type not in SINGLE_COORDINATE:
        error(
            f"it mimics the joint {quoted(leader.name)}, which is {leader.type} and has more than one coordinate",
            f"only {', '.join(SINGLE_COORDINATE)} joints can be followed",
        )
    if joint.type in JOINT_TYPES and joint.type not in SINGLE_COORDINATE:
        error(
            f"a {joint.type} joint has more than one coordinate and cannot mimic",
            f"only {', '.join(SINGLE_COORDINATE)} joints can follow another",
        )
    if mimic.multiplier == 0.0:
        report.warning(
            "the mimic multiplier is 0: the joint never moves",
            hint='make it type="fixed", or mend the multiplier',
            element=label,
            line=joint.line,
        )
