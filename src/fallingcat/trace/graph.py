"""The graph of a traced computation, in which every value exists once, constants are folded, and signs are pulled outwards.

A node is (operation, argument ids...), an input or a constant. Equal nodes are the same node.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from fallingcat import announce
from fallingcat.errors import TraceError
from fallingcat.trace.rules import RULES, SYMBOLIC

Node = tuple[object, ...]

LARGE = 300_000
"""Nodes at which progress is reported: tracing goes on for seconds."""
HOPELESS = 20_000_000
"""Nodes at which tracing ends: they take ten gigabytes, and compiling them would take half an hour and more memory yet."""


class TooManyNodesError(Exception):
    """Raised when there are more nodes than were allowed."""


class Graph:
    """A graph of nodes in the order they were made, so that arguments come before their users."""

    def __init__(self, name: str = "function") -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.constants: list[float | None] = []
        """The value of every constant node, None for the others."""
        self._known: dict[Node, int] = {}
        self._allowed: float = math.inf
        self._next: float = LARGE
        """The number of nodes at which `_check_size` is called next."""
        self.kept: list[int] = []
        """Nodes that other functions compute in the same way; see `scalar.keep`."""

    def _new(self, node: Node, constant: float | None) -> int:
        index = self._known.get(node)
        if index is None:
            index = len(self.nodes)
            if index >= self._next:
                self._check_size(index)
            self._known[node] = index
            self.nodes.append(node)
            self.constants.append(constant)
        return index

    def _check_size(self, size: int) -> None:
        """Report progress of a long trace, and raise where the program is too large."""
        if size >= self._allowed:
            raise TooManyNodesError
        if size >= HOPELESS:
            raise TraceError(
                f"{self.name}: the program for this robot has more than {HOPELESS:,} operations, too many to be compiled; "
                f"robot.kernel({self.name!r}).eager(...) computes the same without compiling"
            )
        announce.tracing(self.name, size)
        self._next = min(HOPELESS, self._allowed)

    @contextmanager
    def at_most(self, count: float) -> Iterator[None]:
        """A context in which `TooManyNodesError` is raised when more than `count` nodes have been added."""
        before = self._allowed
        self._allow(min(before, len(self.nodes) + count))
        try:
            yield
        finally:
            self._allow(before)

    def _allow(self, size: float) -> None:
        self._allowed = size
        self._next = min(size, LARGE if len(self.nodes) <= LARGE else HOPELESS)

    def constant(self, value: float) -> int:
        value = float(value)
        # repr tells 0.0 from -0.0 and makes nan equal to itself
        return self._new(("const", repr(value)), value)

    def input(self, position: int) -> int:
        return self._new(("input", position), None)

    def find(self, op: object, *args: int) -> int | None:
        """The node of an operation if it exists, else None."""
        return self._known.get((op, *args))

    def raw(self, op: object, *args: int) -> int:
        """The node of an operation, shared with equal ones but not rewritten."""
        return self._new((op, *args), None)

    def apply(self, op: str, *args: int) -> int:
        """The node of an operation after the rewrite rules; the first rule that applies is taken."""
        constants = self.constants
        rules = SYMBOLIC[op]
        for a in args:
            if constants[a] is not None:
                rules = RULES[op]
                break
        for rule in rules:
            result = rule(self, *args)
            if result is not None:
                return result
        return self._new((op, *args), None)
