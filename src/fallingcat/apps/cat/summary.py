"""The results of a fall in numbers: the turn, the momentum, the limits, the landing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.cat.fall import Fall, paw_heights, predicted
from fallingcat.apps.cat.holonomy import halfway, log
from fallingcat.apps.cat.momentum import angular_momentum
from fallingcat.apps.cat.plan import Plan

Array = NDArray[np.float64]

FRONT_HALF = (
    "front", "neck", "head", "front_left_upper_leg", "front_left_lower_leg", "front_right_upper_leg", "front_right_lower_leg",
)  # fmt: skip
UPRIGHT = np.radians(5.0)
"""Largest tilt of both halves at the touch at which the cat counts as upright, rad."""
LEVEL = 0.02
"""Largest height of the paws at the touch at which the cat counts as level, m."""


class Most(NamedTuple):
    """The joint that comes closest to its limit."""

    joint: str
    value: float
    share: float
    """The value as a share of the limit."""


@dataclass(frozen=True)
class Summary:
    """Angles in degrees, momenta in kg m^2/s, everything else in SI units."""

    height: float
    seconds: float
    """The time until the touch, s."""
    turn: float
    """The turn of the front half in the simulation, degrees."""
    estimated_turn: float
    """The turn by the area integral of the curvature, degrees."""
    steps: int
    """Steps of Newton's method to the plan."""
    momentum: float
    """The largest angular momentum about the centre of mass at any time."""
    front_momentum: float
    """The largest angular momentum of the front half alone, about the long axis x; the rear half has the opposite."""
    off_prediction: float
    """The largest difference between the simulation and the reconstruction from the connection, m or rad."""
    work: float
    """The positive work of the torques, J."""
    energy_error: float
    """The change of the energy less the work of the torques."""
    speed: Most
    torque: Most
    angle_left: float
    """The smallest distance of a joint from its limits, rad."""
    front_tilt: float
    rear_tilt: float
    """The angle between the rear half's up axis and the vertical at the touch, degrees."""
    paws: tuple[float, ...]
    """Heights of the paws at the touch."""
    least_height: float
    """The least height of the drop from which the same gait keeps all limits, m."""

    @property
    def within_limits(self) -> bool:
        """Did the joints keep their ranges, speeds and torques?"""
        return self.speed.share <= 1.0 and self.torque.share <= 1.0 and self.angle_left >= 0.0

    @property
    def lands_on_its_feet(self) -> bool:
        """Is it upright at the touch, with all paws at the ground?"""
        upright = max(self.front_tilt, self.rear_tilt) <= np.degrees(UPRIGHT)
        return bool(upright and max(self.paws) <= LEVEL)


def summarize(plan: Plan, fall: Fall) -> Summary:
    """Measure a fall."""
    robot, q, nu, tau = fall.robot, fall.q, fall.nu, fall.tau
    lower, upper = robot.position_limits.T
    moved = tau * np.diff(q[:, 7:], axis=0)
    energy = robot.kinetic_energy(q, nu) + robot.potential_energy(q)
    speed = _most(robot.joint_names, np.abs(nu[:, 6:]).max(axis=0), robot.velocity_limits)
    torque = _most(robot.joint_names, np.abs(tau).max(axis=0), robot.effort_limits)
    tilt = np.degrees(tilts(fall)[-1])
    return Summary(
        height=fall.height,
        seconds=float(fall.t[-1]),
        turn=float(np.degrees(np.linalg.norm(turn(fall, plan.estimate)))),
        estimated_turn=float(np.degrees(np.linalg.norm(plan.estimate))),
        steps=len(plan.costs),
        momentum=float(np.abs(angular_momentum(robot, q, nu)).max()),
        front_momentum=float(np.abs(angular_momentum(robot, q, nu, FRONT_HALF)[:, 0]).max()),
        off_prediction=float(np.abs(robot.difference(predicted(fall), q)).max()),
        work=float(np.maximum(moved, 0.0).sum()),
        energy_error=float(energy[-1] - energy[0] - moved.sum()),
        speed=speed,
        torque=torque,
        angle_left=float(min((q[:, 7:] - lower).min(), (upper - q[:, 7:]).min())),
        front_tilt=float(tilt[0]),
        rear_tilt=float(tilt[1]),
        paws=tuple(float(x) for x in paw_heights(robot, q[-1])),
        least_height=fall.height * max(speed.share**2, torque.share),
    )


def turn(fall: Fall, near: Array) -> Array:
    """The rotation vector of the front half from the drop to the touch, in its own axes; of equal turns, that nearest to `near`.

    A half turn to the left and one to the right end alike; `near` tells them apart.
    """
    R = fall.robot.split(fall.q[[0, -1]])[0][:, :3, :3]
    w = log(R[0].T @ R[1])
    other = w * (1.0 - 2.0 * np.pi / np.linalg.norm(w))
    return min((w, other), key=lambda x: float(np.linalg.norm(x - near)))


def tilts(fall: Fall) -> Array:
    """Angles between the up axes and the vertical, (k + 1, 3): front half, rear half, and halfway between them."""
    robot = fall.robot
    front, rear = (robot.frame_pose(fall.q, link)[..., :3, :3] for link in (robot.base, "rear"))
    middle = front @ halfway(robot, fall.q[:, 7:], "rear")
    # More accurate than the arc cosine where the axis is nearly vertical.
    return np.stack([np.arctan2(np.hypot(R[:, 0, 2], R[:, 1, 2]), R[:, 2, 2]) for R in (front, rear, middle)], axis=-1)


def _most(names: tuple[str, ...], values: Array, limits: Array) -> Most:
    k = int(np.argmax(values / limits))
    return Most(names[k], float(values[k]), float(values[k] / limits[k]))
