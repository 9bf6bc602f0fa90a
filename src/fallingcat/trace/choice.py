"""A choice between ways to compute the same, by counting.

The way whose results need the fewest operations stays; one that has lost already is not traced to its end. What is counted is
what single calls take: an operation of straight code is one, while products of blocks and tables run in loops on vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from fallingcat.trace.graph import Graph, TooManyNodesError
from fallingcat.trace.ops import OPS

T = TypeVar("T")

VECTOR = 8
"""Operations of a product of blocks that take the time of one in straight code."""


FEW, PATIENCE = 1000, 1.5
"""Nodes that a way may make, and that many times what another way costs: not all of them are needed in the end."""


def cheapest(
    graph: Graph, ways: Sequence[Callable[[], T]], nodes_of: Callable[[Any], Iterator[int]], is_table: Callable[[Any], bool]
) -> T:
    """The result of the cheapest way; of equal ones, the first. `nodes_of` finds the nodes of a result.

    The last way, the one that grows least with the robot, is traced first; the others only as far as they can still win, and not
    at all where it gives a table: written out, there would be too many.
    """
    least, found = math.inf, False
    for way in reversed(ways):
        try:
            with graph.at_most(FEW + PATIENCE * least):
                result = way()
        except TooManyNodesError:
            continue
        if way is ways[-1] and is_table(result):
            return result
        of_this = cost(graph, nodes_of(result))
        if of_this <= least:
            least, best, found = of_this, result, True
    if not found:
        raise TooManyNodesError  # of a choice that this one is a part of
    return best


def cost(graph: Graph, results: Iterator[int]) -> float:
    """The operations of all that the results depend on."""
    needed = set(results)
    nodes: list[Any] = graph.nodes
    total = 0.0
    for i in range(max(needed, default=-1), -1, -1):
        if i in needed and graph.constants[i] is None:
            op, *args = nodes[i]
            if op != "input":
                needed.update(args)
                total += OPS[op].flops if isinstance(op, str) else op.flops / VECTOR
    return total
