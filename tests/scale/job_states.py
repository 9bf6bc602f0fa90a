"""States of a robot in files, that jobs are tested with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import fallingcat as fc
from extras import extra
from fallingcat.motion.files import columns
from fallingcat.scale import run
from fallingcat.scale.run import Settings

zarr = extra("zarr")
pa = extra("pyarrow")
pq = extra("pyarrow.parquet")
h5py = extra("h5py")

COUNT = 1500
ROBOT = fc.load("tree9")
NAMES = ("q", "nu", "dnu", "tau")


def here(out: Path, **options: Any) -> Settings:
    """A job in this process."""
    return Settings(str(out), workers=0, **options)


def sampled(folder: Path) -> str:
    """A Zarr file with states."""
    path = folder / "states.zarr"
    assert run.sample(ROBOT, COUNT, 3, NAMES, here(path)).complete
    return str(path)


def write(kind: str, folder: Path, a: dict[str, Any]) -> str:
    """States as a file of a kind."""
    path = folder / f"states.{kind.split()[0]}"
    named = {"q": a["q"], "nu": a["nu"]}
    labels = [c for c in columns(ROBOT) if not c.startswith(("t", "dnu"))]
    wide = np.concatenate([a["q"], a["nu"]], axis=1)
    if kind == "npz":
        np.savez(path, **named)
    elif kind == "npz compressed":
        np.savez_compressed(path, **named)
    elif kind == "npy":
        np.save(path, wide)
    elif kind == "h5":
        with h5py.File(path, "w") as file:
            for name, value in named.items():
                file.create_dataset(name, data=value, chunks=(100, value.shape[1]))
    elif kind == "csv":
        np.savetxt(path, wide, delimiter=",", header=",".join(labels), comments="", fmt="%.17g")
    elif kind == "csv numbered":
        names = [f"q_{k}" for k in range(ROBOT.nq)] + [f"nu_{k}" for k in range(ROBOT.nv)]
        np.savetxt(path, wide[:, ::-1], delimiter=",", header=",".join(names[::-1]), comments="", fmt="%.17g")
    elif kind == "parquet":
        pq.write_table(pa.table(dict(zip(labels, wide.T, strict=True))), path, row_group_size=333)
    elif kind == "zarr":
        group = zarr.create_group(str(path))
        for name, value in named.items():
            group.create_array(name, data=value, chunks=(100, value.shape[1]))
    return str(path)
