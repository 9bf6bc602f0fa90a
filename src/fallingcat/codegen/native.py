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
"""#1 is for functions that others call, #2 for loops."""

STRAIGHT = "\nattributes #0 = { nounwind noinline }\n"
STRAIGHT_AND_QUICK = "\nattributes #0 = { nounwind noinline optnone }\n"
"""#0 is for straight code. Without LLVM's passes it compiles three times as fast and takes nearly twice as long to run."""

HUGE = 30_000_000
"""Characters of text from which on straight code is compiled quickly: thoroughly it would take ten seconds and more."""
PATIENCE = 3
"""How much longer the code for batches may take, which is called for because it runs fast."""

lock = threading.RLock()
"""LLVM's global state is not made for many threads at once. A signal handler may compile while its own thread does:
between two calls of LLVM its state is sound, so the lock lets the same thread in again."""


if hasattr(os, "register_at_fork"):  # a fork waits until no other thread is inside LLVM
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


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
    """Lanes that fill a vector register with doubles."""
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
    """What the compiler is and what its code runs in, for the keys of caches."""
    return f"llvmlite {llvmlite.__version__}, LLVM {llvm.llvm_version_info}, Python {sys.version_info[:2]}"


def _target_machine() -> Any:
    """A new one each time: target machines must not be shared between threads."""
    _initialize()
    cpu, features = host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=1, reloc="pic", codemodel="small")


def compiled_quickly(text: str, for_batches: bool = False) -> str:
    """The module, without optimization of its code (`optnone`) if it is huge."""
    return text + STRAIGHT_AND_QUICK if len(text) >= HUGE * (PATIENCE if for_batches else 1) else text


def seconds_to_compile(text: str) -> float:
    """About how long `compile_object` will take."""
    quick = text.endswith(STRAIGHT_AND_QUICK)
    return len(text) * (announce.QUICK_SECONDS_PER_CHARACTER if quick else announce.SECONDS_PER_CHARACTER)


def compile_object(text: str) -> bytes:
    """Object code of a module. The program is optimal already, so LLVM's optimisation passes are skipped."""
    with lock:
        module = llvm.parse_assembly(text + ("" if text.endswith(STRAIGHT_AND_QUICK) else STRAIGHT) + ATTRIBUTES)
        module.verify()
        return bytes(_target_machine().emit_object(module))


class Code:
    """Machine code, alive as long as this object, which dies by its reference count alone.

    The garbage collector calls the finalizers of all garbage first, LLVM's own among them, and one of the others might still
    call this code. So the collector does not get to see it: the code goes when the last function that points into it is gone.
    Nothing that code keeps alive leads back to a robot.
    """

    __slots__ = ("__weakref__", "_called", "_engine", "callers", "name")

    def __init__(self, object_code: bytes, symbols: dict[str, int], called: Code | None = None, name: str = "") -> None:
        """`symbols`: addresses that it calls; `called`: code of `common`, which they point into; `name`: of such code itself."""
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
    """The code of a function that several others call, loaded once; pass it as `called` to the code that calls it."""
    with lock:
        if name not in _common:
            _common[name] = Code(object_code, {}, name=name)
        found = _common[name]
        found.callers += 1
    return found


def _unload() -> None:
    """Unload code that is no longer referenced, under the lock; what it called, with its last caller."""
    with contextlib.suppress(IndexError):  # a signal handler may come between a look and a removal
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
"""Engines whose code can no longer be called, and the code that this has called."""
_living: weakref.WeakSet[Code] = weakref.WeakSet()
_ending = False


@atexit.register
def _at_exit() -> None:
    """Code stays until the process is gone: a daemon thread may still run in it while the interpreter is taken down."""
    global _ending
    _ending = True
    for code in list(_living):
        cpython.keep_for_ever(code)
