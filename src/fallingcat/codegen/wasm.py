"""Turns a WebAssembly object file of LLVM into a module that can be instantiated, without a linker.

An object is nearly a module: the addresses of its data already start at zero. It lacks exports; its `linking` section says
which symbol is which function. Memory and the stack pointer are imported under the names `env.__linear_memory` and
`env.__stack_pointer`; the host must keep its own data beyond the end of the module's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

CUSTOM, EXPORTS, START, CODE, DATA, DATA_COUNT = 0, 7, 8, 10, 11, 12
ELEMENTS = 9
SYMBOL_TABLE = 8
FUNCTION, DATA_SYMBOL, SECTION = 0, 1, 3
UNDEFINED, EXPLICIT_NAME = 0x10, 0x40


def module(object_code: bytes, exports: Sequence[str]) -> tuple[bytes, int]:
    """The module with these functions exported, and the address of the end of its data."""
    sections = list(_sections(object_code))
    functions: dict[str, int] = {}
    end = 0
    for kind, body in sections:
        if kind == CUSTOM:
            reader = _Reader(body)
            if reader.name() == "linking":
                functions = _functions(reader)
        elif kind == DATA:
            end = _data_end(_Reader(body))
    names = b"".join(_name(e) + b"\0" + _number(functions[e]) for e in exports)
    table = _section(EXPORTS, _number(len(exports)) + names)
    out, inserted = bytearray(object_code[:8]), False
    for kind, body in sections:
        if kind == CUSTOM:
            continue
        if not inserted and kind in (START, ELEMENTS, DATA_COUNT, CODE):
            out += table
            inserted = True
        out += _section(kind, body)
    return bytes(out), end


def _functions(reader: _Reader) -> dict[str, int]:
    """The index of every function that the object defines."""
    reader.number()  # version
    found: dict[str, int] = {}
    while reader.more:
        kind, size = reader.byte(), reader.number()
        end = reader.at + size
        if kind == SYMBOL_TABLE:
            for _ in range(reader.number()):
                _symbol(reader, found)
        reader.at = end
    return found


def _symbol(reader: _Reader, found: dict[str, int]) -> None:
    kind, flags = reader.byte(), reader.number()
    defined = not flags & UNDEFINED
    if kind == DATA_SYMBOL:
        reader.name()
        if defined:
            for _ in range(3):
                reader.number()
    elif kind == SECTION:
        reader.number()
    else:
        index = reader.number()
        if defined or flags & EXPLICIT_NAME:
            name = reader.name()
            if kind == FUNCTION and defined:
                found[name] = index


def _data_end(reader: _Reader) -> int:
    end = 0
    for _ in range(reader.number()):
        if reader.number() != 0 or reader.byte() != 0x41:
            raise ValueError("data without an address")
        start = reader.number()
        reader.byte()  # the end of the address
        size = reader.number()
        end = max(end, start + size)
        reader.at += size
    return end


# ---------------------------------------------------------------------------------------------------------------------
# Bytes


class _Reader:
    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    @property
    def more(self) -> bool:
        return self.at < len(self.data)

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """Read an unsigned LEB128 number; addresses are encoded as signed ones, but are never negative here."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def name(self) -> str:
        size = self.number()
        self.at += size
        return self.data[self.at - size : self.at].decode()


def _sections(data: bytes) -> Iterator[tuple[int, bytes]]:
    reader = _Reader(data, 8)
    while reader.more:
        kind, size = reader.byte(), reader.number()
        yield kind, data[reader.at : reader.at + size]
        reader.at += size


def _number(n: int) -> bytes:
    out = bytearray()
    while True:
        n, byte = n >> 7, n & 127
        out.append(byte | (128 if n else 0))
        if not n:
            return bytes(out)


def _name(text: str) -> bytes:
    return _number(len(text.encode())) + text.encode()


def _section(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + _number(len(body)) + body
