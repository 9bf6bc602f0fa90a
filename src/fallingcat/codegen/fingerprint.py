"""Which source this process runs: a digest of the files that make machine code, for the keys of the cache.

Installations differ: source files, compiled files without source, a zip archive, a frozen program with no files at all.
If the files cannot be read there is no digest, and without a digest nothing is cached.
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
"""Packages and modules that determine the machine code of tasks with a key: the algorithms, tracing and code generation, and
the modules that make such tasks. Changes elsewhere, in reports, readers of files or methods, do not invalidate the cache. A
task without a key has its program as key, which already reflects the source that made it."""

SUFFIXES = (".py", ".pyc", ".so", ".pyd")

_ROOT = os.path.dirname(os.path.dirname(__file__))


@cache
def source_digest() -> str:
    """A digest of the source files in `MAKERS`, which determine the code; empty if they cannot be read."""
    if __file__ not in _FILES:
        return ""
    digest = hashlib.sha256()
    for path, file in _FILES.items():
        content = file.read_bytes()
        digest.update(f"{os.path.relpath(path, _ROOT)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _walk(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    """The files of the modules in `MAKERS`, with the path that each module would have as `__file__`."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        below = os.path.join(path, entry.name)
        module = os.path.relpath(below, _ROOT).replace(os.sep, "/").partition(".")[0]
        if entry.name.endswith(SUFFIXES):
            if module.startswith(tuple(f"{maker}/" for maker in MAKERS)) or module in MAKERS:
                yield below, entry
        elif any(f"{maker}/".startswith(f"{module}/") for maker in MAKERS) and entry.is_dir():
            yield from _walk(entry, below)


def _state() -> list[tuple[int, int]]:
    """Times of change and sizes of the files; an empty list for an archive, which does not change while it is in use."""
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
    """Are the files still those that were imported? A process that outlives an upgrade runs code that differs from them."""
    global _looked, _unchanged
    now = time.monotonic()
    if now - _looked > PATIENCE:
        _unchanged, _looked = _unchanged and _state() == _AT_IMPORT, now
    return _unchanged


PATIENCE = 0.1
"""Seconds between checks of the files, to save time when many kernels are made; nobody edits and runs a file that fast."""
_looked, _unchanged = time.monotonic(), True
