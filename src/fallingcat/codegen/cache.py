"""Object code kept between processes, in a directory only its owner can write.

A file is a header line, a checksum and the object code. It is used only if it and its directory belong to this
user, nobody else may write them, and the checksum is right; otherwise it is ignored.
Writing is atomic, so processes may share a directory. If several processes need the same code at the same time, one compiles
it while the others wait.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fallingcat
from fallingcat import announce, files
from fallingcat.codegen import native
from fallingcat.codegen.fingerprint import source_digest, unchanged

MAGIC = b"fallingcat object code 1\n"
LIMIT = 512 * 1024 * 1024
"""Bytes the cache may take; the oldest files go first."""
LOOKS = 64
"""Expected number of prunings per LIMIT bytes written: the limit may be exceeded by about LIMIT / LOOKS."""
ABANDONED = 3600.0
"""Seconds after which an unfinished file is assumed to belong to a process that was killed."""

_ENTRY = re.compile(r"[0-9a-f]{64}\.o")
_UNFINISHED = re.compile(r"\.new-[a-z0-9_]{8}|[0-9a-f]{64}\.lock")

_making: set[str] = set()
"""Entries that this process is making: a signal handler that needs one of them must not wait for the code it interrupted."""


def directory() -> Path | None:
    """Where object code is kept; None when FALLINGCAT_CACHE is `off` or there is no home."""
    chosen = os.environ.get("FALLINGCAT_CACHE", "")
    if chosen.lower() in ("off", "0", "no", "false"):
        return None
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        if chosen:
            return Path(chosen).expanduser()
        return (Path(home) if home and os.path.isabs(home) else Path.home() / ".cache") / "fallingcat"
    except RuntimeError:
        return None


def usable() -> bool:
    """Will what is saved be found again, also by other processes?"""
    folder = directory()
    if folder is None or not source_digest() or not unchanged():
        return False
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _private(folder, stat.S_ISDIR)


def key(what: str) -> str:
    """The name of a cache entry: a digest of all that its code depends on; empty if the source is unreadable or has changed."""
    source = source_digest()
    if not source or not unchanged():
        return ""
    text = "\0".join([what, fallingcat.__version__, source, native.versions(), *native.host(), str(native.largest_cache())])
    return hashlib.sha256(text.encode()).hexdigest()


def load(name: str) -> tuple[dict[str, Any], bytes] | None:
    """(facts, object code) of an entry, or None if there is none that can be trusted."""
    folder = directory()
    if folder is None or not name or not _private(folder, stat.S_ISDIR):
        return None
    path = folder / f"{name}.o"
    try:
        with open(path, "rb", opener=_open_plain_file) as file:
            if not _trusted(os.fstat(file.fileno()), stat.S_ISREG):
                return None
            data = file.read()
    except OSError:
        return None
    return _decode(name, data)


def renew(name: str) -> None:
    """Update the time of an entry that other entries need, so that pruning does not remove it before them."""
    folder = directory()
    if folder is not None and name:
        with contextlib.suppress(OSError):
            os.utime(folder / f"{name}.o", follow_symlinks=False)


def _open_plain_file(path: str, flags: int) -> int:
    """Open a file without following links, and without waiting for the writer of a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _decode(name: str, data: bytes) -> tuple[dict[str, Any], bytes] | None:
    if not data.startswith(MAGIC):
        return None
    checksum, _, rest = data[len(MAGIC) :].partition(b"\n")
    if hashlib.sha256(name.encode() + rest).hexdigest().encode() != checksum:
        return None
    header, _, code = rest.partition(b"\n")
    return json.loads(header), code


def save(name: str, facts: dict[str, Any], code: bytes) -> None:
    """Save an entry. A failure is not an error: the code is compiled again next time."""
    folder = directory()
    if folder is None or not name:
        return
    rest = json.dumps(facts).encode() + b"\n" + code
    data = MAGIC + hashlib.sha256(name.encode() + rest).hexdigest().encode() + b"\n" + rest
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _private(folder, stat.S_ISDIR):
            return
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")  # mode 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(temporary, folder / f"{name}.o")
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        if _time_to_prune(name, len(data)):
            _prune(folder)


@contextlib.contextmanager
def turn(name: str, what: str) -> Iterator[None]:
    """A lock on an entry: while this process makes it, others wait. Look it up again inside: another process may have made it.

    A process that ends in the middle lets the next one try. Where locks are not possible, nobody waits.
    """
    if name in _making:  # further out, this process is making it already
        yield
        return
    folder = directory()
    held: int | None = None
    if folder is not None and name:
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _private(folder, stat.S_ISDIR):
                held = _wait_for(folder / f"{name}.lock", what)
    _making.add(name)
    try:
        yield
    finally:
        _making.discard(name)
        if held is not None and folder is not None:
            with contextlib.suppress(OSError):
                os.unlink(folder / f"{name}.lock")  # processes that wait for it have it open, and get the lock
            files.unlock(held)


def _wait_for(path: Path, what: str) -> int:
    """Wait for the lock, and return its file descriptor."""
    start, pause, said = time.monotonic(), 0.01, False
    while (held := files.lock(path)) is None:
        time.sleep(pause)
        pause = min(2.0 * pause, 0.25)
        if not said and time.monotonic() - start > announce.LONG:
            announce.say(f"waiting for another process, which compiles {what}")
            said = True
    return held


_pruning = threading.Lock()


def _time_to_prune(name: str, size: int) -> bool:
    """Whether to prune the cache now: on average once per LIMIT / LOOKS bytes. The name, a digest, serves as random number."""
    return int(name[:8], 16) * (LIMIT // LOOKS) < size << 32


def _prune(folder: Path) -> None:
    """Remove the oldest entries beyond the limit, and what killed processes left behind."""
    if not _pruning.acquire(blocking=False):
        return
    try:
        entries = []
        with os.scandir(folder) as found:
            for file in found:
                ours, unfinished = _ENTRY.fullmatch(file.name), _UNFINISHED.fullmatch(file.name)
                if not ours and not unfinished:
                    continue
                with contextlib.suppress(OSError):
                    info = file.stat(follow_symlinks=False)
                    if not _trusted(info, stat.S_ISREG):
                        continue
                    if ours:
                        entries.append((info.st_mtime, info.st_size, file.path))
                    elif time.time() - info.st_mtime > ABANDONED:
                        os.unlink(file.path)
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= LIMIT:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
    finally:
        _pruning.release()


def _private(path: Path, kind: Any) -> bool:
    try:
        return _trusted(os.stat(path), kind)
    except OSError:
        return False


def _trusted(info: os.stat_result, kind: Any) -> bool:
    """Whether a file is of this kind, belongs to this user, and is writable by nobody else."""
    if not hasattr(os, "getuid"):
        return bool(kind(info.st_mode))
    return bool(kind(info.st_mode)) and info.st_uid == os.getuid() and not info.st_mode & 0o022
