"""A Python call without C code: the METH_FASTCALL entry of a kernel, as LLVM text.

    PyObject *fc_call(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
    PyObject *fc_direct(...)

If every argument is a contiguous float64 array of the right length (and every quaternion has about unit length),
the results are allocated and the kernel is called. Anything else goes to a Python path, which converts,
broadcasts, checks, and raises errors that help: for `fc_call` the method of a robot's class, for `fc_direct` the kernel itself.
`fc_bind` is called once per process with the objects the entries need.

What keeps what alive: whoever calls holds the function, the function holds `self` and its module's name, and that holds the
code and everything bound here (`cpython.builtin`). Nothing else is pointed to: the Python path is looked up in the type of
`self` when it is needed.
"""

from __future__ import annotations

from fallingcat.compile import cpython
from fallingcat.compile.lanes import hexadecimal
from fallingcat.task import Input, Output

BOUND = ("array_type", "float64", "method", "kernel", "tuple_type")
"""What `fc_bind` stores: addresses of numpy.ndarray, its float64 descriptor, the names of the Python paths, the result's type."""

STACK_LIMIT = 4096
"""Doubles of workspace that may live on the stack."""


def call_text(inputs: tuple[Input, ...], outputs: tuple[Output, ...], workspace: int, tolerance: float, several: bool) -> str:
    """The module text with `fc_call` and `fc_bind`; `several` results come in a named tuple."""
    lines: list[str] = []
    _count_arguments(lines, len(inputs))
    for j, spec in enumerate(inputs):
        after = f"array{j + 1}" if j + 1 < len(inputs) else "go"
        _check_array(lines, j, spec, after, tolerance)
    _compute(lines, inputs, outputs, workspace, several)
    lines += [
        "slow:",
        "  %answer = call ptr @fc_python(ptr %self, ptr %args, i64 %nargs, ptr %kwnames, ptr %path)",
        "  ret ptr %answer",
    ]
    body = "\n".join(lines)
    checked = f"define internal ptr @fc_checked(ptr %self, ptr %args, i64 %nargs, ptr %kwnames, ptr %path) #1 {{\n{body}\n}}"
    entries = [_entry("fc_call", "@fc_method"), _entry("fc_direct", "@fc_kernel")]
    return "\n".join([_GLOBALS + _bind(), _PYTHON, checked, *entries])


def _entry(name: str, path: str) -> str:
    return f"""define ptr @{name}(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) #1 {{
  %answer = tail call ptr @fc_checked(ptr %self, ptr %args, i64 %nargs, ptr %kwnames, ptr {path})
  ret ptr %answer
}}"""


_GLOBALS = (
    "\n".join(f"@fc_{name} = internal global ptr null, align 8" for name in BOUND)
    + """
declare void @fc_Py_IncRef(ptr)
declare void @fc_Py_DecRef(ptr)
declare ptr @fc_PyFloat_FromDouble(double)
declare ptr @fc_PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @fc_PyObject_GetAttr(ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @fc_PyType_GenericAlloc(ptr, i64)
declare ptr @fc_PyMem_RawMalloc(i64)
declare void @fc_PyMem_RawFree(ptr)
declare ptr @fc_PyErr_NoMemory()
declare ptr @fc_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
"""
)

_PYTHON = f"""
; type(self).path(self, *args, **keywords)
define internal ptr @fc_python(ptr %self, ptr %args, i64 %nargs, ptr %kwnames, ptr %path) #0 {{
entry:
  %type_at = getelementptr i8, ptr %self, i64 {cpython.TYPE}
  %type = load ptr, ptr %type_at, align 8
  %name = load ptr, ptr %path, align 8
  %callable = call ptr @fc_PyObject_GetAttr(ptr %type, ptr %name)
  %missing = icmp eq ptr %callable, null
  br i1 %missing, label %fail, label %named
fail:
  ret ptr null
named:
  %plain = icmp eq ptr %kwnames, null
  br i1 %plain, label %ready, label %count
count:
  %size_at = getelementptr i8, ptr %kwnames, i64 {cpython.SIZE}
  %keywords = load i64, ptr %size_at, align 8
  br label %ready
ready:
  %extra = phi i64 [0, %named], [%keywords, %count]
  %values = add i64 %nargs, %extra
  %room = add i64 %values, 1
  %all = alloca ptr, i64 %room, align 8
  store ptr %self, ptr %all, align 8
  %rest = getelementptr ptr, ptr %all, i64 1
  %bytes = mul i64 %values, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %args, i64 %bytes, i1 false)
  %positional = add i64 %nargs, 1
  %answer = call ptr @fc_PyObject_Vectorcall(ptr %callable, ptr %all, i64 %positional, ptr %kwnames)
  call void @fc_Py_DecRef(ptr %callable)
  ret ptr %answer
}}
"""


def _bind() -> str:
    parameters = ", ".join(f"ptr %{name}" for name in BOUND)
    stores = "\n".join(f"  store ptr %{name}, ptr @fc_{name}, align 8" for name in BOUND)
    return f"define void @fc_bind({parameters}) {{\n{stores}\n  ret void\n}}"


def _count_arguments(lines: list[str], count: int) -> None:
    lines += [
        "entry:",
        f"  %enough = icmp eq i64 %nargs, {count}",
        "  %plain = icmp eq ptr %kwnames, null",
        "  %simple = and i1 %enough, %plain",
        "  %array_type = load ptr, ptr @fc_array_type, align 8",
        "  %float64 = load ptr, ptr @fc_float64, align 8",
        f"  br i1 %simple, label %{'array0' if count else 'go'}, label %slow",
    ]


def _field(lines: list[str], j: int, name: str, offset: int, type_: str = "ptr") -> str:
    lines.append(f"  %{name}_at{j} = getelementptr i8, ptr %a{j}, i64 {offset}")
    lines.append(f"  %{name}{j} = load {type_}, ptr %{name}_at{j}, align 8")
    return f"%{name}{j}"


def _check_array(lines: list[str], j: int, spec: Input, after: str, tolerance: float) -> None:
    lines += [
        f"array{j}:",
        f"  %slot{j} = getelementptr ptr, ptr %args, i64 {j}",
        f"  %a{j} = load ptr, ptr %slot{j}, align 8",
    ]
    _field(lines, j, "type", cpython.TYPE)
    lines += [
        f"  %is_array{j} = icmp eq ptr %type{j}, %array_type",
        f"  br i1 %is_array{j}, label %inside{j}, label %slow",
        f"inside{j}:",
    ]
    for name, offset, type_ in (
        ("descr", cpython.DESCR, "ptr"), ("ndim", cpython.NDIM, "i32"), ("flags", cpython.FLAGS, "i32"),
        ("dims", cpython.DIMENSIONS, "ptr"), ("strides", cpython.STRIDES, "ptr"), ("data", cpython.DATA, "ptr"),
    ):  # fmt: skip
        _field(lines, j, name, offset, type_)
    lines += [
        f"  %is_double{j} = icmp eq ptr %descr{j}, %float64",
        f"  %is_vector{j} = icmp eq i32 %ndim{j}, 1",
        f"  %aligned_bit{j} = and i32 %flags{j}, {cpython.ALIGNED}",
        f"  %is_aligned{j} = icmp ne i32 %aligned_bit{j}, 0",
        f"  %ok1_{j} = and i1 %is_double{j}, %is_vector{j}",
        f"  %ok2_{j} = and i1 %ok1_{j}, %is_aligned{j}",
        f"  br i1 %ok2_{j}, label %shape{j}, label %slow",
        f"shape{j}:",
        f"  %size{j} = load i64, ptr %dims{j}, align 8",
        f"  %stride{j} = load i64, ptr %strides{j}, align 8",
        f"  %is_size{j} = icmp eq i64 %size{j}, {spec.size}",
        # the stride of an array with less than two entries can be anything
        f"  %is_dense{j} = icmp eq i64 %stride{j}, {8 if spec.size > 1 else f'%stride{j}'}",
        f"  %ok3_{j} = and i1 %is_size{j}, %is_dense{j}",
    ]
    if not spec.quaternions:
        lines.append(f"  br i1 %ok3_{j}, label %{after}, label %slow")
        return
    lines += [f"  br i1 %ok3_{j}, label %turn{j}, label %slow", f"turn{j}:"]
    fits = "true"
    for m, at in enumerate(spec.quaternions):
        fits = _check_quaternion(lines, f"{j}_{m}", f"%data{j}", at, fits, tolerance)
    lines.append(f"  br i1 {fits}, label %{after}, label %slow")


def _check_quaternion(lines: list[str], tag: str, data: str, at: int, fits: str, tolerance: float) -> str:
    """Squared length within the tolerance, or not finite (which passes and spoils the result)."""
    squared = spoilt = hexadecimal(0.0)
    for k in range(4):
        lines += [
            f"  %q{tag}_{k}p = getelementptr double, ptr {data}, i64 {at + k}",
            f"  %q{tag}_{k} = load double, ptr %q{tag}_{k}p, align 8",
            *square_and_spoil(f"%q{tag}_{k}", squared, spoilt),
        ]
        squared, spoilt = f"%q{tag}_{k}t", f"%q{tag}_{k}u"
    lines += [
        *quaternion_test(f"%q{tag}_", squared, spoilt, tolerance),
        f"  %q{tag}_fits = and i1 {fits}, %q{tag}_both",
    ]
    return f"%q{tag}_fits"


def square_and_spoil(x: str, squared: str, spoilt: str) -> list[str]:
    """Add x^2 to one sum and 0 x to another, which is not a number as soon as one x is not finite."""
    return [
        f"  {x}s = fmul double {x}, {x}",
        f"  {x}t = fadd double {squared}, {x}s",
        f"  {x}z = fmul double {x}, {hexadecimal(0.0)}",
        f"  {x}u = fadd double {spoilt}, {x}z",
    ]


def quaternion_test(prefix: str, squared: str, spoilt: str, tolerance: float) -> list[str]:
    """{prefix}both: the squared length is within the tolerance, or some component is not finite."""
    low, high = hexadecimal((1.0 - tolerance) ** 2), hexadecimal((1.0 + tolerance) ** 2)
    return [
        f"  {prefix}low = fcmp oge double {squared}, {low}",
        f"  {prefix}high = fcmp ole double {squared}, {high}",
        f"  {prefix}near = and i1 {prefix}low, {prefix}high",
        f"  {prefix}broken = fcmp uno double {spoilt}, {hexadecimal(0.0)}",
        f"  {prefix}both = or i1 {prefix}near, {prefix}broken",
    ]


def _compute(lines: list[str], inputs: tuple[Input, ...], outputs: tuple[Output, ...], workspace: int, several: bool) -> None:
    """Allocate the results, call the kernel, hand the results over."""
    lines.append("go:")
    if workspace <= STACK_LIMIT:
        lines.append(f"  %ws = alloca [{max(workspace, 1)} x double], align 64")
    else:
        lines += [
            f"  %ws = call ptr @fc_PyMem_RawMalloc(i64 {8 * workspace})",
            "  %ws_none = icmp eq ptr %ws, null",
            "  br i1 %ws_none, label %no_memory, label %ws_ready",
            "no_memory:",
            "  %no_memory_error = call ptr @fc_PyErr_NoMemory()",
            "  ret ptr null",
            "ws_ready:",
        ]
    for j, output in enumerate(outputs):
        _allocate(lines, j, output)
    pointers = [f"%data{j}" for j in range(len(inputs))] + [f"%result_data{j}" for j in range(len(outputs))]
    lines.append(f"  call void @fc_single({', '.join(f'ptr {p}' for p in [*pointers, '%ws'])})")
    if workspace > STACK_LIMIT:
        lines.append("  call void @fc_PyMem_RawFree(ptr %ws)")
    for j, output in enumerate(outputs):
        if not output.shape:
            lines += [
                f"  %number{j} = load double, ptr %result_data{j}, align 8",
                f"  %result{j} = call ptr @fc_PyFloat_FromDouble(double %number{j})",
            ]
    if several:
        _tuple(lines, len(outputs))
    else:
        lines.append("  ret ptr %result0")


def _allocate(lines: list[str], j: int, output: Output) -> None:
    if not output.shape:
        lines.append(f"  %result_data{j} = alloca double, align 8")
        return
    lines.append(f"  %dims_of{j} = alloca [{len(output.shape)} x i64], align 8")
    for k, n in enumerate(output.shape):
        lines.append(f"  %dim{j}_{k} = getelementptr i64, ptr %dims_of{j}, i64 {k}")
        lines.append(f"  store i64 {n}, ptr %dim{j}_{k}, align 8")
    lines += [
        "  call void @fc_Py_IncRef(ptr %float64)",
        f"  %result{j} = call ptr @fc_NewFromDescr(ptr %array_type, ptr %float64, i32 {len(output.shape)}, "
        f"ptr %dims_of{j}, ptr null, ptr null, i32 0, ptr null)",
        f"  %none{j} = icmp eq ptr %result{j}, null",
        f"  br i1 %none{j}, label %fail{j}, label %made{j}",
        f"fail{j}:",
        "  ret ptr null",  # out of memory: earlier results leak with the process that cannot go on anyway
        f"made{j}:",
        f"  %result_at{j} = getelementptr i8, ptr %result{j}, i64 {cpython.DATA}",
        f"  %result_data{j} = load ptr, ptr %result_at{j}, align 8",
    ]


def _tuple(lines: list[str], count: int) -> None:
    """A named tuple is a tuple: allocate it by its type and fill its items (ob_item is where its fixed part ends)."""
    lines += [
        "  %tuple_type = load ptr, ptr @fc_tuple_type, align 8",
        f"  %tuple = call ptr @fc_PyType_GenericAlloc(ptr %tuple_type, i64 {count})",
        "  %no_tuple = icmp eq ptr %tuple, null",
        "  br i1 %no_tuple, label %tuple_failed, label %fill",
        "tuple_failed:",
        "  ret ptr null",
        "fill:",
    ]
    if tuple.__basicsize__ > cpython.TUPLE_HASH:  # Python 3.14 keeps the hash there, or that it is not known yet
        lines.append(f"  %hash_at = getelementptr i8, ptr %tuple, i64 {cpython.TUPLE_HASH}")
        lines.append("  store i64 -1, ptr %hash_at, align 8")
    for j in range(count):
        lines.append(f"  %item{j} = getelementptr i8, ptr %tuple, i64 {tuple.__basicsize__ + 8 * j}")
        lines.append(f"  store ptr %result{j}, ptr %item{j}, align 8")
    lines.append("  ret ptr %tuple")
