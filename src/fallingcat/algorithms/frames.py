"""All frames of a robot at once, and a frame that is chosen at run time.

Quantities of bodies are computed once for each body; the transform from a body to its frames is constant.
"""

from __future__ import annotations

from fallingcat.algorithms.dense import Block
from fallingcat.algorithms.kinematics import VIEWPOINTS, body, frame_transform, joint_kinematics, velocities, world_transforms
from fallingcat.algorithms.posed import PerBody, Vector
from fallingcat.model.joints import Representation
from fallingcat.model.model import WORLD, FrameOf, Model
from fallingcat.scalar import where_less
from fallingcat.spatial import Motion
from fallingcat.spatial.vec3 import mat, matmul, matvec


def frame_poses(model: Model, q: Vector) -> list[Block]:
    """The homogeneous matrices H_wf of all frames."""
    X_w = world_transforms(model, joint_kinematics(model, q)[0])
    return [(frame_transform(place) @ X_w[place.body]).pose_of_a_in_b() for _, place in model.frames]


def frame_velocities(model: Model, q: Vector, nu: Vector, representation: Representation) -> Block:
    """The twists of all frames."""
    model = model.in_representation(representation)
    v = velocities(body(model, q), nu)
    X_w = world_transforms(model, joint_kinematics(model, q)[0])
    twists = []
    for _, place in model.frames:
        X_fi = frame_transform(place)
        twists.append((VIEWPOINTS[representation](X_fi @ X_w[place.body]) @ (X_fi @ v[place.body])).entries())
    return twists


def frame_jacobians(model: Model, q: Vector, representation: Representation) -> list[Block]:
    """The 6 x nv matrices that take nu to the twists of all frames."""
    model = model.in_representation(representation)
    X, S = joint_kinematics(model, q)
    X_w = world_transforms(model, X)
    axes: PerBody[PerBody[list[Motion]]] = {WORLD: {}}  # axes of the joints that carry a body, in its coordinates
    for i, p in model.base_to_tip():
        axes[i] = {j: [X[i] @ s for s in columns] for j, columns in axes[p].items()} | {i: list(S[i].columns)}
    jacobians = []
    for _, place in model.frames:
        X_fi = frame_transform(place)
        view = VIEWPOINTS[representation](X_fi @ X_w[place.body])
        columns = {j: [(view @ (X_fi @ s)).entries() for s in found] for j, found in axes[place.body].items()}
        jacobians.append(model.gather_columns(columns, 6))
    return jacobians


# ---------------------------------------------------------------------------------------------------------------------
# A frame that is chosen at run time

PLACE = 13
"""Length of the vector that places a frame: its body's number, its rotation in the body row by row, and its origin."""


def place_of(frame: FrameOf) -> list[float]:
    """The vector (PLACE,) that places a frame."""
    return [float(frame.body), *(x for row in frame.pose.rotation for x in row), *frame.pose.position]


def pose_of_place(model: Model, q: Vector, place: Vector) -> Block:
    """The homogeneous matrix H_wf of a frame that is given by its vector (PLACE,)."""
    X_w = world_transforms(model, joint_kinematics(model, q)[0])
    chosen = X_w[WORLD].pose_of_a_in_b()
    for i, _ in model.base_to_tip():  # a body's number is larger than that of its parent
        H = X_w[i].pose_of_a_in_b()
        chosen = [
            [where_less(i - 0.5, place[0], x, y) for x, y in zip(*rows, strict=True)] for rows in zip(H, chosen, strict=True)
        ]
    R, p = mat([row[:3] for row in chosen[:3]]), [row[3] for row in chosen[:3]]
    turned = matmul(R, mat([place[1:4], place[4:7], place[7:10]]))
    moved = matvec(R, (place[10], place[11], place[12]))
    return [[*row, x + dx] for row, x, dx in zip(turned, p, moved, strict=True)] + [[0.0, 0.0, 0.0, 1.0]]
