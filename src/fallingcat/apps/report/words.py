"""Words and rows that the page and the terminal share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fallingcat.apps.report.checks import Check
from fallingcat.apps.report.measure import Centroidal, Linear, Report, principal_moments
from fallingcat.model.joints import Prismatic
from fallingcat.model.model import Body
from fallingcat.model.tree_text import joint_words, rows


@dataclass(frozen=True)
class BodyRow:
    """One line of the tree: the place of a body, and its joint."""

    body: Body
    branch: str
    """The branches of the tree that are drawn before its name."""
    welded: int
    """The number of further links that are welded to it."""
    joint: str
    """The name of its joint; none for a floating base."""
    kind: str
    places: str
    """The indices of its joint's velocities in ν."""
    limits: str
    q: str
    """The value of its joint's coordinate, if it has a single one of its own."""
    passive: str
    """Damping, friction and armature, where there are any."""


def body_rows(report: Report) -> Iterator[BodyRow]:
    """The tree, body by body."""
    robot, model = report.robot, report.robot.model
    links = set(model.link_names)
    in_body = [frame.body for name, frame in model.frames if name in links]
    for i, (branch, *_) in enumerate(rows(model)):
        body = model.bodies[i]
        passive = (body.damping, body.friction, body.armature)
        yield BodyRow(
            body,
            branch,
            in_body.count(i) - 1,
            "" if robot.floating and i == 0 else body.joint_name,
            joint_words(body.joint),
            places(model.dofs(i)),
            limits(body),
            "" if body.joint.nq > 1 or body.mimics else f"{report.state.q[body.q_at]:.3f}",
            numbers(passive) if any(passive) else "",
        )


def places(dofs: range) -> str:
    """Indices, from the first to the last."""
    return str(dofs[0]) if len(dofs) == 1 else f"{dofs[0]}–{dofs[-1]}"


def limits(body: Body) -> str:
    """The limits of a joint, or the joint that it follows."""
    if body.mimics:
        return f"follows × {body.multiplier:.4g}" + (f" + {body.offset:.4g}" if body.offset else "")
    lower, upper = body.limits.lower, body.limits.upper
    if not np.isfinite(lower) and not np.isfinite(upper):
        return "free"
    return f"{lower:.3g} … {upper:.3g}" + (" m" if isinstance(body.joint, Prismatic) else "")


def measured(check: Check) -> str:
    """The value of a check that says something."""
    return "no number" if check.value is None else f"{check.value:.1e}" if check.value else "0"


def bound(check: Check) -> str:
    """What the value has to be."""
    return f"{'>' if check.kind == 'positive' else '≤'} {check.bound:.0e}"


def sparsity(A: Any) -> str:
    """The size of a square matrix, and how much of it is not zero."""
    filled = int(np.count_nonzero(A))
    return f"{len(A)} × {len(A)}, {filled} entries not zero ({filled / A.size:.0%})"


def controllable(linear: Linear) -> str:
    """How many directions of the state are controllable by joint torques, in words."""
    return f"{linear.rank} of {len(linear.A)} directions, by joint torques"


def momentum(of: Centroidal) -> tuple[str, str, str, str]:
    """Linear and angular momentum, the average velocity, and the principal moments of the inertia."""
    h, moments = of.momentum, principal_moments(of.inertia[3:, 3:])
    return f"{numbers(h[:3])} kg m/s", f"{numbers(h[3:])} kg m²/s", twist(of.average_velocity), f"{numbers(moments)} kg m²"


def clean(x: Any) -> Any:
    """x with entries set to zero that are rounding errors relative to the largest one."""
    return np.where(np.abs(x) > 1e-12 * np.abs(x).max(initial=0.0), x, 0.0)


def numbers(x: Any, digits: int = 4) -> str:
    """Numbers in brackets; what is rounding beside the largest is zero."""
    return "(" + ", ".join(f"{v:.{digits}g}" for v in clean(np.asarray(x, dtype=float))) + ")"


def twist(v: Any) -> str:
    """A velocity (linear; angular), with its units."""
    return f"{numbers(v[:3])} m/s, {numbers(v[3:])} rad/s"


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun, as in "3 links"."""
    return f"{number} {one if number == 1 else many or one + 's'}"
