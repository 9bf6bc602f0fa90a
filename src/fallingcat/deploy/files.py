"""Files of an export are replaced all together or not at all, and files of another origin are never overwritten."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from fallingcat.deploy.project import MARK
from fallingcat.errors import FallingCatError, InputError
from fallingcat.text import quoted

FIRST_LINE = re.compile(rf"(?:/\*|//|#) (?P<owner>.*): [^:]*, {MARK} \S+, digest (?P<digest>[0-9a-f]{{16}})(?: \*/)?")


def folder(directory: str | os.PathLike[str]) -> Path:
    """The folder as a path; refused, before anything is computed, if it is not usable as a folder."""
    try:
        if not os.fspath(directory):
            raise InputError("fc.export: not a folder", got="an empty name", hint="'.' is the one you are in")
        path = Path(directory)
        if path.exists() and not path.is_dir():
            raise InputError(f"cannot write to {str(path)!r}", got="a file", expected="a folder")
    except (TypeError, ValueError, OSError) as error:
        if isinstance(error, FallingCatError):
            raise
        raise InputError("fc.export: not a folder", got=repr(directory), hint=str(error)) from None
    return path


def write(place: Path, files: Mapping[str, str | bytes], owner: str) -> tuple[Path, ...]:
    """Write all files or none: all are complete before the first is moved to its place, and old ones are restored on failure."""
    try:
        with _made(place):
            for name in files:
                _check_ours(place / name, owner)
            scratch = Path(tempfile.mkdtemp(prefix=".export.", dir=place))
            try:
                for name, content in files.items():
                    (scratch / name).write_bytes(sealed(content).encode() if isinstance(content, str) else content)
                _exchange(scratch, place, list(files))
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    except (OSError, ValueError) as error:
        if isinstance(error, FallingCatError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot write to {str(place)!r}", got=reason) from None
    return tuple(place / name for name in files)


@contextlib.contextmanager
def _made(place: Path) -> Iterator[None]:
    """Make a folder and those above it; they are removed if something fails."""
    missing = [path for path in (place, *place.parents) if not path.exists()]
    try:
        place.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for path in missing:
            with contextlib.suppress(OSError):  # folders that are not empty stay
                path.rmdir()
        raise


def _exchange(scratch: Path, place: Path, names: list[str]) -> None:
    """Replace old files by new ones: all of them, or none where one fails."""
    old = scratch / "old"
    old.mkdir()
    try:
        for name in names:
            if (place / name).exists():
                os.replace(place / name, old / name)
            os.replace(scratch / name, place / name)
    except BaseException:
        for name in names:
            if (old / name).exists():
                os.replace(old / name, place / name)
            elif not (scratch / name).exists():
                (place / name).unlink(missing_ok=True)
        raise


# ---------------------------------------------------------------------------------------------------------------------
# Origin of files


def digest(content: bytes) -> str:
    """A digest of lines, whatever their line ends: a version control system may change these."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:16]


def sealed(text: str) -> str:
    """The text with a digest of all later lines in its first line, a comment that ends with the mark."""
    first, _, rest = text.partition("\n")
    marked = re.fullmatch(rf"(.*{MARK} \S+)(.*)", first)
    assert marked is not None
    start, version = marked.groups()
    return f"{start}, digest {digest(rest.encode())}{version}\n{rest}"


def _check_ours(path: Path, owner: str) -> None:
    """Refuse to overwrite a file that was not exported for this robot, or was changed since."""
    if path.is_dir():
        raise InputError(f"cannot write {str(path)!r}", got="a folder")
    if not path.exists():
        return
    found = _beside_ours(path) if path.suffix in (".o", ".wasm") else _owner(path)
    if found is None:
        raise InputError(f"{str(path)!r} is there already, and was not made by an export", hint="choose a folder of its own")
    whose, changed = found
    if whose != owner:
        hint = "choose a folder of its own"
        raise InputError(f"{str(path)!r} belongs to another robot", expected=quoted(owner), got=quoted(whose), hint=hint)
    if changed:
        raise InputError(
            f"{str(path)!r} was changed since it was exported", hint="give it another name, or choose another folder"
        )


def _owner(path: Path) -> tuple[str, bool] | None:
    """The robot that an exported file belongs to, and whether the file was changed; None for files of another origin."""
    first, _, rest = path.read_bytes().replace(b"\r\n", b"\n").partition(b"\n")
    match = FIRST_LINE.fullmatch(first.decode(errors="replace"))
    return match and (match["owner"], match["digest"] != digest(rest))


def _beside_ours(path: Path) -> tuple[str, bool] | None:
    """`_owner` of a binary file, which has no mark: the text file beside it must be exported, and contain its digest."""
    for text in (path.with_suffix(suffix) for suffix in (".h", ".mjs")):
        found = _owner(text) if text.is_file() else None
        if found is not None and digest(path.read_bytes()).encode() in text.read_bytes():
            return found[0], False
    return None
