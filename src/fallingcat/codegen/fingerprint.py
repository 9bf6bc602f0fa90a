"""Which source this process runs: a digest of the files that make machine code, for the keys of the cache.

Installations differ: source files, compiled files without source, a zip archive, a frozen program with no files at all.
What cannot be read has no digest, and without a digest nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

MAKERS = (
    "spatial", "algorithms", "trace", "codegen", "scalar", "elementary", "tensors", "task", "lazy", "table", "origin",
    "functions", "model/description", "model/joints", "model/model", "arrays/arguments", "arrays/memory",
    "robot/constraint_tasks", "frameworks/entries", "frameworks/casadi_compiled",
)  # fmt: skip
"""Rooms and modules that have a part in the code of tasks which are known by a key: the algorithms, what they run through on
their way to machine code, and the makers of such tasks. A new page of a report, reader of files or method compiles nothing anew;
what a task without a key runs through is in its program, which is its key."""

SUFFIXES = (".py", ".pyc", ".so", ".pyd")

_ROOT = os.path.dirname(os.path.dirname(__file__))


@cache
def source_digest() -> str:
    """A digest of this library's own source: other source, other code. Empty if there is none to be read."""
    if __file__ not in _FILES:
        return ""
    digest = hashlib.sha256()
    for path, file in _FILES.items():
        content = file.read_bytes()
        digest.update(f"{os.path.relpath(path, _ROOT)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _walk(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    """Every file that counts, under the name that its module would have as `__file__`."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        below = os.path.join(path, entry.name)
        module = os.path.relpath(below, _ROOT).replace(os.sep, "/").partition(".")[0]
        if entry.name.endswith(SUFFIXES):
            if module.startswith(tuple(f"{maker}/" for maker in MAKERS)) or module in MAKERS:
                yield below, entry
        elif any(f"{maker}/".startswith(f"{module}/") for maker in MAKERS) and entry.is_dir():
            yield from _walk(entry, below)


def _state() -> list[tuple[int, int]]:
    """Times and sizes of the files; none for an archive, which is not written while it is in use."""
    try:
        return [(info.st_mtime_ns, info.st_size) for info in map(os.stat, _FILES)]
    except OSError:
        return []


def _files() -> dict[str, Traversable]:
    try:
        return dict(_walk(resources.files("fallingcat"), _ROOT))
    except (OSError, TypeError, ValueError):  # a frozen program
        return {}


_FILES = _files()
_AT_IMPORT = _state()


def covers(module: str) -> bool:
    """Was this module loaded from one of the files that the digest is made of?"""
    return getattr(sys.modules.get(module), "__file__", None) in _FILES


def unchanged() -> bool:
    """Are the files still those that were imported? A process that outlives an upgrade runs other code than they say."""
    global _looked, _unchanged
    now = time.monotonic()
    if now - _looked > PATIENCE:
        _unchanged, _looked = _unchanged and _state() == _AT_IMPORT, now
    return _unchanged


PATIENCE = 0.1
"""Seconds between looks, for those who make many kernels at once; no file is edited and run as fast."""
_looked, _unchanged = time.monotonic(), True
