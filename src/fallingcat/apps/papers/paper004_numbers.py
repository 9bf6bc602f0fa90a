"""The numbers behind paper 004: a humanoid seen from ten bases and from its centroid.

Everything runs in Python through the source, because rates are complex steps and every base needs a robot of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, files
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fallingcat.algorithms import base_change, configuration
from fallingcat.algorithms.base_twist import CENTER_OF_MASS, CENTROIDAL, Base
from fallingcat.apps.papers import Check
from fallingcat.arrays import eager
from fallingcat.functions import task
from fallingcat.model.joints import Representation
from fallingcat.model.model import WORLD
from fallingcat.robot.coordinates import BaseChange
from fallingcat.robot.robot import Robot, load

Array = NDArray[np.float64]

CENTROID = "centroid"
REPRESENTATIONS: tuple[Representation, ...] = ("body", "mixed", "inertial")
STEP = 1e-20
"""The step of complex steps: its square vanishes against any number of double precision."""

TALOS = {
    "pelvis": "base_link", "torso": "torso_2_link", "head": "head_2_link", "left hand": "arm_left_7_link",
    "right hand": "arm_right_7_link", "left knee": "leg_left_4_link", "left sole": "left_sole_link",
    "right sole": "right_sole_link",
}  # fmt: skip
BUNDLED = {
    "pelvis": "pelvis", "torso": "torso", "head": "head", "left hand": "left_palm", "right hand": "right_palm",
    "left knee": "left_shank", "left sole": "left_sole", "right sole": "right_sole",
}  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """A humanoid in motion, and the bases it is seen from."""

    robot: Robot
    bases: dict[str, Base]
    """Ten of them, by the name of a part of the body."""
    q: Array
    nu: Array
    """The pelvis's mixed twist, and joint velocities."""
    dnu: Array
    tau: Array
    """The generalized forces of the acceleration dnu, base wrench first."""


def subject() -> Subject:
    """Talos where `example-robot-data` is installed, else the bundled humanoid."""
    try:
        listed = files("example-robot-data") or ()
    except PackageNotFoundError:
        listed = ()
    found = [str(file.locate()) for file in listed if str(file).endswith("talos_data/robots/talos_reduced.urdf")]
    links = TALOS if found else BUNDLED
    robot = load(found[0] if found else "humanoid", base=links["pelvis"])
    bases: dict[str, Base] = dict(links)
    bases["sole[torso]"] = links["left sole"], links["torso"]
    bases["CoM[pelvis]"] = CENTER_OF_MASS, links["pelvis"]
    q, nu, dnu = robot.random_configuration(3), robot.random_velocity(4), robot.random_velocity(5)
    return Subject(robot, bases, q, nu, dnu, call(robot, "inverse_dynamics", q, nu, dnu, representation="mixed"))


def call(robot: Robot, name: str, *values: Array, **options: Any) -> Any:
    """A function of a robot, in Python."""
    return eager.run(task(robot.model, name, **options), values)


def off(x: Any, y: Any) -> float:
    """The largest difference, relative to the largest entry or to one."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return float(np.abs(x - y).max() / max(1.0, np.abs(y).max()))


def hat(w: Array) -> Array:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def to_body(robot: Robot, q: Array, representation: Representation) -> Array:
    """The matrix from nu in a representation to the body-fixed nu."""
    A = np.eye(robot.nv)
    if representation != "body":
        H, _ = robot.split(q)
        R, o = H[:3, :3], H[:3, 3]
        A[:3, :3] = A[3:6, 3:6] = R.T
        if representation == "inertial":
            A[:3, 3:6] = -R.T @ hat(o)
    return A


# ---------------------------------------------------------------------------------------------------------------------
# Lemma 3 and Theorem 2, base by base


@dataclass
class View:
    """The robot as seen from one base."""

    name: str
    M: Array
    """The mass matrix in the mixed representation, as for all fields below."""
    gravity: Array
    energy: float
    power: float
    smallest: float
    """The smallest eigenvalue of M."""
    coupling: float
    """The largest |M_ij| / sqrt(M_ii M_jj) between base and joints."""
    joints_with_torque: int
    """Joints that get a torque from a wrench on the pelvis (Remark IV.2)."""
    errors: dict[str, float] = field(default_factory=dict)
    """Worst over the representations."""

    def worst(self, what: str, value: float) -> None:
        self.errors[what] = max(value, self.errors.get(what, 0.0))


def view(s: Subject, name: str, base: Base, representations: Sequence[Representation] = REPRESENTATIONS) -> View:
    """All of Lemma 3 and Theorem 2 for one base, in these representations, or the mixed one where it has no other."""
    M, _, g = call(s.robot, "equations_of_motion", s.q, s.nu, base=base, representation="mixed")
    change = change_of_base(s.robot, s.q, s.nu, base, "mixed")
    nu = change.velocity(s.nu)
    d = np.sqrt(np.diag(M))
    torques = change.force(np.concatenate([np.ones(6), np.zeros(s.robot.n)]))[6:]
    result = View(
        name=name, M=M, gravity=g, energy=float(nu @ M @ nu / 2), power=float(change.force(s.tau) @ nu),
        smallest=float(np.linalg.eigvalsh(M)[0]), coupling=float(np.abs(M / np.outer(d, d))[:6, 6:].max()),
        joints_with_torque=int((torques != 0.0).sum()),
    )  # fmt: skip
    if isinstance(base, str) and base != CENTROIDAL:
        result.worst("off the path", float(np.abs(np.delete(torques, _path(s.robot, base))).max()))
    for representation in ("mixed",) if base == CENTROIDAL else representations:
        _lemma_and_theorem(s, base, representation, result)
    return result


def _path(robot: Robot, link: str) -> list[int]:
    """The joint degrees of freedom between the base and a link."""
    model, places = robot.model, []
    i = model.frame(link).body
    while i > 0:
        places += [d - 6 for d in model.dofs(i)]
        i = model.bodies[i].parent
    return places


def change_of_base(robot: Robot, q: Array, nu: Array, base: Base, representation: Representation) -> BaseChange:
    return BaseChange(*call(robot, "base_change", q, nu, base=base, representation=representation))


def _lemma_and_theorem(s: Subject, base: Base, representation: Representation, result: View) -> None:
    robot, q = s.robot, s.q
    A = to_body(robot, q, representation)
    along = to_body(robot, q, "mixed") @ s.nu
    nu, dnu = np.array(np.linalg.solve(A, along)), s.dnu
    change = change_of_base(robot, q, nu, base, representation)
    own = call(robot, "equations_of_motion", q, nu, base=None, representation=representation)
    M, C, g = call(robot, "equations_of_motion", q, nu, base=base, representation=representation)
    nu_new, dnu_new = change.velocity(nu), change.acceleration(nu, dnu)
    tau = call(robot, "inverse_dynamics", q, nu, dnu, representation=representation)

    if representation == "mixed" and base != CENTROIDAL:
        result.worst("twist", off(nu_new[:6], _twist(s, base)))
    T_rate = _slope(lambda x: base_change.base_change(robot.model, x, list(nu), base, representation).T, s, along)
    result.worst("T rate", off(change.T_rate, T_rate))
    result.worst("power", off(change.force(tau) @ nu_new, tau @ nu))
    joints = np.concatenate([np.zeros(6), s.tau[6:]])
    result.worst("joint torques", off(change.force(joints), joints))
    W = np.linalg.inv(change.T[:6, :6]).T
    wrench = np.concatenate([W, -change.T[:6, 6:].T @ W]) @ tau[:6]
    result.worst("base wrench", off(change.force(np.concatenate([tau[:6], 0.0 * tau[6:]])), wrench))

    for name, ours, theirs in zip("MCg", (M, C, g), change.equations(*own), strict=True):
        result.worst(f"{name} (24)", off(ours, theirs))
    result.worst("equations", off(M @ dnu_new + C @ nu_new + g, change.force(tau)))
    result.worst("energy", off(nu_new @ M @ nu_new, nu @ own.M @ nu))
    M_rate = _slope(lambda x: base_change.equations_of_motion(robot.model, x, list(nu), base, representation).M, s, along)
    skew = M_rate - 2.0 * C
    result.worst("skew", off(skew, -skew.T))
    if isinstance(base, str) and base != CENTROIDAL:
        _rerooted(s, base, representation, change, (M, C, g), nu_new, result)


def _twist(s: Subject, base: Base) -> Array:
    """The mixed twist of a base from the velocities of its two halves (27), (37)."""
    origin, orientation = base if isinstance(base, tuple) else (base, base)
    half = {"representation": "mixed"}
    if origin == CENTER_OF_MASS:
        v = call(s.robot, "center_of_mass_jacobian", s.q) @ to_body(s.robot, s.q, "mixed") @ s.nu
    else:
        v = call(s.robot, "frame_velocity", s.q, s.nu, frame=origin, **half)[:3]
    return np.concatenate([v, call(s.robot, "frame_velocity", s.q, s.nu, frame=orientation, **half)[3:]])


def _rerooted(
    s: Subject, link: str, representation: Representation, change: BaseChange, equations: Any, nu: Array, result: View
) -> None:
    """Compare with a robot that was assembled with this base."""
    other = s.robot.with_base(link)
    q = other.configuration(call(s.robot, "frame_pose", s.q, frame=link), s.robot.split(s.q)[1])
    anew = (
        call(other, "mass_matrix", q, representation=representation),
        call(other, "coriolis_matrix", q, nu, representation=representation),
        call(other, "gravity_torque", q, representation=representation),
    )
    for name, ours, theirs in zip("MCg", equations, anew, strict=True):
        result.worst(f"{name} anew", off(ours, theirs))
    for frame in (s.robot.base, s.robot.link_names[-1]):
        J = call(s.robot, "frame_jacobian", s.q, frame=frame, representation=representation)
        J_anew = call(other, "frame_jacobian", q, frame=frame, representation=representation)
        result.worst("Jacobian", off(change.jacobian(J), J_anew))
        result.worst("velocity", off(J_anew @ nu, J @ np.linalg.solve(change.T, nu)))


def _slope(f: Callable[[list[complex]], Any], s: Subject, along: Array) -> Array:
    """The rate of f(q) along a body-fixed velocity, by a complex step."""
    moved = configuration.integrate(s.robot.model, [complex(x) for x in s.q], [complex(0.0, STEP * x) for x in along])
    return np.array(np.asarray(f(cast(list[complex], moved)), dtype=complex).imag / STEP)


# ---------------------------------------------------------------------------------------------------------------------
# Lemmas 1 and 2, Theorem 1, Sec. V


def by_links(s: Subject) -> tuple[float, Array, Array, Array]:
    """Kinetic energy, centre of mass, momentum and inertia about it, summed over the links of the description."""
    rows: list[tuple[float, Array, Array, Array, Array]] = []
    for link in s.robot.description.links:
        if link.inertial is None or s.robot.model.frame(link.name).body == WORLD:
            continue
        H = call(s.robot, "frame_pose", s.q, frame=link.name)
        v = call(s.robot, "frame_velocity", s.q, s.nu, frame=link.name, representation="mixed")
        xx, xy, xz, yy, yz, zz = link.inertial.inertia
        turn = H[:3, :3] @ np.array(link.inertial.pose.rotation)
        I = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
        arm = H[:3, :3] @ np.array(link.inertial.pose.position)
        rows.append((link.inertial.mass, H[:3, 3] + arm, v[:3] + np.cross(v[3:], arm), v[3:], I))
    mass = sum(row[0] for row in rows)
    c = np.sum([m * p for m, p, *_ in rows], axis=0) / mass
    energy = sum(float(m * v @ v + w @ I @ w) / 2 for m, _, v, w, I in rows)
    h = np.sum([[*(m * v), *(np.cross(p - c, m * v) + I @ w)] for m, p, v, w, I in rows], axis=0)
    inertia = np.sum([I - m * hat(p - c) @ hat(p - c) for m, p, _, _, I in rows], axis=0)
    return energy, c, h, inertia


def lemmas(s: Subject) -> Iterator[Check]:
    """Sec. III and V against sums over links."""
    robot, m, n = s.robot, s.robot.mass, s.robot.n
    energy, c, h, inertia = by_links(s)
    M = call(robot, "mass_matrix", s.q, representation="mixed")
    g = call(robot, "gravity_torque", s.q, representation="mixed")
    I = call(robot, "centroidal_inertia", s.q)
    A = call(robot, "centroidal_momentum_matrix", s.q, representation="mixed")
    shift = np.block([[np.eye(3), np.zeros((3, 3))], [hat(s.q[:3] - c), np.eye(3)]])
    yield Check("Lemma 1 (12): energy, link by link", off(s.nu @ M @ s.nu / 2, energy), 1e-11)
    yield Check("Lemma 2 (13): gravity = -M (g; 0; 0)", off(g, -M @ np.concatenate([robot.gravity, np.zeros(3 + n)])), 1e-11)
    yield Check("Theorem 1 (14)-(16): base rows are momentum, link by link", off(shift @ M[:6] @ s.nu, h), 1e-11)
    yield Check("(30), (31): centroidal inertia, link by link", off(I[3:, 3:], inertia), 1e-11)
    yield Check("(32): centroidal momentum matrix from the base rows", off(A, shift @ M[:6]), 1e-11)
    average = call(robot, "average_velocity", s.q, s.nu, representation="mixed")
    yield Check("(33): average velocity", off(average, np.linalg.solve(I, h)), 1e-11)
    M_G, C_G, g_G = call(robot, "equations_of_motion", s.q, s.nu, base=CENTROIDAL, representation="mixed")
    nu_G = np.concatenate([average, s.nu[6:]])
    yield Check("Theorem 3 (43): coupling of centroid and joints", float(np.abs(M_G[:6, 6:]).max()), 0.0)
    yield Check("Theorem 3 (43): m 1 and the centroidal inertia in the corner", off(M_G[:6, :6], I), 0.0)
    F = np.linalg.solve(M[:6, :6], M[:6, 6:])
    yield Check("Theorem 3 (43): joints' block is H - F^T I^-1 F", off(M_G[6:, 6:], M[6:, 6:] - M[:6, 6:].T @ F), 1e-11)
    yield Check("Theorem 3 (44): gravity is (-m g; 0; 0)", off(g_G, [*(-m * robot.gravity), *np.zeros(3 + n)]), 0.0)
    yield Check("Theorem 3: first rows of C nu vanish", float(np.abs((C_G @ nu_G)[:3]).max()), 1e-11)


CLAIMS = (
    ("Lemma 3.1 (18), (27), (37): twist of the new base", ("twist",), 1e-11),
    ("Lemma 3.1 (19): rate of T against a complex step", ("T rate",), 1e-11),
    ("Lemma 3.2 (20): power", ("power",), 1e-11),
    ("Lemma 3.3 (22): Jacobians of a robot assembled anew", ("Jacobian", "velocity"), 1e-11),
    ("Remark IV.1: joint torques without base wrench", ("joint torques",), 0.0),
    ("Remark IV.2: base wrenches become joint torques", ("base wrench",), 1e-11),
    ("Remark IV.2: of joints between the two bases only", ("off the path",), 0.0),
    ("Theorem 2.1 (23): equations of motion", ("equations",), 1e-11),
    ("Theorem 2.1 (24): M, C and g", ("M (24)", "C (24)", "g (24)"), 1e-11),
    ("Theorem 2.1: M, C and g of a robot assembled anew", ("M anew", "C anew", "g anew"), 1e-11),
    ("Theorem 2.2 (25): kinetic energy", ("energy",), 1e-11),
    ("Theorem 2.3: M_rate - 2 C skew, M_rate by a complex step", ("skew",), 1e-11),
)
"""What, which errors of a view, and their bound."""


def view_checks(views: Sequence[View]) -> Iterator[Check]:
    """Every claim, worst over bases and representations."""
    for words, names, bound in CLAIMS:
        yield Check(words, max(v.errors.get(name, 0.0) for v in views for name in names), bound)
    yield Check("Property 1: smallest eigenvalue of M", min(v.smallest for v in views), 1e-6, at_least=True)
