"""The data of one link, as HTML for the panel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fallingcat.apps.view import text
from fallingcat.model.model import WORLD
from fallingcat.model.tree_text import joint_words
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

STYLE = 'style="font-size:0.82em;line-height:1.45;overflow-x:auto"'
CELL = 'style="padding:0 0.5em 0 0;text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"'


def details(robot: Robot, link: str, q: Array, nu: Array) -> str:
    """Where a link hangs in the tree, its mass and inertia, where it is and how it moves, and its Jacobian."""
    H = robot.frame_pose(q, link)
    turn = np.kron(np.eye(2), H[:3, :3])  # from the link's axes to the world's
    twist = turn @ robot.frame_velocity(q, nu, link)
    parts = [
        f"<b>{text(link, 60)}</b><br>{_chain(robot, link)}",
        _inertial(robot, link),
        f"position {_numbers(H[:3, 3])} m",
        f"velocity {_numbers(twist[:3])} m/s<br>angular {_numbers(twist[3:])} rad/s",
        _jacobian(robot, turn @ robot.frame_jacobian(q, link)),
    ]
    return f"<div {STYLE}>" + "".join(f'<div style="margin:0 0 0.7em">{part}</div>' for part in parts if part) + "</div>"


def _chain(robot: Robot, link: str) -> str:
    """From the world to the link: one line a body, with the joint that carries it."""
    model = robot.model
    i = model.frame(link).body
    path = list(model.path(i))[::-1]
    lines = [f"<span>{'&nbsp;' * 2 * k}{_body(robot, j)}</span>" for k, j in enumerate(path)]
    if i == WORLD:
        lines = ["welded to the world"]
    elif model.bodies[i].name != link:
        lines.append(f"{'&nbsp;' * 2 * len(path)}└ welded to {text(model.bodies[i].name, 60)}")
    return "<br>".join(lines)


def _body(robot: Robot, j: int) -> str:
    body = robot.model.bodies[j]
    if robot.floating and j == 0:
        return f"{text(body.name, 60)} <i>floats</i>"
    follows = ", follows" if body.mimics else ""
    return f"└ {text(body.name, 60)} <i>by {text(body.joint_name, 60)}, {text(joint_words(body.joint))}{follows}</i>"


def _inertial(robot: Robot, link: str) -> str:
    found = next((x.inertial for x in robot.description.links if x.name == link), None)
    if found is None or not found.mass > 0.0:
        return "no mass of its own"
    xx, xy, xz, yy, yz, zz = found.inertia
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return f"mass {found.mass:.4g} kg<br>centre {_numbers(found.pose.position)} m<br>inertia about it, kg m²{_table(I)}"


def _jacobian(robot: Robot, J: Array) -> str:
    """The columns that are not zero: those of the base and of the joints on the way."""
    names = _columns(robot)
    used = [k for k in range(robot.nv) if np.any(J[:, k] != 0.0)]
    if not used:
        return "Jacobian: zero"
    return "Jacobian from nu, in the axes of the world; a line a degree of freedom: linear x y z, angular x y z" + _table(
        J[:, used].T, [names[k] for k in used]
    )


def _columns(robot: Robot) -> list[str]:
    names = ["?"] * robot.nv
    for i, body in enumerate(robot.model.bodies):
        if body.mimics:
            continue
        places = robot.model.dofs(i)
        own = body.name if robot.floating and i == 0 else body.joint_name
        for k, place in enumerate(places):
            names[place] = own if len(places) == 1 else f"{own}[{k}]"
    return names


def _table(M: Array, names: Sequence[str] = ()) -> str:
    scale = np.abs(M).max(initial=0.0)
    lines = []
    for k, row in enumerate(M):
        head = f'<td style="padding-right:0.5em;white-space:nowrap">{text(names[k], 40)}</td>' if names else ""
        cells = "".join(f"<td {CELL}>{0.0 if abs(x) < 1e-12 * scale else x:.3g}</td>" for x in row)
        lines.append(f"<tr>{head}{cells}</tr>")
    return f'<table style="border-collapse:collapse">{"".join(lines)}</table>'


def _numbers(x: Sequence[float] | Array) -> str:
    return ", ".join(f"{v:.4g}" for v in np.where(np.abs(x) < 1e-12, 0.0, x))
