"""Christoffel symbols in O(N d^2) (paper 001, Alg. 2 with errata 1.6, 1.7), and the derivatives of the mass matrix.

G_ijk is the derivative of C_ij with respect to nu_k, C the Christoffel-consistent Coriolis matrix. With B(v, I) of eq. (12)
and t the one of the three joints that is nearest to the tips, for every joint k that carries joint j (or is j itself)
    G_ijk = G_ikj = S_i^T B(S_j, I_t) S_k = l_ij . w_k,    l_ij = moment of B(S_j, I_t)^T S_i           (46)-(48)
because B = [[0, -p^], [0, N]] reads nothing of a motion but its angular part w. So the N d^2 symbols are dot products
of three numbers; the l_ij come from two 6 x 3 matrices for each axis t,
    l_it = P_t^T S_i,   P_t = [-p^; N]                  for the joints i that carry t                       (52)
    l_tj = K_t^T S_j,   K_t^T = [-p^, -(m^ + N)]        for the joints j that carry t                       (50), (53)
where (p; m) = I_t S_t. Both are lists of dot products that stay loops in the compiled code.

For two axes j, k of the same joint (a floating base, a ball) the coordinates are quasi-velocities and G_ijk != G_ikj:
the torsion C(v) w - C(w) v = M [v, w] shows there and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fallingcat import scalar
from fallingcat.algorithms.common_frame import CommonFrame, common_frame, composite_inertias
from fallingcat.algorithms.kinematics import PerBody, Vector
from fallingcat.model.model import Model
from fallingcat.scalar import Dots, Scalar
from fallingcat.spatial import Force, Inertia, Motion, Subspace
from fallingcat.spatial.coriolis import CoriolisFactor
from fallingcat.spatial.vec3 import ZERO_MATRIX, Mat, matadd, neg, skew, transpose

Tensor = list[list[list[Scalar]]]
Block = list[list[Scalar]]
Placed = tuple[tuple[int, int, int], Scalar]
"""A value at three axes."""
Pairs = dict[tuple[int, int], int]
"""(axis that carries, axis carried) -> a row of a table."""


@dataclass(frozen=True)
class Axis:
    """One axis of one joint."""

    body: int
    nu: int
    """Its entry in nu."""
    S: Motion
    """In common coordinates; a joint that follows another carries its multiplier here."""


@dataclass(frozen=True)
class Axes:
    """All axes in the order of nu, and the runs of neighbours among those that carry a body."""

    nv: int
    all: list[Axis]
    of: PerBody[list[int]]
    """The axes of a body's own joint."""
    path: PerBody[list[int]]
    """The axes of a body's own joint and of all joints that carry it."""

    def runs(self, numbers: list[int]) -> Iterator[range]:
        """Neighbours among some axes that are neighbours in nu too."""
        start = 0
        for k in range(1, len(numbers) + 1):
            if k == len(numbers) or numbers[k] != numbers[k - 1] + 1 or self.nu(numbers[k]) != self.nu(numbers[k - 1]) + 1:
                yield range(numbers[start], numbers[k - 1] + 1)
                start = k

    def nu(self, axis: int) -> int:
        return self.all[axis].nu

    def place(self, i: int, j: int, k: int) -> int:
        """Where the entry of three axes is in a flat tensor."""
        nv = self.nv
        return (self.nu(i) * nv + self.nu(j)) * nv + self.nu(k)

    def below(self, axis: int) -> list[int]:
        """The axes of the joints that carry the joint of an axis."""
        own = set(self.of[self.all[axis].body])
        return [x for x in self.path[self.all[axis].body] if x not in own]


def axes(c: CommonFrame) -> Axes:
    """The axes of a robot."""
    model = c.model
    found = [
        Axis(i, k, model.bodies[i].multiplier * S)
        for i, _ in model.base_to_tip()
        for k, S in zip(model.dofs(i), c.S[i].columns, strict=True)
    ]
    found.sort(key=lambda axis: axis.nu)
    of: PerBody[list[int]] = {i: [] for i, _ in model.base_to_tip()}
    for number, axis in enumerate(found):
        of[axis.body].append(number)
    path = {i: sorted(a for j in model.path(i) for a in of[j]) for i, _ in model.base_to_tip()}
    return Axes(model.nv, found, of, path)


def christoffel_symbols(model: Model, q: Vector) -> Tensor:
    """G with C_ij = sum_k G_ijk nu_k; for joints on R the Christoffel symbols of the first kind (4)."""
    c = common_frame(model, q)
    a, Ic = axes(c), composite_inertias(c)
    blocks = [_left_matrices(CoriolisFactor.of(x.S, Ic[x.body]), Ic[x.body] @ x.S) for x in a.all]
    pairs = {(x, t): row for row, (x, t) in enumerate((x, t) for t, axis in enumerate(a.all) for x in a.path[axis.body])}
    dots: list[Dots] = []
    for (x, t), row in pairs.items():
        lefts = [(x, t, 6 * row)]
        if a.all[x].body != a.all[t].body:
            lefts.append((t, x, 6 * row + 3))
        for i, j, left in lefts:  # l_ij
            for run in a.runs(a.path[a.all[j].body]):
                dots.append(Dots(left, run.start, len(run), a.place(i, j, run.start), 1))  # G_ijk
            for run in a.runs(a.below(j)):
                dots.append(Dots(left, run.start, len(run), a.place(i, run.start, j), a.nv))  # G_ikj
    moving = [((m.x, m.m, m.k), m.value) for m in _moving_axes(c, a, Ic)]  # S_i^T I_t dS_j/dq_k
    right = [list(x.S.ang) for x in a.all]
    return _tensor(model, a, blocks, pairs, right, dots, moving)


def _left_matrices(B: CoriolisFactor, f: Force) -> Block:
    """[P, K] for an axis t, 6 x 6: l_it = P^T S_i, l_tj = K^T S_j."""
    p, m, N = skew(B.p), skew(f.ang), B.N
    P = (_minus(p), N)
    K = (p, matadd(m, _minus(transpose(N))))
    return [[*P[half][r], *K[half][r]] for half in range(2) for r in range(3)]


def mass_matrix_derivatives(model: Model, q: Vector) -> Tensor:
    """dM_ij/dq_k along the tangent: G_ijk + G_jik, where what cancels is left out.

    For joint i carrying joint j: what k beyond j does to the inertia that j carries, S_i^T (B + B^T) S_j, B = B(S_k, I_k); or
    what k between i and j turns, S_i^T (S_k x* f_j), f_j = I_j S_j. A joint that carries both, or is i, changes nothing.
    """
    c = common_frame(model, q)
    a, Ic = axes(c), composite_inertias(c)
    blocks = [_change_matrices(CoriolisFactor.of(x.S, Ic[x.body]), Ic[x.body] @ x.S) for x in a.all]
    pairs = {(x, t): row for row, (x, t) in enumerate((x, t) for t in range(len(a.all)) for x in a.below(t))}
    dots: list[Dots] = []
    for (x, t), row in pairs.items():
        turned = [k for k in a.path[a.all[t].body] if k not in set(a.path[a.all[x].body])]
        for run in a.runs(turned):  # k from beyond i up to j
            for place in (a.place(x, t, run.start), a.place(t, x, run.start)):
                dots.append(Dots(12 * row, run.start, len(run), place, 1))
        for run in a.runs(a.below(t)):  # the axis t as k, beyond i and j
            dots.append(Dots(12 * row + 6, run.start, len(run), a.place(x, run.start, t), a.nv))
    moving = [(key, m.value) for m in _moving_axes(c, a, Ic) for key in ((m.x, m.m, m.k), (m.m, m.x, m.k))]
    return _tensor(model, a, blocks, pairs, [x.S.entries() for x in a.all], dots, moving)


def _change_matrices(B: CoriolisFactor, f: Force) -> Block:
    """6 x 12 for an axis t: S_x times it is what turns f_t beside S_x, -(S_x x* f_t), and (B + B^T) S_x."""
    p, m = skew(B.p), skew(f.ang)
    turned = [[*ZERO_MATRIX[r], *_minus(p)[r]] for r in range(3)] + [[*_minus(p)[r], *_minus(m)[r]] for r in range(3)]
    NN = matadd(B.N, transpose(B.N))
    change = [[*ZERO_MATRIX[r], *_minus(p)[r]] for r in range(3)] + [[*p[r], *NN[r]] for r in range(3)]
    return [[*one, *other] for one, other in zip(turned, change, strict=True)]


def _minus(A: Mat) -> Mat:
    return (neg(A[0]), neg(A[1]), neg(A[2]))


def _tensor(
    model: Model, a: Axes, blocks: list[Block], pairs: Pairs, right: Block, dots: list[Dots], moving: list[Placed]
) -> Tensor:
    """The tensor of dot products of left vectors, S_x times the block of t for each pair (x, t), with columns of `right`."""
    nv, size = model.nv, len(right[0]) if right else 0
    S = [x.S.entries() for x in a.all]
    if moving:  # values of their own: the unit vector times a column (value, 0, 0)
        S = [*S, _unit(6)]
        blocks = [*blocks, [_unit(len(row)) if r == 0 else [0.0] * len(row) for r, row in enumerate(blocks[0])]]
        pairs = pairs | {(len(a.all), len(a.all)): len(pairs)}
    width = len(blocks[0][0]) if blocks else 0
    jobs = [Dots(6 * x, width * t, width, width * row, 1) for (x, t), row in pairs.items()]
    table = [[x for block in blocks for x in block[r]] for r in range(6)]
    left = scalar.dots([x for row in S for x in row], table, jobs, width * len(pairs))
    columns = right + [[value, *[0.0] * (size - 1)] for _, value in moving]
    for number, (where, _) in enumerate(moving):
        dots.append(Dots(width * (len(pairs) - 1), len(right) + number, 1, a.place(*where), 1))
    rows = [[column[m] for column in columns] for m in range(size)]
    flat = scalar.dots(left, rows, dots, nv**3, nv * nv, model.mimics or bool(moving))
    return scalar.tensor(flat, (nv, nv, nv))  # type: ignore[no-any-return]


def _unit(size: int) -> list[Scalar]:
    return [1.0] + [0.0] * (size - 1)


@dataclass(frozen=True)
class MovingAxis:
    """An axis m that changes in its body when its own joint moves along k, felt by the axis x."""

    x: int
    m: int
    k: int
    value: Scalar
    """S_x^T I dS_m/dq_k, I carried by the one nearer to the tips."""


def _moving_axes(c: CommonFrame, a: Axes, Ic: PerBody[Inertia]) -> Iterator[MovingAxis]:
    """What the ring terms add; nothing for most robots."""
    model = c.model
    for i, _ in model.base_to_tip():
        for k in a.of[i]:
            unit = [1.0 if d == a.nu(k) else 0.0 for d in range(model.nv)]
            dS: Subspace | None = c.ring(i, unit)
            if dS is None:
                break
            for m, change in zip(a.of[i], dS.columns, strict=True):
                for x, axis in enumerate(a.all):
                    if i in model.path(axis.body) or axis.body in model.path(i):
                        tip = axis.body if i in model.path(axis.body) else i
                        yield MovingAxis(x, m, k, change @ (Ic[tip] @ axis.S))
