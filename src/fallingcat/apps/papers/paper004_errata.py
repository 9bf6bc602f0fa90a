"""What paper 004 gets wrong: its formulas as printed and corrected, on a humanoid in motion."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.papers.paper004_numbers import Subject, call, change_of_base, hat, off
from fallingcat.apps.papers.slips import Slip

Array = NDArray[np.float64]


def measured_slips(s: Subject, link: str) -> list[Slip]:
    """Every erratum that can be run, on the robot's heaviest link and on the change of base to `link`."""
    return [*_body_slips(s), *_base_slips(s, link)]


def _body_slips(s: Subject) -> Iterator[Slip]:
    """(4) and (5): one rigid body, in the orientation and with the twist of the robot's base."""
    body = max(s.robot.model.bodies, key=lambda b: float(b.inertia.mass)).inertia
    R = np.kron(np.eye(2), s.robot.split(s.q)[0][:3, :3])
    I = R @ np.array(body.matrix(), dtype=float) @ R.T
    v, g = s.nu[:6], np.concatenate([s.robot.gravity, np.zeros(3)])
    m, mc = float(body.mass), R[:3, :3] @ np.array(body.h, dtype=float)
    turning = np.kron(np.eye(2), hat(v[3:]))
    I_rate, p = turning @ I - I @ turning, (I @ v)[:3]
    # Newton and Euler about the centre of mass, moved to the origin
    c, w = mc / m, v[3:]
    I_c = I[3:, 3:] + m * hat(c) @ hat(c)
    force = m * np.cross(w, np.cross(w, c))
    true = np.concatenate([force, np.cross(w, I_c @ w) + np.cross(c, force)])
    right = I_rate @ v + np.concatenate([np.zeros(3), np.cross(v[:3], p)])
    words = "dI/dt v lacks (0; v × p) when the origin is not the centre of mass, and dI/dt − 2C is not skew anywhere."
    yield Slip("4.1", "(5), C", off(I_rate @ v, true), off(right, true), words)
    weight = -np.concatenate([m * g[:3], np.cross(mc, g[:3])])
    words = "No Rᵀ: the mixed frame has the world's orientation."
    yield Slip("4.2", "(5), gravity", off(-I @ R.T @ g, weight), off(-I @ g, weight), words)
    corner = I[3:, 3:]
    printed = np.block([[m * np.eye(3), hat(mc)], [-hat(mc), corner]])
    right = np.block([[m * np.eye(3), -hat(mc)], [hat(mc), corner]])
    yield Slip("4.3", "(4)", off(printed, I), off(right, I), "−m c^ stands above, m c^ below, for (linear; angular).")


def _base_slips(s: Subject, link: str) -> Iterator[Slip]:
    robot, q, nu, n = s.robot, s.q, s.nu, s.robot.n
    change = change_of_base(robot, q, nu, link, "mixed")
    X, J = change.T[:6, :6], change.T[:6, 6:]
    W, true = np.array(np.linalg.inv(X).T), np.linalg.inv(change.T).T

    def force(Y: Array, sign: float) -> Array:
        return np.block([[Y, np.zeros((6, n))], [sign * J.T @ Y, np.eye(n)]])

    right = off(force(W, -1.0), true)
    yield Slip("4.4", "(21)", off(force(X, -1.0), true), right, "Both blocks are wrench transforms W = X⁻ᵀ.")
    yield Slip("4.5", "Remark IV.2", off(force(W, 1.0), true), right, "φ' = (W f; −Jᵀ W f): the joints get the opposite sign.")
    other = robot.with_base(link)
    q_other = other.configuration(call(robot, "frame_pose", q, frame=link), robot.split(q)[1])
    anew = call(other, "frame_jacobian", q_other, frame=robot.base, representation="mixed")
    own = call(robot, "frame_jacobian", q, frame=robot.base, representation="mixed")
    yield Slip("4.6", "(22)", off(own @ change.T, anew), off(change.jacobian(own), anew), "J' = J T⁻¹.")
    level = np.concatenate([q[:3], [0.0, 0.0, 0.0, 1.0], q[7:]])
    J_level = call(robot, "frame_jacobian", level, frame=link, representation="mixed")[:, 6:]
    turned = np.kron(np.eye(2), robot.split(q)[0][:3, :3]) @ J_level
    yield Slip("4.7", "(10b)", off(J_level, J), off(turned, J), "J of the joints turns with the base: diag(R, R) J(R = 1).")
    true = call(robot, "mass_matrix", q, representation="mixed")[3:6] @ nu
    printed, right = (off(_momentum(s, printed=p)[3:], true) for p in (True, False))
    yield Slip("4.8", "(16), moment", printed, right, "The mixed velocity of (2) needs the mixed inertia.")
    R = robot.split(q)[0][:3, :3]
    R_rate = hat(nu[3:6]) @ R
    yield Slip("4.9", "(37)", off(R_rate @ R, hat(nu[3:6])), off(R_rate @ R.T, hat(nu[3:6])), "ω^ = R' Rᵀ.")


def _momentum(s: Subject, printed: bool) -> Array:
    """(16): the sum over bodies about the base's origin; as printed, with inertias that do not turn."""
    total, model = np.zeros(6), s.robot.model
    for i, body in enumerate(model.bodies):
        frame = next(name for name, place in model.frames if place.body == i)
        H = call(s.robot, "frame_pose", s.q, frame=frame)
        v = call(s.robot, "frame_velocity", s.q, s.nu, frame=frame, representation="mixed")
        pose = model.frame(frame).pose
        R = H[:3, :3] @ np.array(pose.rotation).T  # the body's, whose frame may be elsewhere on it
        arm = -R @ np.array(pose.position)
        v, o = np.concatenate([v[:3] + np.cross(v[3:], arm), v[3:]]), H[:3, 3] + arm
        I, turn = np.array(body.inertia.matrix(), dtype=float), np.kron(np.eye(2), R)
        h = (I if printed else turn @ I @ turn.T) @ v
        total += np.concatenate([h[:3], h[3:] + np.cross(o - s.q[:3], h[:3])])
    return total
