"""The graph of a traced computation: every value once, constants folded, signs pulled outwards.

A node is (operation, argument ids...), an input or a constant. Equal nodes are the same node.
"""

from __future__ import annotations

from fallingcat.trace.rules import RULES

Node = tuple[object, ...]


class Graph:
    """Nodes in the order they were made; arguments before users."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.constants: list[float | None] = []
        """The value of every constant node, None for the others."""
        self._known: dict[Node, int] = {}

    def _new(self, node: Node, constant: float | None) -> int:
        index = self._known.get(node)
        if index is None:
            index = len(self.nodes)
            self._known[node] = index
            self.nodes.append(node)
            self.constants.append(constant)
        return index

    def constant(self, value: float) -> int:
        value = float(value)
        # repr tells 0.0 from -0.0 and makes nan equal to itself
        return self._new(("const", repr(value)), value)

    def input(self, position: int) -> int:
        return self._new(("input", position), None)

    def find(self, op: object, *args: int) -> int | None:
        """The node, if it was made before."""
        return self._known.get((op, *args))

    def raw(self, op: object, *args: int) -> int:
        """The node as it is, shared but not rewritten."""
        return self._new((op, *args), None)

    def apply(self, op: str, *args: int) -> int:
        """The node after the rewrite rules: the first rule that answers wins."""
        for rule in RULES[op]:
            result = rule(self, *args)
            if result is not None:
                return result
        return self._new((op, *args), None)
