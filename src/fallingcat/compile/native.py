"""From LLVM text to machine code in this process. The only file that talks to llvmlite."""

from __future__ import annotations

import sys
import threading
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from fallingcat.compile.lanes import Lanes

ATTRIBUTES = """
declare i64 @llvm.smin.i64(i64, i64)
attributes #0 = { nounwind noinline }
attributes #1 = { nounwind }
"""

_lock = threading.Lock()
"""LLVM's global state is not made for many threads at once."""


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def host() -> tuple[str, str]:
    """The CPU's name and features, as LLVM calls them."""
    _initialize()
    return str(llvm.get_host_cpu_name()), str(llvm.get_host_cpu_features().flatten())


@cache
def host_lanes() -> Lanes:
    """As many doubles as a vector register holds."""
    features = set(host()[1].split(","))
    if "+avx512f" in features:
        return Lanes(8)
    return Lanes(4 if "+avx" in features else 2)


def versions() -> str:
    """What the compiler is and what its code runs in, for the keys of caches."""
    return f"llvmlite {llvmlite.__version__}, LLVM {llvm.llvm_version_info}, Python {sys.version_info[:2]}"


def _target_machine() -> Any:
    """A new one each time: target machines must not be shared between threads."""
    _initialize()
    cpu, features = host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=1, reloc="pic", codemodel="small")


def compile_object(text: str) -> bytes:
    """Object code of a module. The program is optimal already, so LLVM's optimisation passes are skipped."""
    with _lock:
        module = llvm.parse_assembly(text + ATTRIBUTES)
        module.verify()
        return bytes(_target_machine().emit_object(module))


class Code:
    """Machine code, alive as long as this object."""

    def __init__(self, object_code: bytes, symbols: dict[str, int]) -> None:
        with _lock:
            for name, address in symbols.items():
                llvm.add_symbol(name, address)
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(), use_lmm=True)
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        with _lock:
            found = int(self._engine.get_function_address(name))
        if not found:
            raise RuntimeError(f"the object code has no function {name!r}")
        return found
