"""A robot as a readable tree."""

from __future__ import annotations

from fallingcat.model.description import Description
from fallingcat.model.joints import FreeFlyer, JointModel, Reversed
from fallingcat.model.model import WORLD, Model
from fallingcat.text import printable


def joint_words(joint: JointModel) -> str:
    """The type and axis of a joint, such as `revolute -y`."""
    if isinstance(joint, Reversed):
        return f"{joint_words(joint.forward)}, from the other side"
    name = "floating" if isinstance(joint, FreeFlyer) else type(joint).__name__.lower()
    axis = getattr(joint, "axis", None)
    if axis is None:
        return name
    return f"{name} {'-' if joint.sign < 0 else ''}{'xyz'[axis]}"  # type: ignore[attr-defined]


def rows(model: Model) -> list[tuple[str, str, str, float]]:
    """(branch drawing, body, joint, mass) for every body, in tree order."""
    children: dict[int, list[int]] = {i: [] for i in range(WORLD, len(model.bodies))}
    for i, p in model.base_to_tip():
        children[p].append(i)
    table: list[tuple[str, str, str, float]] = []
    stack = [(i, "", k == len(children[WORLD]) - 1) for k, i in enumerate(children[WORLD])][::-1]
    while stack:
        i, indent, last = stack.pop()
        body = model.bodies[i]
        joint = f"{printable(body.joint_name)} ({joint_words(body.joint)}"
        if body.mimics:
            joint += f", follows x {body.multiplier:g}"
        table.append((indent + ("└─ " if last else "├─ "), printable(body.name), joint + ")", float(body.inertia.mass)))
        below = indent + ("   " if last else "│  ")
        stack += [(c, below, k == len(children[i]) - 1) for k, c in enumerate(children[i])][::-1]
    return table


def tree_text(model: Model, description: Description) -> str:
    """The tree with joints and masses, and a line of totals."""
    base = "floating" if model.floating else "fixed"
    head = (
        f"{printable(model.name)}: {model.nv} degrees of freedom ({model.n} in joints), {base} base {model.base!r}, "
        f"{model.mass:.4g} kg, {len(description.links)} links"
    )
    table = rows(model)
    left = [branch + name for branch, name, _, _ in table]
    width, joint_width = max(map(len, left), default=0), max((len(joint) for _, _, joint, _ in table), default=0)
    lines = [f"{a:<{width}}  {joint:<{joint_width}}  {mass:9.4g} kg" for a, (_, _, joint, mass) in zip(left, table, strict=True)]
    return "\n".join([head, *lines])
