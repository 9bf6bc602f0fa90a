"""Checks that every joint moves some mass.

A joint that can turn or slide without moving any mass makes the mass matrix singular, and no
force then has a definite acceleration. Links welded together by fixed joints count as one body,
and joints that mimic each other count as one coordinate.
"""

from __future__ import annotations

import math

import numpy as np

from fallingcat.model.checks_joints import SMALLEST
from fallingcat.model.checks_tree import joint_label, link_label
from fallingcat.model.description import Description, Joint, Vector
from fallingcat.model.mimics import Following, resolve
from fallingcat.model.report import Report, listed
from fallingcat.model.welds import Array, WeldedBody

_EMPTY = 1e-14
_ZERO_PIVOT = 1e-10
"""A joint's articulated inertia counts as zero below this part of its composite inertia; `algorithms.pivots` has the same."""


def check_moving_tips(description: Description, bodies: list[WeldedBody], report: Report) -> None:
    """Report joints that move no mass, in a description without other errors."""
    weightless = _weightless_branches(bodies)
    massless = {body.parent_joint.name for body in bodies if body.parent_joint is not None and _moves_nothing(body, weightless)}
    groups = _groups(description)
    explained: set[str] = set()
    # From the root outwards, so that a weightless branch is reported once, at its first joint.
    for body in bodies:
        joint = body.parent_joint
        if joint is None:
            continue
        # A follower is judged together with its leader, since they are one coordinate.
        together = groups.get(joint.name, [])
        zero_inertia = bool(together) and all(member.name in massless for member in together)
        if zero_inertia and joint.name not in explained:
            armature = any(member.armature > 0 for member in together)
            _report_zero_inertia(joint, body, joint.child in weightless, armature, report)
        if joint.name in explained or (zero_inertia and joint.child in weightless):
            explained.update(leaving.name for leaving in body.child_joints)


def check_neutral(description: Description, bodies: list[WeldedBody], report: Report) -> None:
    """Warns of joints that meet no inertia at the neutral configuration: forward dynamics is impossible there.

    Articulated bodies from the tips inwards: D = S^T IA S is the inertia at a joint while the joints beyond it move freely.
    Joints coupled by <mimic> are held instead, as they do not move one by one; a joint without inertia then has none at all.
    """
    followers = resolve([joint for joint in description.joints if joint.type != "fixed"])
    held = {*followers, *(following.leader for following in followers.values())}
    articulated = {body.links[0].name: body.inertia.copy() for body in bodies}
    composite = {body.links[0].name: body.inertia.copy() for body in bodies}
    parents = {joint.child: body for body in bodies for joint in body.child_joints}
    all_move = True
    for body in reversed(bodies):
        joint, name = body.parent_joint, body.links[0].name
        if not np.isfinite(composite[name]).all():
            all_move = False
            continue
        if joint is None:
            if (
                all_move
                and body.inertia.any()
                and not description.world
                and _base_is_singular(articulated[name], composite[name])
            ):
                report.warning(
                    "no inertia resists some rotation of the robot as a whole: with a floating base the mass matrix is singular, "
                    "and forward dynamics impossible",
                    hint="give the links rotational inertia, or load the robot with floating=False",
                    element=link_label(body.links[0]), line=body.links[0].line,
                )  # fmt: skip
            continue
        S = _motions(joint)
        U = articulated[name] @ S
        D, carried = S.T @ U, S.T @ composite[name] @ S
        gives_way = joint.name not in held
        singular = gives_way and np.linalg.eigvalsh(D)[0] <= _ZERO_PIVOT * np.trace(carried)
        if singular:
            all_move = False
            report.warning(
                f"at the neutral configuration the joint moves {listed([link.name for link in body.links])} and what it carries "
                "without moving any mass: the mass matrix is singular there, and forward dynamics impossible",
                hint="give the links rotational inertia, or start elsewhere", element=joint_label(joint), line=joint.line,
            )  # fmt: skip
        moves = gives_way and not singular
        passed = articulated[name] - U @ np.linalg.solve(D, U.T) if moves else articulated[name]
        parent = parents[joint.child]
        R, p = parent.places[joint.name]
        if joint.name in followers:
            turn, slide = np.split(followers[joint.name].offset * S[:, 0], 2)
            R, p = R @ _rotation(turn), p + R @ slide
        X = _to_child(R, p)
        articulated[parent.links[0].name] += X.T @ passed @ X
        composite[parent.links[0].name] += X.T @ composite[name] @ X


def _base_is_singular(articulated: Array, composite: Array) -> bool:
    """Can a free base with this inertia (angular part first) move without moving any mass?"""
    turns, couples, slides = articulated[:3, :3], articulated[:3, 3:], articulated[3:, 3:]
    if np.linalg.eigvalsh(slides)[0] <= _ZERO_PIVOT * np.trace(composite[3:, 3:]):
        return True
    about_the_center = turns - couples @ np.linalg.solve(slides, couples.T)
    return bool(np.linalg.eigvalsh(about_the_center)[0] <= _ZERO_PIVOT * np.trace(composite[:3, :3]))


def _to_child(R: Array, p: Array) -> Array:
    """The motion transform (angular, linear) to a frame with this rotation and position."""
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ _hat(p), R.T]])


def _rotation(turn: Array) -> Array:
    """The rotation matrix of a rotation vector (Rodrigues)."""
    angle, W = float(np.linalg.norm(turn)), _hat(turn)
    return np.eye(3) + np.sinc(angle / np.pi) * W + 0.5 * np.sinc(angle / (2.0 * np.pi)) ** 2 * W @ W


def _hat(p: Array) -> Array:
    """The matrix p^ with p^ b = p x b."""
    return np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])


def _report_zero_inertia(joint: Joint, body: WeldedBody, weightless: bool, armature: bool, report: Report) -> None:
    moved = listed([link.name for link in body.links])
    if weightless:
        what = f"the joint moves {moved}, without mass and inertia there or beyond"
        hint = 'give the link an <inertial>, or make the joint type="fixed"'
    else:
        what = f"the joint moves {moved} without moving any mass: no inertia resists a turn about its axis"
        hint = "give the link an inertia about the axis"
    if armature:
        report.warning(
            f"{what}; only its armature keeps the mass matrix from being singular",
            hint=f"{hint}; otherwise load the robot with joint_dynamics=True",
            element=joint_label(joint),
            line=joint.line,
        )
    else:
        report.error(f"{what}; the mass matrix would be singular", hint=hint, element=joint_label(joint), line=joint.line)


def _weightless_branches(bodies: list[WeldedBody]) -> set[str]:
    """The first links of bodies without mass and inertia whose descendants have none either."""
    weightless: set[str] = set()
    for body in reversed(bodies):
        if not body.inertia.any() and all(joint.child in weightless for joint in body.child_joints):
            weightless.add(body.links[0].name)
    return weightless


def _groups(description: Description) -> dict[str, list[Joint]]:
    """For each joint that moves by itself, the joint and its followers, chains resolved."""
    moving = [joint for joint in description.joints if joint.type != "fixed"]
    followers = resolve(moving)
    groups: dict[str, list[Joint]] = {}
    for joint in moving:
        leader = followers.get(joint.name, Following(joint.name, 1.0, 0.0))
        # With a multiplier that is practically zero the follower does not move with its leader.
        if abs(leader.multiplier) > SMALLEST:
            groups.setdefault(leader.leader, []).append(joint)
    return groups


def _moves_nothing(body: WeldedBody, weightless: set[str]) -> bool:
    """Whether some motion of the body's joint alone has no kinetic energy, whatever the pose."""
    if body.links[0].name in weightless:
        return True
    if body.child_joints or body.parent_joint is None or not np.isfinite(body.inertia).all():
        # Masses further out may lie on the axis in one pose, but hardly in all of them.
        return False
    S = _motions(body.parent_joint)
    return bool(np.linalg.eigvalsh(S.T @ body.inertia @ S)[0] <= _EMPTY * np.trace(body.inertia))


def _motions(joint: Joint) -> Array:
    """The joint's velocities at position zero as columns of (angular, linear)."""
    turn = np.vstack([np.eye(3), np.zeros((3, 3))])
    slide = np.vstack([np.zeros((3, 3)), np.eye(3)])
    if joint.type == "spherical":
        return turn
    if joint.type == "floating":
        return np.eye(6)
    axis = _unit(joint.axis)
    if joint.type == "prismatic":
        return np.column_stack([slide @ axis])
    if joint.type == "helical":
        return np.column_stack([(turn + joint.pitch * slide) @ axis])
    if joint.type == "cylindrical":
        return np.column_stack([turn @ axis, slide @ axis])
    if joint.type == "universal":
        return np.column_stack([turn @ axis, turn @ _unit(joint.axis2)])
    if joint.type == "planar":
        across = np.linalg.svd(axis[None, :])[2][1:]
        return np.column_stack([slide @ across[0], slide @ across[1], turn @ axis])
    return np.column_stack([turn @ axis])


def _unit(axis: Vector) -> Array:
    return np.array(axis) / math.hypot(*axis)
