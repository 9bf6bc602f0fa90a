"""`fc.export`: functions of a robot as files for other programs and machines."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fallingcat.choices import check_choice
from fallingcat.codegen import native
from fallingcat.codegen.c99 import PRECISIONS
from fallingcat.codegen.objects import Processor, processor
from fallingcat.deploy.c_files import MARK, Part, c_files, c_parts
from fallingcat.deploy.chosen import choose
from fallingcat.deploy.object_files import code_size, object_files, object_parts
from fallingcat.deploy.rate import seconds_per_call, shown
from fallingcat.deploy.wasm import wasm_files, wasm_module
from fallingcat.errors import FallingCatError, InputError
from fallingcat.robot.robot import Robot


@dataclass(frozen=True)
class Exported:
    """One function that was exported."""

    name: str
    """Of the function in C."""
    operations: int
    """Floating-point operations of a call."""
    workspace: int
    """Numbers that its caller must have room for."""
    seconds: float | None = None
    """Of one call on this machine, if that was asked for."""

    def __str__(self) -> str:
        timed = f"  {shown(self.seconds)} a call" if self.seconds is not None else ""
        return f"{self.operations:>9,} operations  workspace {self.workspace:,}{timed}"


@dataclass(frozen=True)
class Export:
    """What was written."""

    directory: Path
    files: tuple[Path, ...]
    functions: tuple[Exported, ...]
    code_size: int | None = None
    """Bytes of machine code and constants; None for C."""

    def __str__(self) -> str:
        width = max(len(f.name) for f in self.functions)
        lines = [f"{f.name:<{width}}  {f}" for f in self.functions]
        if self.code_size is not None:
            lines.append(f"{self.code_size:,} bytes of code and constants")
        return "\n".join([*lines, *(str(path) for path in self.files)])


def export(
    robot: Robot, functions: Any, directory: str | os.PathLike[str], target: str = "c", precision: str = "double",
    cpu: str = "", rate: bool = False,
) -> Export:  # fmt: skip
    """Write functions of a robot as files for another program or machine.

    functions: names, "frame_pose:tool" for a frame, "frame_jacobian:tool,representation=mixed" for more options; (name,
    options); functions made with `fc.compile`; or a mapping from names of your choice to these.
    target: "c" for C99 with a header, CMakeLists.txt, an example, and a program that checks what was built; "wasm" for
    WebAssembly with JavaScript to call it; or an LLVM triple such as "aarch64-linux-gnu" for an object file with the same
    header, for the processor `cpu`. precision: "double" or "float".
    rate: measure how long a call of each function takes on this machine, and say it in the header. Files of another origin
    are never written over.

    >>> fc.export(robot, ["forward_dynamics", "frame_pose:foot"], "controller/dynamics")
    """
    if not isinstance(robot, Robot):
        raise InputError("fc.export: not a robot", expected="fc.export(robot, functions, directory)", got=type(robot).__name__)
    check_choice("precision", precision, PRECISIONS)
    machine = _machine(target, cpu)
    folder = _folder(directory)
    chosen = choose(robot, functions)
    seconds = [seconds_per_call(robot, c, precision) for c in chosen] if rate else [None] * len(chosen)
    notes = [
        (f"One call takes {shown(s)} on this machine ({native.host()[0]}), compiled by LLVM.",) if s else () for s in seconds
    ]
    if target == "wasm":
        made = wasm_module(robot, chosen, precision)
        parts, files, size = list(made.parts), wasm_files(robot, made, precision), len(made.code)
    elif machine is None:
        parts, size = _noted(c_parts(robot, chosen, precision), notes), None
        files = dict(c_files(robot, parts, precision))
    else:
        plain, code = object_parts(robot, chosen, machine, precision)
        parts = _noted(plain, notes)
        files, size = object_files(robot, parts, code, precision), code_size(code)
    done = tuple(_exported(part, s) for part, s in zip(parts, seconds, strict=True))
    return Export(folder, _write(folder, files), done, size)


def _noted(parts: Sequence[Part], notes: Sequence[tuple[str, ...]]) -> list[Part]:
    """With more to say in their comments."""
    return [replace(part, notes=words) for part, words in zip(parts, notes, strict=True)]


def _machine(target: Any, cpu: Any) -> Processor | None:
    """The processor of an object file; None for C and WebAssembly."""
    if not isinstance(target, str) or not isinstance(cpu, str):
        raise InputError("fc.export: target and cpu are words", got=f"{target!r}, {cpu!r}", expected='"c", "wasm", a triple')
    if target in ("c", "wasm"):
        return None
    return processor(target, cpu)


def _exported(part: Part, seconds: float | None) -> Exported:
    return Exported(part.written.name, part.chosen.kernel.program.operations, part.written.workspace, seconds)


# ---------------------------------------------------------------------------------------------------------------------
# Files


def _folder(directory: str | os.PathLike[str]) -> Path:
    """Refused before anything is computed, if it cannot be a folder."""
    try:
        path = Path(directory)
        if path.exists() and not path.is_dir():
            raise InputError(f"cannot write to {str(path)!r}", got="a file", expected="a folder")
    except (TypeError, ValueError, OSError) as error:
        if isinstance(error, FallingCatError):
            raise
        raise InputError("fc.export: no folder", got=repr(directory), hint=str(error)) from None
    return path


def _write(folder: Path, files: Mapping[str, str | bytes]) -> tuple[Path, ...]:
    """All files or none: they are complete before the first of them takes its place."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in files:
            _check_ours(folder / name)
        scratch = Path(tempfile.mkdtemp(prefix=".export.", dir=folder))
        try:
            for name, content in files.items():
                (scratch / name).write_bytes(content.encode() if isinstance(content, str) else content)
            for name in files:
                os.replace(scratch / name, folder / name)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except (OSError, ValueError) as error:
        if isinstance(error, FallingCatError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot write to {str(folder)!r}", got=reason) from None
    return tuple(folder / name for name in files)


def _check_ours(path: Path) -> None:
    """Refuse to write over what was not made here."""
    if path.is_dir():
        raise InputError(f"cannot write {str(path)!r}", got="a folder")
    if not path.exists():
        return
    with path.open("rb") as file:
        start = file.read(4096)
    if MARK.encode() not in start and not _beside_ours(path):
        raise InputError(
            f"{str(path)!r} is there already, and was not made by an export", hint="choose a folder of its own"
        )  # fmt: skip


def _beside_ours(path: Path) -> bool:
    """Binary files bear no mark: they are ours if what describes them is."""
    described = path.suffix in (".o", ".obj", ".wasm")
    texts = [path.with_suffix(suffix) for suffix in (".h", ".mjs")] if described else []
    return any(text.exists() and MARK.encode() in text.read_bytes()[:4096] for text in texts)
