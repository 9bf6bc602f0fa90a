"""Chains of mimic joints, resolved: the joint that each one follows at the end of its chain, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fallingcat.errors import ModelError
from fallingcat.model.description import Joint
from fallingcat.text import quoted


class Following(NamedTuple):
    """position = multiplier * position of the leader + offset."""

    leader: str
    """The joint at the end of the chain, which mimics no other."""
    multiplier: float
    offset: float


def resolve(joints: Sequence[Joint]) -> dict[str, Following]:
    """For every mimic joint, its leader at the end of the chain, with multiplier and offset; in linear time."""
    by_name = {joint.name: joint for joint in joints}
    found: dict[str, Following] = {}
    for joint in joints:
        chain: dict[str, Joint] = {}
        while joint.mimic is not None and joint.name not in found and joint.mimic.joint in by_name:
            if joint.name in chain:
                raise ModelError(f"the joints from {quoted(joint.name)} on mimic each other in a cycle: one must move on its own")
            chain[joint.name] = joint
            joint = by_name[joint.mimic.joint]
        end = found.get(joint.name, Following(joint.name, 1.0, 0.0))
        for follower in reversed(chain.values()):
            assert follower.mimic is not None
            factor = follower.mimic.multiplier
            end = Following(end.leader, factor * end.multiplier, factor * end.offset + follower.mimic.offset)
            found[follower.name] = end
    return found
