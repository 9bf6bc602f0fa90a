"""A compiled MuJoCo model as a `Description`.

MuJoCo's compiler has resolved includes, defaults, classes, angles, inertias from geoms, and attachments. The configuration
of the result is MuJoCo's qpos, except for the order of quaternions: a joint with a reference position (`ref`) has its zero
where MuJoCo has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fallingcat.model.description import (
    INFINITY,
    Actuator,
    Description,
    Equality,
    Frame,
    Inertial,
    Joint,
    JointType,
    Limits,
    Link,
    Mimic,
    Pose,
    Vector,
)
from fallingcat.model.mjcf_shapes import collisions_of, visuals_of
from fallingcat.model.placed import HERE, Placed
from fallingcat.model.rotations import rotation_about, rotation_from_quaternion

Array = NDArray[np.float64]
Lines = Callable[[str, str], int]
"""(tag, name) of an element -> its line in the file."""

WORLD = 0
_NO_LIMIT = 1e15
FREE, BALL, SLIDE, HINGE = range(4)
_TYPES: dict[int, JointType] = {FREE: "floating", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}
_DOFS = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}
_CONNECT, _WELD, _JOINT = range(3)
MIMIC = "fallingcat/mimic/"
"""Prefix of the names of the constraints that `Robot.to_mjcf` writes for mimic joints."""
_SITE = 6
"""mjOBJ_SITE"""


def description_of(model: Any, file: str = "<mjcf>", lines: Lines = lambda tag, name: 0) -> Description:
    """The robot in a compiled `mujoco.MjModel`.

    Where a single body moves freely and all else hangs on it, this body is the root, and the floating base is MuJoCo's free
    joint. Otherwise the root is the world.
    """
    return _Translation(model, lines).description(file)


def floating_body(m: Any) -> int | None:
    """The free body to which all other joints are attached, directly or not; None if there is no such body."""
    free = [int(m.jnt_bodyid[j]) for j in range(m.njnt) if m.jnt_type[j] == FREE]
    if len(free) != 1 or int(m.body_jntnum[free[0]]) != 1:
        return None
    roots = {int(m.body_rootid[m.jnt_bodyid[j]]) for j in range(m.njnt)}
    return free[0] if roots == {free[0]} else None


class _Translation:
    def __init__(self, model: Any, lines: Lines) -> None:
        self.m = model
        self.line = lines
        self.bodies = _names(model, "body", model.nbody)
        self.joints = _names(model, "joint", model.njnt)
        self.sites = _names(model, "site", model.nsite)
        self.base = floating_body(model)
        self.inside = self._bodies_of_robot()

    def description(self, file: str) -> Description:
        links: list[Link] = []
        joints: list[Joint] = []
        for b in self.inside:
            made, between = self._body(b)
            links += made
            joints += between
        equalities = list(self._equalities())
        following = {e.joints[0]: _mimic(e) for e in equalities if e.joints is not None and e.name.startswith(MIMIC)}
        joints = [replace(joint, mimic=following.get(joint.name)) for joint in joints]
        return Description(
            _model_name(self.m),
            tuple(links),
            tuple(joints),
            file,
            frames=tuple(self._frames()),
            gravity=_gravity(self.m),
            world=self.base is None,
            actuators=tuple(self._actuators()),
            equalities=tuple(equality for equality in equalities if not equality.name.startswith(MIMIC)),
        )

    # Which bodies are the robot

    def _bodies_of_robot(self) -> list[int]:
        """The bodies of the robot, parents first; if it floats, without the world and the bodies fixed in it."""
        every = range(self.m.nbody)
        return [b for b in every if self.base is None or int(self.m.body_rootid[b]) == self.base]

    # Bodies and joints

    def _body(self, b: int) -> tuple[list[Link], list[Joint]]:
        """The links of a body, one for each of its joints, and the joints that lead to them.

        T_body prod_k trans(p_k) turn_k(q_k - ref_k) trans(-p_k) takes the body's coordinates to its parent's.
        """
        m, name = self.m, self.bodies[b]
        own = range(int(m.body_jntadr[b]), int(m.body_jntadr[b]) + int(m.body_jntnum[b]))
        body = self._link(b)
        if b in (WORLD, self.base):
            return [body], []
        links: list[Link] = []
        joints: list[Joint] = []
        before = self.bodies[int(m.body_parentid[b])]
        at, anchor = Placed(*_pose(m.body_pos[b], m.body_quat[b])), (0.0, 0.0, 0.0)
        for k, j in enumerate(own):
            here = _three(m.jnt_pos[j])
            if int(m.jnt_type[j]) == FREE:
                at, here = HERE, anchor  # a free joint's coordinates are the pose in the world
            at = at @ Placed(p=_minus(here, anchor)) @ self._back_to_zero(j)
            last = k == len(own) - 1 and not any(here)
            child = name if last else self._between(name, self.joints[j])
            if not last:
                links.append(Link(child))
            joints.append(self._joint(j, before, child, at.pose()))
            before, at, anchor = child, HERE, here
        if before != name:
            at = at @ Placed(p=_minus((0.0, 0.0, 0.0), anchor))
            joints.append(Joint(self._between(name, "weld"), "fixed", before, name, at.pose(), line=self.line("body", name)))
        return [*links, body], joints

    def _between(self, body: str, what: str) -> str:
        """The name of an additional link or joint that MuJoCo does not have."""
        return f"{body}/{what}"

    def _back_to_zero(self, j: int) -> Placed:
        """The motion of joint j from the pose in the file to that of qpos = 0."""
        kind, ref = int(self.m.jnt_type[j]), float(self.m.qpos0[self.m.jnt_qposadr[j]])
        axis = _three(self.m.jnt_axis[j])
        if kind == HINGE and ref != 0.0:
            return Placed(rotation_about(axis, -ref))
        if kind == SLIDE and ref != 0.0:
            return Placed(p=(-ref * axis[0], -ref * axis[1], -ref * axis[2]))
        return HERE

    def _joint(self, j: int, parent: str, child: str, pose: Pose) -> Joint:
        m, d = self.m, int(self.m.jnt_dofadr[j])
        kind = int(m.jnt_type[j])
        lower, upper = -INFINITY, INFINITY
        if m.jnt_limited[j] and kind in (SLIDE, HINGE):
            lower, upper = (float(x) if abs(x) < _NO_LIMIT else math.copysign(INFINITY, x) for x in m.jnt_range[j])
        limited = np.isfinite(lower) or np.isfinite(upper)
        effort = INFINITY
        if m.jnt_actfrclimited[j]:
            effort = float(np.abs(m.jnt_actfrcrange[j]).max())
        name = self.joints[j]
        return Joint(
            name,
            "continuous" if kind == HINGE and not limited else _TYPES[kind],
            parent,
            child,
            pose,
            _three(m.jnt_axis[j]) if kind in (SLIDE, HINGE) else (0.0, 0.0, 1.0),
            limits=Limits(lower, upper, effort=effort),
            damping=_first(m.dof_damping[d]),
            friction=_first(m.dof_frictionloss[d]),
            armature=_first(m.dof_armature[d]),
            line=self.line("joint", name),
        )

    def _link(self, b: int) -> Link:
        m, name = self.m, self.bodies[b]
        mass, moments = float(m.body_mass[b]), _three(m.body_inertia[b])
        inertial = None
        if b != WORLD and (mass > 0.0 or any(moments)):
            at = Pose(*_pose(m.body_ipos[b], m.body_iquat[b]))
            xx, yy, zz = moments
            inertial = Inertial(mass, at, (xx, 0.0, 0.0, yy, 0.0, zz), self.line("body", name))
        return Link(name, inertial, visuals_of(m, b), self.line("body", name), collisions_of(m, b))

    # Sites, actuators and equalities

    def _frames(self) -> Iterator[Frame]:
        m, taken = self.m, set(self.bodies) | set(self.joints)
        for k, name in enumerate(self.sites):
            if int(m.site_bodyid[k]) in self.inside:
                yield Frame(self._site(k, taken), *self._site_place(k), self.line("site", name))

    def _site(self, k: int, taken: set[str] | None = None) -> str:
        """The frame name of a site; it has a prefix if a body or joint has the same name."""
        taken = set(self.bodies) | set(self.joints) if taken is None else taken
        return f"site/{self.sites[k]}" if self.sites[k] in taken else self.sites[k]

    def _site_place(self, k: int) -> tuple[str, Pose]:
        m = self.m
        return self.bodies[int(m.site_bodyid[k])], Pose(*_pose(m.site_pos[k], m.site_quat[k]))

    def _actuators(self) -> Iterator[Actuator]:
        """The actuators that act on joints in a fixed ratio, or on a site; `mjcf_notes` reports the others."""
        names = _names(self.m, "actuator", actuator_count(self.m))
        for k, name in enumerate(names):
            joints = [(j, gears) for j, gears in joint_gears(self.m, k) if self._moves(j)]
            line = self.line("actuator", name)
            if joints:
                yield Actuator(name, tuple((self.joints[j], gears) for j, gears in joints), line=line)
            elif acts_on_site(self.m, k) and int(self.m.site_bodyid[self.m.actuator_trnid[k, 0]]) in self.inside:
                gear = tuple(float(x) for x in self.m.actuator_gear[k])
                yield Actuator(name, frame=self._site(int(self.m.actuator_trnid[k, 0])), wrench=gear, line=line)

    def _moves(self, j: int) -> bool:
        return int(self.m.jnt_type[j]) != FREE

    def _equalities(self) -> Iterator[Equality]:
        m = self.m
        active = getattr(m, "eq_active0", None)
        for k, name in enumerate(_names(m, "equality", m.neq)):
            kind, data, line = int(m.eq_type[k]), m.eq_data[k], self.line("equality", name)
            on = True if active is None else bool(active[k])
            if kind in (_CONNECT, _WELD):
                frames = self._places(k, kind == _WELD, name)
                if all(frame.link in {self.bodies[b] for b in (0, *self.inside)} for frame in frames):  # 0: the world
                    yield Equality("weld" if kind == _WELD else "connect", name, frames, active=on, line=line)
            elif kind == _JOINT:
                yield self._coupling(k, name, [float(x) for x in data[:5]], on, line)

    def _places(self, k: int, weld: bool, name: str) -> tuple[Frame, Frame]:
        """The two frames that a connect or weld makes coincide."""
        m = self.m
        first, second, data = int(m.eq_obj1id[k]), int(m.eq_obj2id[k]), m.eq_data[k]
        if int(m.eq_objtype[k]) == _SITE:
            places = [self._site_place(first), self._site_place(second)]
        elif weld:
            # data: a point of the second body, and the second body's pose in the first.
            point, relative = Placed(p=_three(data[0:3])), Placed(*_pose(data[3:6], data[6:10]))
            places = [(self.bodies[first], (relative @ point).pose()), (self.bodies[second], point.pose())]
        else:
            points = [Pose(position=_three(data[:3])), Pose(position=_three(data[3:6]))]
            places = [(self.bodies[first], points[0]), (self.bodies[second], points[1])]
        return Frame(f"{name}/1", *places[0]), Frame(f"{name}/2", *places[1])

    def _coupling(self, k: int, name: str, a: list[float], active: bool, line: int) -> Equality:
        """The equality y - y0 = a0 + a1 (x - x0) + ... as a polynomial y(x)."""
        m = self.m
        first, second = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
        y0 = float(m.qpos0[m.jnt_qposadr[first]])
        if second < 0:
            return Equality("joint", name, joints=(self.joints[first], ""), polynomial=(a[0] + y0,), active=active, line=line)
        x0 = float(m.qpos0[m.jnt_qposadr[second]])
        shifted = np.polynomial.Polynomial(a)(np.polynomial.Polynomial([-x0, 1.0])).coef
        polynomial = [float(x) for x in shifted] + [0.0] * (5 - len(shifted))
        polynomial[0] += y0
        pair = (self.joints[first], self.joints[second])
        return Equality("joint", name, joints=pair, polynomial=tuple(polynomial), active=active, line=line)


def _mimic(equality: Equality) -> Mimic:
    """The mimic joint for which `Robot.to_mjcf` wrote a constraint."""
    assert equality.joints is not None
    return Mimic(equality.joints[1], equality.polynomial[1], equality.polynomial[0])


# ---------------------------------------------------------------------------------------------------------------------
# Transmissions

_ON_JOINT, _IN_PARENT, _ON_TENDON, _ON_SITE = 0, 1, 3, 4
_WRAP_JOINT = 1


def actuator_count(m: Any) -> int:
    """The number of actuators; newer versions have actuators with several controls, whose total is nu."""
    return int(getattr(m, "nactuator", m.nu))


def joint_gears(m: Any, k: int) -> list[tuple[int, tuple[float, ...]]]:
    """The joints and gears on which an actuator acts with constant ratios; empty if ratios depend on the configuration."""
    way, target, gear = int(m.actuator_trntype[k]), int(m.actuator_trnid[k, 0]), m.actuator_gear[k]
    if way in (_ON_JOINT, _IN_PARENT):
        kind = int(m.jnt_type[target])
        if kind == FREE or (kind == BALL and way == _IN_PARENT):
            return []
        return [(target, tuple(float(x) for x in gear[: _DOFS[kind]]))]
    if way == _ON_TENDON:
        wraps = range(int(m.tendon_adr[target]), int(m.tendon_adr[target]) + int(m.tendon_num[target]))
        if all(int(m.wrap_type[w]) == _WRAP_JOINT for w in wraps):
            return [(int(m.wrap_objid[w]), (float(gear[0]) * float(m.wrap_prm[w]),)) for w in wraps]
    return []


def acts_on_site(m: Any, k: int) -> bool:
    """Does an actuator apply a wrench to a site, in the site's own axes?"""
    return int(m.actuator_trntype[k]) == _ON_SITE and int(m.actuator_trnid[k, 1]) < 0


# ---------------------------------------------------------------------------------------------------------------------
# Names and numbers


def _model_name(m: Any) -> str:
    return bytes(m.names).split(b"\0", 1)[0].decode("utf-8", "replace").strip() or "mjcf"


_SHORT = {"joint": "jnt", "equality": "eq"}


def own_name(m: Any, kind: str, k: int) -> str:
    """The name in the file, with bytes that are not UTF-8 escaped: MuJoCo accepts them but its binding cannot decode them."""
    letters: bytes = m.names[int(getattr(m, f"name_{_SHORT.get(kind, kind)}adr")[k]) :]
    return letters.partition(b"\0")[0].decode("utf-8", "backslashreplace")


def _names(m: Any, kind: str, count: int) -> list[str]:
    """Unique names of all elements of a kind: their own, or numbers."""
    own = [own_name(m, kind, k) for k in range(count)]
    given, made = set(own), []
    for k, name in enumerate(own):
        new = name or f"{kind}{k}"
        while not name and new in given:
            new += "'"
        made.append(new)
    return made


def _gravity(m: Any) -> Vector:
    """The gravity of the model, m/s^2; zero if the file's flag disables it."""
    import mujoco  # the number of this flag depends on the version

    disabled = int(m.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    return (0.0, 0.0, 0.0) if disabled else _three(m.opt.gravity)


def _pose(position: Array, quaternion: Array) -> tuple[tuple[Vector, Vector, Vector], Vector]:
    w, x, y, z = (float(value) for value in quaternion)
    return rotation_from_quaternion(x, y, z, w), _three(position)


def _three(x: Any) -> Vector:
    return float(x[0]), float(x[1]), float(x[2])


def _minus(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _first(x: Any) -> float:
    """The first of the numbers that MuJoCo keeps per degree of freedom: some versions have coefficients of a polynomial."""
    return float(np.asarray(x).ravel()[0])
