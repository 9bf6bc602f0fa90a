"""States in files: arrays by name, of which any rows can be read without reading the rest.

Zarr, HDF5, .npz and .npy here; tables with columns, Parquet and CSV, in `tables.py`. A source is a path and what was found in
it: it can be sent to a worker, which opens the file itself.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from fallingcat.errors import FallingCatError, InputError
from fallingcat.robot.robot import Robot
from fallingcat.scale import tables
from fallingcat.scale.calls import widths
from fallingcat.scale.extras import need
from fallingcat.scale.ledger import NAME, fingerprint
from fallingcat.suggest import closest

Array = NDArray[np.float64]

UNNAMED = ""
"""The name of the array in a file that holds a single one."""

LARGEST_PACKED = 1 << 28
"""Largest compressed .npz in bytes, as it can only be read as a whole."""


@dataclass(frozen=True)
class Field:
    """An array in a file."""

    shape: tuple[int, ...]
    kind: str
    """The kind of its dtype: a letter, as in NumPy."""
    words: str
    """Its dtype in words, for messages."""


@dataclass(frozen=True)
class Source:
    """A file with states."""

    path: str
    kind: str
    fields: dict[str, Field]
    about: dict[str, Any]
    """What the file says of its robot, if it does."""
    rows: int
    """Number of rows that are stored together, so that reading fewer takes as long; 0 if there is no such number."""
    split: tuple[tuple[str, int], ...] = ()
    """Names and lengths, for one array that holds several vectors side by side."""
    columns: Any = None
    """The columns of a table, as `tables` needs them."""

    @property
    def count(self) -> int:
        return next(iter(self.fields.values())).shape[0]

    def read(self, names: Sequence[str], start: int, stop: int) -> dict[str, Array]:
        """Rows as arrays of float64."""
        if self.split:
            (whole,) = READ[self.kind](self, (UNNAMED,), start, stop).values()
            found, at = {}, 0
            for name, size in self.split:
                found[name] = whole[:, at : at + size]
                at += size
            return {name: np.ascontiguousarray(found[name], dtype=np.float64) for name in names}
        raw = READ[self.kind](self, names, start, stop)
        return {name: np.ascontiguousarray(raw[name], dtype=np.float64) for name in names}

    def absolute(self) -> Source:
        """The same file for a process with another working directory."""
        columns = None if self.columns is None else (self.columns[0].absolute(), self.columns[1])
        return replace(self, path=str(Path(self.path).resolve()), columns=columns)

    @property
    def identity(self) -> dict[str, Any]:
        """The identity of the file, by which a resumed job recognizes its input."""
        return {"path": str(Path(self.path).resolve()), "kind": self.kind, "states": self.count, "digest": fingerprint(self.path)}


# ---------------------------------------------------------------------------------------------------------------------
# Opening files: everything that can be wrong is checked before a job begins


def open_states(path: str, robot: Robot, names: Sequence[str]) -> Source:
    """A file that holds the named arrays for this robot; an error says what does not fit."""
    where = Path(path)
    if not where.exists():
        raise InputError(f"there is no file {path!r}", hint="fallingcat sample ROBOT -n 1000 --out states.zarr makes one")
    kind = _kind(where)
    _finished(where)
    try:
        source = OPEN[kind](path, robot, names)
    except FallingCatError:
        raise
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path!r} cannot be read", expected=f"a file with {', '.join(names)}", got=f"{error}") from None
    check_robot(robot, path, source.about)
    return _fitting(source, robot, names)


def _finished(path: Path) -> None:
    """Raise for a folder of results that a job has not finished: missing chunks would be read as states."""
    ledger = path / NAME
    if ledger.is_file() and _about(ledger.read_text(encoding="utf-8", errors="replace")).get("complete") is not True:
        hint = "the command that began it finishes it, with --resume"
        raise InputError(f"{str(path)!r} is not finished: some of its chunks are missing", hint=hint)


def _kind(path: Path) -> str:
    suffix = path.suffix.lower()
    if path.is_dir():
        if (path / "zarr.json").exists() or (path / ".zgroup").exists() or (path / ".zarray").exists():
            return "zarr"
        if any(path.glob("*.parquet")):
            return "parquet"
        raise InputError(f"{str(path)!r} holds no states", expected="a Zarr group, or a folder of .parquet files")
    kinds = {".npz": "npz", ".npy": "npy", ".h5": "hdf5", ".hdf5": "hdf5", ".parquet": "parquet", ".csv": "csv"}
    if suffix not in kinds:
        raise InputError(f"unknown kind of file {str(path)!r}", expected=".zarr, .parquet, .npz, .npy, .h5, .hdf5 or .csv")
    return kinds[suffix]


def check_robot(robot: Robot, path: str, about: Mapping[str, Any]) -> None:
    """Raise where a file says that it belongs to another robot."""
    own: dict[str, Any] = {
        "joints": list(robot.joint_names),
        "floating": robot.floating,
        "base": robot.base,
        "nq": robot.nq,
        "nv": robot.nv,
    }
    for key, value in own.items():
        if key in about and about[key] != value:
            hint = {"base": "load it with that --base", "floating": "--fixed welds the base"}.get(key, "")
            what = f"{path!r} holds states of another robot ({str(about.get('robot', 'unknown'))!r}): its {key} differ"
            expected, got = (str(value), str(about[key]))
            if key == "joints":
                odd = [name for name in about[key] if name not in value] or ["another order"]
                expected, got = f"{len(value)} joints of {robot.name!r}", f"{len(about[key])} joints: {odd[0]!r}, ..."
            raise InputError(what, expected=expected, got=got, hint=hint)


def _fitting(source: Source, robot: Robot, names: Sequence[str]) -> Source:
    """The source, if its arrays have the right shapes and hold real numbers."""
    wanted = widths(robot, names)
    if list(source.fields) == [UNNAMED]:
        source = _split(source, wanted)
    for name, size in wanted.items():
        if source.split:
            continue
        field = source.fields.get(name)
        if field is None:
            found = ", ".join(source.fields) or "nothing"
            raise InputError(
                f"{source.path!r} has no {name}", expected=", ".join(names), got=found, hint=closest(name, source.fields)
            )
        if field.kind not in "fiub":
            raise InputError(f"{source.path!r}: {name} does not hold real numbers", expected="floats", got=field.words)
        expected = (source.count, size) if size else (source.count,)
        if len(field.shape) != len(expected) or field.shape[1:] != expected[1:]:
            shape = f"(states, {size})" if size else "(states,)"
            hint = f"this robot has nq = {robot.nq}, nv = {robot.nv}"
            raise InputError(f"{source.path!r}: {name} has the wrong shape", expected=shape, got=str(field.shape), hint=hint)
    lengths = {name: source.fields[name].shape[0] for name in wanted if not source.split}
    if len(set(lengths.values())) > 1:
        raise InputError(f"{source.path!r}: arrays differ in length", got=", ".join(f"{k} {v}" for k, v in lengths.items()))
    kept = {name: source.fields[name] for name in wanted} if not source.split else source.fields
    return Source(source.path, source.kind, kept, source.about, source.rows, source.split, source.columns)


def _split(source: Source, wanted: dict[str, int]) -> Source:
    """The source of a single array that holds all wanted vectors side by side, in this order."""
    field = source.fields[UNNAMED]
    total = sum(size or 1 for size in wanted.values())
    if field.kind not in "fiub":
        raise InputError(f"{source.path!r} does not hold real numbers", expected="floats", got=field.words)
    if len(field.shape) != 2 or field.shape[1] != total:
        words = ", ".join(f"{name} ({size or 1})" for name, size in wanted.items())
        raise InputError(f"{source.path!r} has the wrong shape", expected=f"(states, {total}): {words}", got=str(field.shape))
    return Source(source.path, source.kind, source.fields, source.about, source.rows, tuple(wanted.items()))


def _field(array: Any) -> Field:
    return Field(tuple(map(int, array.shape)), np.dtype(array.dtype).kind, str(array.dtype))


def _about(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(str(text))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


# ---------------------------------------------------------------------------------------------------------------------
# Zarr


def _open_zarr(path: str, robot: Robot, names: Sequence[str]) -> Source:
    zarr = need("zarr", "a Zarr file")
    node = zarr.open(path, mode="r")
    arrays = {UNNAMED: node} if hasattr(node, "shape") else dict(node.arrays())
    if not arrays:
        raise InputError(f"{path!r} is an empty Zarr group", expected=", ".join(names))
    ledger = Path(path) / NAME
    about = _about(ledger.read_text(encoding="utf-8")).get("robot", {}) if ledger.exists() else {}
    rows = max(int(a.chunks[0]) for a in arrays.values() if a.ndim) if any(a.ndim for a in arrays.values()) else 0
    return Source(path, "zarr", {name: _field(a) for name, a in arrays.items()}, about, rows)


def _read_zarr(source: Source, names: Sequence[str], start: int, stop: int) -> dict[str, Any]:
    zarr = need("zarr", "a Zarr file")
    node = zarr.open(source.path, mode="r")
    return {name: (node if name == UNNAMED else node[name])[start:stop] for name in names}


# ---------------------------------------------------------------------------------------------------------------------
# HDF5


def _open_hdf5(path: str, robot: Robot, names: Sequence[str]) -> Source:
    h5py = need("h5py", "an HDF5 file")
    with h5py.File(path, "r") as file:
        arrays = {name: file[name] for name in file if hasattr(file[name], "shape")}
        about = _about(file.attrs.get("fallingcat", ""))
        chunks = [a.chunks[0] for a in arrays.values() if a.chunks]
        fields = {name: _field(a) for name, a in arrays.items()}
    if not fields:
        raise InputError(f"{path!r} holds no data sets", expected=", ".join(names))
    return Source(path, "hdf5", fields, about, max(chunks, default=0))


def _read_hdf5(source: Source, names: Sequence[str], start: int, stop: int) -> dict[str, Any]:
    h5py = need("h5py", "an HDF5 file")
    with h5py.File(source.path, "r") as file:
        return {name: file[name][start:stop] for name in names}


# ---------------------------------------------------------------------------------------------------------------------
# .npy and .npz, mapped into memory


def _open_npy(path: str, robot: Robot, names: Sequence[str]) -> Source:
    return Source(path, "npy", {UNNAMED: _field(np.load(path, mmap_mode="r", allow_pickle=False))}, {}, 0)


def _read_npy(source: Source, names: Sequence[str], start: int, stop: int) -> dict[str, Any]:
    return {UNNAMED: np.array(np.load(source.path, mmap_mode="r", allow_pickle=False)[start:stop])}


def _open_npz(path: str, robot: Robot, names: Sequence[str]) -> Source:
    fields, about = {}, {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if info.compress_type != zipfile.ZIP_STORED and info.file_size > LARGEST_PACKED:
                hint = "np.savez, without _compressed, writes arrays that can be read in parts; or convert it to .zarr"
                raise InputError(f"{path!r} is compressed, and {name} too large to be read as a whole", hint=hint)
            with archive.open(info) as member:
                shape, order, dtype = _header(member)
                if name == "about" and dtype.kind == "U":
                    about = _about(np.frombuffer(member.read(), dtype=dtype)[0])
                elif order and len(shape) > 1:
                    raise InputError(f"{path!r}: {name} is stored by columns", hint="np.ascontiguousarray before saving")
                else:
                    fields[name] = Field(tuple(map(int, shape)), dtype.kind, str(dtype))
    return Source(path, "npz", fields, about, 0)


def _header(member: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(member)
    reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, order, dtype = reader(member)
    return shape, order, dtype


def _read_npz(source: Source, names: Sequence[str], start: int, stop: int) -> dict[str, Any]:
    found = {}
    with zipfile.ZipFile(source.path) as archive:
        for name in names:
            with archive.open(f"{name}.npy") as member:
                shape, _, dtype = _header(member)
                row = int(np.prod(shape[1:], dtype=int)) * dtype.itemsize
                member.seek(member.tell() + start * row)  # fast, as the member is not compressed
                data = member.read((stop - start) * row)
            found[name] = np.frombuffer(data, dtype=dtype).reshape(stop - start, *shape[1:])
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Tables


def _open_table(path: str, robot: Robot, names: Sequence[str]) -> Source:
    table = tables.open_parquet(path) if _kind(Path(path)) == "parquet" else tables.open_csv(path)
    chosen = tables.choose(table, path, robot, names)
    fields = {
        name: Field((table.count, *([size] if size else [])), "f", "float64") for name, size in widths(robot, names).items()
    }
    return Source(path, table.kind, fields, table.about, table.rows, columns=(table, chosen))


def _read_table(source: Source, names: Sequence[str], start: int, stop: int) -> dict[str, Any]:
    table, chosen = source.columns
    return tables.read(table, {name: chosen[name] for name in names}, start, stop)


OPEN = {
    "zarr": _open_zarr, "hdf5": _open_hdf5, "npy": _open_npy, "npz": _open_npz, "parquet": _open_table, "csv": _open_table,
}  # fmt: skip
READ = {
    "zarr": _read_zarr, "hdf5": _read_hdf5, "npy": _read_npy, "npz": _read_npz, "parquet": _read_table, "csv": _read_table,
}  # fmt: skip
