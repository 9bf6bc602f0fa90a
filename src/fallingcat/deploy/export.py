"""`fc.export`: functions of a robot as files for other programs and machines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fallingcat.choices import check_choice
from fallingcat.codegen import native
from fallingcat.codegen.c99 import PRECISIONS
from fallingcat.codegen.objects import Processor, processor
from fallingcat.deploy import files as places
from fallingcat.deploy.c_files import Part, c_files, c_parts
from fallingcat.deploy.chosen import choose
from fallingcat.deploy.object_files import code_size, object_files, object_parts
from fallingcat.deploy.project import project
from fallingcat.deploy.rate import seconds_per_call, shown
from fallingcat.deploy.wasm import in_module, wasm_files
from fallingcat.errors import InputError
from fallingcat.robot.robot import Robot


@dataclass(frozen=True)
class Exported:
    """One function that was exported."""

    name: str
    """The name of the function in C."""
    operations: int
    """Floating-point operations of a call."""
    workspace: int
    """Size of the workspace that the caller provides, in numbers."""
    seconds: float | None = None
    """Seconds of one call on this machine, if that was asked for."""

    def __str__(self) -> str:
        timed = f"  {shown(self.seconds)} a call" if self.seconds is not None else ""
        return f"{self.operations:>9,} operations  workspace {self.workspace:,}{timed}"


@dataclass(frozen=True)
class Export:
    """The result of an export: the files and functions that were written."""

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
    cpu: str = "", rate: bool = False, name: str | None = None,
) -> Export:  # fmt: skip
    """Write functions of a robot as files for another program or machine.

    functions: names, "frame_pose:tool" for a frame, "frame_jacobian:tool,representation=mixed" for more options; (name,
    options); functions made with `fc.compile`; or a mapping from names of your choice to these.
    target: "c" for C99 with a header, CMakeLists.txt, an example, and a program that checks what was built; "wasm" for
    WebAssembly with JavaScript to call it; or an LLVM triple such as "aarch64-linux-gnu" for an object file with the same
    header, for the processor `cpu`. precision: "double" or "float".
    rate: measure how long a call of each function takes on this machine, and say it in the header. name: of files and
    functions, instead of the robot's. Files of another origin, of another robot, or changed since they were exported are
    never written over.

    >>> fc.export(robot, ["forward_dynamics", "frame_pose:foot"], "controller/dynamics")
    """
    if not isinstance(robot, Robot):
        raise InputError("fc.export: not a robot", expected="fc.export(robot, functions, directory)", got=type(robot).__name__)
    check_choice("precision", precision, PRECISIONS)
    machine = _machine(target, cpu)
    made_of = project(robot, precision, name)
    folder = places.folder(directory)
    chosen = choose(robot, functions)
    seconds = [seconds_per_call(robot, c, precision) for c in chosen] if rate else [None] * len(chosen)
    notes = [
        (f"One call takes {shown(s)} on this machine ({native.host()[0]}), compiled by LLVM.",) if s else () for s in seconds
    ]
    files: dict[str, str | bytes]
    if target == "wasm":
        made = in_module(made_of, chosen)
        parts, size = _noted(made.parts, notes), len(made.code)
        files = wasm_files(made_of, replace(made, parts=tuple(parts)))
    elif machine is None:
        parts, size = _noted(c_parts(made_of, chosen), notes), None
        files = dict(c_files(made_of, parts))
    else:
        plain, code = object_parts(made_of, chosen, machine)
        parts = _noted(plain, notes)
        files, size = object_files(made_of, parts, code, machine), code_size(code)
    done = tuple(_exported(part, s) for part, s in zip(parts, seconds, strict=True))
    return Export(folder, places.write(folder, files, made_of.owner), done, size)


def _noted(parts: Sequence[Part], notes: Sequence[tuple[str, ...]]) -> list[Part]:
    """The parts with these notes in their comments."""
    return [replace(part, notes=words) for part, words in zip(parts, notes, strict=True)]


def _machine(target: Any, cpu: Any) -> Processor | None:
    """The processor of an object file; None for C and WebAssembly."""
    if not isinstance(target, str) or not isinstance(cpu, str):
        raise InputError("fc.export: target and cpu are words", got=f"{target!r}, {cpu!r}", expected='"c", "wasm", a triple')
    if target in ("c", "wasm"):
        if cpu:
            raise InputError(f"target {target!r} takes no cpu", got=repr(cpu), hint="a cpu is for object files: an LLVM triple")
        return None
    return processor(target, cpu)


def _exported(part: Part, seconds: float | None) -> Exported:
    return Exported(part.written.name, part.chosen.kernel.program.operations, part.written.workspace, seconds)
