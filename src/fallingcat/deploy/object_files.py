"""An object file for another processor, with the header, the example and the check of the C project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fallingcat.codegen.ir import ir_source
from fallingcat.codegen.objects import Processor, compile_for, module_text, sections
from fallingcat.deploy.c_files import Part, check, cmake, example, header
from fallingcat.deploy.chosen import Chosen
from fallingcat.deploy.files import digest
from fallingcat.deploy.project import Project


def object_parts(project: Project, chosen: Sequence[Chosen], target: Processor) -> tuple[tuple[Part, ...], bytes]:
    """All functions, and the object file with their code."""
    precision, taken = project.precision, project.taken(c.name for c in chosen)
    parts = tuple(Part(c, ir_source(c.kernel.program, project.symbol(c.name), precision, taken)) for c in chosen)
    return parts, compile_for(target, module_text([p.written for p in parts], precision, target.fused))


def object_files(project: Project, parts: Sequence[Part], code: bytes, target: Processor) -> dict[str, str | bytes]:
    """Name and content of every file."""
    name = project.stem
    made_for = f"{target.triple}{f', processor {target.cpu}' if target.cpu else ''}"
    about = f"Object code: {name}.o for {made_for}; {code_size(code):,} bytes of code and constants, digest {digest(code)}."
    return {
        f"{name}.h": header(replace(project, object_code=("", about)), parts),
        f"{name}.o": code,
        "main.c": example(project, parts[0]),
        "check.c": check(project, parts),
        "CMakeLists.txt": cmake(project, f"{name}.o"),
    }


SECTIONS = (b".text", b".rodata", b"__text", b"__const", b".rdata")


def code_size(code: bytes) -> int:
    """Bytes of code and constants: what a machine must have room for, besides workspaces."""
    return sum(size for name, size in sections(code) if name.startswith(SECTIONS))
