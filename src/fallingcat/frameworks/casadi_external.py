"""Compiled functions for `casadi.external`: machine code of this process behind CasADi's C interface, without a C compiler.

For a function f, CasADi looks for the symbols f, f_n_in, f_name_in, f_sparsity_in, f_work, ... and for derivatives jac_f,
adj1_f, fwd1_f of the same kind. The kernels are those of the robot; around each stands a small function that hands CasADi's
pointers over and copies results: CasADi stores columns and leaves out what is always zero, kernels write rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import casadi

from fallingcat.codegen import Kernel, native
from fallingcat.errors import InputError
from fallingcat.frameworks import elf
from fallingcat.trace.dots import DotTable
from fallingcat.trace.program import Program

ALIGNMENT = 8
"""Alignment of kernels' workspaces, in doubles: a cache line."""

_alive: list[Any] = []
"""Keeps code alive that functions of CasADi may call, as there is no notice when such a function is deleted."""


@dataclass(frozen=True)
class Argument:
    """An argument as CasADi sees it: its shape, and the input of the kernel that it is, or none if the kernel does not use it."""

    name: str
    shape: tuple[int, int]
    slot: int | None = None


@dataclass(frozen=True)
class Signature:
    """The signature of a kernel in CasADi."""

    kernel: Kernel
    arguments: tuple[Argument, ...]
    results: tuple[tuple[str, tuple[int, int]], ...]
    """Names and shapes; the kernel writes them row by row."""
    dense: bool = False
    """Are zeros stored too, as they must be in derivatives that have the shape of an argument?"""


def external(name: str, signatures: Mapping[str, Signature], options: Mapping[str, Any]) -> casadi.Function:
    """A CasADi function of this name, with the other signatures as its derivatives: jac_name, adj1_name, ..."""
    if not elf.possible():
        raise InputError(
            "fc.casadi: compiled functions need Linux on x86-64 or ARM", hint="without compiled=True it works everywhere",
        )  # fmt: skip
    addresses: dict[str, int] = {}
    for symbol, signature in signatures.items():
        code, workspace = signature.kernel.single()
        text = _text(symbol, signature, code.address("fc_single"), workspace)
        shell = native.Code(native.compile_object(text), {})
        _alive.extend((code, shell))
        addresses |= {known: shell.address(known) for known in _symbols(symbol)}
    library = elf.jumps(addresses)
    try:
        return from_file(name, library, dict(options))
    except RuntimeError:
        return from_memory(name, library, dict(options))


def from_file(name: str, library: bytes, options: dict[str, Any]) -> casadi.Function:
    """The function in a library, which is loaded from a temporary file that other users cannot read."""
    with TemporaryDirectory(prefix="fallingcat-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / f"{name}.so"
        path.write_bytes(library)
        return casadi.external(name, str(path), options)  # the file stays in memory for as long as it is used


def from_memory(name: str, library: bytes, options: dict[str, Any]) -> casadi.Function:
    """Likewise from memory, for systems where files in temporary folders must not be executed."""
    places = TemporaryDirectory(prefix="fallingcat-", ignore_cleanup_errors=True)
    with places as folder, open(os.memfd_create(name), "wb") as file:
        file.write(library)
        file.flush()
        path = Path(folder) / f"{name}.so"  # CasADi requires this ending
        path.symlink_to(f"/proc/self/fd/{file.fileno()}")
        return casadi.external(name, str(path), options)


SUFFIXES = ("", "_n_in", "_n_out", "_name_in", "_name_out", "_sparsity_in", "_sparsity_out", "_work")


def _symbols(name: str) -> list[str]:
    return [name + suffix for suffix in SUFFIXES]


# ---------------------------------------------------------------------------------------------------------------------
# Structural zeros


def entries(program: Program) -> list[list[int]]:
    """Per output, the entries (row-major) that are not zero for every state."""
    zero = {program.input_count + k for k, x in enumerate(program.constants) if x == 0.0}
    found = [[at for at, value in enumerate(flat) if value not in zero] for flat in program.results]
    for op, _ in program.instructions:
        if isinstance(op, DotTable) and op.output is not None:
            written = {job.place + c * job.step for job in op.jobs for c in range(job.columns)}
            if op.side:
                written |= {at % op.side * op.side + at // op.side for at in written}
            found[op.output] = sorted(written)
    return found


def _by_columns(shape: tuple[int, int], places: Sequence[int]) -> tuple[list[int], list[int]]:
    """The sparsity pattern as CasADi writes it, and where each nonzero entry stands in the kernel's result."""
    rows, columns = shape
    order = sorted(places, key=lambda at: (at % columns, at // columns))
    starts = [sum(at % columns < c for at in order) for c in range(columns + 1)]
    return [rows, columns, *starts, *[at // columns for at in order]], order


# ---------------------------------------------------------------------------------------------------------------------
# The functions around a kernel, as LLVM text


def _text(name: str, signature: Signature, address: int, workspace: int) -> str:
    task = signature.kernel.task
    stored = [range(o.size) for o in task.outputs] if signature.dense else entries(signature.kernel.program)
    patterns = [_by_columns(shape, places) for (_, shape), places in zip(signature.results, stored, strict=True)]
    names_in = [argument.name for argument in signature.arguments]
    pattern_in = [_argument_pattern(argument) for argument in signature.arguments]
    slots = {x.slot: k for k, x in enumerate(signature.arguments) if x.slot is not None}
    room = _Workspace()
    body = _evaluation(
        name, signature, [slots[k] for k in range(len(task.inputs))], [order for _, order in patterns], address, workspace, room
    )
    work = [len(names_in), len(task.outputs), 0, room.total + ALIGNMENT]
    stores = "\n".join(
        f"  %p{k} = icmp ne ptr %a{k}, null\n  br i1 %p{k}, label %s{k}, label %n{k}\ns{k}:\n"
        f"  store i64 {value}, ptr %a{k}\n  br label %n{k}\nn{k}:"
        for k, value in enumerate(work)
    )
    parts = [
        *_list(f"{name}_name_in", [_string(x) for x in names_in]),
        *_list(f"{name}_name_out", [_string(x) for x, _ in signature.results]),
        *_list(f"{name}_sparsity_in", [_integers(x) for x in pattern_in]),
        *_list(f"{name}_sparsity_out", [_integers(x) for x, _ in patterns]),
        *[f"@order{j} = private constant {_integers(order)}" for j, (_, order) in enumerate(patterns)],
        f"define i64 @{name}_n_in() #1 {{ ret i64 {len(names_in)} }}",
        f"define i64 @{name}_n_out() #1 {{ ret i64 {len(task.outputs)} }}",
        f"define i32 @{name}_work(ptr %a0, ptr %a1, ptr %a2, ptr %a3) #1 {{\n{stores}\n  ret i32 0\n}}",
        body,
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    ]
    return "\n".join(parts)


def _argument_pattern(argument: Argument) -> list[int]:
    """The sparsity pattern of an argument: dense, or empty if it is not used."""
    rows, columns = argument.shape
    if argument.slot is None:
        return [rows, columns, *[0] * (columns + 1)]
    return [rows, columns, *range(0, rows * columns + 1, rows or 1), *list(range(rows)) * columns]


class _Workspace:
    """Allocates parts of the workspace that CasADi passes."""

    def __init__(self) -> None:
        self.total = 0

    def __call__(self, size: int) -> int:
        at = self.total
        self.total += -(-size // ALIGNMENT) * ALIGNMENT
        return at


def _evaluation(
    name: str,
    signature: Signature,
    slots: Sequence[int],
    orders: Sequence[Sequence[int]],
    address: int,
    workspace: int,
    room: _Workspace,
) -> str:
    """int f(const double **arg, double **res, long long *iw, double *w, int mem)"""
    task = signature.kernel.task
    most = max([i.size for i in task.inputs], default=0)
    zeros, working = room(most), room(workspace)
    lines = [
        "  %wi = ptrtoint ptr %w to i64", "  %wu = add i64 %wi, 63", "  %wa = and i64 %wu, -64",
        "  %ws = inttoptr i64 %wa to ptr",
        f"  %zeros = getelementptr double, ptr %ws, i64 {zeros}", f"  %working = getelementptr double, ptr %ws, i64 {working}",
        f"  call void @llvm.memset.p0.i64(ptr %zeros, i8 0, i64 {8 * most}, i1 false)",
    ]  # fmt: skip
    given = []
    for k, slot in enumerate(slots):  # an argument that is null is zero
        lines += [
            f"  %ia{k} = getelementptr ptr, ptr %arg, i64 {slot}", f"  %ip{k} = load ptr, ptr %ia{k}",
            f"  %in{k} = icmp eq ptr %ip{k}, null", f"  %i{k} = select i1 %in{k}, ptr %zeros, ptr %ip{k}",
        ]  # fmt: skip
        given.append(f"ptr %i{k}")
    for j, output in enumerate(task.outputs):
        lines.append(f"  %o{j} = getelementptr double, ptr %ws, i64 {room(output.size)}")
        given.append(f"ptr %o{j}")
    lines += [f"  %f = inttoptr i64 {address} to ptr", f"  call void %f({', '.join([*given, 'ptr %working'])})", "  br label %r0"]
    for j, order in enumerate(orders):  # a result that is null is not wanted
        lines += [
            f"r{j}:", f"  %ra{j} = getelementptr ptr, ptr %res, i64 {j}", f"  %r{j}p = load ptr, ptr %ra{j}",
            f"  %rn{j} = icmp eq ptr %r{j}p, null", f"  br i1 %rn{j}, label %r{j + 1}, label %c{j}",
            f"c{j}:", f"  call void @copy(ptr %r{j}p, ptr %o{j}, ptr @order{j}, i64 {len(order)})", f"  br label %r{j + 1}",
        ]  # fmt: skip
    body = "\n".join([*lines, f"r{len(orders)}:", "  ret i32 0"])
    return f"{COPY}\ndefine i32 @{name}(ptr %arg, ptr %res, ptr %iw, ptr %w, i32 %mem) #1 {{\n{body}\n}}"


COPY = """
define private void @copy(ptr %to, ptr %from, ptr %order, i64 %count) #2 {
start:
  br label %loop
loop:
  %k = phi i64 [0, %start], [%next, %body]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %body, label %end
body:
  %place = getelementptr i64, ptr %order, i64 %k
  %at = load i64, ptr %place
  %source = getelementptr double, ptr %from, i64 %at
  %x = load double, ptr %source
  %target = getelementptr double, ptr %to, i64 %k
  store double %x, ptr %target
  %next = add i64 %k, 1
  br label %loop
end:
  ret void
}"""


def _list(name: str, values: Sequence[str]) -> list[str]:
    """A function from a number to one of several constants, or null."""
    constants = [f"@{name}.{k} = private constant {value}" for k, value in enumerate(values)]
    table = ", ".join(f"ptr @{name}.{k}" for k in range(len(values)))
    return [
        *constants,
        f"@{name}.all = private constant [{len(values)} x ptr] [{table}]",
        f"define ptr @{name}(i64 %i) #1 {{",
        f"  %inside = icmp ult i64 %i, {len(values)}\n  br i1 %inside, label %yes, label %no",
        f"yes:\n  %at = getelementptr ptr, ptr @{name}.all, i64 %i\n  %x = load ptr, ptr %at\n  ret ptr %x",
        "no:\n  ret ptr null\n}",
    ]


def _string(text: str) -> str:
    return f'[{len(text.encode()) + 1} x i8] c"{text}\\00"'


def _integers(values: Sequence[int]) -> str:
    return f"[{len(values)} x i64] [{', '.join(f'i64 {x}' for x in values)}]"
