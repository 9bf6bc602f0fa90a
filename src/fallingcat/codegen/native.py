"""From LLVM text to machine code in this process. The only file that talks to llvmlite."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import weakref
from collections import deque
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from fallingcat import announce
from fallingcat.codegen import cpython
from fallingcat.codegen.lanes import Lanes

ATTRIBUTES = """
declare i64 @llvm.smin.i64(i64, i64)
attributes #1 = { nounwind }
attributes #2 = { nounwind noinline }
"""
"""#1 is for entry functions, #2 for functions with loops."""

STRAIGHT = "\nattributes #0 = { nounwind noinline }\n"
STRAIGHT_AND_QUICK = "\nattributes #0 = { nounwind noinline optnone }\n"
"""#0 is for straight-line code. Without LLVM's passes it compiles three times as fast and runs nearly twice as long."""

HUGE = 30_000_000
"""Characters of text from which straight-line code is compiled without optimization: with it, compiling takes ten seconds."""
PATIENCE = 3
"""Factor on `HUGE` for batches, which are called for their speed and are worth a longer compile time."""

lock = threading.RLock()
"""LLVM's global state is not thread-safe. The lock is reentrant, because a signal handler may compile while its own thread
does: it runs between two calls of LLVM, where the state is consistent."""


if hasattr(os, "register_at_fork"):  # a fork waits until no other thread is inside LLVM
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def host() -> tuple[str, str]:
    """LLVM's name of the CPU, and its features."""
    _initialize()
    return str(llvm.get_host_cpu_name()), str(llvm.get_host_cpu_features().flatten())


@cache
def host_lanes() -> Lanes:
    """The lanes of doubles that fill a vector register of this processor."""
    features = set(host()[1].split(","))
    if "+avx512f" in features:
        return Lanes(8)
    return Lanes(4 if "+avx" in features else 2)


CACHES = "/sys/devices/system/cpu/cpu0/cache"
CACHE_BYTES = 1 << 24
"""Size assumed for the largest cache of a processor where the system does not tell it."""


@cache
def largest_cache() -> int:
    """Bytes of the processor's largest cache."""
    sizes = []
    for path in Path(CACHES).glob("index*/size"):
        with contextlib.suppress(OSError, ValueError):  # "32768K"; what cannot be read is left out
            sizes.append(1024 * int(path.read_text().strip().removesuffix("K")))
    return max(sizes, default=CACHE_BYTES)


def versions() -> str:
    """Versions of llvmlite, LLVM and Python, for the keys of the cache."""
    return f"llvmlite {llvmlite.__version__}, LLVM {llvm.llvm_version_info}, Python {sys.version_info[:2]}"


def _target_machine() -> Any:
    """A new target machine for this processor; they must not be shared between threads."""
    _initialize()
    cpu, features = host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=1, reloc="pic", codemodel="small")


def compiled_quickly(text: str, for_batches: bool = False) -> str:
    """The module text, marked to be compiled without optimization (`optnone`) if it is huge."""
    return text + STRAIGHT_AND_QUICK if len(text) >= HUGE * (PATIENCE if for_batches else 1) else text


def seconds_to_compile(text: str) -> float:
    """An estimate of the time that `compile_object` takes, in seconds."""
    quick = text.endswith(STRAIGHT_AND_QUICK)
    return len(text) * (announce.QUICK_SECONDS_PER_CHARACTER if quick else announce.SECONDS_PER_CHARACTER)


def compile_object(text: str) -> bytes:
    """Object code of a module. The program is optimal already, so LLVM's optimisation passes are skipped."""
    with lock:
        module = llvm.parse_assembly(text + ("" if text.endswith(STRAIGHT_AND_QUICK) else STRAIGHT) + ATTRIBUTES)
        module.verify()
        return bytes(_target_machine().emit_object(module))


class Code:
    """Machine code, loaded as long as this object lives, which is freed by reference counting alone.

    The garbage collector calls the finalizers of all garbage in any order, LLVM's among them, and another finalizer might still
    call this code. So the object is hidden from the collector: it is freed with the last function that points into its code.
    That makes no cycles: nothing that code keeps alive refers to a robot.
    """

    __slots__ = ("__weakref__", "_called", "_engine", "callers", "name")

    def __init__(self, object_code: bytes, symbols: dict[str, int], called: Code | None = None, name: str = "") -> None:
        """symbols: addresses of functions that the code calls; called: code from `common` that it calls; name: of common code."""
        self._called = called
        self.name = name
        self.callers = 0
        cpython.untrack(self)
        with lock:
            _unload()
            for name, address in symbols.items():
                llvm.add_symbol(name, address)
            # LLVM's default memory manager may put sections more than 2 GB apart, which the small code model cannot reach.
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(), use_lmm=True)
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
            self._engine.finalize_object()
        if _ending:
            cpython.keep_for_ever(self)
        else:
            _living.add(self)

    def __del__(self) -> None:
        # Not here: another thread may fork at this moment, and the child would wait for ever for the lock inside of llvmlite.
        if hasattr(self, "_engine"):
            _ended.append((self._engine, self._called))

    def address(self, name: str) -> int:
        with lock:
            found = int(self._engine.get_function_address(name))
        if not found:
            raise RuntimeError(f"the object code has no function {name!r}")
        return found


def common(name: str, object_code: bytes) -> Code:
    """The code of a function that several kernels call, loaded once; pass it as `called` to the code that calls it."""
    with lock:
        if name not in _common:
            _common[name] = Code(object_code, {}, name=name)
        found = _common[name]
        found.callers += 1
    return found


def _unload() -> None:
    """Unload code that is no longer referenced, and common code with its last caller. The caller holds the lock."""
    with contextlib.suppress(IndexError):  # a signal handler may empty the queue between a test and a removal
        while True:
            _release(_ended.popleft()[1])


def _release(called: Code | None) -> None:
    """Drop the reference of one caller."""
    if called is not None:
        called.callers -= 1
        if called.callers == 0 and _common.get(called.name) is called:
            del _common[called.name]


_common: dict[str, Code] = {}
_ended: deque[tuple[Any, Code | None]] = deque()
"""Engines whose code can no longer be called, each with the common code that it called."""
_living: weakref.WeakSet[Code] = weakref.WeakSet()
_ending = False


@atexit.register
def _at_exit() -> None:
    """Keep all code until the process ends: a daemon thread may still run in it while the interpreter is shut down."""
    global _ending
    _ending = True
    for code in list(_living):
        cpython.keep_for_ever(code)
