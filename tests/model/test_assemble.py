"""From description to model: order of joints, choice of base, locking, frames, axes, and the errors on the way."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.model.description import Joint, Mimic
from trees import ALL, leader, places, random_tree, relative_error, without_mimics

BRICK = {"mass": 1.0, "inertia": (0.01, 0.0, 0.0, 0.02, 0.0, 0.025)}


def chain(*types: str, **options: object) -> fc.Builder:
    """link0 - joint1 - link1 - joint2 - ..., each joint 0.1 m further along x."""
    builder = fc.Builder("chain")
    builder.link("link0", **BRICK)
    for k, type_ in enumerate(types, start=1):
        builder.link(f"link{k}", **BRICK)
        builder.joint(f"joint{k}", type_, f"link{k - 1}", f"link{k}", xyz=(0.1, 0.0, 0.0), **options)
    return builder


# ---------------------------------------------------------------------------------------------------------------------
# Order


@pytest.mark.parametrize("seed", range(8))
def test_joint_order_is_that_of_the_file_whatever_the_base(seed: int) -> None:
    robot = fc.load(random_tree(seed, joints=8))
    in_file = [j.name for j in robot.description.joints if j.type != "fixed" and j.mimic is None]
    for link in robot.link_names:
        other = robot.with_base(link)
        assert list(other.joint_names) == in_file
        assert other.base == link
        assert {name: at for name, at in places(other).items() if name != "floating base"} == {
            name: at for name, at in places(robot).items() if name != "floating base"
        }


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("floating", [True, False])
def test_sizes(seed: int, floating: bool) -> None:
    """nq and nv count the coordinates of the joint types, the base's first; mimic joints count nothing."""
    description = random_tree(seed, joints=8).description()
    robot = fc.load(description, floating=floating)
    nq = {"spherical": 4, "floating": 7, "planar": 3, "universal": 2, "cylindrical": 2, "fixed": 0}
    nv = nq | {"spherical": 3, "floating": 6}
    moving = [j for j in description.joints if j.mimic is None]
    n = sum(nv.get(j.type, 1) for j in moving)
    assert robot.nq == (7 if floating else 0) + sum(nq.get(j.type, 1) for j in moving)
    assert robot.nv == (6 if floating else 0) + n
    assert robot.n == n
    assert robot.neutral().shape == (robot.nq,)


@pytest.mark.parametrize("seed", range(8))
def test_bodies_are_depth_first(seed: int) -> None:
    """Parents come before children, and every subtree is contiguous; algorithms rely on the first, compilers on the second."""
    for link in ("link0", "link3"):
        bodies = fc.load(random_tree(seed, joints=8), base=link).model.bodies
        for i, body in enumerate(bodies[1:], start=1):
            assert body.parent < i
            below = [j for j in range(len(bodies)) if _under(bodies, j, i)]
            assert below == list(range(i, i + len(below)))


def _under(bodies: tuple, j: int, root: int) -> bool:
    while j > root:
        j = bodies[j].parent
    return j == root


# ---------------------------------------------------------------------------------------------------------------------
# Axes and frames


@pytest.mark.parametrize("type_", [t for t in ALL if t not in ("spherical", "floating", "universal")])
@pytest.mark.parametrize(
    "axis",
    [
        (1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1), (1, 1, 1), (0.1, 0.2, -0.97),
        (3e-8, 0, 1), (1e-9, 2e-9, -1), (1, -3e-8, 0), (0, 0, 7), (0, -2, 1),
    ],
)  # fmt: skip
def test_the_child_moves_about_and_along_its_axis(type_: str, axis: tuple[float, ...]) -> None:
    """In the child's own frame the joint's twist is along the axis of the file, to all digits; a planar joint's normal to it."""
    builder = fc.Builder("axis")
    builder.link("a", **BRICK)
    builder.link("b", **BRICK)
    builder.joint("j", type_, "a", "b", axis=axis, pitch=0.25, xyz=(0.1, 0.2, 0.3), rpy=(0.4, 0.5, 0.6))
    robot = fc.load(builder, floating=False)
    a = np.array(axis, dtype=float) / np.linalg.norm(axis)
    q = robot.random_configuration(1)
    J = robot.frame_jacobian(q, "b")
    turn, slide = np.concatenate([np.zeros(3), a]), np.concatenate([a, np.zeros(3)])
    if type_ == "planar":
        assert relative_error(J[:, 2], turn) < 1e-15
        assert np.abs(a @ J[:3, :2]).max() < 1e-15  # slides within the plane,
        assert relative_error(J[:3, :2].T @ J[:3, :2], np.eye(2)) < 1e-14  # along two orthogonal directions,
        assert np.linalg.det(np.column_stack([J[:3, :2], a])) > 0.0  # right-handed
        return
    expected = {
        "revolute": [turn], "continuous": [turn], "prismatic": [slide], "helical": [turn + 0.25 * slide],
        "cylindrical": [slide, turn],
    }  # fmt: skip
    assert relative_error(J, np.column_stack(expected[type_])) < 1e-15


def test_neutral_puts_the_child_at_the_joint_origin() -> None:
    """At zero every joint, however its axis was turned inside, leaves the child's frame at the origin of the file."""
    for type_ in ALL:
        for axis in ((1, 0, 0), (0, 0, -1), (0.3, -0.5, 0.8)):
            builder = fc.Builder("origin")
            builder.link("a", **BRICK)
            builder.link("b", **BRICK)
            builder.joint("j", type_, "a", "b", axis, (0.1, 0.2, 0.3), (0.0, 0.0, np.pi / 2), axis2=(0, 1, 0), pitch=0.1)
            robot = fc.load(builder, floating=False)
            expected = [[0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]]
            assert relative_error(robot.frame_pose(robot.neutral(), "b"), expected) < 1e-15


def test_frames_are_links_and_joints() -> None:
    """Every link and every joint can be named; a joint's frame is its child link's."""
    robot = fc.load(random_tree(4, joints=6))
    assert set(robot.frame_names) == {*robot.link_names, *(j.name for j in robot.description.joints)}
    assert robot.link_names == tuple(link.name for link in robot.description.links)
    q = robot.random_configuration(0)
    for joint in robot.description.joints:
        assert np.array_equal(robot.frame_pose(q, joint.name), robot.frame_pose(q, joint.child))


def test_a_link_and_a_joint_of_one_name() -> None:
    """The name then means the link."""
    builder = fc.Builder("twins")
    for name in ("root", "arm", "hand"):
        builder.link(name, **BRICK)
    builder.joint("hand", "revolute", "root", "arm", xyz=(1, 0, 0))
    builder.joint("wrist", "revolute", "arm", "hand", xyz=(0, 1, 0))
    robot = fc.load(builder, floating=False)
    assert robot.frame_names == ("root", "arm", "hand", "wrist")
    assert robot.frame_pose([0.0, 0.0], "hand")[:3, 3].tolist() == [1.0, 1.0, 0.0]


def test_welded_links_are_one_body() -> None:
    """Fixed joints make no bodies; masses add up; a welded base does not count."""
    robot = fc.load(chain("fixed", "revolute", "fixed", "fixed"))
    assert len(robot.model.bodies) == 2
    assert robot.mass == 5.0
    assert fc.load(chain("fixed", "revolute", "fixed", "fixed"), floating=False).mass == 3.0


# ---------------------------------------------------------------------------------------------------------------------
# joints= and lock=


def test_joints_chooses_and_orders() -> None:
    robot = fc.load(chain("revolute", "prismatic", "spherical", "revolute"), joints=["joint4", "joint3"])
    assert robot.joint_names == ("joint4", "joint3")
    assert (robot.nq, robot.nv) == (7 + 5, 6 + 4)
    assert places(robot)["joint4"] == (slice(7, 8), slice(6, 7))
    assert fc.load(chain("revolute"), joints=[]).nv == 6


def test_joints_may_be_any_iterable() -> None:
    robot = fc.load(chain("revolute", "revolute"), joints=(name for name in ["joint2"]))
    assert robot.joint_names == robot.with_base("link2").joint_names == ("joint2",)


def test_lock_holds_joints_where_it_says() -> None:
    """Locked joints stand at their values, those that `joints` leaves out at zero."""
    builder = chain("revolute", "prismatic", "revolute", axis=(0, 0, 1))
    robot = fc.load(builder, floating=False, lock={"joint1": np.pi / 2, "joint2": 0.5})
    assert robot.joint_names == ("joint3",)
    expected = [0.1, 0.2, 0.5]
    assert relative_error(robot.frame_pose([0.3], "link3")[:3, 3], expected) < 1e-15
    zero = fc.load(builder, floating=False, joints=["joint3"], lock={"joint2": 0.5})
    assert relative_error(zero.frame_pose([0.3], "link3")[:3, 3], [0.3, 0.0, 0.5]) < 1e-15


def test_what_follows_a_locked_joint_stands_still() -> None:
    """At multiplier * value + offset."""
    builder = chain("prismatic", axis=(0, 0, 1))
    builder.link("finger", **BRICK)
    builder.joint("follower", "prismatic", "link0", "finger", axis=(0, 0, 1), mimic="joint1", multiplier=-2.0, offset=0.25)
    robot = fc.load(builder, floating=False, lock={"joint1": 0.5})
    assert robot.nv == 0
    assert robot.frame_pose([], "finger")[:3, 3].tolist() == [0.0, 0.0, -0.75]


def test_a_chain_of_mimics_follows_its_end() -> None:
    """Multipliers multiply; offsets are carried along."""
    builder = fc.Builder("mimics")
    builder.link("root", **BRICK)
    for k in range(3):
        builder.link(f"l{k}", **BRICK)
    builder.joint("j0", "prismatic", "root", "l0", mimic="j1", multiplier=2.0, offset=0.5)
    builder.joint("j1", "prismatic", "root", "l1", mimic="j2", multiplier=3.0, offset=0.25)
    builder.joint("j2", "prismatic", "root", "l2")
    robot = fc.load(builder, floating=False)
    assert robot.joint_names == ("j2",)
    heights = [robot.frame_pose([1.0], f"l{k}")[2, 3] for k in range(3)]
    assert heights == [2 * 3.25 + 0.5, 3.25, 1.0]
    assert leader(robot.description, "j0") == ("j2", 6.0, 1.0)
    assert fc.load(without_mimics(builder.description()), floating=False).nv == 3


# ---------------------------------------------------------------------------------------------------------------------
# Errors


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"base": "link9"}, ["no link 'link9'", "hint: did you mean", "link0"]),
        ({"joints": ["joint9"]}, ["joints: no movable joint 'joint9'", "did you mean", "'joint1'"]),
        ({"joints": ["joint1", "joint1"]}, ["named twice", "joint1", "hint"]),
        ({"joints": ["joint1"], "lock": {"joint1": 0.0}}, ["both movable and locked", "joint1"]),
        ({"lock": {"joint8": 0.0}}, ["lock: no movable joint 'joint8'", "did you mean"]),
        ({"lock": {"weld": 0.0}}, ["no movable joint 'weld'"]),
        ({"lock": {"follower": 0.0}}, ["'follower' follows 'joint1'", "hint: name the joint it follows"]),
        ({"joints": ["follower"]}, ["'follower' follows 'joint1'"]),
        ({"lock": {"joint1": (1.0, 2.0)}}, ["lock['joint1']", "expected: 1 finite", "got: (1.0, 2.0)"]),
        ({"lock": {"joint1": float("nan")}}, ["lock['joint1']", "finite"]),
        ({"lock": {"joint1": "up"}}, ["lock['joint1']", "got: 'up'"]),
        ({"lock": {"ball": (0.0, 0.0, 0.0, 0.0)}}, ["lock['ball']", "far from unit length", "length 0"]),
        ({"lock": {"ball": (1.0, 0.0, 0.0, 1.0)}}, ["lock['ball']", "expected: length 1", "got: length 1.41421"]),
        ({"lock": ["joint1"]}, ["lock does not fit", "expected: a mapping", "got: list"]),
        ({"gravity": (0.0, -9.81)}, ["gravity", "expected: three finite numbers", "got: (0.0, -9.81)"]),
        ({"gravity": (0.0, 0.0, float("inf"))}, ["gravity", "finite"]),
        ({"gravity": "down"}, ["gravity", "got: 'down'"]),
    ],
)
def test_wrong_choices_are_explained(options: dict, words: list[str]) -> None:
    builder = chain("revolute", "revolute")
    for name in ("welded", "ball_link", "finger"):
        builder.link(name, **BRICK)
    builder.joint("weld", "fixed", "link2", "welded")
    builder.joint("ball", "spherical", "link2", "ball_link")
    builder.joint("follower", "revolute", "link0", "finger", mimic="joint1")
    with pytest.raises(fc.InputError) as error:
        fc.load(builder, **options)
    for word in words:
        assert word in str(error.value)


def test_a_weightless_floating_base_is_refused() -> None:
    """With one neighbour it could turn without moving any mass; the message offers ways out, and they work."""
    builder = chain("revolute")
    description = builder.description()
    empty = dataclasses.replace(description.links[0], inertial=None)
    description = dataclasses.replace(description, links=(empty, *description.links[1:]))
    with pytest.raises(fc.ModelError, match=r"no mass.*base='link1'.*floating=False"):
        fc.load(description)
    assert fc.load(description, base="link1").nv == 7
    assert fc.load(description, floating=False).nv == 1


# ---------------------------------------------------------------------------------------------------------------------
# Long chains of mimics


def followers(count: int, multiplier: float = 1.0) -> fc.Builder:
    """Every joint follows the one before it."""
    builder = chain("revolute")
    for k in range(2, count + 1):
        builder.link(f"link{k}", **BRICK)
        following = {"mimic": f"joint{k - 1}", "multiplier": multiplier, "offset": 0.25}
        builder.joint(f"joint{k}", "revolute", f"link{k - 1}", f"link{k}", xyz=(0.1, 0.0, 0.0), **following)
    return builder


@pytest.mark.parametrize("backwards", [False, True])
def test_every_joint_of_a_chain_of_mimics_is_looked_at_once(backwards: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    description = followers(300).description()
    if backwards:
        description = dataclasses.replace(description, joints=description.joints[::-1])
    looks = 0
    plain = Joint.__getattribute__

    def count(joint: Joint, name: str) -> object:
        nonlocal looks
        looks += name == "mimic"
        return plain(joint, name)

    monkeypatch.setattr(Joint, "__getattribute__", count)
    robot = fc.load(description)
    monkeypatch.undo()
    assert looks < 100 * 300  # 90,000 and more when every joint walks its whole chain
    assert robot.n == 1
    by_name = {body.joint_name: body for body in robot.model.bodies}
    assert (by_name["joint300"].multiplier, by_name["joint300"].offset) == (1.0, 0.25 * 299)


def test_multipliers_and_offsets_add_up_along_a_chain() -> None:
    last = fc.load(followers(4, -2.0)).model.bodies[-1]
    assert (last.multiplier, last.offset) == (-8.0, 0.25 * (1 - 2 + 4))


def test_mimics_in_a_cycle_do_not_hang() -> None:
    description = followers(3).description()
    first, *rest = description.joints
    cyclic = dataclasses.replace(description, joints=(dataclasses.replace(first, mimic=Mimic("joint3")), *rest))
    with pytest.raises(fc.ModelError, match="mimic each other in a cycle"):
        fc.load(cyclic)
    with pytest.raises(fc.ModelError, match="mimic each other in a cycle"):
        fc.Robot(cyclic)


def test_multipliers_that_overflow_along_a_chain_are_an_error() -> None:
    with pytest.raises(fc.ModelError, match="joint 'joint201': it follows 'joint1' through a chain"):
        fc.load(followers(1100, 2.0))


@pytest.mark.parametrize(("lower", "upper"), [(0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0)])
def test_a_joint_that_may_only_be_at_zero(lower: float, upper: float) -> None:
    robot = fc.load(chain("revolute", lower=lower, upper=upper), floating=False)
    assert robot.random_configuration(0).tolist() == [0.0]
