"""A Python call without C code: the METH_FASTCALL entry of a kernel, as LLVM text.

    PyObject *fc_call(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)

If every argument, by position or by name, is a contiguous float64 array of the right length (and every quaternion has about
unit length), the kernel is called: into new arrays, or into those of `out=` if they are plain and overlap nothing. Anything
else goes to `self`, a Python callable that takes the same arguments, converts, broadcasts, checks, and raises errors that help.

`fc_bind` is called once per process with the objects that the entry compares with and builds results from. Ownership: the
caller holds the function; the function holds `self` and its module's name, and that name holds the code and everything
bound here (`cpython.builtin`). The entry reads the memory of exact arrays and tuples among its arguments, of nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fallingcat.codegen import cpython
from fallingcat.codegen.builder import Function
from fallingcat.codegen.lanes import hexadecimal
from fallingcat.task import Input, Output, Task

BOUND = ("array_type", "float64", "tuple_type", "results_type", "check", "none", "out")
"""The objects that `fc_bind` stores before the names of the inputs: types, None and names, to be compared by identity."""

STACK_LIMIT = 4096
"""Largest workspace, in doubles, that is allocated on the stack."""

DENSE = cpython.C_CONTIGUOUS | cpython.ALIGNED
ITEMS = tuple.__basicsize__
"""Offset of the items of a tuple, in bytes."""


def call_text(task: Task, workspace: int, tolerance: float) -> str:
    """The module text with `fc_call` and `fc_bind`."""
    inputs, several, checked = task.inputs, task.results is not None, task.explain is not None
    entry = _Entry(Function("fc_call", "ptr", PARAMETERS), inputs, task.outputs, workspace, tolerance, several, checked)
    entry.write()
    return "\n".join([_globals(len(inputs)), _bind(len(inputs)), _by_name(len(inputs)), entry.f.text])


PARAMETERS = ("ptr %self", "ptr %args", "i64 %nargs", "ptr %kwnames")


def _names(inputs: int) -> list[str]:
    return [*BOUND, *(f"name{j}" for j in range(inputs))]


def _globals(inputs: int) -> str:
    return "\n".join(f"@fc_{name} = internal global ptr null, align 8" for name in _names(inputs)) + """
declare void @fc_Py_IncRef(ptr)
declare void @fc_Py_DecRef(ptr)
declare ptr @fc_PyFloat_FromDouble(double)
declare ptr @fc_PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @fc_PyType_GenericAlloc(ptr, i64)
declare ptr @fc_PyMem_RawMalloc(i64)
declare void @fc_PyMem_RawFree(ptr)
declare ptr @fc_PyErr_NoMemory()
declare ptr @fc_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
"""  # fmt: skip


def _bind(inputs: int) -> str:
    f = Function("fc_bind", "void", [f"ptr %{name}" for name in _names(inputs)])
    for name in _names(inputs):
        f.store("ptr", f"%{name}", f"@fc_{name}")
    f.ret()
    return f.text


def _by_name(count: int) -> str:
    """i1 fc_by_name(args, nargs, kwnames, values): the inputs in their order, then `out` or null; false if one is missing."""
    f = Function("fc_by_name", "i1", ("ptr %args", "i64 %nargs", "ptr %kwnames", "ptr %values"), internal=True)
    refuse = f.label("refuse")
    f.require(f.value(f"icmp ule i64 %nargs, {count}"), refuse)
    for j in range(count + 1):
        f.store("ptr", "null", "%values", 8 * j)
    bytes_ = f.value("mul i64 %nargs, 8")
    f.call("void", "llvm.memcpy.p0.p0.i64", "ptr %values", "ptr %args", f"i64 {bytes_}", "i1 false")
    named = f.load("i64", "%kwnames", cpython.SIZE)
    rest = f.at("%args", bytes_)

    loop, done, start = f.label("loop"), f.label("done"), f.block
    f.go(loop)
    f.begin(loop)
    k = f.value(f"phi i64 [0, %{start}], [%next, %more]")
    each = f.label("each")
    f.branch(f.value(f"icmp ult i64 {k}, {named}"), each, done)
    f.begin(each)
    skip = f.value(f"mul i64 {k}, 8")
    name = f.load("ptr", f.at("%kwnames", ITEMS), skip)
    value = f.load("ptr", rest, skip)
    for j, known in enumerate([*(f"name{j}" for j in range(count)), "out"]):
        match, other = f.label("match"), f.label("other")
        f.branch(f.same(name, f.load("ptr", f"@fc_{known}")), match, other)
        f.begin(match)
        f.require(f.same(f.load("ptr", "%values", 8 * j), "null"), refuse)
        f.store("ptr", value, "%values", 8 * j)
        f.go("more")
        f.begin(other)
    f.go(refuse)
    f.begin("more")
    f.do(f"%next = add i64 {k}, 1")
    f.go(loop)

    f.begin(done)
    for j in range(count):
        f.require(f.value(f"icmp ne ptr {f.load('ptr', '%values', 8 * j)}, null"), refuse)
    f.ret("true")
    f.begin(refuse)
    f.ret("false")
    return "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n" + f.text


@dataclass
class _Entry:
    """The writer of `fc_call`."""

    f: Function
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    workspace: int
    tolerance: float
    several: bool
    """Do results come in a named tuple?"""
    checked: bool
    """Is a result whose first entry is NaN passed to `check`, which returns it or raises?"""

    def write(self) -> None:
        f = self.f
        self.python = f.label("python")
        self.no_memory = f.label("no_memory")
        self.values, out = self._arguments()
        self.array_type, self.float64 = f.load("ptr", "@fc_array_type"), f.load("ptr", "@fc_float64")
        data = [self._vector(f.load("ptr", self.values, 8 * j), spec) for j, spec in enumerate(self.inputs)]
        new, given = f.label("new"), f.label("given")
        f.branch(f.same(out, "null"), new, given)
        f.begin(new)
        self._into_new(data)
        f.begin(given)
        self._into_out(data, out)
        f.begin(self.python)
        path = f.call("ptr", "fc_PyObject_Vectorcall", "ptr %self", "ptr %args", "i64 %nargs", "ptr %kwnames")
        f.ret(path)
        f.begin(self.no_memory)
        f.ret(f.call("ptr", "fc_PyErr_NoMemory"))

    def _arguments(self) -> tuple[str, str]:
        """Pointers to the array of arguments and to the object given as `out`; null if it is missing or None."""
        f, count = self.f, len(self.inputs)
        slots = f.alloca("ptr", count + 1)
        plain, named, ready = f.label("plain"), f.label("named"), f.label("ready")
        f.branch(f.same("%kwnames", "null"), plain, named)
        f.begin(named)
        f.require(f.call("i1", "fc_by_name", "ptr %args", "i64 %nargs", "ptr %kwnames", f"ptr {slots}"), self.python)
        given = f.load("ptr", slots, 8 * count)
        out = f.value(f"select i1 {f.same(given, f.load('ptr', '@fc_none'))}, ptr null, ptr {given}")
        named = f.block
        f.go(ready)
        f.begin(plain)
        f.branch(f.same("%nargs", str(count), "i64"), ready, self.python)
        f.begin(ready)
        values = f.value(f"phi ptr [%args, %{plain}], [{slots}, %{named}]")
        return values, f.value(f"phi ptr [null, %{plain}], [{out}, %{named}]")

    # -----------------------------------------------------------------------------------------------------------------
    # Arguments

    def _array(self, a: str, axes: int, flags: int) -> str:
        """Continue if `a` is an exact float64 array with that many axes and these flags; a pointer to its dimensions."""
        f = self.f
        f.require(f.same(f.load("ptr", a, cpython.TYPE), self.array_type), self.python)
        right_type = f.same(f.load("ptr", a, cpython.DESCR), self.float64)
        right_axes = f.same(f.load("i32", a, cpython.NDIM), str(axes), "i32")
        right_flags = f.same(f.value(f"and i32 {f.load('i32', a, cpython.FLAGS)}, {flags}"), str(flags), "i32")
        f.require(f.both(f.both(right_type, right_axes), right_flags), self.python)
        return f.load("ptr", a, cpython.DIMENSIONS)

    def _vector(self, a: str, spec: Input) -> str:
        """Continue if `a` is a contiguous vector of the input's size; a pointer to its data."""
        f = self.f
        dimensions = self._array(a, 1, DENSE)
        f.require(f.same(f.load("i64", dimensions), str(spec.size), "i64"), self.python)
        data = f.load("ptr", a, cpython.DATA)
        for at in spec.quaternions:
            f.require(quaternion_fits(f, f.at(data, 8 * at), self.tolerance), self.python)
        return data

    def _output(self, a: str, output: Output) -> str:
        """Continue if results can be written into `a`; a pointer to its data."""
        f = self.f
        dimensions = self._array(a, len(output.shape), DENSE | cpython.WRITEABLE)
        for k, n in enumerate(output.shape):
            f.require(f.same(f.load("i64", dimensions, 8 * k), str(n), "i64"), self.python)
        return f.load("ptr", a, cpython.DATA)

    def _disjoint(self, a: str, size_a: int, b: str, size_b: int) -> None:
        """Continue if two ranges of memory, sizes in doubles, do not overlap."""
        f = self.f
        if size_a and size_b:
            before = f.value(f"icmp ule ptr {f.at(a, 8 * size_a)}, {b}")
            after = f.value(f"icmp ule ptr {f.at(b, 8 * size_b)}, {a}")
            f.require(f.value(f"or i1 {before}, {after}"), self.python)

    # -----------------------------------------------------------------------------------------------------------------
    # Results

    def _into_new(self, data: Sequence[str]) -> None:
        made: list[str] = []
        places = [self._allocate(output, made) for output in self.outputs]
        self._compute([*data, *places], made)
        objects, arrays = [], iter(made)
        for output, place in zip(self.outputs, places, strict=True):
            number = f"double {self.f.load('double', place)}" if not output.shape else ""
            objects.append(self.f.call("ptr", "fc_PyFloat_FromDouble", number) if number else next(arrays))
        self._give(self._tuple(objects) if self.several else objects[0], places)

    def _allocate(self, output: Output, made: list[str]) -> str:
        """Allocate a result array and append it to `made`; a pointer to its data. A scalar result is on the stack."""
        f = self.f
        if not output.shape:
            return f.alloca("double")
        dimensions = f.alloca("i64", len(output.shape))
        for k, n in enumerate(output.shape):
            f.store("i64", str(n), dimensions, 8 * k)
        f.call("void", "fc_Py_IncRef", f"ptr {self.float64}")
        array = f.call(
            "ptr", "fc_NewFromDescr", f"ptr {self.array_type}", f"ptr {self.float64}", f"i32 {len(output.shape)}",
            f"ptr {dimensions}", "ptr null", "ptr null", "i32 0", "ptr null",
        )  # fmt: skip
        self._require_object(array, made)
        made.append(array)
        return f.load("ptr", array, cpython.DATA)

    def _into_out(self, data: Sequence[str], out: str) -> None:
        f = self.f
        objects = self._items(out) if self.several else [out]
        places: list[str] = []
        sizes = [i.size for i in self.inputs] + [o.size for o in self.outputs]
        for a, output in zip(objects, self.outputs, strict=True):
            place = self._output(a, output)
            for other, size in zip((*data, *places), sizes, strict=False):
                self._disjoint(place, output.size, other, size)
            places.append(place)
        self._compute([*data, *places], [])
        for a in objects:
            f.call("void", "fc_Py_IncRef", f"ptr {a}")
        self._give(self._tuple(objects) if self.several else out, places)

    def _items(self, out: str) -> list[str]:
        """Continue if `out` is a tuple, or the kernel's named tuple, with one item per output; the items."""
        f = self.f
        type_ = f.load("ptr", out, cpython.TYPE)
        plain, own = f.same(type_, f.load("ptr", "@fc_tuple_type")), f.same(type_, f.load("ptr", "@fc_results_type"))
        f.require(f.value(f"or i1 {plain}, {own}"), self.python)
        f.require(f.same(f.load("i64", out, cpython.SIZE), str(len(self.outputs)), "i64"), self.python)
        return [f.load("ptr", out, ITEMS + 8 * j) for j in range(len(self.outputs))]

    def _compute(self, pointers: Sequence[str], made: Sequence[str]) -> None:
        """Call the kernel; the workspace is on the stack if it is small."""
        f = self.f
        if self.workspace <= STACK_LIMIT:
            workspace = f.alloca("double", self.workspace, align=64)
        else:
            workspace = f.call("ptr", "fc_PyMem_RawMalloc", f"i64 {8 * self.workspace}")
            enough, fail = f.label("enough"), f.label("fail")
            f.branch(f.same(workspace, "null"), fail, enough)
            f.begin(fail)
            self._drop(made)
            f.go(self.no_memory)
            f.begin(enough)
        f.call("void", "fc_single", *(f"ptr {p}" for p in (*pointers, workspace)))
        if self.workspace > STACK_LIMIT:
            f.call("void", "fc_PyMem_RawFree", f"ptr {workspace}")

    def _give(self, result: str, places: Sequence[str]) -> None:
        """Return a result; if its first entry is NaN, return what `check` returns for it."""
        f = self.f
        if self.checked and self.outputs[0].size:
            first = f.load("double", places[0])
            is_nan, fine = f.label("is_nan"), f.label("fine")
            f.branch(f.value(f"fcmp uno double {first}, {first}"), is_nan, fine)
            f.begin(is_nan)
            arguments = f.alloca("ptr", 1 + len(self.inputs))
            f.store("ptr", result, arguments)
            for j in range(len(self.inputs)):
                f.store("ptr", f.load("ptr", self.values, 8 * j), arguments, 8 * (j + 1))
            check = f.load("ptr", "@fc_check")
            count = 1 + len(self.inputs)
            answer = f.call("ptr", "fc_PyObject_Vectorcall", f"ptr {check}", f"ptr {arguments}", f"i64 {count}", "ptr null")
            f.call("void", "fc_Py_DecRef", f"ptr {result}")
            f.ret(answer)
            f.begin(fine)
        f.ret(result)

    def _tuple(self, objects: Sequence[str]) -> str:
        """The named tuple of the objects, whose references it takes over: it is a tuple, allocated by its type and filled."""
        f = self.f
        result = f.call("ptr", "fc_PyType_GenericAlloc", f"ptr {f.load('ptr', '@fc_results_type')}", f"i64 {len(objects)}")
        self._require_object(result, objects)
        if tuple.__basicsize__ > cpython.TUPLE_HASH:  # Python 3.14 keeps the hash there, or a mark that it is not known yet
            f.store("i64", "-1", result, cpython.TUPLE_HASH)
        for j, x in enumerate(objects):
            f.store("ptr", x, result, ITEMS + 8 * j)
        return result

    def _require_object(self, new: str, made: Sequence[str]) -> None:
        """Continue if the allocation gave an object; else release those that were made, and return with the error that is set."""
        f = self.f
        fine, fail = f.label("fine"), f.label("fail")
        f.branch(f.same(new, "null"), fail, fine)
        f.begin(fail)
        self._drop(made)
        f.ret("null")
        f.begin(fine)

    def _drop(self, made: Sequence[str]) -> None:
        for a in made:
            self.f.call("void", "fc_Py_DecRef", f"ptr {a}")


def quaternion_fits(f: Function, place: str, tolerance: float) -> str:
    """Is the squared length within the tolerance, or some component not finite (which passes and makes the result NaN)?"""
    squared = is_nan = hexadecimal(0.0)
    for k in range(4):
        x = f.load("double", place, 8 * k)
        squared = f.value(f"fadd double {squared}, {f.value(f'fmul double {x}, {x}')}")
        # 0 x is NaN where x is not finite
        is_nan = f.value(f"fadd double {is_nan}, {f.value(f'fmul double {x}, {hexadecimal(0.0)}')}")
    low = f.value(f"fcmp oge double {squared}, {hexadecimal((1.0 - tolerance) ** 2)}")
    high = f.value(f"fcmp ole double {squared}, {hexadecimal((1.0 + tolerance) ** 2)}")
    broken = f.value(f"fcmp uno double {is_nan}, {hexadecimal(0.0)}")
    return f.value(f"or i1 {f.both(low, high)}, {broken}")
