"""States in tables: Parquet and CSV. A vector is a column of lists, or one column for each entry.

Columns are named as in the files of trajectories, `q:knee`, `nu:vx`, in any order, or numbered, `q_0`, `q_1`, ...
"""

from __future__ import annotations

import csv
import io
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.errors import InputError
from fallingcat.robot.labels import of_input
from fallingcat.robot.robot import Robot
from fallingcat.scale.calls import widths
from fallingcat.scale.extras import need
from fallingcat.suggest import closest

Array = NDArray[np.float64]
Chosen = tuple[bool, tuple[str, ...]]
"""Is it a column of lists, and which column or columns?"""

EVERY = 4096
"""Number of lines of a CSV file between positions that are stored."""


@dataclass(frozen=True)
class Table:
    """A file, or a folder of files, with columns."""

    kind: str
    files: tuple[str, ...]
    starts: tuple[int, ...]
    """The number of the first row of each part: a group of rows in Parquet, lines in CSV; and the number of all rows."""
    parts: tuple[tuple[int, int], ...]
    """Where each part is: (file, group), or (first byte, end)."""
    columns: dict[str, str]
    """Name -> type: "number", "list" or words for what it is."""
    about: dict[str, Any]
    rows: int

    @property
    def count(self) -> int:
        return self.starts[-1]

    def absolute(self) -> Table:
        """The same files for a process with another working directory."""
        return replace(self, files=tuple(str(Path(name).resolve()) for name in self.files))

    def overlapping(self, start: int, stop: int) -> list[int]:
        """The parts that hold rows of a range."""
        if start >= stop:
            return []
        return list(range(bisect_right(self.starts, start) - 1, bisect_right(self.starts, stop - 1)))


def choose(table: Table, path: str, robot: Robot, names: Sequence[str]) -> dict[str, Chosen]:
    """The columns of every vector."""
    return {name: _choose(table, path, name, size, robot) for name, size in widths(robot, names).items()}


def _choose(table: Table, path: str, name: str, size: int, robot: Robot) -> Chosen:
    if size == 0 or (name in table.columns and table.columns[name] == "list"):
        labels = [name]
    else:
        axes = of_input(robot, name, size).axes
        by_name = [f"{name}:{label}" for label in axes[0].labels] if axes else []
        numbered = [f"{name}_{k}" for k in range(size)]
        there = [sum(c in table.columns for c in choice) for choice in (by_name, numbered)]
        labels = numbered if there[1] > there[0] else by_name
    for label in labels:
        if label not in table.columns:
            expected = f"{labels[0]}, ... ({len(labels)} columns), {name}_0, ... or a column {name} of lists"
            raise InputError(f"{path!r} has no column {label!r}", expected=expected, hint=closest(label, table.columns))
        if table.columns[label] not in ("number", "list"):
            raise InputError(f"{path!r}: column {label!r} does not hold real numbers", got=table.columns[label])
    return (size > 0 and table.columns[labels[0]] == "list", tuple(labels))


def read(table: Table, chosen: Mapping[str, Chosen], start: int, stop: int) -> dict[str, Array]:
    """Rows of vectors, gathered from their columns."""
    wanted = [label for _, labels in chosen.values() for label in labels]
    found = (_read_parquet if table.kind == "parquet" else _read_csv)(table, wanted, start, stop)
    arrays = {}
    for name, (_, labels) in chosen.items():
        columns = [found[label] for label in labels]
        arrays[name] = (
            columns[0] if len(columns) == 1 and (columns[0].ndim > 1 or ":" not in labels[0]) else np.stack(columns, -1)
        )
    return arrays


# ---------------------------------------------------------------------------------------------------------------------
# Parquet


def open_parquet(path: str) -> Table:
    """A Parquet file, or all of a folder."""
    pq = need("pyarrow.parquet", "a Parquet file")
    files = tuple(map(str, sorted(Path(path).glob("*.parquet")))) if Path(path).is_dir() else (path,)
    starts, parts, schema = [0], [], None
    for k, name in enumerate(files):
        with pq.ParquetFile(name) as file:
            own = {field.name: _type(field.type) for field in file.schema_arrow}
            if schema is not None and own != schema:
                raise InputError(f"{path!r}: its files have different columns", got=name)
            schema, metadata = own, file.schema_arrow.metadata or {}
            for group in range(file.metadata.num_row_groups):
                starts.append(starts[-1] + file.metadata.row_group(group).num_rows)
                parts.append((k, group))
    about = json.loads(metadata.get(b"fallingcat", b"{}"))
    rows = max((b - a for a, b in pairwise(starts)), default=0)
    return Table("parquet", files, tuple(starts), tuple(parts), schema or {}, about, rows)


def _type(kind: Any) -> str:
    types = need("pyarrow", "a Parquet file").types
    if types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind):
        return "list" if _type(kind.value_type) == "number" else str(kind)
    return "number" if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) else str(kind)


def _read_parquet(table: Table, columns: Sequence[str], start: int, stop: int) -> dict[str, Array]:
    pa, pq = need("pyarrow", "a Parquet file"), need("pyarrow.parquet", "a Parquet file")
    pieces = []
    for part in table.overlapping(start, stop):
        first = table.starts[part]
        number, group = table.parts[part]
        with pq.ParquetFile(table.files[number], memory_map=True) as file:
            rows = file.read_row_group(group, columns=list(columns), use_threads=False)
        cut = max(0, start - first)
        pieces.append(rows.slice(cut, min(stop, table.starts[part + 1]) - first - cut))
    whole = pa.concat_tables(pieces)
    return {name: _numbers(name, whole.column(name).combine_chunks()) for name in columns}


def _numbers(name: str, column: Any) -> Array:
    """A column as an array; a missing value is NaN."""
    if hasattr(column, "flatten") and _type(column.type) == "list":
        flat, rows = column.flatten(), len(column)
        width = len(flat) // rows if rows else 0
        if column.null_count or (rows and len(flat) != width * rows):
            raise InputError(f"column {name!r}: lists of different lengths")
        return np.asarray(flat.to_numpy(zero_copy_only=False), dtype=np.float64).reshape(rows, width)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


# ---------------------------------------------------------------------------------------------------------------------
# CSV


def open_csv(path: str) -> Table:
    """A CSV file with a line of names; it is read once, to find the positions of its lines."""
    with open(path, "rb") as file:
        about, names = _head(file)
        starts, edges, count, first = [0], [file.tell()], 0, b""
        for line in file:
            if not line.strip():
                continue
            first = first or line
            count += 1
            if count % EVERY == 0:
                starts.append(count)
                edges.append(file.tell())
        if starts[-1] != count:
            starts.append(count)
            edges.append(file.tell())
    if not names or count == 0:
        raise InputError(f"{path!r} holds no states", expected="a line of column names, and a line for each state")
    cells = next(csv.reader([first.decode("utf-8", "replace")]))
    kinds = {name.strip(): _cell(cell) for name, cell in zip(names, cells, strict=False)}
    places = tuple(pairwise(edges))
    return Table(
        "csv", (path,), tuple(starts), places, {n: kinds.get(n.strip(), "nothing") for n in map(str.strip, names)}, about, 0
    )


def _head(file: Any) -> tuple[dict[str, Any], list[str]]:
    """The description of the robot in the comments, and the names of the columns."""
    about: dict[str, Any] = {}
    line = file.readline()
    while line.startswith(b"#"):
        if line.startswith(b"# {"):
            about = json.loads(line[2:])
        line = file.readline()
    return about, next(csv.reader([line.decode("utf-8-sig")]), [])


def _cell(text: str) -> str:
    try:
        float(text)
    except ValueError:
        return f"text such as {text[:20]!r}"
    return "number"


def _read_csv(table: Table, columns: Sequence[str], start: int, stop: int) -> dict[str, Array]:
    names = list(table.columns)
    where = [names.index(name) for name in columns]
    pieces = []
    with open(table.files[0], "rb") as file:
        for part in table.overlapping(start, stop):
            begin, end = table.parts[part]
            file.seek(begin)
            first = table.starts[part]
            rows = _parse(table.files[0], file.read(end - begin), where, first)
            pieces.append(rows[max(0, start - first) : stop - first])
    whole = np.concatenate(pieces)
    return {name: np.ascontiguousarray(whole[:, k]) for k, name in enumerate(columns)}


def _parse(path: str, data: bytes, where: Sequence[int], first: int) -> Array:
    try:
        return np.loadtxt(io.BytesIO(data), delimiter=",", usecols=where, ndmin=2, comments=None, encoding="utf-8")
    except ValueError:
        return _parse_slowly(path, data, where, first)


def _parse_slowly(path: str, data: bytes, where: Sequence[int], first: int) -> Array:
    """Parse line by line: an empty cell is NaN, as in Parquet; the error names a cell that cannot be read."""
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    rows = np.full((len(lines), len(where)), np.nan)
    for k, cells in enumerate(csv.reader(lines)):
        for j, column in enumerate(where):
            cell = cells[column].strip() if column < len(cells) else None
            if cell == "":
                continue
            try:
                rows[k, j] = float(cell)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                got = "the line ends before it" if cell is None else repr(cell[:40])
                raise InputError(
                    f"{path!r}: state {first + k} cannot be read", expected=f"a number in column {column + 1}", got=got
                ) from None
    return rows
