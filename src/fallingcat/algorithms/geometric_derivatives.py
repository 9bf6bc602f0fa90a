"""Derivatives by the geometry of a robot: where its joints sit on the bodies that carry them (paper 002, Sec. VI).

The constant placement H of joint i in its parent changes to H exp(e) with a twist e of six entries, as if a joint with six axes
P, at rest, stood before joint i. All that lies beyond, the axes of joint i included, is displaced by P. As in
`rnea_derivatives`, in common coordinates, the changes of velocities and accelerations beyond this displacement are
    Pd = v_p x P,    Pdd = a_p x P + v_p x Pd                                      (1)
with p the parent, which P does not move. With the sums over what joints carry (Ic, Bc, Fc),
    dtau_j = Pd . 2 Bc_j^T S_j + Pdd . Ic_j S_j              for j beyond P, i the first       (2)
    dtau_j = S_j . (2 Bc_i Pd + Ic_i Pdd + P x* Fc_i)        for j that carries i              (3)
and a frame beyond P moves by P. Wrenches that are held by the world do not follow: -sum J^T dw (`held_wrenches`).
"""

from __future__ import annotations

from fallingcat.algorithms.aba import forward_dynamics
from fallingcat.algorithms.dense import Block, Matrix
from fallingcat.algorithms.frame_derivatives import FrameView
from fallingcat.algorithms.held_wrenches import held_in_subtrees
from fallingcat.algorithms.minverse import inverse_mass_matrix
from fallingcat.algorithms.posed import (
    NO_FORCES,
    PerBody,
    Posed,
    Vector,
    Wrenches,
    common,
    composite_inertias,
    motions,
    subtree_sums,
)
from fallingcat.algorithms.rnea import forces
from fallingcat.algorithms.rnea_derivatives import factors
from fallingcat.model.model import WORLD, Model
from fallingcat.spatial import Force, Motion, Transform
from fallingcat.spatial.coriolis import CoriolisFactor
from fallingcat.spatial.vec3 import mat, matvec, transpose

GEOMETRY = 6
"""Parameters of a joint: a twist of its placement."""


def placements(r: Posed) -> PerBody[list[Motion]]:
    """P: unit twists of the placement of every joint, in common coordinates.

    Each is at the joint's origin, in the axes that the link which the joint moves has at position zero.
    """
    found: PerBody[list[Motion]] = {}
    for i, body in enumerate(r.model.bodies):
        q, to_link = r.model.coordinates(i, r.q), transpose(mat(r.model.frame(body.name).pose.rotation))
        X_iz = Transform(body.joint.rotation(q, to_link), matvec(to_link, body.joint.offset(q)), i, "link at zero")
        units = [[1.0 if k == m else 0.0 for m in range(GEOMETRY)] for k in range(GEOMETRY)]
        found[i] = [r.from_body(i, X_iz @ Motion.of(e, "link at zero")) for e in units]
    return found


def frame_pose_geometric_derivatives(model: Model, q: Vector, frame: str, representation: str = "body") -> Block:
    """6 x 6 per body, bodies in the order of `model.bodies`: the displacement of a frame by every placement."""
    r = common(model, q)
    view_f = FrameView(r, model.frame(frame), representation)
    P, path = placements(r), set(model.path(view_f.body))
    still = Motion.zero(r.root)
    columns = [(view_f.X @ (x if i in path else still)).entries() for i, _ in model.base_to_tip() for x in P[i]]
    return [[column[k] for column in columns] for k in range(6)]


def inverse_dynamics_geometric_derivatives(
    model: Model, q: Vector, nu: Vector, dnu: Vector, f_ext: Wrenches = NO_FORCES
) -> Block:
    """dID by the placements, nv x 6 per body; torques within the joints, such as friction, do not depend on them."""
    r = common(model, q)
    v, a = motions(r, nu, dnu, r.gravity)
    Ic, Bc = composite_inertias(r), subtree_sums(r, factors(r, v), CoriolisFactor.zero(r.root))
    Fc, held = subtree_sums(r, forces(r, v, a, f_ext), Force.zero(r.root)), held_in_subtrees(r, f_ext)
    P, beyond = placements(r), subtrees(model)

    def change(j: int, x: Motion) -> Force:
        """dw, summed over the wrenches on all that joint j carries, when these bodies are displaced by x."""
        return held[j].change(x) if j in held else Force.zero(r.root)

    columns: Block = []
    for i, p in model.base_to_tip():
        for x in P[i]:
            Pd = v[p].cross(x)  # (1)
            Pdd = a[p].cross(x) + v[p].cross(Pd)  # (1)
            f = 2.0 * (Bc[i] @ Pd) + Ic[i] @ Pdd + x.cross(Fc[i]) - change(i, x)
            tau = {j: r.S[j].power(f) for j in model.path(p)}  # (3)
            for j in beyond[i]:
                tau[j] = [Pd @ (2.0 * Bc[j].transposed(s)) + Pdd @ (Ic[j] @ s) - s @ change(j, x) for s in r.S[j].columns]  # (2)
            columns.append(model.gather(tau))
    return Matrix(columns, model.nv).T.rows


def forward_dynamics_geometric_derivatives(
    model: Model, q: Vector, nu: Vector, tau: Vector, f_ext: Wrenches = NO_FORCES
) -> Block:
    """dFD = -M^-1 dID by the placements, nv x 6 per body, at the accelerations of the forward dynamics (paper 002, eq. 24)."""
    dnu = forward_dynamics(model, q, nu, tau, f_ext)
    dID = inverse_dynamics_geometric_derivatives(model, q, nu, dnu, f_ext)
    return Matrix(inverse_mass_matrix(model, q), model.nv).minus_times(Matrix(dID, GEOMETRY * len(model.bodies))).rows


def subtrees(model: Model) -> PerBody[list[int]]:
    """For every body, the list of the body itself and all that it carries."""
    found: PerBody[list[int]] = {i: [i] for i, _ in model.base_to_tip()} | {WORLD: []}
    for i, p in model.tip_to_base():
        found[p] += found[i]
    return found
