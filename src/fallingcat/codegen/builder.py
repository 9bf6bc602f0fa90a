"""A builder for one LLVM function, written from top to bottom; it makes up the names of values and labels.

f = Function("f", "ptr", ("ptr %x",))
otherwise = f.label("otherwise")
f.require(f.value("icmp ne ptr %x, null"), otherwise)   # continues here if the condition holds
f.ret(f.load("ptr", "%x"))
f.begin(otherwise)
f.ret("null")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Function:
    """A function under construction; `text` is its LLVM text."""

    def __init__(
        self, name: str, returns: str, parameters: Sequence[str], internal: bool = False, attributes: str = "#1"
    ) -> None:
        linkage = "internal " if internal else ""
        self._head = f"define {linkage}{returns} @{name}({', '.join(parameters)}) {attributes} {{"
        self._returns = returns
        self._room: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self.block = "entry"
        """The label of the block that is being written."""

    @property
    def text(self) -> str:
        return "\n".join([self._head, "entry:", *self._room, *self._lines, "}"])

    @property
    def length(self) -> int:
        """Number of lines so far."""
        return len(self._lines)

    def _fresh(self) -> int:
        self._count += 1
        return self._count

    # -----------------------------------------------------------------------------------------------------------------
    # Values

    def name(self) -> str:
        """A fresh name for a value that is defined later."""
        return f"%.{self._fresh()}"

    def value(self, expression: str) -> str:
        """Define a value by an instruction, and return its name."""
        name = self.name()
        self._lines.append(f"  {name} = {expression}")
        return name

    def do(self, instruction: str) -> None:
        """Write an instruction that has no value."""
        self._lines.append(f"  {instruction}")

    def alloca(self, type_: str, count: int = 1, align: int = 8) -> str:
        """A pointer to room for `count` elements on the stack, allocated in the entry block."""
        name = self.name()
        self._room.append(f"  {name} = alloca [{max(1, count)} x {type_}], align {align}")
        return name

    def at(self, pointer: str, offset: int | str) -> str:
        """The pointer plus `offset` bytes."""
        return pointer if offset == 0 else self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def load(self, type_: str, pointer: str, offset: int | str = 0) -> str:
        return self.value(f"load {type_}, ptr {self.at(pointer, offset)}, align {4 if type_ == 'i32' else 8}")

    def store(self, type_: str, value: str, pointer: str, offset: int | str = 0) -> None:
        self.do(f"store {type_} {value}, ptr {self.at(pointer, offset)}, align 8")

    def call(self, returns: str, function: str, *arguments: str) -> str:
        """The value of a call; arguments are written with their types."""
        text = f"call {returns} @{function}({', '.join(arguments)})"
        if returns == "void":
            self.do(text)
            return ""
        return self.value(text)

    def same(self, a: str, b: str, type_: str = "ptr") -> str:
        return self.value(f"icmp eq {type_} {a}, {b}")

    def both(self, a: str, b: str) -> str:
        return self.value(f"and i1 {a}, {b}")

    # -----------------------------------------------------------------------------------------------------------------
    # Control flow

    def label(self, hint: str) -> str:
        """A fresh label for a block that is begun later."""
        return f"{hint}{self._fresh()}"

    def begin(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self.block = label

    def go(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def require(self, condition: str, otherwise: str) -> None:
        """Continue here if the condition holds, else branch to the label `otherwise`."""
        on = self.label("on")
        self.branch(condition, on, otherwise)
        self.begin(on)

    def ret(self, value: str = "") -> None:
        self.do(f"ret {self._returns} {value}".rstrip())

    @contextmanager
    def counting(self, stop: int | str, start: int | str = 0, step: int = 1) -> Iterator[str]:
        """A loop over start, start + step, ... below stop, which runs at least once; its body is written inside the `with`."""
        with self._again(start) as (counter, following):
            yield counter
            self.do(f"{following} = add i64 {counter}, {step}")
            more = self.value(f"icmp slt i64 {following}, {stop}")
        self._repeat(more)

    @contextmanager
    def covering(self, last: int | str, step: int, start: int | str = 0) -> Iterator[str]:
        """A loop over start, start + step, ..., and `last`; the last step may be shorter, so that it overlaps the one before."""
        with self._again(start) as (counter, following):
            yield counter
            ahead = self.value(f"add i64 {counter}, {step}")
            self.do(f"{following} = call i64 @llvm.smin.i64(i64 {ahead}, i64 {last})")
            more = self.value(f"icmp slt i64 {counter}, {last}")
        self._repeat(more)

    @contextmanager
    def _again(self, start: int | str) -> Iterator[tuple[str, str]]:
        """The counter of a loop and its next value; the phi is written at the end, when the last block of the body is known."""
        before, body = self.block, self.label("again")
        counter, following = self.name(), self.name()
        self.go(body)
        self.begin(body)
        at = len(self._lines)
        self._lines.append("")
        yield counter, following
        self._lines[at] = f"  {counter} = phi i64 [ {start}, %{before} ], [ {following}, %{self.block} ]"
        self._body = body

    def _repeat(self, more: str) -> None:
        after = self.label("after")
        self.branch(more, self._body, after)
        self.begin(after)
