"""The rewrite rules, as a table: for each operation, what it may become.

A rule takes the graph and argument ids and answers with an id, or None when it does not apply.
Zeros and ones disappear, constants fold, minus signs move outwards until an addition swallows them,
and the arguments of commutative operations are ordered so that equal terms are shared.
Multiplying by a zero that is known while tracing gives zero whatever the other factor becomes at run time.
Most operations have no constant among their arguments: for these, `SYMBOLIC` has the rules that may still apply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fallingcat.trace.ops import OPS

if TYPE_CHECKING:
    from fallingcat.trace.graph import Graph

Rule = Callable[..., "int | None"]


def fold(op: str) -> Rule:
    """The rule that evaluates an operation whose arguments are all constants."""
    evaluate = OPS[op].evaluate

    def rule(g: Graph, *args: int) -> int | None:
        constants = g.constants
        values = [constants[a] for a in args]
        return None if None in values else g.constant(evaluate(*values))

    rule.folds = True  # type: ignore[attr-defined]
    return rule


def negated(g: Graph, a: int) -> int | None:
    """The x of a node -x; None for other nodes."""
    node: Any = g.nodes[a]
    return node[1] if node[0] == "neg" else None


def add_zero(g: Graph, a: int, b: int) -> int | None:
    """x + 0 = x."""
    c = g.constants
    if c[b] == 0.0:
        return a
    return b if c[a] == 0.0 else None


def add_negated(g: Graph, a: int, b: int) -> int | None:
    """x + (-y) = x - y."""
    y = negated(g, b)
    if y is not None:
        return g.apply("sub", a, y)
    x = negated(g, a)
    return None if x is None else g.apply("sub", b, x)


def order(op: str) -> Rule:
    """The rule that orders the arguments of a commutative operation by their ids."""

    def rule(g: Graph, a: int, b: int) -> int | None:
        return g.raw(op, a, b) if a <= b else g.raw(op, b, a)

    return rule


def sub_zero(g: Graph, a: int, b: int) -> int | None:
    """x - 0 = x, 0 - x = -x, x - x = 0."""
    c = g.constants
    if c[b] == 0.0:
        return a
    if c[a] == 0.0:
        return g.apply("neg", b)
    return g.constant(0.0) if a == b else None


def sub_negated(g: Graph, a: int, b: int) -> int | None:
    """x - (-y) = x + y, (-x) - y = -(x + y)."""
    y = negated(g, b)
    if y is not None:
        return g.apply("add", a, y)
    x = negated(g, a)
    return None if x is None else g.apply("neg", g.apply("add", x, b))


def sub_reversed(g: Graph, a: int, b: int) -> int | None:
    """x - y = -(y - x) where y - x is there already."""
    known = g.find("sub", b, a)
    return None if known is None else g.raw("neg", known)


def mul_trivial(g: Graph, a: int, b: int) -> int | None:
    """0 x = 0, 1 x = x, (-c) x = -(c x)."""
    ca, cb = g.constants[a], g.constants[b]
    if ca is None and cb is None:
        return None
    c, x = (ca, b) if ca is not None else (cb, a)
    if c == 0.0:
        return g.constant(0.0)
    if c == 1.0:
        return x
    if c == -1.0:
        return g.apply("neg", x)
    if c is not None and c < 0.0:
        return g.apply("neg", g.apply("mul", g.constant(-c), x))
    return None


def mul_negated(g: Graph, a: int, b: int) -> int | None:
    """(-x) y = -(x y)."""
    x = negated(g, a)
    if x is not None:
        return g.apply("neg", g.apply("mul", x, b))
    y = negated(g, b)
    return None if y is None else g.apply("neg", g.apply("mul", a, y))


def div_trivial(g: Graph, a: int, b: int) -> int | None:
    """0 / x = 0, x / c = x (1/c) where 1/c is exact."""
    if g.constants[a] == 0.0:
        return g.constant(0.0)
    c = g.constants[b]
    if c is not None and c != 0.0 and abs(c) in _EXACT_RECIPROCALS:
        return g.apply("mul", a, g.constant(1.0 / c))
    return None


_EXACT_RECIPROCALS = frozenset(2.0**k for k in range(-60, 61))


def div_negated(g: Graph, a: int, b: int) -> int | None:
    """(-x) / y = x / (-y) = -(x / y)."""
    x = negated(g, a)
    if x is not None:
        return g.apply("neg", g.apply("div", x, b))
    y = negated(g, b)
    return None if y is None else g.apply("neg", g.apply("div", a, y))


def div_guarded(g: Graph, a: int, b: int) -> int | None:
    """c / (x if bound < x else NaN) = c / x if bound < x else NaN: so the division does not wait for the comparison."""
    if g.constants[a] is None or not is_guard(g, b):
        return None
    node: Any = g.nodes[b]
    return g.apply("select", node[1], node[2], g.apply("div", a, node[3]), node[4])


def is_guard(g: Graph, i: int) -> bool:
    """Is the node a guard: a number, or NaN where the number (or, for a quotient, one of its arguments) is not above a bound?"""
    node: Any = g.nodes[i]
    return is_nan_below_a_bound(g, i) and node[2] in (node[3], *_arguments(g, node[3]))


def is_nan_below_a_bound(g: Graph, i: int) -> bool:
    """Is the node NaN where some number is not above a bound? Guards are, and derivatives of guards."""
    node: Any = g.nodes[i]
    if node[0] != "select" or g.constants[node[2]] is not None:
        return False
    otherwise = g.constants[node[4]]
    return otherwise is not None and otherwise != otherwise


def _arguments(g: Graph, i: int) -> tuple[Any, ...]:
    """The arguments of a quotient; none for other nodes."""
    node: Any = g.nodes[i]
    return node[1:] if node[0] == "div" else ()


def neg_of(g: Graph, a: int) -> int | None:
    """-(-x) = x, -(x - y) = y - x."""
    node: Any = g.nodes[a]
    if node[0] == "neg":
        return int(node[1])
    return g.apply("sub", node[2], node[1]) if node[0] == "sub" else None


def sin_negated(g: Graph, a: int) -> int | None:
    """sin(-x) = -sin(x)."""
    x = negated(g, a)
    return None if x is None else g.apply("neg", g.apply("sin", x))


def cos_negated(g: Graph, a: int) -> int | None:
    """cos(-x) = cos(x)."""
    x = negated(g, a)
    return None if x is None else g.apply("cos", x)


def select_known(g: Graph, x: int, y: int, a: int, b: int) -> int | None:
    """A choice with constant comparison, or with two equal alternatives."""
    cx, cy = g.constants[x], g.constants[y]
    if cx is not None and cy is not None:
        return a if cx < cy else b
    return a if a == b else None


RULES: dict[str, tuple[Rule, ...]] = {
    "add": (fold("add"), add_zero, add_negated, order("add")),
    "sub": (fold("sub"), sub_zero, sub_negated, sub_reversed),
    "mul": (fold("mul"), mul_trivial, mul_negated, order("mul")),
    "div": (fold("div"), div_trivial, div_negated, div_guarded),
    "neg": (fold("neg"), neg_of),
    "sqrt": (fold("sqrt"),),
    "sin": (fold("sin"), sin_negated),
    "cos": (fold("cos"), cos_negated),
    "atan2": (fold("atan2"),),
    "select": (select_known,),
    "taint": (fold("taint"),),
}

_FOR_CONSTANTS = (add_zero, mul_trivial, div_trivial)
"""Rules, besides folding, that apply only if some argument is a constant."""

SYMBOLIC: dict[str, tuple[Rule, ...]] = {
    op: tuple(rule for rule in rules if rule not in _FOR_CONSTANTS and not getattr(rule, "folds", False))
    for op, rules in RULES.items()
}
"""`RULES` without the rules that need a constant argument."""
