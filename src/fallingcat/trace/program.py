"""A program: the straight-line code that an algorithm becomes when it is run on symbols for one robot.

A program is frozen and can be printed and verified. Values are numbered; instruction k defines value
`first + k`, where the values before `first` are the inputs and then the constants. Fused multiply-adds
are chosen here, so that every back end rounds alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from fallingcat.errors import TraceError
from fallingcat.lazy import lazy
from fallingcat.scalar import Dots
from fallingcat.task import Input, Output, Task
from fallingcat.trace.blocks import BlockOp, Pack
from fallingcat.trace.dots import DotTable
from fallingcat.trace.expr import Block, Expr, check_graph, node_id, wrap
from fallingcat.trace.graph import Graph
from fallingcat.trace.ops import OPS
from fallingcat.trace.rules import is_nan_below_a_bound
from fallingcat.trace.sums import start_sums

Operation = str | BlockOp | DotTable
Instruction = tuple[Operation, tuple[int, ...]]


def flops(op: Operation) -> int:
    """Floating-point operations of one instruction."""
    return OPS[op].flops if isinstance(op, str) else op.flops


@dataclass(frozen=True)
class Program:
    """Straight-line code from named inputs to named outputs."""

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    constants: tuple[float, ...]
    instructions: tuple[Instruction, ...]
    results: tuple[tuple[int, ...], ...]
    """Per output, the numbers of its entries' values in row-major order; empty for an output that is a block as a whole."""
    input_names: tuple[str, ...] = field(default=())
    kept: tuple[int, ...] = ()
    """Intermediate values that other programs compute in the same way; see `scalar.keep`."""

    @lazy
    def input_count(self) -> int:
        return sum(i.size for i in self.inputs)

    @lazy
    def first(self) -> int:
        """The number of the first computed value."""
        return self.input_count + len(self.constants)

    def counts(self) -> dict[str, int]:
        """The number of instructions of each operation, by name."""
        names = (op if isinstance(op, str) else type(op).__name__.lower() for op, _ in self.instructions)
        return dict(sorted(Counter(names).items()))

    @property
    def operations(self) -> int:
        """Floating-point operations for one state; a fused multiply-add counts as two."""
        return sum(flops(op) for op, _ in self.instructions)

    def verify(self) -> Program:
        """Check that it is well formed; raises TraceError, returns itself."""
        blocks: dict[int, int] = {}  # value -> size
        first = self.first
        for k, (op, args) in enumerate(self.instructions):
            if isinstance(op, str):
                if op not in OPS:
                    raise TraceError(f"{self.name}: instruction {k} has unknown operation {op!r}")
                takes, fits = OPS[op].arity, blocks.keys().isdisjoint(args)
            else:
                takes = len(op.takes_blocks)
                fits = all((a in blocks) == block for a, block in zip(args, op.takes_blocks, strict=False))
            if len(args) != takes:
                raise TraceError(f"{self.name}: instruction {k}, {op}, has {len(args)} arguments, not {takes}")
            if args and not (min(args) >= 0 and max(args) < first + k):
                raise TraceError(f"{self.name}: instruction {k}, {op}, uses a value that is not there yet")
            if not fits:
                raise TraceError(f"{self.name}: instruction {k}, {op}, mixes up numbers and blocks")
            if isinstance(op, str):
                continue
            if not op.fits(*(blocks[a] for a in args if a in blocks)):
                raise TraceError(f"{self.name}: instruction {k}, {op}, reaches beyond its blocks")
            if op.is_block:
                blocks[first + k] = op.size
        if len(self.results) != len(self.outputs):
            raise TraceError(f"{self.name}: {len(self.results)} results for {len(self.outputs)} outputs")
        end = first + len(self.instructions)
        wholes = {op.output: op.size for op, _ in self.instructions if isinstance(op, DotTable)}
        for j, (output, values) in enumerate(zip(self.outputs, self.results, strict=True)):
            if not values and wholes.get(j) == output.size:
                continue
            if len(values) != output.size:
                raise TraceError(f"{self.name}: output {output.name} has {len(values)} entries, not {output.size}")
            if not all(0 <= v < end and v not in blocks for v in values):
                raise TraceError(f"{self.name}: output {output.name} uses a value that is never computed")
        return self

    def value_name(self, value: int) -> str:
        """The printed name of a value."""
        if value < self.input_count:
            for spec in self.inputs:
                if value < spec.size:
                    return f"{spec.name}[{value}]"
                value -= spec.size
        if value < self.first:
            return repr(self.constants[value - self.input_count])
        return f"t{value - self.first}"

    def __str__(self) -> str:
        ins = ", ".join(f"{i.name}[{i.size}]" for i in self.inputs)
        outs = ", ".join(f"{o.name}{list(o.shape)}" for o in self.outputs)
        lines = [f"program {self.name}({ins}) -> {outs}    # {self.operations} operations"]
        for k, (op, args) in enumerate(self.instructions):
            names = [self.value_name(a) for a in args]
            text = OPS[op].text.format(*names) if isinstance(op, str) else f"{op.name} {', '.join(names)}"
            lines.append(f"  t{k} = {text}")
        for output, values in zip(self.outputs, self.results, strict=True):
            if output.size and not values:
                continue
            lines.append(f"  {output.name} = [{', '.join(map(self.value_name, values))}]")
        return "\n".join(lines)


VERIFY_PASSES = False
"""Verify a program after every pass; the tests do."""


def after_pass(program: Program) -> Program:
    """The program, verified between two passes if `VERIFY_PASSES` is set."""
    return program.verify() if VERIFY_PASSES else program


def trace(task: Task) -> Program:
    """Run a task on symbols; the program has the nodes that its outputs need."""
    graph, vectors = symbols(task.inputs, task.name)
    try:
        flats = task.flat(vectors)
    except TypeError as error:
        raise TraceError(f"{task.name} cannot be traced: {error}") from error
    return assemble(task, graph, flats)


def symbols(inputs: Sequence[Input], name: str = "") -> tuple[Graph, list[list[Any]]]:
    """A new graph, and one vector of its symbols per input."""
    graph = Graph(name)
    vectors: list[list[Any]] = []
    position = 0
    for spec in inputs:
        vectors.append([Expr(graph, graph.input(position + k)) for k in range(spec.size)])
        position += spec.size
    return graph, vectors


def assemble(task: Task, graph: Graph, flats: Sequence[Any]) -> Program:
    """The program of a task whose outputs have been computed on the symbols of a graph, one flat sequence per output."""
    try:
        outputs = [_output_block(graph, j, x) or [_index(graph, e) for e in x] for j, x in enumerate(flats)]
    except TypeError as error:
        raise TraceError(f"{task.name} cannot be traced: {error}") from error
    _taint(graph, outputs, sum(i.size for i in task.inputs))
    program = after_pass(_extract(task, graph, outputs))
    instructions, results, kept = start_sums(program.first, program.instructions, program.results, program.kept)
    return replace(program, instructions=instructions, results=results, kept=kept).verify()


def _output_block(graph: Graph, j: int, value: Any) -> list[int] | None:
    """The node of a table that is output j as a whole and has no other use; None if the output is no whole block."""
    if not isinstance(value, Block):
        return None
    check_graph(graph, value)
    op, *args = graph.nodes[value.index]
    assert isinstance(op, DotTable)
    if len(value) != op.size:  # a part of a block
        return None
    if not op.jobs:
        return [graph.constant(0.0)] * op.size
    if op.add:  # sums are accumulated in the workspace and then copied to the output
        one = graph.raw(Pack(1, 1), graph.constant(1.0))
        rows = tuple(Dots(0, start, op.slab, start, 1) for start in range(0, op.size, op.slab))
        return [graph.raw(DotTable(op.size, 1, op.size, rows, op.slab, output=j), one, value.index)]
    return [graph.raw(replace(op, output=j), *args)]  # type: ignore[arg-type]


def _index(graph: Graph, x: Any) -> int:
    return node_id(graph, x if type(x) is Expr else float(x))


def _taint(graph: Graph, outputs: list[list[int]], inputs: int) -> None:
    """Make the first result NaN where an input is not finite or a pivot is zero, even if it does not depend on them.

    Folding removes such inputs (a base position has no part in inverse dynamics); 0 * x, added to the
    first entry, keeps the promise that NaN in gives NaN out. A pivot that is replaced by NaN (`dense.factor`)
    may reach some of the entries only; the first entry gets it here.
    """
    target = next((flat for flat in outputs if flat), None)
    if target is None:
        return
    used = _needed(graph, outputs)
    unused = [i for i in range(inputs) if i not in used]
    guards = [i for i in used if is_nan_below_a_bound(graph, i)]
    if graph.kept:
        graph.kept += guards  # functions with a common core all compute all of them
    node: Any = graph.nodes[target[0]]
    in_table = isinstance(node[0], DotTable)
    if guards:
        reached = set() if in_table else _needed(graph, [target[:1]])  # its first entry may need less than the table
        unused += [i for i in guards if i not in reached]
    if not unused:
        return
    total: Any = 0.0
    for i in unused:
        total = total + wrap(graph, graph.apply("taint", i))
    if not in_table:
        target[0] = _index(graph, wrap(graph, target[0]) + total)
    else:
        target[0] = _taint_table(graph, node, total)


def _taint_table(graph: Graph, node: Any, total: Any, place: int = 0) -> int:
    """The table of dot products with `total` added to the first number of the right factor of the entry at a place."""
    table, left, right = node
    op, *args = graph.nodes[right]
    at = table.column_of(place)
    if isinstance(op, DotTable):  # the table is a copy of another one
        return graph.raw(table, left, _taint_table(graph, (op, *args), total, at))
    if at is None:  # no job writes there: the number gets a column of its own
        at, width = table.right_width, table.right_width
        table, op = table.with_entry(place), Pack(table.inner, width + 1)
        rows = [args[k * width : (k + 1) * width] for k in range(table.inner)]
        args = [x for row in rows for x in (*row, graph.constant(0.0))]
    args[at] = _index(graph, wrap(graph, args[at]) + total)
    return graph.raw(table, left, graph.raw(op, *args))


def _needed(graph: Graph, outputs: list[list[int]]) -> set[int]:
    """All nodes that the outputs depend on. Arguments are older than their users, so one pass, newest first, finds them."""
    needed = {i for flat in outputs for i in flat}
    nodes: list[Any] = graph.nodes
    for i in range(max(needed, default=-1), -1, -1):
        if i in needed:
            node = nodes[i]
            if node[0] != "const" and node[0] != "input":
                needed.update(node[1:])
    return needed


def _extract(task: Task, graph: Graph, outputs: list[list[int]]) -> Program:
    """The program of the needed nodes, with products fused into sums that are their only use."""
    nodes: list[Any] = graph.nodes
    live = sorted(_needed(graph, outputs))
    fused, swallowed = _choose_fused(nodes, live, {i for flat in outputs for i in flat})
    number: dict[int, int] = {}
    constants: list[float] = []
    inputs = sum(i.size for i in task.inputs)
    for i in live:
        if nodes[i][0] == "input":
            number[i] = nodes[i][1]
        elif nodes[i][0] == "const":
            number[i] = inputs + len(constants)
            constants.append(float(graph.constants[i]))  # type: ignore[arg-type]
    instructions: list[Instruction] = []

    def is_block(flat: list[int]) -> bool:
        return len(flat) == 1 and isinstance(nodes[flat[0]][0], DotTable)

    first = inputs + len(constants)
    for i in live:
        if i in number or i in swallowed:
            continue
        node = fused.get(i, nodes[i])
        number[i] = first + len(instructions)
        instructions.append((node[0], tuple([number[a] for a in node[1:]])))
    results = tuple(() if is_block(flat) else tuple(number[i] for i in flat) for flat in outputs)
    kept = tuple(sorted({number[i] for i in graph.kept if number.get(i, 0) >= first}))
    return Program(task.name, task.inputs, task.outputs, tuple(constants), tuple(instructions), results, kept=kept)


def _choose_fused(nodes: list[Any], live: list[int], kept: set[int]) -> tuple[dict[int, Any], set[int]]:
    """The sums that become fused multiply-adds, with their instructions, and the products fused into them."""
    uses = Counter(chain.from_iterable(nodes[i][1:] for i in live if nodes[i][0] not in ("const", "input")))
    fused: dict[int, Any] = {}
    swallowed: set[int] = set()

    def free(i: int) -> bool:
        return bool(nodes[i][0] == "mul" and uses[i] == 1 and i not in kept and i not in swallowed)

    for i in live:
        op = nodes[i][0]
        if op not in ("add", "sub"):
            continue
        _, a, b = nodes[i]
        # Of two products the newer one is fused: the value of the older one is available earlier.
        if free(b):
            fused[i] = ("fma" if op == "add" else "fnma", nodes[b][1], nodes[b][2], a)
            swallowed.add(b)
        elif free(a):
            fused[i] = ("fma" if op == "add" else "fms", nodes[a][1], nodes[a][2], b)
            swallowed.add(a)
    return fused, swallowed
