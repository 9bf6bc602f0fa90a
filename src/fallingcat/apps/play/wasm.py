"""Programs as one WebAssembly module that a page brings along."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from fallingcat.codegen.ir import ir_source
from fallingcat.codegen.objects import WASM, compile_for, module_text
from fallingcat.codegen.wasm import module
from fallingcat.trace.program import Program


def compiled(programs: Mapping[str, Program]) -> dict[str, Any]:
    """The module in base64, where its data ends, and how many numbers each function needs for its work.

    The functions are called by pointers: name(inputs..., outputs..., workspace).
    """
    target = WASM
    written = {name: ir_source(program, f"play_{name}", "double") for name, program in programs.items()}
    text = module_text(list(written.values()), "double", target.fused)
    code, end = module(compile_for(target, text), [w.name for w in written.values()])
    functions = {name: {"symbol": w.name, "workspace": w.workspace} for name, w in written.items()}
    return {"code": base64.b64encode(code).decode("ascii"), "size": len(code), "data": end, "functions": functions}
