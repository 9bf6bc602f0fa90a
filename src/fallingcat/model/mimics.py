"""Chains of joints that mimic each other, resolved: whom each joint follows in the end, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fallingcat.errors import ModelError
from fallingcat.model.description import Joint
from fallingcat.text import quoted


class Following(NamedTuple):
    """position = multiplier * position of the leader + offset."""

    leader: str
    """A joint that mimics no other."""
    multiplier: float
    offset: float


def resolve(joints: Sequence[Joint]) -> dict[str, Following]:
    """For every joint that mimics, whom it follows at the end of its chain; each joint is looked at once."""
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
