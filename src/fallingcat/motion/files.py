"""Trajectories as files: .npz for programs, .csv for everything, .parquet for tables. All hold the robot's names."""

from __future__ import annotations

import csv
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fallingcat import files
from fallingcat.errors import FallingCatError, InputError
from fallingcat.motion.group import independent_bodies
from fallingcat.suggest import closest

if TYPE_CHECKING:
    from fallingcat.motion.trajectory import Trajectory
    from fallingcat.robot.robot import Robot

Array = NDArray[np.float64]
Parts = tuple[Array, Array, Array, Array]

FORMAT = "fallingcat trajectory 1"
SUFFIXES = (".npz", ".csv", ".parquet")
_DAMAGED = (
    ValueError, KeyError, IndexError, TypeError, EOFError, RuntimeError, SyntaxError, zipfile.BadZipFile, zlib.error,
    struct.error, csv.Error,
)  # fmt: skip
"""Errors of Python's readers for damaged files; RuntimeError: unknown kinds of zip."""
_BASE_Q = ("x", "y", "z", "qx", "qy", "qz", "qw")
_BASE_NU = ("vx", "vy", "vz", "wx", "wy", "wz")


def save(trajectory: Trajectory, path: Path) -> Path:
    """Write a trajectory in the format of the path's ending."""
    kind = _kind(path)
    if kind == ".npz":
        return files.write(path, _npz(trajectory))
    if trajectory.q.ndim > 2:
        raise InputError(f"a {kind} file holds one motion", got=f"{trajectory.q.shape[:-2]} motions", hint="save it as .npz")
    return files.write(path, _csv(trajectory) if kind == ".csv" else _parquet(trajectory))


def load(robot: Robot, path: Path) -> Parts:
    """t, q, nu and dnu of a file, if it is one of this robot."""
    reader = {".npz": _from_npz, ".csv": _from_csv, ".parquet": _from_parquet}[_kind(path)]
    try:
        found, parts = reader(robot, path)
        _check_robot(robot, path, found)
        read: Parts = parts()
    except OSError as error:
        raise FallingCatError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except FallingCatError:
        raise
    except _DAMAGED as error:
        raise InputError(f"{str(path)!r} holds no trajectory", expected=f"a file that Trajectory.save wrote ({error})") from None
    return read


def _kind(path: Path) -> str:
    if path.suffix.lower() not in SUFFIXES:
        raise InputError("unknown kind of file for a trajectory", expected=", ".join(SUFFIXES), got=repr(str(path)))
    return path.suffix.lower()


# ---------------------------------------------------------------------------------------------------------------------
# The robot that a file belongs to


def names(robot: Robot) -> dict[str, Any]:
    """What a file records about its robot: everything that is needed to interpret the numbers."""
    return {
        "format": FORMAT, "robot": robot.name, "base": robot.base, "floating": robot.floating, "joints": list(robot.joint_names),
        "nq": robot.nq, "nv": robot.nv,
    }  # fmt: skip


def _check_robot(robot: Robot, path: Path, found: Any) -> None:
    """Raise unless the file is one of this robot."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        what = found.get("format") if isinstance(found, dict) else found
        raise InputError(f"{str(path)!r} holds no trajectory", expected=FORMAT, got=repr(what))
    wanted = names(robot)
    for key, value in wanted.items():
        if found.get(key) == value:
            continue
        what = f"{str(path)!r} is a trajectory of another robot: its {key} differs"
        if key == "joints":
            _refuse_joints(what, list(robot.joint_names), list(found.get(key) or ()))
        hint = {"base": "load the robot with that base", "floating": "load it with floating=True or False"}.get(key, "")
        raise InputError(what, expected=repr(value), got=repr(found.get(key)), hint=hint)


def _refuse_joints(what: str, own: list[str], found: list[str]) -> None:
    unknown = [name for name in found if name not in own]
    missing = [name for name in own if name not in found]
    if unknown or missing:
        odd = unknown[0] if unknown else missing[0]
        got = f"{len(found)} joints, among them {unknown[0]!r}" if unknown else f"{len(found)} joints, without {missing[0]!r}"
        raise InputError(what, expected=f"{len(own)} joints", got=got, hint=closest(odd, own if unknown else found))
    raise InputError(what, expected=f"the order {own[:4]}...", got=f"{found[:4]}...", hint="load the robot with joints=[...]")


def columns(robot: Robot) -> list[str]:
    """The columns of a table: t, then q, nu and dnu by the names of the joints."""
    q: list[str] = []
    nu: list[str] = []
    for body in independent_bodies(robot.model):
        base = robot.floating and body.q_at == 0
        name, joint = body.joint_name, body.joint
        single = joint.nq == 1
        q += _BASE_Q if base else [name] if single else [f"{name}[{k}]" for k in range(joint.nq)]
        nu += _BASE_NU if base else [name] if single else [f"{name}[{k}]" for k in range(joint.nv)]
    return ["t", *(f"q:{x}" for x in q), *(f"nu:{x}" for x in nu), *(f"dnu:{x}" for x in nu)]


# ---------------------------------------------------------------------------------------------------------------------
# The formats


def _npz(trajectory: Trajectory) -> bytes:
    stream = io.BytesIO()
    parts = {name: getattr(trajectory, name) for name in ("t", "q", "nu", "dnu")}
    np.savez(stream, about=np.array(json.dumps(names(trajectory.robot))), **parts)
    return stream.getvalue()


def _from_npz(robot: Robot, path: Path) -> tuple[Any, Any]:
    with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
        found = {name: file[name] for name in ("about", "t", "q", "nu", "dnu")}
    return json.loads(str(found["about"])), lambda: tuple(found[name] for name in ("t", "q", "nu", "dnu"))


def _rows(trajectory: Trajectory) -> Array:
    return np.concatenate([trajectory.t[:, None], trajectory.q, trajectory.nu, trajectory.dnu], axis=1)


def _cut(robot: Robot, rows: Array) -> Parts:
    count = 1 + robot.nq + 2 * robot.nv
    if rows.shape[1:] != (count,):
        raise InputError("a trajectory's table is cut short", expected=f"{count} columns", got=str(rows.shape))
    t, q, nu, dnu = np.split(rows, np.cumsum([1, robot.nq, robot.nv]), axis=1)
    return t[:, 0], q, nu, dnu


def _csv(trajectory: Trajectory) -> str:
    """The text of a .csv file: one comment with the names, one line with the columns, one line for each time."""
    text = io.StringIO()
    text.write(f"# {json.dumps(names(trajectory.robot))}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns(trajectory.robot))
    writer.writerows([[repr(float(x)) for x in row] for row in _rows(trajectory)])
    return text.getvalue()


def _from_csv(robot: Robot, path: Path) -> tuple[Any, Any]:
    with open(path, encoding="utf-8", newline="") as file:
        about = file.readline()
        if not about.startswith("# {"):
            raise InputError(f"{str(path)!r} holds no trajectory", expected="a first line '# {...}' with the robot's names")
        _, *rows = csv.reader(file)
    return json.loads(about[2:]), lambda: _cut(robot, np.array([[float(x) for x in row] for row in rows], ndmin=2))


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise FallingCatError("Parquet files need pyarrow: pip install 'fallingcat[parquet]', or use .npz or .csv") from None
    return pa, pq


def _parquet(trajectory: Trajectory) -> bytes:
    pa, pq = _pyarrow()
    data = dict(zip(columns(trajectory.robot), _rows(trajectory).T, strict=True))
    table = pa.table(data).replace_schema_metadata({"fallingcat": json.dumps(names(trajectory.robot))})
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def _from_parquet(robot: Robot, path: Path) -> tuple[Any, Any]:
    _, pq = _pyarrow()
    with open(path, "rb") as file:
        table = pq.read_table(file)
    found = json.loads((table.schema.metadata or {}).get(b"fallingcat", b"{}"))
    return found, lambda: _cut(robot, np.stack([column.to_numpy() for column in table.columns], axis=1))
