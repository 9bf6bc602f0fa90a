"""-M^-1 B for matrices B that are zero outside a joint's own branch, such as the derivatives of inverse dynamics.

Joints of one branch of a floating robot feel a torque in another only through the acceleration of the base, so
    rows of the base and of the branch itself:    -M^-1 B, with these rows and columns of M^-1 alone          (1)
    rows of another branch:                       W_i0 times the rows of the base                            (2)
    columns of the base, which fill all rows:     -W (D^-1 (W^T B)), three sparse products                   (3)
with W and D of `minverse`. (1) and (2) are dense products, which stay loops in the compiled code.
"""

from __future__ import annotations

from collections.abc import Sequence

from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.minverse import Inverse
from fallingcat.algorithms.posed import PerBody
from fallingcat.algorithms.vectors import negative, plus
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar

Columns = dict[int, list[Scalar]]
"""Columns of a matrix, by number."""


def minus_inverse_times(model: Model, inverse: Inverse, right: Sequence[Block], known: Sequence[Columns]) -> list[Block]:
    """-M^-1 B for each B of `right`, where some columns of the results are known."""
    wanted = {(b, j): [row[j] for row in B] for b, B in enumerate(right) for j in range(model.nv) if j not in known[b]}
    found = {(b, j): column for b, columns in enumerate(known) for j, column in columns.items()}
    if not inverse.W or not model.floating or not wanted:
        found |= _dense(inverse, wanted)
    else:
        base = list(model.dofs(0))
        of_base = {key: column for key, column in wanted.items() if key[1] in base}
        found |= {key: _by_factors(model, inverse, column) for key, column in of_base.items()}
        for branch in _branches(model):
            members = {key: column for key, column in wanted.items() if key[1] in branch}
            found |= _branch(model, inverse, base, branch, members)
    return [[[found[b, j][i] for j in range(model.nv)] for i in range(model.nv)] for b in range(len(right))]


Wanted = dict[tuple[int, int], list[Scalar]]
"""(matrix, column) -> entries."""


def _dense(inverse: Inverse, wanted: Wanted) -> Wanted:
    """The product with all of M^-1."""
    nv = len(inverse.Minv)
    product = Matrix(inverse.Minv, nv).minus_times(Matrix.from_columns(wanted.values(), nv))
    return dict(zip(wanted, product.T, strict=True))


def _branch(model: Model, inverse: Inverse, base: list[int], branch: list[int], wanted: Wanted) -> Wanted:
    """(1) and (2) for the columns of one branch."""
    own = base + branch
    others = [i for i in range(model.nv) if i not in own]
    B = Matrix(wanted.values()).take(own).T

    def times(rows: Sequence[int]) -> Matrix:
        return Matrix([inverse.Minv[i] for i in rows]).take(own).minus_times(B)

    rows = dict(zip(base, times(base), strict=True)) | dict(zip(branch, times(branch), strict=True))
    if others:
        W_0 = {k: row for i, _ in model.base_to_tip() for k, row in zip(model.dofs(i), inverse.W[i, 0], strict=True)}
        through_base = Matrix([W_0[i] for i in others]) @ Matrix([rows[k] for k in base])
        rows |= dict(zip(others, through_base, strict=True))
    return {key: [rows[i][position] for i in range(model.nv)] for position, key in enumerate(wanted)}


def _by_factors(model: Model, inverse: Inverse, column: Sequence[Scalar]) -> list[Scalar]:
    """A column of (3): W^T from the tips inwards, then D^-1, then W outwards."""
    b = {i: [column[k] for k in model.dofs(i)] for i in inverse.Dinv}
    y, x = ({i: [0.0] * len(part) for i, part in b.items()} for _ in range(2))
    for (i, m), W_im in inverse.W.items():
        y[m] = plus(y[m], W_im.T @ b[i])
    z = {m: inverse.Dinv[m] @ y[m] for m in y}
    for (i, m), W_im in inverse.W.items():
        x[i] = plus(x[i], W_im @ z[m])
    return model.gather({i: negative(part) for i, part in x.items()})


def _branches(model: Model) -> list[list[int]]:
    """The entries of nu of every branch that hangs on the base."""
    root: PerBody[int] = {}
    for i, p in model.base_to_tip():
        root[i] = i if p in (WORLD, 0) else root[p]
    roots = [i for i, p in model.base_to_tip() if p == 0]
    return [sorted(k for i in root if root[i] == r for k in model.dofs(i)) for r in roots]
