"""A shared library of jumps into this process: every symbol jumps to an address that is known already.

`casadi.external` calls symbols that the dynamic linker finds, but machine code made in this process is in no library. A library
of jumps is a table of names with one jump for each, and is written without a linker. It is of no use in any other process.
"""

from __future__ import annotations

import platform
import struct
import sys
from collections.abc import Mapping

PAGE = 0x10000
"""The largest page size of the supported processors: writable data are on a page of their own."""

X86_64, AARCH64 = 62, 183
MACHINES = {"x86_64": X86_64, "aarch64": AARCH64}
HEADER, SEGMENT, SYMBOL = 64, 56, 24
"""Bytes of the header of a file, of a segment, and of a symbol."""
STUB = 16
READ, WRITE, EXECUTE = 4, 2, 1
LOAD, DYNAMIC, STACK = 1, 2, 0x6474E551
HASH, STRINGS, SYMBOLS, STRINGS_SIZE, SYMBOL_SIZE = 4, 5, 6, 10, 11
"""Tags of the dynamic section."""


def possible() -> bool:
    """Does this process load libraries in this format?"""
    return sys.platform == "linux" and platform.machine() in MACHINES and struct.calcsize("P") == 8


def jumps(addresses: Mapping[str, int], machine: int | None = None) -> bytes:
    """The file of a shared library in which each name is a function that jumps to its address."""
    machine = MACHINES[platform.machine()] if machine is None else machine
    names = list(addresses)
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    starts = [1 + sum(len(name.encode()) + 1 for name in names[:k]) for k in range(len(names))]
    symbols_at = HEADER + 4 * SEGMENT
    hash_at = symbols_at + SYMBOL * (len(names) + 1)
    table = _hash_table(names)
    strings_at = hash_at + len(table)
    code_at = -(-(strings_at + len(strings)) // STUB) * STUB
    symbols = bytes(SYMBOL)  # the first symbol stands for none
    for k, start in enumerate(starts):
        symbols += struct.pack("<IBBHQQ", start, 0x12, 0, 1, code_at + STUB * k, STUB)  # a global function
    code = b"".join(_jump(machine, addresses[name]) for name in names)
    first = code_at + len(code)
    tags = ((HASH, hash_at), (STRINGS, strings_at), (SYMBOLS, symbols_at), (STRINGS_SIZE, len(strings)), (SYMBOL_SIZE, SYMBOL))
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in (*tags, (0, 0)))
    second = -(-first // PAGE) * PAGE
    header = b"\x7fELF\2\1\1" + bytes(9)  # 64 bits, little-endian
    header += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, HEADER, 0, 0, HEADER, SEGMENT, 4, 64, 0, 0)
    segments = _segment(LOAD, READ | EXECUTE, 0, first, PAGE)
    segments += _segment(LOAD, READ | WRITE, second, len(dynamic), PAGE)  # writable, as the linker writes into its tags
    segments += _segment(DYNAMIC, READ | WRITE, second, len(dynamic), 8)
    segments += _segment(STACK, READ | WRITE, 0, 0, 16)
    head = header + segments + symbols + table + strings
    return (head.ljust(code_at, b"\0") + code).ljust(second, b"\0") + dynamic


def _segment(kind: int, flags: int, at: int, size: int, align: int) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, flags, at, at, at, size, size, align)


def _hash_table(names: list[str]) -> bytes:
    """The table of the System V ABI with one bucket: a chain through all symbols."""
    count = len(names) + 1
    chain = [0, *[k + 1 if k + 1 < count else 0 for k in range(1, count)]]
    return struct.pack(f"<{3 + count}I", 1, count, 1 if names else 0, *chain)


def _jump(machine: int, address: int) -> bytes:
    if machine == X86_64:
        return b"\x48\xb8" + struct.pack("<Q", address) + b"\xff\xe0" + bytes(4)  # mov rax, address; jmp rax
    return struct.pack("<IIQ", 0x58000050, 0xD61F0200, address)  # ldr x16, .+8; br x16; the address
