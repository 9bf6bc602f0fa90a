"""The choice of the cheapest of several ways to compute the same, by counting operations.

The way whose results need the fewest operations is kept; a way that cannot win any more is not traced to its end. The count
estimates the time for one state: an operation of straight-line code counts as one, those of products of blocks and tables,
which run in loops on vectors, count less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from fallingcat.trace.graph import Graph, TooManyNodesError
from fallingcat.trace.ops import OPS

T = TypeVar("T")

VECTOR = 8
"""Operations of a product of blocks that take as long as one operation of straight-line code."""


FEW, PATIENCE = 1000, 1.5
"""A way may make FEW + PATIENCE * c nodes, c being the least cost so far: not all nodes are needed in the end."""


def cheapest(
    graph: Graph, ways: Sequence[Callable[[], T]], nodes_of: Callable[[Any], Iterator[int]], is_table: Callable[[Any], bool]
) -> T:
    """The result of the cheapest way; among equal ones, of the first. `nodes_of` gives the nodes of a result.

    The last way, whose cost grows least with the robot, is traced first; the others only as far as they can still win, and not
    at all if the last way gives a table: written out, the others would have too many nodes.
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
        raise TooManyNodesError  # a limit of an enclosing choice
    return best


def cost(graph: Graph, results: Iterator[int]) -> float:
    """The operations of all nodes that the results depend on; those of blocks count as 1 / VECTOR."""
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
