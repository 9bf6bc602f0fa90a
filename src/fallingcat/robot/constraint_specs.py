"""Constraints resolved on a robot: names become frames on bodies, and a configuration gives anchors that are not specified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fallingcat.algorithms import configuration
from fallingcat.algorithms.constraint_frames import ALL, Between, Rolling
from fallingcat.algorithms.constraint_kinds import CoupledJoints, Distance, HeldJoint, UserRows
from fallingcat.algorithms.constraint_rows import Rows
from fallingcat.algorithms.kinematics import frame_pose
from fallingcat.errors import InputError
from fallingcat.functions import FUNCTIONS
from fallingcat.model.constraints import HOME, Constraint, Vec3
from fallingcat.model.description import Pose
from fallingcat.model.model import WORLD, FrameOf, Model
from fallingcat.suggest import closest
from fallingcat.text import shown

Found = tuple[Rows, list[float] | None]
"""Rows on the bodies of a robot, and their anchor if it was specified."""


def resolve(c: Constraint, model: Model, home: Sequence[float]) -> Found:
    """The rows of a constraint on a robot. home: a configuration where it holds."""
    options = dict(c.options)
    if options.get("pose") == HOME:
        H = np.linalg.inv(_matrix(model, c.frames[0], home)) @ _matrix(model, c.frames[1], home)
        options["pose"] = Pose(tuple(map(tuple, H[:3, :3].tolist())), tuple(H[:3, 3].tolist()))  # type: ignore[arg-type]
    if options.get("point_b") == HOME:
        at = _matrix(model, c.frames[0], home) @ np.array([*options["point_a"], 1.0])
        x, y, z, _ = (np.linalg.inv(_matrix(model, c.frames[1], home)) @ at).tolist()
        options["point_b"] = (x, y, z)
    return _RESOLVE[c.kind](c, model, **options)


def _matrix(model: Model, frame: str | None, q: Sequence[float]) -> Any:
    """The pose of a frame in the world, (4, 4); the identity for the world."""
    return np.eye(4) if frame is None else np.array(frame_pose(model, q, frame), dtype=np.float64)


def _place(model: Model, frame: str | None, moved: Vec3 = (0.0, 0.0, 0.0)) -> FrameOf:
    """The body and pose of a frame, with its origin moved to a point given in the frame."""
    found = FrameOf(WORLD, Pose()) if frame is None else model.frame(frame)
    R, p = found.pose.rotation, found.pose.position
    shift = tuple(p[i] + sum(R[i][k] * moved[k] for k in range(3)) for i in range(3))
    return FrameOf(found.body, Pose(R, shift)) if any(moved) else found  # type: ignore[arg-type]


def _movable(c: Constraint, a: FrameOf, b: FrameOf) -> None:
    if a.body == b.body:
        what = "the world" if a.body == WORLD else f"link {c.frames[-1]!r}'s body"
        both = f"{c.frames[-1]!r} cannot move: it is part of {what}" if len(c.frames) == 1 else f"both frames are part of {what}"
        raise InputError(f"{c}: {both}", expected="frames that can move against each other")


def _held(
    c: Constraint, model: Model, at: Any, point: Vec3 = (0.0, 0.0, 0.0), **directions: Any
) -> tuple[Rows, list[float] | None]:
    a, b = _place(model, None), _place(model, c.frames[0], point)
    _movable(c, a, b)
    if isinstance(at, Pose):
        at = [*at.position, *(x for row in at.rotation for x in row)]
    return Between(a, b, **directions), None if at is None else list(at)


def _point(c: Constraint, model: Model, point: Vec3, directions: Any, at: Any) -> tuple[Rows, list[float] | None]:
    return _held(c, model, at, point, linear=ALL if directions is None else directions)


def _surface(c: Constraint, model: Model, at: Any) -> tuple[Rows, list[float] | None]:
    return _held(c, model, at, angular=ALL)


def _pair(c: Constraint, model: Model, pose: Pose, a: FrameOf, b: FrameOf, **directions: Any) -> tuple[Rows, None]:
    """Rows for a pair of frames; if one of them is the world, it is put first."""
    _movable(c, a, b)
    if b.body == WORLD:
        a, b = b, a
        R = np.array(pose.rotation).T
        pose = Pose(tuple(map(tuple, R.tolist())), tuple((-R @ np.array(pose.position)).tolist()))  # type: ignore[arg-type]
        directions = {
            k: d if d in ((), ALL) else tuple(tuple((R @ np.array(x)).tolist()) for x in d) for k, d in directions.items()
        }
    return Between(a, b, pose=pose, **directions), None


def _point_to_point(c: Constraint, model: Model, point_a: Vec3, point_b: Vec3) -> tuple[Rows, None]:
    return _pair(c, model, Pose(), _place(model, c.frames[0], point_a), _place(model, c.frames[1], point_b))


def _weld(c: Constraint, model: Model, pose: Pose) -> tuple[Rows, None]:
    return _pair(c, model, pose, *(_place(model, f) for f in c.frames), angular=ALL)


def _across(axis: Vec3) -> tuple[Vec3, Vec3]:
    """Two unit vectors that form a right-handed frame with an axis."""
    n = np.array(axis)
    first = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    first /= np.linalg.norm(first)
    return tuple(first.tolist()), tuple(np.cross(n, first).tolist())


def _hinge(c: Constraint, model: Model, axis: Vec3, pose: Pose) -> tuple[Rows, None]:
    return _pair(c, model, pose, *(_place(model, f) for f in c.frames), angular=_across(axis))


def _slider(c: Constraint, model: Model, axis: Vec3, pose: Pose) -> tuple[Rows, None]:
    return _pair(c, model, pose, *(_place(model, f) for f in c.frames), linear=_across(axis), angular=ALL)


def _distance(c: Constraint, model: Model, length: float | None) -> tuple[Rows, None]:
    a, b = (_place(model, f) for f in c.frames)
    _movable(c, a, b)
    return Distance(*((b, a) if b.body == WORLD else (a, b)), length), None


def _joint_index(c: Constraint, model: Model, name: Any) -> int:
    for i, body in enumerate(model.bodies):
        if body.joint_name == name and name in model.joint_names:
            return i
    raise InputError(f"{c.kind}: no movable joint {shown(name)}", hint=closest(name, model.joint_names))


def _joint(c: Constraint, model: Model, name: str, at: Any) -> tuple[Rows, list[float] | None]:
    i = _joint_index(c, model, name)
    kind = model.bodies[i].joint
    if at is not None and (len(at) != kind.nq or not np.isfinite(at).all()):
        raise InputError(f"joint {name!r}: at does not fit", expected=f"{kind.nq} coordinates", got=shown(at))
    return HeldJoint(i, kind), None if at is None else list(at)


def _coupling(c: Constraint, model: Model, joint: str, other: str, coefficients: Any) -> tuple[Rows, None]:
    i, j = _joint_index(c, model, joint), _joint_index(c, model, other)
    if i == j or model.bodies[i].joint.nv != 1 or model.bodies[j].joint.nv != 1:
        raise InputError(
            "coupling: these joints do not fit", expected="two joints with one coordinate each", got=f"{joint!r}, {other!r}"
        )
    return CoupledJoints(i, j, coefficients), None


def _rolling(c: Constraint, model: Model, radius: float, normal: Vec3, at: Any) -> tuple[Rows, list[float] | None]:
    a, b = _place(model, None), _place(model, c.frames[0])
    _movable(c, a, b)
    return Rolling(a, b, radius=radius, normal=normal), None if at is None else list(at)


@dataclass(frozen=True)
class _Function:
    """A user's function of (r, q) as a function of q over any scalar, with r the functions of the robot."""

    function: Callable[..., Any]
    model: Model

    def __call__(self, q: Sequence[Any]) -> list[Any]:
        array = np.empty(len(q), dtype=object)
        array[:] = list(q)
        found = self.function(_AnyScalar(self.model), array)
        values = np.atleast_1d(np.asarray(found, dtype=object))
        if values.ndim != 1 or not len(values):
            raise InputError("rows: the function must give numbers", expected="a list of numbers", got=f"shape {values.shape}")
        return list(values)


class _AnyScalar:
    """The functions of a robot over any scalar: the r of a user's function."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __getattr__(self, name: str) -> Any:
        if name not in FUNCTIONS:
            raise AttributeError(f"no function {name!r}; {closest(name, FUNCTIONS)}")
        function = FUNCTIONS[name]
        defaults = {"representation": "body"} if "representation" in function.options else {}

        def call(*values: Any, **options: Any) -> Any:
            frame = {"frame": options.pop("frame", None) or values[len(function.inputs)]} if "frame" in function.options else {}
            vectors = [list(v) for v in values[: len(function.inputs)]]
            found = function.algorithm(self.model, *vectors, **defaults, **frame, **options)
            return found if function.results is not None else np.array(found, dtype=object)[()]

        return call


def _rows(c: Constraint, model: Model, function: Callable[..., Any]) -> tuple[Rows, None]:
    bound = _Function(function, model)
    return UserRows(bound, len(bound(configuration.neutral(model)))), None


_RESOLVE: dict[str, Callable[..., tuple[Rows, list[float] | None]]] = {
    "point": _point, "surface": _surface, "point_to_point": _point_to_point, "weld": _weld, "hinge": _hinge, "slider": _slider,
    "distance": _distance, "joint": _joint, "coupling": _coupling, "rolling": _rolling, "rows": _rows,
}  # fmt: skip
