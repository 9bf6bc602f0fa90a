"""From the modules of a kernel to object code: found in the cache, or compiled and kept there.

A kernel has one module, or two if the core of its program is compiled apart (`core.py`). The object code of a core lies in the
cache under the digest of its text, for every kernel that has it; the entry of a kernel names it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fallingcat import announce
from fallingcat.codegen import cache, native
from fallingcat.codegen.core import NO_CORE, CoreText


class Module(NamedTuple):
    """The LLVM text of a kernel, and of its core, before they are compiled."""

    facts: dict[str, Any]
    """Facts that are stored with the code, so that the program need not be traced: workspace, operations, core."""
    text: str
    core: CoreText = NO_CORE
    core_operations: int = 0


class Objects(NamedTuple):
    """The object code of a kernel."""

    facts: dict[str, Any]
    code: bytes
    function: str = ""
    """The name of the core's function, which the code calls; empty if there is no core."""
    core: bytes = b""


def loaded(objects: Objects, symbols: dict[str, int]) -> native.Code:
    """Load object code into memory. A core is loaded once for all kernels that call it."""
    if not objects.function:
        return native.Code(objects.code, symbols)
    core = native.common(objects.function, objects.core)
    return native.Code(objects.code, symbols | {objects.function: core.address(objects.function)}, core)


def load(name: str) -> Objects | None:
    """The object code of a kernel in the cache, with its core; None if a part is missing or cannot be trusted."""
    found = cache.load(name)
    if found is None:
        return None
    facts, code = found
    if "core" not in facts:
        return Objects(facts, code)
    core = cache.load(facts["core"])
    return None if core is None else Objects(facts, code, core[0]["function"], core[1])


def made(name: str, what: str, module: Callable[[], Module], for_batches: bool) -> Objects:
    """The object code of a kernel, from the cache or compiled now and saved; processes that need the same compile it once."""
    found = load(name)
    if found is None:
        with cache.turn(name, what):
            found = load(name) or _compiled(name, what, module(), for_batches)
    return found


def _compiled(name: str, what: str, module: Module, for_batches: bool) -> Objects:
    """Compile a kernel and save it. Its core, if it has one, is taken from the cache if another kernel has saved it."""
    facts, text = module.facts, native.compiled_quickly(module.text, for_batches)
    seconds = native.seconds_to_compile(text)
    core, can_be_found = b"", True
    if module.core.function:
        key, core = _core(module, what, seconds, for_batches)
        facts, can_be_found = facts | {"core": key}, bool(key)
    else:
        announce.compiling(what, int(facts["operations"]), seconds)
    code = native.compile_object(text)
    if can_be_found:
        cache.save(name, facts, code)
    return Objects(facts, code, module.core.function, core)


def _core(module: Module, what: str, seconds: float, for_batches: bool) -> tuple[str, bytes]:
    """The core's name in the cache and its object code; `seconds` is the expected time to compile the rest, for the message."""
    name, text = cache.key(module.core.function), native.compiled_quickly(module.core.text, for_batches)
    with cache.turn(name, f"a part of {what}"):
        found = cache.load(name)
        if found is not None:
            cache.renew(name)
            announce.compiling(what, int(module.facts["operations"]) - module.core_operations, seconds)
            return name, found[1]
        announce.compiling(what, int(module.facts["operations"]), seconds + native.seconds_to_compile(text))
        code = native.compile_object(text)
        cache.save(name, {"function": module.core.function}, code)
    return name, code
