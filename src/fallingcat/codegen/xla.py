"""Kernels for XLA: a handler of its foreign function interface, as LLVM text.

    XLA_FFI_Error *fc_xla(XLA_FFI_CallFrame *frame)

reads the call frame by the layout of XLA's C API (xla/ffi/api/c_api.h, API 0.x; every struct begins with its size), checks types,
shapes and quaternions, and runs the same machine code as a call from Python, on any thread and without the interpreter. What
does not fit becomes an error of XLA that names the argument.

One handler is for one state, another for batches: shapes are known when XLA compiles. After XLA has asked the handler for its
metadata, `fc_call_frame_size` returns the size of XLA's structs; a handler is used only if it is the expected one.
"""

from __future__ import annotations

import ctypes
from typing import Any

from fallingcat.arrays.arguments import QUATERNION_TOLERANCE
from fallingcat.codegen import cpython, native
from fallingcat.codegen.builder import Function
from fallingcat.codegen.kernel import Kernel
from fallingcat.codegen.rows import ALIGNMENT, check_text
from fallingcat.task import Input, Output, Task

# XLA_FFI_CallFrame
FRAME_SIZE = 168
EXTENSION, API, STAGE = 8, 16, 32
ARGS, RETS = 40, 80
# XLA_FFI_Args and XLA_FFI_Rets, which begin at ARGS and RETS
LIST_SIZE = 40
COUNT, TYPES, ITEMS = 16, 24, 32
# XLA_FFI_Buffer
BUFFER_SIZE = 48
DTYPE, DATA, RANK, DIMENSIONS = 16, 24, 32, 40
# XLA_FFI_Extension_Base, XLA_FFI_Metadata_Extension, XLA_FFI_Metadata
EXTENSION_TYPE, METADATA = 8, 24
METADATA_SIZE = 36
MAJOR, MINOR, TRAITS = 24, 28, 32
# XLA_FFI_Api
API_SIZE = 56
ERROR_CREATE = 48

EXECUTE, BUFFER, FLOAT64, METADATA_TYPE = 3, 1, 12, 1
INVALID_ARGUMENT, RESOURCE_EXHAUSTED, INTERNAL = 3, 8, 13
API_MAJOR = 0


class Handler:
    """A handler with the code that it calls; it is never unloaded, because XLA keeps handlers for ever."""

    def __init__(self, kernel: Kernel, batch: bool, minor: int) -> None:
        code, workspace = kernel.batched() if batch else kernel.single()
        text = handler_text(kernel.task, workspace, batch, minor)
        self._code = native.Code(native.compile_object(text), cpython.symbols())
        address = code.address("fc_batch" if batch else "fc_single")
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._code.address("fc_bind"))(address)
        cpython.keep_for_ever(code)
        cpython.keep_for_ever(self._code)

    def capsule(self) -> Any:
        """The handler as a PyCapsule, for JAX."""
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(self._code.address("fc_xla"), None, None)

    def frame_size(self) -> int:
        """Size of the call frame with which XLA has asked for metadata; 0 if it has not."""
        return int(ctypes.CFUNCTYPE(ctypes.c_int64)(self._code.address("fc_call_frame_size"))())


def handler_text(task: Task, workspace: int, batch: bool, minor: int) -> str:
    """The module text with `fc_xla`, and `fc_bind`, which tells it the address of the kernel."""
    return "\n".join([_DECLARATIONS, check_text(QUATERNION_TOLERANCE), _ROWS, _Handler(task, workspace, batch, minor).text()])


_DECLARATIONS = """
@fc_kernel = internal global ptr null, align 8
@fc_frame_size = internal global i64 0, align 8
declare ptr @fc_PyMem_RawMalloc(i64)
declare void @fc_PyMem_RawFree(ptr)
define void @fc_bind(ptr %kernel) {
  store ptr %kernel, ptr @fc_kernel, align 8
  ret void
}
define i64 @fc_call_frame_size() {
  %size = load i64, ptr @fc_frame_size, align 8
  ret i64 %size
}"""

_ROWS = f"""
define internal i64 @fc_states(ptr %buffer, i64 %own) {{
entry:
  %size = load i64, ptr %buffer, align 8
  %large = icmp sge i64 %size, {BUFFER_SIZE}
  br i1 %large, label %typed, label %wrong
typed:
  %dtype_at = getelementptr i8, ptr %buffer, i64 {DTYPE}
  %dtype = load i32, ptr %dtype_at, align 4
  %float64 = icmp eq i32 %dtype, {FLOAT64}
  br i1 %float64, label %ranked, label %wrong
ranked:
  %rank_at = getelementptr i8, ptr %buffer, i64 {RANK}
  %rank = load i64, ptr %rank_at, align 8
  %axes = sub i64 %rank, %own
  %dims_at = getelementptr i8, ptr %buffer, i64 {DIMENSIONS}
  %dims = load ptr, ptr %dims_at, align 8
  %enough = icmp sge i64 %axes, 0
  br i1 %enough, label %loop, label %wrong
loop:
  %i = phi i64 [0, %ranked], [%next, %body]
  %states = phi i64 [1, %ranked], [%more, %body]
  %inside = icmp slt i64 %i, %axes
  br i1 %inside, label %body, label %done
body:
  %place = getelementptr i64, ptr %dims, i64 %i
  %length = load i64, ptr %place, align 8
  %more = mul i64 %states, %length
  %next = add i64 %i, 1
  br label %loop
done:
  ret i64 %states
wrong:
  ret i64 -1
}}"""
"""fc_states(buffer, own): the number of states in a float64 buffer whose last `own` axes belong to one state, else -1."""


class _Handler:
    """Writes `fc_xla`."""

    def __init__(self, task: Task, workspace: int, batch: bool, minor: int) -> None:
        self.task, self.workspace, self.batch, self.minor = task, workspace, batch, minor
        self.f = Function("fc_xla", "ptr", ("ptr %frame",))
        self.messages: list[str] = []
        self.errors: list[tuple[str, int, int]] = []
        """(label, index of the message, error code) of every error exit."""

    def error(self, text: str, code: int = INVALID_ARGUMENT) -> str:
        """The label of a block that returns an error."""
        label = self.f.label("error")
        self.errors.append((label, len(self.messages), code))
        self.messages.append(text)
        return label

    def text(self) -> str:
        f = self.f
        run, end = f.label("run"), f.label("end")
        extension = f.load("ptr", "%frame", EXTENSION)
        asked = f.label("asked")
        f.branch(f.same(extension, "null"), run, asked)
        f.begin(asked)
        self._metadata(extension, run)
        f.begin(run)
        self._run(end)
        f.begin(end)
        f.ret("null")
        for label, message, code in self.errors:
            f.begin(label)
            self._fail(message, code)
        constants = [f"@fc_message{k} = internal constant {_string(text)}" for k, text in enumerate(self.messages)]
        return "\n".join([*constants, f.text])

    def _metadata(self, extension: str, run: str) -> None:
        """Answer XLA's request for metadata, when a handler is registered, with the version of the API that it is written for."""
        f = self.f
        f.require(f.same(f.load("i32", extension, EXTENSION_TYPE), str(METADATA_TYPE), "i32"), run)
        f.store("i64", f.load("i64", "%frame"), "@fc_frame_size")
        metadata = f.load("ptr", extension, METADATA)
        known = self.error(f"{self.task.name}: unknown metadata of XLA's foreign function interface", INTERNAL)
        f.require(f.value(f"icmp sge i64 {f.load('i64', metadata)}, {METADATA_SIZE}"), known)
        for value, offset in ((API_MAJOR, MAJOR), (self.minor, MINOR), (0, TRAITS)):
            f.do(f"store i32 {value}, ptr {f.at(metadata, offset)}, align 4")
        f.ret("null")

    def _run(self, end: str) -> None:
        f, task = self.f, self.task
        layout = self.error(f"{task.name}: XLA calls it with structs of another layout", INTERNAL)
        f.require(f.value(f"icmp sge i64 {f.load('i64', '%frame')}, {FRAME_SIZE}"), layout)
        f.require(f.same(f.load("i32", "%frame", STAGE), str(EXECUTE), "i32"), layout)
        inputs = self._buffers(ARGS, len(task.inputs), layout)
        outputs = self._buffers(RETS, len(task.outputs), layout)
        states = ""
        for spec, buffer in zip(task.inputs, inputs, strict=True):
            states = self._same_states(spec, (spec.size,), buffer, states)
        for output, buffer in zip(task.outputs, outputs, strict=True):
            states = self._same_states(output, output.shape, buffer, states)
        data = [f.load("ptr", buffer, DATA) for buffer in (*inputs, *outputs)]
        some = f.label("some")
        f.branch(f.same(states, "0", "i64"), end, some)
        f.begin(some)
        if not self.batch:
            f.require(f.same(states, "1", "i64"), layout)
        for j, spec in enumerate(task.inputs):
            for at in spec.quaternions:
                text = (
                    f"{task.name}: the quaternion {spec.name}[..., {at}:{at + 4}] is far from unit length; expected: length 1; "
                    "hint: order is x y z w; normalise it, or start from robot.neutral()"
                )
                place = f.value(f"getelementptr double, ptr {data[j]}, i64 {at}")
                far = f.call("i64", "fc_check", f"i64 {states}", f"ptr {place}", f"i64 {spec.size}")
                f.require(f.same(far, "0", "i64"), self.error(text))
        self._compute(data, states)
        f.go(end)

    def _buffers(self, at: int, count: int, layout: str) -> list[str]:
        """Pointers to the buffers in a list of arguments or results."""
        f = self.f
        f.require(f.value(f"icmp sge i64 {f.load('i64', '%frame', at)}, {LIST_SIZE}"), layout)
        f.require(f.same(f.load("i64", "%frame", at + COUNT), str(count), "i64"), layout)
        types, items = f.load("ptr", "%frame", at + TYPES), f.load("ptr", "%frame", at + ITEMS)
        found = []
        for k in range(count):
            f.require(f.same(f.load("i32", types, 4 * k), str(BUFFER), "i32"), layout)
            found.append(f.load("ptr", items, 8 * k))
        return found

    def _same_states(self, spec: Input | Output, shape: tuple[int, ...], buffer: str, before: str) -> str:
        """Continue if a buffer holds as many states, each of the shape, as those before it; their number."""
        f = self.f
        wanted = ", ".join(["...", *map(str, shape)])
        wrong = self.error(f"{self.task.name}: {spec.name} does not fit; expected: float64 of shape ({wanted})")
        states = f.call("i64", "fc_states", f"ptr {buffer}", f"i64 {len(shape)}")
        f.require(f.value(f"icmp sge i64 {states}, 0"), wrong)
        if before:
            f.require(f.same(states, before, "i64"), wrong)
        if shape:
            rank, dimensions = f.load("i64", buffer, RANK), f.load("ptr", buffer, DIMENSIONS)
            for k, n in enumerate(shape):
                axis = f.value(f"sub i64 {rank}, {len(shape) - k}")
                place = f.value(f"getelementptr i64, ptr {dimensions}, i64 {axis}")
                f.require(f.same(f.load("i64", place), str(n), "i64"), wrong)
        return states

    def _compute(self, data: list[str], states: str) -> None:
        f, task = self.f, self.task
        memory = f.call("ptr", "fc_PyMem_RawMalloc", f"i64 {8 * self.workspace + ALIGNMENT}")
        no_memory = self.error(f"{task.name}: not enough memory", RESOURCE_EXHAUSTED)
        f.require(f.value(f"icmp ne ptr {memory}, null"), no_memory)
        number = f.value(f"ptrtoint ptr {memory} to i64")
        aligned = f.value(f"and i64 {f.value(f'add i64 {number}, {ALIGNMENT - 1}')}, {-ALIGNMENT}")
        workspace = f.value(f"inttoptr i64 {aligned} to ptr")
        kernel = f.load("ptr", "@fc_kernel")
        if self.batch:
            pointers, strides = f.alloca("ptr", len(data)), f.alloca("i64", len(task.inputs))
            for j, pointer in enumerate(data):
                f.store("ptr", pointer, pointers, 8 * j)
            for j, spec in enumerate(task.inputs):
                f.store("i64", str(spec.size), strides, 8 * j)
            f.do(f"call void {kernel}(i64 0, i64 {states}, ptr {pointers}, ptr {strides}, ptr {workspace})")
        else:
            f.do(f"call void {kernel}({', '.join(f'ptr {x}' for x in (*data, workspace))})")
        f.call("void", "fc_PyMem_RawFree", f"ptr {memory}")

    def _fail(self, message: int, code: int) -> None:
        """Return an error made by XLA_FFI_Error_Create."""
        f = self.f
        args = f.alloca("i64", 4)
        f.store("i64", "28", args)
        f.store("ptr", "null", args, 8)
        f.store("ptr", f"@fc_message{message}", args, 16)
        f.do(f"store i32 {code}, ptr {f.at(args, 24)}, align 4")
        create = f.load("ptr", f.load("ptr", "%frame", API), ERROR_CREATE)
        f.ret(f.value(f"call ptr {create}(ptr {args})"))


def _string(text: str) -> str:
    """A zero-terminated string as an LLVM constant."""
    raw = text.encode() + b"\0"
    return f'[{len(raw)} x i8] c"' + "".join(f"\\{byte:02x}" for byte in raw) + '"'
