"""States to report at: neutral, random, or from a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.errors import InputError
from fallingcat.model.report import printable
from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]

FAR = 1e3
"""Radians or metres beyond which a coordinate loses digits that differences need."""


@dataclass(frozen=True)
class State:
    """A configuration q (nq,) and a velocity nu (nv,)."""

    words: str
    q: Array
    nu: Array


def read_state(robot: Robot, choice: str) -> State:
    """The state that `--state` names."""
    if choice == "neutral":
        return State("neutral, at rest", robot.neutral(), np.zeros(robot.nv))
    if choice == "random":
        rng = np.random.default_rng(0)
        return State("random (seed 0), within the joint limits", random_configuration(robot, rng), robot.random_velocity(rng))
    values = _read_arrays(Path(choice))
    q = _vector(choice, "q", values.get("q"), robot.nq)
    nu = _vector(choice, "nu", values["nu"], robot.nv) if "nu" in values else np.zeros(robot.nv)
    return State(f"from {printable(choice, 200)}" + ("" if "nu" in values else ", at rest"), q, nu)


def random_configuration(robot: Robot, rng: np.random.Generator) -> Array:
    """A random configuration within the joints' limits; where these are wide or absent, within half a turn or a few metres."""
    q = robot.random_configuration(rng)
    return np.where(np.abs(q) > FAR, np.fmod(q, np.pi), q)


def _read_arrays(path: Path) -> dict[str, Any]:
    if path.suffix not in (".npz", ".json"):
        raise InputError("--state is not a state", expected="neutral, random, or a .npz or .json file", got=repr(str(path)))
    try:
        if path.suffix == ".json":
            values = json.loads(path.read_text(encoding="utf-8"))
        else:
            with np.load(path, allow_pickle=False) as archive:
                values = {name: archive[name] for name in archive.files if name in ("q", "nu")}
    except Exception as error:  # whatever the readers of two formats may raise at a broken file
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"--state: {str(path)!r} cannot be read", got=f"{type(error).__name__}: {reason}") from None
    if not isinstance(values, dict):
        raise InputError(
            f"--state: {str(path)!r} is not a state", expected='{"q": [...], "nu": [...]}', got=type(values).__name__
        )
    return values


def _vector(file: str, name: str, value: Any, size: int) -> Array:
    try:
        x = np.array(value, dtype=float)
    except (TypeError, ValueError):
        x = np.array(np.nan)
    if x.shape != (size,) or not np.all(np.isfinite(x)):
        got = "nothing" if value is None else f"shape {x.shape}" if x.shape != (size,) and x.shape else "something else"
        hint = "q is base position, base quaternion (x y z w), joints" if name == "q" else "nu is base twist, joint velocities"
        raise InputError(f"--state: {name} in {file!r} does not fit", expected=f"{size} finite numbers", got=got, hint=hint)
    return x
