"""Order the instructions of a program and cut them into pieces.

One huge function is slow to compile and slow to run: the register allocator gives up. Pieces of a
few hundred instructions that are never inlined compile in linear time; values that cross from one
piece to another live in slots of a workspace, which are reused after their last reader.
A product of blocks, or a table of dot products, is a piece of its own; the entries of blocks have slots side by side.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fallingcat.codegen.core import core_of
from fallingcat.trace.blocks import Entry, Pack, Product
from fallingcat.trace.dots import DotTable
from fallingcat.trace.program import Instruction, Program, flops

PIECE = 200
"""Largest number of instructions in a piece."""


@dataclass(frozen=True)
class Direct:
    """The layout, in an output, of a product whose entries are used as results only: it is written directly to the output."""

    rows: tuple[int, ...]
    """Offset of each row from the first one."""
    runs: tuple[tuple[int, int, int, int], ...]
    """Runs of columns that are neighbours in an output: (first column, columns, output, index of the first entry)."""


@dataclass(frozen=True)
class Schedule:
    """The pieces of a program in order, and the slots of values between them."""

    angles: tuple[int, ...]
    """Inputs whose sin or cos is needed; these are computed together, before everything else."""
    pieces: tuple[tuple[int, ...] | int, ...]
    """The values that each piece computes, in order; a piece that is a number is a product of blocks or a table."""
    slots: dict[int, int]
    """The workspace slot of every value that is read outside its piece."""
    slot_count: int
    copies: dict[int, list[int]] = field(default_factory=dict)
    """Further slots that a value is written to, if it is an entry of several blocks."""
    blocks: dict[int, int] = field(default_factory=dict)
    """The first slot of every block."""
    direct: dict[int, Direct] = field(default_factory=dict)
    """The products that are written straight to the outputs."""
    written: frozenset[int] = frozenset()
    """The results that such products write."""
    fills: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """Per product, (value, slot) of entries to be copied first: inputs, constants, entries of other blocks."""
    core: frozenset[int] = frozenset()
    """The values of the core, if it is compiled apart; those that the algorithm keeps hold their slots until the end."""
    core_pieces: int = 0
    """Number of pieces of the core, which come first."""
    core_operations: int = 0

    @property
    def of_core(self) -> range:
        """The indices of the core's pieces."""
        return range(self.core_pieces)

    @property
    def of_rest(self) -> range:
        """The indices of the other pieces."""
        return range(self.core_pieces, len(self.pieces))

    def instructions_of_core(self, program: Program) -> list[Instruction]:
        return [op for value, op in enumerate(program.instructions, program.first) if value in self.core]

    def instructions_of_rest(self, program: Program) -> list[Instruction]:
        return [op for value, op in enumerate(program.instructions, program.first) if value not in self.core]


def schedule(program: Program, keep_results: bool, piece: int = PIECE, apart: bool = False) -> Schedule:
    """Cut a program; with `keep_results`, results stay in slots until the end; `apart`: the core comes first, if it has one."""
    first, ops = program.first, program.instructions
    early = {args[0] for op, args in ops if op in ("sin", "cos") and args[0] < program.input_count}
    prologue = [first + k for k, (op, args) in enumerate(ops) if op in ("sin", "cos") and args[0] in early]
    core = core_of(program) if apart else frozenset()
    if core:
        core |= frozenset(prologue)
    rest = [v for v in range(first, first + len(ops)) if v not in core]
    direct = _direct_products(program)
    places = _place_blocks(program, direct, core, sorted(core) + rest)
    core_pieces = _cut(program, sorted(core), early, places.copies, piece)
    pieces = core_pieces + _cut(program, rest, early, places.copies, piece)

    where = dict.fromkeys(prologue, -1)
    for k, values in enumerate(pieces):
        where.update(dict.fromkeys([values] if isinstance(values, int) else values, k))
    last = _last_readers(program, where)
    last.update(dict.fromkeys(_kept(program, core, rest, keep_results), len(pieces)))
    written = frozenset(value for value in _entries(program, direct))
    crossing, size = _assign_slots(prologue, pieces, last, places)
    places.make_room(size)
    return Schedule(
        tuple(sorted(early)), tuple(pieces), places.slots | crossing, places.count, places.copies, places.blocks, direct, written,
        places.fills, core, len(core_pieces), sum(flops(ops[value - first][0]) for value in core),
    )  # fmt: skip


def _kept(program: Program, core: frozenset[int], rest: Iterable[int], keep_results: bool) -> set[int]:
    """Values that hold their slots to the end: of the core, those that are kept, results, or in blocks of the rest; with
    `keep_results` all results."""
    kept = set(core.intersection(program.kept))
    for flat in program.results:
        kept.update(value for value in flat if value in core or (keep_results and value >= program.first))
    for op, args in (program.instructions[value - program.first] for value in rest):
        if isinstance(op, Pack):
            kept.update(core.intersection(args))
    return kept


def _cut(
    program: Program, order: Iterable[int], early: set[int], copies: dict[int, list[int]], piece: int
) -> list[tuple[int, ...] | int]:
    """The pieces: runs of at most `piece` computed values, and products in between; a value counts once for every copy, too."""
    pieces: list[tuple[int, ...] | int] = []
    run: list[int] = []
    weight = 0
    for value in order:
        op, args = program.instructions[value - program.first]
        if isinstance(op, (Pack, Entry)) or (op in ("sin", "cos") and args[0] in early):
            continue  # no code of their own
        if isinstance(op, (Product, DotTable)) or weight >= piece:
            if run:
                pieces.append(tuple(run))
            run, weight = [], 0
        if isinstance(op, (Product, DotTable)):
            pieces.append(value)
        else:
            run.append(value)
            weight += 1 + len(copies.get(value, ()))
    if run:
        pieces.append(tuple(run))
    return pieces


def _last_readers(program: Program, where: dict[int, int]) -> dict[int, int]:
    """The last piece that reads each value, for values read outside their own piece."""
    last: dict[int, int] = {}
    first = program.first
    for k, (op, args) in enumerate(program.instructions):
        if not isinstance(op, str):
            continue
        reader = where[first + k]
        for a in args:
            if a >= first and where.get(a) != reader:
                last[a] = max(last.get(a, -1), reader)
    return last


def _entries(program: Program, of: dict[int, Direct]) -> list[int]:
    """The values that are entries of some products."""
    ops = enumerate(program.instructions)
    return [program.first + k for k, (op, args) in ops if isinstance(op, Entry) and args[0] in of]


def _direct_products(program: Program) -> dict[int, Direct]:
    """The products whose entries are each exactly one result, laid out regularly in the outputs, and are used nowhere else."""
    entries: dict[int, dict[int, int]] = {}
    used: set[int] = set()
    for k, (op, args) in enumerate(program.instructions):
        if isinstance(op, Entry):
            entries.setdefault(args[0], {})[op.index] = program.first + k
        else:
            used.update(args)
    places: dict[int, list[tuple[int, int]]] = {}
    for j, flat in enumerate(program.results):
        for position, value in enumerate(flat):
            places.setdefault(value, []).append((j, position))
    direct: dict[int, Direct] = {}
    for block, found in entries.items():
        op = program.instructions[block - program.first][0]
        if not isinstance(op, Product):
            continue
        size = op.rows * op.columns
        simple = len(found) == size and all(v not in used and len(places.get(v, ())) == 1 for v in found.values())
        fit = _fit([places[found[i]][0] for i in range(size)], op.rows, op.columns) if simple else None
        if fit is not None:
            direct[block] = fit
    return direct


def _fit(places: list[tuple[int, int]], rows: int, columns: int) -> Direct | None:
    """The layout of a block in the outputs, given the place of every entry; None if its rows do not all lie alike."""
    first = places[:columns]
    offsets = []
    for i in range(rows):
        row = places[i * columns : (i + 1) * columns]
        shifts = {(a[0] == b[0], b[1] - a[1]) for a, b in zip(first, row, strict=True)}
        if len(shifts) != 1 or not next(iter(shifts))[0]:
            return None
        offsets.append(next(iter(shifts))[1])
    runs: list[tuple[int, int, int, int]] = []
    for c, (output, position) in enumerate(first):
        if runs and runs[-1][2] == output and runs[-1][3] + runs[-1][1] == position:
            start, length, _, at = runs[-1]
            runs[-1] = (start, length + 1, output, at)
        else:
            runs.append((c, 1, output, position))
    return Direct(tuple(offsets), tuple(runs))


@dataclass
class _Places:
    """Slots of blocks and their entries, in the form of the fields of `Schedule`."""

    slots: dict[int, int] = field(default_factory=dict)
    copies: dict[int, list[int]] = field(default_factory=dict)
    blocks: dict[int, int] = field(default_factory=dict)
    fills: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    of_core: int = 0
    """Number of slots of the core's blocks, which come first; of all blocks, if there is no core."""
    count: int = 0

    def make_room(self, size: int) -> None:
        """Move all blocks but the core's by `size` slots, to make room for other values after the core's blocks."""

        def moved(slot: int) -> int:
            return slot if slot < self.of_core else slot + size

        self.slots = {value: moved(slot) for value, slot in self.slots.items()}
        self.copies = {value: [moved(slot) for slot in more] for value, more in self.copies.items()}
        self.blocks = {value: moved(slot) for value, slot in self.blocks.items()}
        self.fills = {value: [(a, moved(slot)) for a, slot in found] for value, found in self.fills.items()}
        self.count += size


def _place_blocks(program: Program, direct: dict[int, Direct], core: frozenset[int], order: Iterable[int]) -> _Places:
    """Assign slots to blocks, in the given order of values; the entries of a block are side by side."""
    places = _Places()
    slots, copies, blocks, fills = places.slots, places.copies, places.blocks, places.fills
    pending: dict[int, list[tuple[int, int]]] = {}
    entries: set[int] = set()
    for value in order:
        count = places.count
        op, args = program.instructions[value - program.first]
        if isinstance(op, Pack):
            blocks[value] = count
            for position, a in enumerate(args):
                if a < program.first or a in entries or (a in core and value not in core):
                    pending.setdefault(value, []).append((a, count + position))
                elif a in slots:
                    copies.setdefault(a, []).append(count + position)
                else:
                    slots[a] = count + position
            places.count += op.rows * op.columns
        elif isinstance(op, (Product, DotTable)):
            size = op.rows * op.columns if isinstance(op, Product) else op.size if op.output is None else 0
            if value not in direct:
                blocks[value] = count
                places.count += size
            fills[value] = [fill for a in args for fill in pending.pop(a, ())]
        elif isinstance(op, Entry) and args[0] not in direct:
            entries.add(value)
            slots[value] = blocks[args[0]] + op.index
        if value in core or not core:
            places.of_core = places.count
    return places


def _assign_slots(
    prologue: list[int], pieces: list[tuple[int, ...] | int], last: dict[int, int], places: _Places
) -> tuple[dict[int, int], int]:
    """A slot for every value that crosses pieces, and the number of slots; a slot is free again after its last reader's piece."""
    slots: dict[int, int] = {}
    count = places.of_core
    free: list[int] = []
    leaving: dict[int, list[int]] = {}
    for k, values in enumerate([tuple(prologue), *pieces], start=-1):
        for value in leaving.pop(k - 1, ()):
            free.append(slots[value])
        free.sort(reverse=True)  # the lowest slot first keeps the workspace dense
        for value in () if isinstance(values, int) else values:
            if value in last and value not in places.slots:
                if free:
                    slots[value] = free.pop()
                else:
                    slots[value] = count
                    count += 1
                leaving.setdefault(last[value], []).append(value)
    return slots, count - places.of_core
