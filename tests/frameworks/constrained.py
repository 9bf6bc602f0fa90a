"""Sets of constraints that other libraries are tested with, and arguments for each of their functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import fallingcat as fc
from fallingcat.frameworks.constraint_calls import CONSTRAINT_NAMES
from fallingcat.robot.constraint_sets import unactuated
from fallingcat.robot.constraint_tasks import FUNCTIONS
from trees import STEP, random_tree

Array = NDArray[np.float64]

FEET = ("front_left_foot", "rear_right_foot")
LEGS = [f"{leg}_{joint}" for leg in ("front_left", "rear_right") for joint in ("hip_abduction", "hip_flexion", "knee")]
SETS = ("feet", "redundant", "tree")


def constraints(name: str) -> fc.Constraints:
    """Contacts that are pulled back to their places; more rows than motions; two joints; a tree with other kinds of joints."""
    if name == "feet":
        return fc.load("quadruped", joints=LEGS).constraints(fc.surface(FEET[0]), fc.point(FEET[1]), kp=30.0, kd=4.0)
    if name == "redundant":
        arm = fc.load("spacearm", joints=["joint1", "joint2"])
        return arm.constraints(fc.surface(arm.frame_names[0]), fc.surface(arm.frame_names[-1]), damping=0.1)
    if name == "small":
        arm = fc.load("spacearm", joints=["joint1", "joint2"], floating=False)
        return arm.constraints(fc.joint("joint2"), kp=5.0, kd=2.0)
    robot = fc.load(random_tree(4, 6), floating=True)
    first, last = robot.link_names[1], robot.link_names[-1]
    return robot.constraints(fc.surface(last), fc.distance(first, last), fc.joint(robot.joint_names[0]), kd=2.0)


def arguments(c: fc.Constraints, name: str, rng: np.random.Generator, *shape: int) -> list[Array]:
    """Random arguments of a function, with leading axes of this shape."""
    robot, count = c.robot, int(np.prod(shape))
    q = np.array([robot.random_configuration(rng) for _ in range(count)]).reshape((*shape, robot.nq))
    nu, dnu = rng.normal(size=(2, *shape, robot.nv))
    if name.startswith("impulse"):
        each = 1 if c.rows.redundant else len(c)  # rows that depend on each other contradict where one leaves faster
        return [q, nu, rng.uniform(size=(*shape, each)) * np.ones(len(c))]
    return [q, nu, dnu][: len(FUNCTIONS[name].inputs)]


def options(c: fc.Constraints, name: str) -> dict[str, Any]:
    """What a function takes besides: a mask with one constraint out; what is left suffices to hold the base."""
    takes = ("forward_dynamics", "inverse_dynamics", "impulse", "operational_space")
    return {"active": [1.0] * (len(c) - 1) + [0.0]} if name.startswith(takes) else {}


def slope(c: fc.Constraints, name: str, values: list[Array], dots: list[Array], active: Any = None) -> list[Array]:
    """The derivative of every result along rates of the entries of arguments, by a complex step through the source."""
    from fallingcat.robot.constraint_tasks import task

    more = () if active is None else ("active",)
    anchored = name in ("violation", "residual", "forward_dynamics", "forward_dynamics_derivatives") and c.rows.anchor_size
    anchored = bool(anchored and (c.rows.gains.kp or name == "violation"))
    fixed = (("unactuated", unactuated(c.robot)),) if name == "inverse_dynamics" else None
    made = task(c.robot.model, c.rows, name, (*more, *(("anchors",) if anchored else ())), "", fixed)
    moved = [[complex(x, STEP * d) for x, d in zip(v, dot, strict=True)] for v, dot in zip(values, dots, strict=True)]
    moved += [list(x) for x in ([active] if more else [])] + ([c.anchors.tolist()] if anchored else [])
    shapes = [o.shape for o in made.outputs]
    return [np.array([complex(x).imag for x in flat]).reshape(s) / STEP for flat, s in zip(made.flat(moved), shapes, strict=True)]


NAMES = CONSTRAINT_NAMES
DIFFERENTIATED = ("violation", "drift", "residual", "forward_dynamics", "inverse_dynamics", "impulse")
