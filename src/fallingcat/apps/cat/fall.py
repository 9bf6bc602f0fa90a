"""The fall: simulation of the gait under joint torques, with the full dynamics, from the drop to the touch of the ground.

At every step a controller computes joint torques from the state, with no force on the base, and `robot.step` moves the
robot under them. The simulation does not enforce the conservation of momentum.

The gait decides where the cat ends; the height only decides how fast it has to go. Without momentum a free fall looks, from
the falling centre of mass, like a motion without gravity: speeds go with 1/T, torques with 1/T^2, the end stays the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.cat.gait import Gait
from fallingcat.errors import InputError
from fallingcat.motion.reconstruction import Motion, configurations, reconstruct
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

PAWS = ("front_left_lower_leg", "front_right_lower_leg", "rear_left_lower_leg", "rear_right_lower_leg")
START, END = 0.05, 0.96
"""The fractions of the fall at which the gait begins and ends."""
RATE = 40.0
"""The rate at which errors of the joints decay, 1/s."""
STEPS = 4000
"""Steps of the controller and of the simulation; they determine the momentum error of the integrator, of fourth order."""
LOWEST, HIGHEST = 0.02, 50.0
"""The range of heights that are accepted, m."""


@dataclass(frozen=True)
class Fall:
    """A simulated fall, from rest to the touch of the ground."""

    robot: Robot
    gait: Gait
    height: float
    """The height by which the centre of mass is to fall until the touch, m."""
    t: Array
    """(k + 1,): the last is the touch."""
    q: Array
    nu: Array
    tau: Array
    """(k, n): joint torques, held from one time to the next."""

    def reference(self, t: Array) -> Motion:
        """The planned shape at these times, with its velocity and acceleration."""
        return reference(self.gait, t, fall_time(self.robot, self.height))


def drop(robot: Robot, gait: Gait, height: float, progress: Callable[[str], None] = lambda what: None) -> Fall:
    """Let the cat fall, upside down and at rest, with its gait spread over the time that it has."""
    check_height(height)
    total = fall_time(robot, height)
    dt = total / STEPS
    count = STEPS + STEPS // 50  # longer than the planned fall, as the moment of the touch is computed afterwards
    t: Array = dt * np.arange(count + 1, dtype=np.float64)
    wanted = reference(gait, t[:-1] + dt / 2.0, total)
    q, nu = np.empty((count + 1, robot.nq)), np.zeros((count + 1, robot.nv))
    tau = np.empty((count, robot.n))
    q[0] = upside_down(robot, gait, height)
    for k in range(count):
        if k % max(1, count // 20) == 0:
            progress("falling")
        tau[k] = torques(robot, Motion(*(part[k] for part in wanted)), q[k], nu[k], dt)
        q[k + 1], nu[k + 1] = robot.step(q[k], nu[k], tau[k], dt, "rk4")
    return _until_the_touch(Fall(robot, gait, height, t, q, nu, tau))


def torques(robot: Robot, wanted: Motion, q: Array, nu: Array, dt: float) -> Array:
    """Joint torques for a step of length dt from (q, nu) that give the joints the accelerations wanted in its middle, plus
    feedback, while nothing holds the base. The state in the middle is extrapolated."""
    a = _accelerations(robot, wanted.dds, q, nu)
    q, nu = robot.integrate(q, dt / 2.0 * nu + dt**2 / 8.0 * a), nu + dt / 2.0 * a
    joints = wanted.dds - 2.0 * RATE * (nu[6:] - wanted.ds) - RATE**2 * (q[7:] - wanted.s)
    return np.asarray(robot.inverse_dynamics(q, nu, _accelerations(robot, joints, q, nu))[6:])


def _accelerations(robot: Robot, joints: Array, q: Array, nu: Array) -> Array:
    """The accelerations (nv,) of a robot with a free base whose joints accelerate by `joints`."""
    return np.concatenate([robot.base_acceleration(q, nu, joints), joints])


def reference(gait: Gait, t: Array, total: float) -> Motion:
    """The gait in time: from START to END of the fall, at an even pace."""
    length = (END - START) * total
    motion = gait.at((np.asarray(t) - START * total) / length)
    return Motion(motion.s, motion.ds / length, motion.dds / length**2)


def predicted(fall: Fall) -> Array:
    """The configurations at the times of a fall, predicted without simulation: by the reconstruction, and gravity."""
    q = reconstruct(fall.robot, fall.reference, fall.t, fall.q[0])
    q[:, :3] += fall.t[:, None] ** 2 / 2.0 * fall.robot.gravity
    return q


# ---------------------------------------------------------------------------------------------------------------------
# Beginning and end of the fall


def check_height(height: float) -> None:
    """Raise unless this is a height to fall from."""
    if not LOWEST <= height <= HIGHEST:  # also what is not a number
        raise InputError("the height is out of range", expected=f"{LOWEST} to {HIGHEST:g} metres", got=repr(height))


def fall_time(robot: Robot, height: float) -> float:
    """Seconds in which the centre of mass falls by the height, from rest."""
    return float(np.sqrt(2.0 * height / np.linalg.norm(robot.gravity)))


def upside_down(robot: Robot, gait: Gait, height: float) -> Array:
    """The configuration of the drop: a standing cat turned over, as high as it takes to land from the height."""
    standing = configurations(robot, gait.at(np.zeros(())).s)
    above_ground = robot.center_of_mass(standing)[2] - paw_heights(robot, standing).min()
    q = standing.copy()
    q[3:7] = 1.0, 0.0, 0.0, 0.0
    q[2] = height + above_ground - robot.center_of_mass(q)[2]
    return q


def paw_heights(robot: Robot, q: Array) -> Array:
    """The lowest point of every paw, (..., 4): of the balls drawn at the ends of the lower legs."""
    return np.stack([_lowest_ball(robot, q, name) for name in PAWS], axis=-1)


def _lowest_ball(robot: Robot, q: Array, name: str) -> Array:
    link = next(link for link in robot.description.links if link.name == name)
    balls = [(visual.pose.position, visual.size[0]) for visual in link.visuals if visual.shape == "sphere"]
    H = robot.frame_pose(q, name)
    heights = [H[..., 2, :3] @ np.array(center) + H[..., 2, 3] - radius for center, radius in balls]
    return np.asarray(np.min(heights, axis=0))


def _until_the_touch(fall: Fall) -> Fall:
    """The fall up to the moment when the first paw is on the ground."""
    robot = fall.robot
    low = paw_heights(robot, fall.q).min(axis=-1)
    below = np.flatnonzero(low <= 0.0)
    if not len(below):
        return fall
    k = int(below[0]) - 1
    dt = float(fall.t[k + 1] - fall.t[k])
    share = 1.0
    for _ in range(4):  # the height is nearly linear in a step, so this converges at once
        q, nu = robot.step(fall.q[k], fall.nu[k], fall.tau[k], share * dt, "rk4")
        share *= float(low[k] / (low[k] - paw_heights(robot, q).min()))
    t = np.append(fall.t[: k + 1], fall.t[k] + share * dt)
    q_all, nu_all = np.concatenate([fall.q[: k + 1], q[None]]), np.concatenate([fall.nu[: k + 1], nu[None]])
    return Fall(robot, fall.gait, fall.height, t, q_all, nu_all, fall.tau[: k + 1])
