"""Results in files: a Zarr group with an array for every result, or a folder of Parquet files, a chunk in each."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fallingcat.errors import InputError
from fallingcat.scale.calls import Result
from fallingcat.scale.extras import need

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Target:
    """A folder for results; can be pickled, and so sent to a worker."""

    path: str
    results: tuple[Result, ...]
    count: int
    chunk: int
    about: str
    """The description of the robot that is stored in the files, as JSON."""

    @property
    def kind(self) -> str:
        return Path(self.path).suffix.lower()

    def make(self) -> None:
        """Make the folder, without results in it; existing results are kept."""
        if self.kind == ".zarr":
            self._make_zarr()

    def write(self, number: int, arrays: Mapping[str, Array]) -> None:
        """One chunk, atomically."""
        if self.kind == ".zarr":
            group = need("zarr", "a Zarr file").open_group(self.path, mode="r+")
            start = number * self.chunk
            for name, values in arrays.items():
                group[name][start : start + len(values)] = values
        else:
            self._write_parquet(number, arrays)

    def read(self, number: int, names: Sequence[str]) -> dict[str, Array]:
        """A chunk that was written."""
        start, stop = number * self.chunk, min((number + 1) * self.chunk, self.count)
        if self.kind == ".zarr":
            group = need("zarr", "a Zarr file").open_group(self.path, mode="r")
            return {name: group[name][start:stop] for name in names}
        table = need("pyarrow.parquet", "a Parquet file").read_table(self._part(number), columns=list(names))
        shapes = {r.name: r.shape for r in self.results}
        found = {}
        for name in names:
            column = table.column(name).combine_chunks()
            flat = column.flatten() if shapes[name] else column
            found[name] = flat.to_numpy(zero_copy_only=False).reshape(stop - start, *shapes[name])
        return found

    # -----------------------------------------------------------------------------------------------------------------

    def _make_zarr(self) -> None:
        zarr, codecs = need("zarr", "a Zarr file"), need("zarr.codecs", "a Zarr file")
        group = zarr.open_group(self.path, mode="a", attributes={"fallingcat": json.loads(self.about)})
        for r in self.results:
            if r.name in group:
                continue
            # No compression, as the digits of results look random. A checksum detects damage; missing chunks read as NaN.
            group.create_array(
                r.name, shape=(self.count, *r.shape), chunks=(self.chunk, *r.shape), dtype="float64", fill_value=float("nan"),
                compressors=[codecs.Crc32cCodec()], dimension_names=["sample", *r.dims], attributes=r.about,
                config={"write_empty_chunks": True},  # saves a search for chunks that are NaN throughout
            )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Zarr warns that consolidated metadata are not in the specification yet
            zarr.consolidate_metadata(self.path)  # so that readers need not list the folder, which holds other files too

    def _part(self, number: int) -> Path:
        return Path(self.path) / f"part-{number:07d}.parquet"

    def _write_parquet(self, number: int, arrays: Mapping[str, Array]) -> None:
        pa, pq = need("pyarrow", "a Parquet file"), need("pyarrow.parquet", "a Parquet file")
        columns, shapes = {}, {}
        for name, values in arrays.items():
            flat = pa.array(np.ascontiguousarray(values).reshape(-1))
            size = int(np.prod(values.shape[1:], dtype=int))
            columns[name] = pa.FixedSizeListArray.from_arrays(flat, size) if values.ndim > 1 else flat
            shapes[name] = list(values.shape[1:])
        table = pa.table(columns).replace_schema_metadata({"fallingcat": self.about, "shapes": json.dumps(shapes)})
        handle, temporary = tempfile.mkstemp(dir=self.path, prefix=".part-")
        os.close(handle)
        try:
            pq.write_table(
                table, temporary, compression="none", use_dictionary=False, write_page_checksum=True, row_group_size=len(table)
            )
            os.chmod(temporary, 0o644)
            os.replace(temporary, self._part(number))
        except BaseException:
            with contextlib.suppress(FileNotFoundError):  # a writer that fails removes its file itself
                os.unlink(temporary)
            raise


def check_kind(path: str) -> None:
    """Refuse other endings before anything is computed."""
    if Path(path).suffix.lower() not in (".zarr", ".parquet"):
        raise InputError(f"unknown kind of results {path!r}", expected="--out FILE.zarr or FILE.parquet")
    need("zarr" if path.lower().endswith(".zarr") else "pyarrow", "--out")
