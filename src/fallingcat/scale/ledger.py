"""The record of a folder of results: what it contains, and which of its chunks are done.

`_fallingcat.json` names robot, versions, functions and input; it is written before the first chunk and again at the end.
Readers of Parquet pass over names that begin with an underscore.
`_fallingcat.done` has a line for every chunk that is wholly written. A line counts only with its end: a chunk whose line is
missing or cut short is computed again, even if part of it was written.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np

from fallingcat import __version__, files
from fallingcat.errors import FallingCatError, InputError
from fallingcat.robot.robot import Robot

NAME = "_fallingcat.json"
DONE = "_fallingcat.done"
LOCK = ".fallingcat.lock"
FORMAT = "fallingcat results 1"
PROBED = 1 << 16
"""Bytes at both ends of a file from which, with its size, its fingerprint is computed."""


def about_robot(robot: Robot) -> dict[str, Any]:
    """What identifies a robot in files, and is needed to interpret the numbers: name, digest, base, gravity, joints."""
    return {
        "robot": robot.name, "digest": robot.model.digest, "base": robot.base, "floating": robot.floating,
        "gravity": robot.gravity.tolist(), "joints": list(robot.joint_names), "nq": robot.nq, "nv": robot.nv,
    }  # fmt: skip


def versions() -> dict[str, str]:
    """The versions of the software that computed the numbers."""
    return {
        "fallingcat": __version__, "python": platform.python_version(), "numpy": np.__version__, "llvmlite": llvmlite.__version__,
        "machine": platform.machine(),
    }  # fmt: skip


def fingerprint(path: str) -> str:
    """A digest of size and ends of a file; of a folder, of the descriptions in it and of its list of files."""
    digest = hashlib.sha256()
    where = Path(path)
    if where.is_dir():
        for file in sorted([*where.glob("zarr.json"), *where.glob("*/zarr.json"), *where.glob(".z*"), *where.glob(NAME)]):
            digest.update(file.name.encode() + file.read_bytes())
        for file in sorted(where.glob("*.parquet")):
            digest.update(f"{file.name} {file.stat().st_size}".encode())
        return digest.hexdigest()
    with open(where, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        digest.update(f"{size}".encode() + stream.read(PROBED))
        stream.seek(max(0, size - PROBED))
        digest.update(stream.read(PROBED))
    return digest.hexdigest()


def chunk_of(folder: str, resume: bool) -> int | None:
    """The chunk size of the job in a folder that is to be resumed, if there is one."""
    try:
        chunk = json.loads((Path(folder) / NAME).read_text(encoding="utf-8"))["chunk"] if resume else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return chunk if isinstance(chunk, int) and chunk > 0 else None


class Ledger:
    """The record of one folder of results, while this process works on it."""

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        self.folder, self.plan = folder, dict(plan)
        self.done: dict[int, dict[str, Any]] = {}
        self._lock: int | None = None
        self._stream: Any = None
        self._new = False

    def begin(self, resume: bool) -> None:
        """Lock the folder and begin its record, or resume an existing one."""
        there = self.folder / NAME
        if not there.exists():
            if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
                raise InputError(f"{str(self.folder)!r} exists, and is not a folder of results", hint="choose another --out")
            self._acquire()
            self._new = True
            files.write(there, json.dumps({"format": FORMAT, "complete": False, **self.plan}, indent=1) + "\n")
        else:
            if not resume:
                hint = "--resume goes on with it; or choose another --out, or delete it"
                raise InputError(f"{str(self.folder)!r} holds results already", hint=hint)
            self._acquire()
            self._compare(self._read())
            self._look()
        self._stream = open(self.folder / DONE, "ab")  # noqa: SIM115

    def _acquire(self) -> None:
        """Lock the folder: one job at a time."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = files.lock(self.folder / LOCK)
        except OSError as error:
            raise FallingCatError(f"cannot write to {str(self.folder)!r}: {error.strerror or error}") from None
        if self._lock is None:
            raise InputError(f"another job is writing to {str(self.folder)!r}", hint="wait for it, or choose another --out")

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads((self.folder / NAME).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FallingCatError(f"{str(self.folder / NAME)!r} cannot be read: {error}") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InputError(f"{str(self.folder)!r} holds other results", expected=FORMAT, hint="choose another --out")
        return found

    def _compare(self, found: Mapping[str, Any]) -> None:
        """Refuse to resume a job that differs from the one that was begun, in version too: another may round differently."""
        for key, value in json.loads(json.dumps(self.plan)).items():
            if key == "versions":
                value, other = value["fallingcat"], found.get(key, {}).get("fallingcat")
            elif key == "robot":
                value, other = value["digest"], found.get(key, {}).get("digest")
            else:
                other = found.get(key)
            if other != value:
                what = f"{str(self.folder)!r} is another job's: its {key} differ"
                raise InputError(what, expected=_short(value), got=_short(other), hint="choose another --out")

    def _look(self) -> None:
        """Read which chunks are done."""
        path = self.folder / DONE
        data = path.read_bytes() if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        for line in whole.splitlines():
            try:
                entry = json.loads(line)
                self.done[int(entry["chunk"])] = entry
            except (ValueError, KeyError, TypeError):
                continue  # a line that was cut short by an interruption
        if len(whole) < len(data):
            with open(path, "r+b") as stream:
                stream.truncate(len(whole))

    def enter(self, entry: Mapping[str, Any]) -> None:
        """Record that a chunk is written."""
        self.done[int(entry["chunk"])] = dict(entry)
        self._stream.write(json.dumps(entry).encode() + b"\n")
        self._stream.flush()

    def close(self, complete: bool, checks: Mapping[str, Any]) -> None:
        """Write the final record, and release the folder."""
        stream, self._stream = self._stream, None
        if stream is not None:
            os.fsync(stream.fileno())
            stream.close()
            text = json.dumps({"format": FORMAT, "complete": complete, **self.plan, "checks": dict(checks)}, indent=1)
            files.write(self.folder / NAME, text + "\n")
        self.release()

    def forget(self) -> None:
        """Release the folder, and remove it if it is new and nothing was computed, so that there is nothing to resume."""
        new = self._new and not self.done
        self.release()
        if new:
            shutil.rmtree(self.folder, ignore_errors=True)

    def release(self) -> None:
        """Close the files and release the lock."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        lock, self._lock = self._lock, None
        if lock is not None:
            files.unlock(lock)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 120 else text[:100] + " ..."
