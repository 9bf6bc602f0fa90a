"""Inverse of the mass matrix without the mass matrix (paper 002, Sec. IV; paper 000, Table 9 with errata 0.6-0.8).

Three passes, in common coordinates, where wrenches and motions of different bodies simply add:
outwards for the axes; inwards for the articulated inertias IA, with U = IA S and D = S^T U; outwards for the inverse.
The articulated bodies hold the factors of the mass matrix, M = L^T D L with

    L_ki = D_k^-1 U_k^T S_i     for every joint i that carries joint k                       (1)
    W = L^-1:   W_ki = -sum_j L_kj W_ji    over the joints j from i up to the parent of k   (2)
    M^-1 = W D^-1 W^T:   (M^-1)_ij = sum_m W_im D_m^-1 W_jm^T    over joints m that carry both   (3)

so that pairs of joints meet only through the joints that carry both, which is where the speed comes from. The sums (2)
and (3) run along paths, so on a deep tree the last pass goes as the papers have it, with columns of wrenches F inwards
and of accelerations P outwards: a fixed number of operations for each pair of joints.
"""

from __future__ import annotations

from fallingcat import scalar
from fallingcat.algorithms.aba import Articulated, articulated_bodies, combination
from fallingcat.algorithms.crba import mass_matrix
from fallingcat.algorithms.dense import (
    add,
    factor,
    forward_substitute,
    inverse_symmetric,
    mirrored,
    multiply,
    negative,
    subtract,
    transpose,
)
from fallingcat.algorithms.pivots import least_pivots_by_dof
from fallingcat.algorithms.posed import PerBody, Vector, common, is_shallow
from fallingcat.model.model import WORLD, Model
from fallingcat.scalar import Scalar
from fallingcat.spatial import Force, Motion

Block = list[list[Scalar]]
Blocks = dict[tuple[int, int], Block]


def inverse_mass_matrix(model: Model, q: Vector) -> Block:
    """M(q)^-1."""
    if model.mimics:  # joints that follow others couple distant branches: no articulated bodies
        return inverse_symmetric(mass_matrix(model, q), least_pivots_by_dof(model))
    bodies = articulated_bodies(common(model, q))
    return inverse_mass_matrix_in(bodies, inverse_factor(bodies) if is_shallow(model) else {})


def inverse_mass_matrix_in(bodies: Articulated, W: Blocks) -> Block:
    """The inverse mass matrix of a robot in common coordinates, by W if it is given, else by columns."""
    model = bodies.robot.model
    inverse = _by_factor(model, bodies, W) if W else _by_columns(bodies)
    for i, j in list(inverse):
        inverse[j, i] = transpose(inverse[i, j]) if i != j else mirrored(inverse[i, i])
    return model.gather_blocks(inverse)


def _by_factor(model: Model, bodies: Articulated, W: Blocks) -> Blocks:
    """The blocks (i, j), i <= j, of W D^-1 W^T."""
    inverse: Blocks = {}
    for root in (i for i, p in model.base_to_tip() if p == WORLD):
        inverse |= _through_root(bodies, root, W)  # (3), m = root
    for m, p in model.base_to_tip():
        if p == WORLD:
            continue
        carried = [i for i in range(m, len(model.bodies)) if (i, m) in W]
        for position, i in enumerate(carried):
            WD = multiply(W[i, m], bodies.Dinv[m])
            for j in carried[position:]:
                inverse[i, j] = add(inverse[i, j], multiply(WD, transpose(W[j, m])))  # (3)
    return inverse


def _by_columns(bodies: Articulated) -> Blocks:
    """The blocks (i, j), i <= j, by the passes of paper 000, Table 9."""
    r, model = bodies.robot, bodies.robot.model
    inverse: Blocks = {}
    F: PerBody[PerBody[list[Force]]] = {i: {} for i in range(WORLD, len(model.bodies))}
    for i, p in model.tip_to_base():
        Dinv = bodies.Dinv[i]
        inverse[i, i] = Dinv
        for j, columns in F[i].items():  # j beyond i: line 12
            inverse[i, j] = negative(multiply(Dinv, [[s @ f for f in columns] for s in r.S[i].columns]))
        F[i][i] = [Force.zero(r.root) for _ in r.S[i].columns]
        for j, columns in F[i].items():  # line 14
            pushed = [combination(bodies.U[i], x) for x in transpose(inverse[i, j])]
            F[p][j] = [f + u for f, u in zip(columns, pushed, strict=True)]
    P: PerBody[PerBody[list[Motion]]] = {WORLD: {}}
    for i, p in model.base_to_tip():
        P[i] = {}
        for j in range(i, len(model.bodies)):
            above, block = P[p].get(j), inverse.get((i, j))
            if above is not None:  # line 18
                coupling = multiply(bodies.Dinv[i], [[a @ u for a in above] for u in bodies.U[i]])
                block = negative(coupling) if block is None else subtract(block, coupling)
            if block is None:
                continue  # nothing that moves joins the two
            inverse[i, j] = block
            own = [r.S[i] @ x for x in transpose(block)]
            P[i][j] = own if above is None else [a + b for a, b in zip(above, own, strict=True)]
    return inverse


def inverse_factor(bodies: Articulated) -> Blocks:
    """W = L^-1, block by block along every path."""
    r, model = bodies.robot, bodies.robot.model
    W: Blocks = {}
    for k, p in model.base_to_tip():
        n = len(r.S[k])
        W[k, k] = [[1.0 if r == s else 0.0 for s in range(n)] for r in range(n)]
        path = list(model.path(p))
        L = {i: [[s @ u for s in r.S[i].columns] for u in bodies.UDinv[k]] for i in path}  # (1)
        for i in path:
            total = negative(L[i])
            for j in path:
                if j == i:
                    break
                total = subtract(total, multiply(L[j], W[j, i]))
            W[k, i] = total  # (2)
    return W


def _through_root(bodies: Articulated, root: int, W: Blocks) -> Blocks:
    """All blocks (i, j), i <= j, of W D^-1 W^T that pass through one root joint, as one dense product.

    With D = L d L^T it is V d^-1 V^T, V = W L^-T: cheaper than with D^-1, and symmetric.
    """
    model = bodies.robot.model
    carried = [i for i in range(root, len(model.bodies)) if (i, root) in W]
    rows = [row for i in carried for row in W[i, root]]
    L, dinv = factor(bodies.D[root], bodies.least[root])
    V = [forward_substitute(L, row) for row in rows]
    right = [[x * d for x in column] for column, d in zip(transpose(V), dinv, strict=True)]
    product = scalar.matmul(V, right, symmetric=True)
    start: PerBody[int] = {}
    total = 0
    for i in carried:
        start[i] = total
        total += model.bodies[i].joint.nv
    blocks: Blocks = {}
    for position, i in enumerate(carried):
        for j in carried[position:]:
            m, n = model.bodies[i].joint.nv, model.bodies[j].joint.nv
            blocks[i, j] = [[product[start[i] + r][start[j] + s] for s in range(n)] for r in range(m)]
    return blocks
