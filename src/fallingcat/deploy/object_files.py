"""An object file for another processor, with the header, the example and the check of the C project."""

from __future__ import annotations

from collections.abc import Sequence

import llvmlite.binding as llvm

from fallingcat.codegen.backend import identifier
from fallingcat.codegen.ir import ir_source
from fallingcat.codegen.objects import Processor, compile_for, module_text
from fallingcat.deploy.c_files import Part, check, cmake, example, header
from fallingcat.deploy.chosen import Chosen
from fallingcat.robot.robot import Robot


def object_parts(robot: Robot, chosen: Sequence[Chosen], target: Processor, precision: str) -> tuple[tuple[Part, ...], bytes]:
    """All functions, and the object file with their code."""
    prefix = identifier(robot.name)
    parts = tuple(Part(c, ir_source(c.kernel.program, f"{prefix}_{c.name}", precision)) for c in chosen)
    return parts, compile_for(target, module_text([p.written for p in parts], precision, target.fused))


def object_files(robot: Robot, parts: Sequence[Part], code: bytes, precision: str) -> dict[str, str | bytes]:
    """Name and content of every file."""
    name = identifier(robot.name)
    return {
        f"{name}.h": header(robot, parts, precision),
        f"{name}.o": code,
        "main.c": example(robot, parts[0], precision),
        "check.c": check(robot, parts, precision),
        "CMakeLists.txt": cmake(name, f"{name}.o"),
    }


SECTIONS = (b".text", b".rodata", b"__text", b"__const", b".rdata")


def code_size(code: bytes) -> int:
    """Bytes of code and constants: what a machine must have room for, besides workspaces."""
    found = llvm.ObjectFileRef.from_data(code).sections()
    return sum(section.size() for section in found if (section.name() or b"").startswith(SECTIONS))
