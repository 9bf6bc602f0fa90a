"""Object files for processors other than this one, by the LLVM of llvmlite: no C compiler needed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from fallingcat.codegen import native
from fallingcat.codegen.backend import Written
from fallingcat.codegen.ir import ir_library
from fallingcat.errors import InputError
from fallingcat.suggest import closest
from fallingcat.text import printable, shown

KNOWN = (
    "x86_64-linux-gnu", "aarch64-linux-gnu", "armv7-linux-gnueabihf", "riscv64-linux-gnu", "arm-none-eabi",
    "aarch64-apple-darwin", "x86_64-pc-windows-msvc",
)  # fmt: skip
"""Triples that are tested, and suggested when a target is unknown."""


@dataclass(frozen=True)
class Processor:
    """A target processor: LLVM's triple, CPU and features."""

    triple: str
    cpu: str = ""
    features: str = ""
    fused: bool = True
    """Does it have fused multiply-add? Else products and sums are rounded one after the other."""
    tested: bool = True
    """Is LLVM known to make code for it? If it cannot, LLVM ends the process, so others are compiled in a subprocess."""


ATTRIBUTES = """
attributes #0 = { nounwind noinline "no-builtins" }
attributes #1 = { nounwind "no-builtins" }
attributes #2 = { nounwind noinline "no-builtins" }
"""
"""With no-builtins, LLVM replaces no loop by a call of a C library."""
SYSTEMS = ("linux", "none", "windows", "freebsd")
"""Systems that, as the second part of a triple, show that the vendor was left out."""
CHOICES = {
    "x86_64": ("x86-64-v3", ""),
    "riscv64": ("generic-rv64", "+m,+a,+f,+d,+c"),
    "armv7": ("generic", "+vfp4,+neon"),
    "arm": ("cortex-m4", ""),
    "wasm32": ("", ""),
}
"""Default CPU and features per architecture whose baseline lacks fused multiply-add, or floating point altogether."""


WASM = Processor("wasm32-unknown-unknown", "", "+nontrapping-fptoint", fused=False)


def processor(given: str, cpu: str = "") -> Processor:
    """The processor that a target of an export names."""
    _initialize()
    parts = given.split("-")
    if parts[0] in ("wasm32", "wasm64"):
        raise InputError("WebAssembly is a target of its own", got=shown(given), hint='target "wasm"')
    usual = CHOICES.get(parts[0], ("", ""))
    if parts[0] == "arm" and (cpu or usual[0]).startswith("cortex-m"):  # Cortex-M processors have Thumb instructions only
        parts[0] = "thumb"
    if len(parts) == 3 and parts[1] in SYSTEMS:
        parts.insert(1, "unknown")
    triple = "-".join(parts)
    try:
        llvm.Target.from_triple(triple)
    except (RuntimeError, TypeError):
        hint = closest(given, KNOWN)
        raise InputError("unknown target", expected='"c", "wasm", or an LLVM triple', got=shown(given), hint=hint) from None
    found = Processor(triple, cpu or usual[0], usual[1], tested=given in KNOWN and not cpu)
    if not found.tested:
        _compiled_in_subprocess(found, PROBE)
    return found


def this_processor() -> Processor:
    """The processor of this computer."""
    return Processor(llvm.get_default_triple(), *native.host())


@cache
def _initialize() -> None:
    with native.lock:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()


def module_text(written: Sequence[Written], precision: str, fused: bool = True) -> str:
    """One LLVM module with all functions and the sines that they call."""
    used = frozenset[str]().union(*(w.library for w in written))
    text = "\n".join([ir_library(used, precision, fused), *(w.text for w in written)])
    # Without a fused multiply-add, llvm.fma would call a slow emulation in a library.
    return text if fused else text.replace("@llvm.fma.", "@llvm.fmuladd.")


def compile_for(target: Processor, text: str) -> bytes:
    """The object file of a module for a target."""
    return _compiled(target, text) if target.tested else _compiled_in_subprocess(target, text)


def _compiled(target: Processor, text: str) -> bytes:
    _initialize()
    with native.lock:
        try:
            machine = llvm.Target.from_triple(target.triple).create_target_machine(
                cpu=target.cpu, features=target.features, opt=2, reloc="static" if _bare_metal(target) else "pic",
                codemodel="small",
            )  # fmt: skip
        except RuntimeError as error:
            raise InputError(f"no code for {target.triple}", got=str(error)) from None
        module = llvm.parse_assembly(text + ATTRIBUTES)
        module.triple, module.data_layout = target.triple, str(machine.target_data)
        module.verify()
        _optimize(module, machine)
        return bytes(machine.emit_object(module))


def sections(code: bytes) -> list[tuple[bytes, int]]:
    """Name and size of every section of an object file."""
    return [(section.name() or b"", section.size()) for section in llvm.ObjectFileRef.from_data(code).sections()]


def _bare_metal(target: Processor) -> bool:
    """Does the target have no operating system that relocates code?"""
    return "none" in target.triple or target.triple.startswith("wasm")


def _optimize(module: Any, machine: Any) -> None:
    """Promote locals of loops to registers, and vectorize loops where the target has vectors; no pass changes a result.

    Vectorizing straight-line code (SLP) takes long and gains nothing.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


# ---------------------------------------------------------------------------------------------------------------------
# Processors that have not been tested

PROBE = """
define void @f(ptr %x) #1 {
  %a = load double, ptr %x, align 8
  %b = call double @llvm.fma.f64(double %a, double %a, double %a)
  store double %b, ptr %x, align 8
  ret void
}
declare double @llvm.fma.f64(double, double, double)
"""
_APART = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from fallingcat.codegen import objects
code = objects._compiled(*pickle.load(sys.stdin.buffer))
objects.sections(code)
sys.stdout.buffer.write(code)
"""
_UNKNOWN = "is not a recognized processor"


def _compiled_in_subprocess(target: Processor, text: str) -> bytes:
    """The object file for an untested target, made in a subprocess: on an error LLVM prints a message and ends the process."""
    code, said = _in_subprocess(target, text)
    if _UNKNOWN in said or target.cpu == "help":
        help = _in_subprocess(replace(target, cpu="help"), PROBE)[1]
        known = [line.split(" - ")[0].strip() for line in help.splitlines() if " - Select the" in line]
        raise InputError(f"unknown processor of {target.triple}", got=shown(target.cpu), hint=closest(target.cpu, known))
    if not code:
        lines = [line for line in said.splitlines() if "error" in line.lower()] or said.splitlines() or ["nothing"]
        cpu = f" with the processor {shown(target.cpu)}" if target.cpu else ""
        raise InputError(
            f"no code for {target.triple}{cpu}", expected="a processor that computes with doubles", got=printable(lines[0]),
            hint=f"tested are {', '.join(KNOWN)}",
        )  # fmt: skip
    return code


def _in_subprocess(target: Processor, text: str) -> tuple[bytes, str]:
    """The object code (empty if compiling failed) and the messages of a subprocess that compiles a module."""
    work = pickle.dumps(sys.path) + pickle.dumps((target, text))
    environment = os.environ | {"FALLINGCAT_QUIET": "1"}
    try:
        done = subprocess.run([sys.executable, "-P", "-c", _APART], input=work, capture_output=True, env=environment)
    except OSError as error:
        raise InputError(f"cannot compile for {target.triple}", got=f"its process cannot be started: {error}") from None
    return (done.stdout if done.returncode == 0 else b""), done.stderr.decode(errors="replace")
