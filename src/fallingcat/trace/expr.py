"""The symbol that stands for a number while an algorithm is traced.

It has the operators of a float and refuses everything a traced program cannot contain, above all
branches on its value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any, NoReturn

from fallingcat import scalar
from fallingcat.errors import TraceError
from fallingcat.tensors import Term, dot_of_vectors
from fallingcat.trace.blocks import Entry, Pack, product
from fallingcat.trace.choice import cheapest
from fallingcat.trace.dot_matrix import PlacedDot, table_of_dots, worth_a_table
from fallingcat.trace.dots import dot_table
from fallingcat.trace.graph import Graph

_FOREIGN = (
    "a traced value of one function was used while another was traced: it means nothing there; "
    "keep no traced values beyond the call that made them (a memory of results must not hold them)"
)
_BRANCH = (
    "a traced value has no value yet, so the program cannot branch on it; "
    "use fallingcat.scalar.where_less(x, y, a, b), which computes both sides and picks one"
)


class Expr:
    """A symbol: a node of a graph, with the operators of a float."""

    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    def _binary(self, op: str, a: Any, b: Any) -> Any:
        g = self.graph
        try:
            if type(a) is not Expr:
                i, j = g.constant(_number(a)), b.index
            elif type(b) is not Expr:
                i, j = a.index, g.constant(_number(b))
            else:
                i, j = a.index, b.index
                if a.graph is not b.graph:
                    raise TraceError(_FOREIGN)
        except TypeError:
            return NotImplemented
        return wrap(g, g.apply(op, i, j))

    def __add__(self, other: Any) -> Any:
        return self._binary("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._binary("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary("div", other, self)

    def __neg__(self) -> Any:
        return wrap(self.graph, self.graph.apply("neg", self.index))

    def __pos__(self) -> Any:
        return self

    def __pow__(self, exponent: Any) -> Any:
        """The power to an integer or half-integer exponent, by products and a square root."""
        if not isinstance(exponent, (Real, Expr)):
            return NotImplemented
        if type(exponent) is Expr or not (2.0 * float(exponent)).is_integer():
            raise TraceError(f"a traced value can be raised to whole numbers and their halves, not to {exponent!r}")
        whole, half = divmod(int(abs(2 * exponent)), 2)
        power = _natural_power(self, whole)
        power = power * self.sqrt() if half else power
        return 1.0 / power if exponent < 0 else power

    def sqrt(self) -> Any:
        return self._unary("sqrt")

    def sin(self) -> Any:
        return self._unary("sin")

    def cos(self) -> Any:
        return self._unary("cos")

    def arctan2(self, x: Any) -> Any:
        return scalar.atan2(self, x)

    def conjugate(self) -> Any:
        return self

    def _unary(self, op: str) -> Any:
        return wrap(self.graph, self.graph.apply(op, self.index))

    def __bool__(self) -> NoReturn:
        raise TraceError(_BRANCH)

    def _compare(self, other: Any) -> NoReturn:
        raise TraceError(_BRANCH)

    __lt__ = __le__ = __gt__ = __ge__ = _compare
    __eq__ = __ne__ = _compare

    def __abs__(self) -> Any:
        return scalar.where_less(self, 0.0, -self, self)

    def __float__(self) -> NoReturn:
        raise TraceError("a traced value is not a float; functions of it are in fallingcat.scalar (sin, cos, sqrt, atan2)")

    __int__ = __index__ = __complex__ = __float__

    def __repr__(self) -> str:
        return f"<traced value {self.index}: {self.graph.nodes[self.index]}>"


def _natural_power(x: Any, n: int) -> Any:
    """x^n by repeated squaring."""
    if n < 2:
        return x if n else 1.0
    root = _natural_power(x, n // 2)
    return root * root * x if n % 2 else root * root


def node_id(graph: Graph, x: Any) -> int:
    """The node of a symbol or a number in a graph; symbols of another graph are refused."""
    if type(x) is not Expr:
        return graph.constant(x)
    if x.graph is not graph:
        raise TraceError(_FOREIGN)
    return x.index


def check_graph(graph: Graph, x: Expr | Block) -> None:
    """Refuse a symbol or block of another graph."""
    if x.graph is not graph:
        raise TraceError(_FOREIGN)


def _number(x: Any) -> float:
    """A real number as a float; strings and arrays, which `float` would accept, are refused."""
    if type(x) is float or isinstance(x, Real):
        return float(x)
    raise TypeError("not a number")


def wrap(graph: Graph, index: int) -> Any:
    """A node as an algorithm sees it: constants are plain floats again."""
    constant = graph.constants[index]
    return Expr(graph, index) if constant is None else constant


def _combine(op: str, *args: Any) -> Any:
    graph = next(a.graph for a in args if type(a) is Expr)
    return wrap(graph, graph.apply(op, *(node_id(graph, a) for a in args)))


def _matmul(A: scalar.Matrix, B: scalar.Matrix, negate: bool, symmetric: bool) -> list[list[Any]]:
    graph = next(x.graph for matrix in (A, B) for row in matrix for x in row if type(x) is Expr)

    def ids(matrix: scalar.Matrix) -> list[list[int]]:
        return [[node_id(graph, x) for x in row] for row in matrix]

    return [[wrap(graph, i) for i in row] for row in product(graph, ids(A), ids(B), negate, symmetric)]


def _no_number(*args: Any) -> NoReturn:
    raise TraceError("a block is not a number; take its entries")


class Block:
    """A block as a flat sequence or a tensor of a shape; the nodes of its entries are made when they are accessed."""

    __slots__ = ("first", "graph", "index", "shape")

    def __init__(self, graph: Graph, index: int, shape: tuple[int, ...], first: int = 0) -> None:
        self.graph, self.index, self.shape, self.first = graph, index, shape, first

    def shaped(self, shape: tuple[int, ...]) -> Block:
        return Block(self.graph, self.index, shape, self.first)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, k: int | slice) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(len(self))[k]]
        if not -len(self) <= k < len(self):
            raise IndexError(k)
        k %= len(self)
        if len(self.shape) == 1:
            return wrap(self.graph, self.graph.raw(Entry(self.first + k), self.index))
        size = 1
        for n in self.shape[1:]:
            size *= n
        return Block(self.graph, self.index, self.shape[1:], self.first + k * size)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))


def _dots(
    A: Sequence[Any] | Block, B: scalar.Matrix, jobs: Sequence[scalar.Dots], size: int, slab: int, add: bool, side: int
) -> Any:
    graph = A.graph if isinstance(A, Block) else next(x.graph for row in (A, *B) for x in row if type(x) is Expr)

    def ids(row: Sequence[Any]) -> list[int]:
        return [node_id(graph, x) for x in row]

    left = A.index if isinstance(A, Block) else graph.raw(Pack(1, len(A)), *ids(A))
    return Block(graph, dot_table(graph, left, [ids(row) for row in B], jobs, size, slab, add, side), (size,))


def _table(terms: Sequence[Term], rows: int, columns: int, symmetric: bool) -> Block:
    graph = next(x.graph for term in terms for x in (*term.left, *term.right) if type(x) is Expr)
    known: dict[int, tuple[int, ...]] = {}
    """Node ids of vectors, by the identity of the vector; the terms keep all vectors alive."""

    def ids(vector: Sequence[Any]) -> tuple[int, ...]:
        found = known.get(id(vector))
        if found is None:
            found = known[id(vector)] = tuple(node_id(graph, x) for x in vector)
        return found

    times = Counter((row, column) for row, column, *_ in terms)
    listed: list[PlacedDot] = []
    sums: dict[tuple[int, int], Any] = {}
    for row, column, left, right, factor in terms:
        if factor == 1.0 and times[row, column] == 1:
            listed.append(PlacedDot(row, column, ids(left), ids(right)))
        else:
            sums[row, column] = sums.get((row, column), 0.0) + factor * dot_of_vectors(left, right)
    one = graph.constant(1.0)  # a sum is written out, and is one entry of the table times one
    listed += [PlacedDot(row, column, (node_id(graph, total),), (one,)) for (row, column), total in sums.items()]
    return Block(graph, table_of_dots(graph, listed, rows, columns, symmetric), (rows, columns))


def _nodes_of(result: Any) -> Iterator[int]:
    """The nodes of all symbols in nested lists, tuples and dictionaries."""
    if isinstance(result, (Expr, Block)):
        yield result.index
    elif isinstance(result, (list, tuple, dict)):
        for part in result.values() if isinstance(result, dict) else result:
            yield from _nodes_of(part)


def _cheapest(x: Sequence[Any], ways: Sequence[Callable[[], Any]]) -> Any:
    graph = next(symbol.graph for symbol in x if type(symbol) is Expr)
    return cheapest(graph, ways, _nodes_of, lambda result: isinstance(result, Block))


scalar.register(
    Block,
    scalar.Functions(_no_number, _no_number, _no_number, _no_number, _no_number, dots=_dots),
)
scalar.register(
    Expr,
    scalar.Functions(
        Expr.sin,
        Expr.cos,
        Expr.sqrt,
        lambda y, x: _combine("atan2", y, x),
        lambda x, y, a, b: _combine("select", x, y, a, b),
        _matmul,
        _dots,
        _table,
        worth_a_table,
        _cheapest,
        lambda x: x.graph.kept.append(x.index),
    ),
)
