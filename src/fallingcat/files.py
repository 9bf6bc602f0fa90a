"""Writing files: atomically, into folders that are created if need be, and through links and devices, never over them.

And locks: files that one process holds at a time, until it releases them or ends, however it ends.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import tempfile
from pathlib import Path

from fallingcat.errors import FallingCatError

_STREAM = re.compile(r"/(?:dev|proc/self)/(?:fd/(\d+)|std(in|out|err))")


def write(path: str | Path, content: str | bytes) -> Path:
    """Write a file atomically: at any time there is the complete old file or the complete new one.

    If the path is a link, its target is written. A device or a pipe is written to directly.
    """
    target, data = Path(path), content.encode("utf-8") if isinstance(content, str) else content
    try:
        _write(target, data)
    except OSError as error:
        raise FallingCatError(f"cannot write {str(target)!r}: {error.strerror or error}") from None
    return target


def check(path: str | Path) -> Path:
    """Check, before anything is computed, that this file can be written; its folder is made if need be."""
    target = Path(path)
    if str(path).endswith(("/", os.sep)) or os.path.isdir(target):
        raise FallingCatError(f"cannot write {str(path)!r}: it is a folder")
    try:
        if stream(target) is None and (_real(target).exists() or target.is_symlink()):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise FallingCatError(f"cannot write {str(path)!r}: {getattr(error, 'strerror', None) or error}") from None
    return target


def stream(path: Path) -> int | None:
    """The open file of this process that a path such as /dev/stdout names, if it is one of these."""
    found = _STREAM.fullmatch(str(path))
    if not found:
        return None
    return int(found[1]) if found[1] else {"in": 0, "out": 1, "err": 2}[found[2]]


def lock(path: str | Path) -> int | None:
    """Lock a file, which is made if need be; returns the argument for `unlock`, or None if another process holds the lock.

    Raises OSError where there can be no lock. The system releases it when a process ends.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def unlock(descriptor: int) -> None:
    """Release a lock."""
    os.close(descriptor)


def _write(target: Path, data: bytes) -> None:
    opened = stream(target)
    if opened is not None:
        _write_plainly(os.dup(opened), data)
        return
    real = _real(target)
    if real.exists() and not stat.S_ISREG(real.stat().st_mode):
        _write_plainly(os.open(target, os.O_WRONLY), data)
        return
    real.parent.mkdir(parents=True, exist_ok=True)
    _replace(real, data)


def _real(target: Path) -> Path:
    """The target of a path through all links, whether it exists or not; raises OSError for links that form a loop."""
    real = Path(os.path.realpath(target))
    if real.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return real


def _write_plainly(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]


def _replace(target: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        _permissions_of(target, name)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _permissions_of(target: Path, name: str) -> None:
    """Give a temporary file, which is private, the permissions of the file that it replaces, or those of any new file."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(name, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~mask)
