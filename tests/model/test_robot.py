"""The robot a user holds: properties, configurations, arrays in and out, and what it says to wrong arguments."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import fallingcat as fc
from trees import ALL, random_tree, relative_error, state

BRICK = {"mass": 1.0, "inertia": (0.01, 0.0, 0.0, 0.02, 0.0, 0.025)}


@pytest.fixture(scope="module")
def cat() -> fc.Robot:
    return fc.load("cat")


@pytest.fixture(scope="module")
def tree() -> fc.Robot:
    """All joint types, so that q holds several quaternions."""
    builder = random_tree(11, joints=3, types=("spherical", "floating", "planar"), mimic=0.0)
    return fc.load(builder)


# ---------------------------------------------------------------------------------------------------------------------
# What it is


def test_actuation_selects_the_joints(cat: fc.Robot) -> None:
    """S takes joint torques past the base's six."""
    S = cat.actuation
    assert S.shape == (cat.nv, cat.n)
    assert np.array_equal(S, np.vstack([np.zeros((6, cat.n)), np.eye(cat.n)]))
    fixed = fc.load("cat", floating=False)
    assert np.array_equal(fixed.actuation, np.eye(fixed.n))


def test_limits_have_one_row_per_degree_of_freedom() -> None:
    """In the order of the joints, whatever the base; each joint's limits repeated for all its degrees of freedom."""
    robot = fc.load(random_tree(5, joints=8, types=ALL))
    widths = {"spherical": 3, "floating": 6, "planar": 3, "universal": 2, "cylindrical": 2}
    by_name = {joint.name: joint for joint in robot.description.joints}
    rows = [by_name[name] for name in robot.joint_names for _ in range(widths.get(by_name[name].type, 1))]
    for r in (robot, robot.with_base("link4"), fc.load(robot.description, floating=False)):
        assert r.position_limits.tolist() == [[j.limits.lower, j.limits.upper] for j in rows]
        assert r.velocity_limits.tolist() == [j.limits.velocity for j in rows]
        assert r.effort_limits.tolist() == [j.limits.effort for j in rows]


def test_random_configuration_respects_limits(cat: fc.Robot, rng: np.random.Generator) -> None:
    lower, upper = cat.position_limits.T
    for _ in range(50):
        q = cat.random_configuration(rng)
        assert (lower <= q[7:]).all()
        assert (q[7:] <= upper).all()
        assert abs(np.linalg.norm(q[3:7]) - 1.0) < 1e-15


def test_random_configuration_respects_limits_far_from_zero(rng: np.random.Generator) -> None:
    """Also when they lie beyond half a turn on either side."""
    builder = fc.Builder("far")
    builder.link("root", **BRICK)
    for name, lower, upper in (("down", -6.0, -5.0), ("up", 4.0, 5.0)):
        builder.link(name, **BRICK)
        builder.joint(f"{name}_joint", "prismatic", "root", name, lower=lower, upper=upper)
    robot = fc.load(builder, floating=False)
    q = np.array([robot.random_configuration(rng) for _ in range(10)])
    assert (robot.position_limits[:, 0] <= q).all()
    assert (q <= robot.position_limits[:, 1]).all()
    assert (np.ptp(q, axis=0) > 0.0).all()


def test_random_states_are_reproducible(cat: fc.Robot) -> None:
    assert np.array_equal(cat.random_configuration(3), cat.random_configuration(np.random.default_rng(3)))
    assert np.array_equal(cat.random_velocity(3), cat.random_velocity(3))
    assert not np.array_equal(cat.random_velocity(3), cat.random_velocity(4))


def test_pickle(tree: fc.Robot, rng: np.random.Generator) -> None:
    """A robot survives with its base, its choices and its gravity."""
    lock = {tree.joint_names[0]: _neutral(tree)}
    robot = fc.load(tree.description, base="link2", gravity=(0, 1, 2), lock=lock, joint_dynamics=True)
    other = pickle.loads(pickle.dumps(robot))
    q, nu, dnu = state(robot, rng)
    assert other.base == "link2"
    assert other.joint_names == robot.joint_names
    assert np.array_equal(other.inverse_dynamics(q, nu, dnu), robot.inverse_dynamics(q, nu, dnu))


def _neutral(robot: fc.Robot) -> np.ndarray:
    body = next(b for b in robot.model.bodies if b.joint_name == robot.joint_names[0])
    return robot.neutral()[body.q_at : body.q_at + body.joint.nq]


def test_gravity_is_the_robots_own(cat: fc.Robot) -> None:
    assert cat.gravity.tolist() == [0.0, 0.0, -9.81]
    weightless = fc.load("cat", gravity=(0, 0, 0))
    assert not weightless.gravity_torque(cat.random_configuration(1)).any()
    assert fc.load("cat", gravity=(1, 2, 3)).with_base("head").gravity.tolist() == [1.0, 2.0, 3.0]


# ---------------------------------------------------------------------------------------------------------------------
# Configurations


def test_split_and_configuration_are_inverse(cat: fc.Robot, rng: np.random.Generator) -> None:
    """Up to the sign of the quaternion, one by one and in batches."""
    q = np.array([[cat.random_configuration(rng) for _ in range(4)] for _ in range(3)])
    H, s = cat.split(q)
    assert H.shape == (3, 4, 4, 4)
    assert s.shape == (3, 4, cat.n)
    back = cat.configuration(H, s)
    sign = np.sign((back[..., 3:7] * q[..., 3:7]).sum(-1, keepdims=True))
    back[..., 3:7] *= sign
    assert relative_error(back, q) < 1e-15
    assert relative_error(H[1, 2], cat.frame_pose(q[1, 2], cat.base)) < 1e-15
    welded = fc.load("cat", floating=False)
    joints = welded.random_configuration(rng)
    assert np.array_equal(welded.configuration(np.eye(4), joints), joints)


def test_configuration_of_half_turns(cat: fc.Robot) -> None:
    """Where the trace of R is -1 and the quaternion has no real part."""
    for k in range(3):
        H = -np.eye(4)
        H[k, k] = H[3, 3] = 1.0
        q = cat.configuration(H, np.zeros(cat.n))
        assert relative_error(cat.split(q)[0], H) < 1e-15


def test_configuration_refuses_what_is_no_pose(cat: fc.Robot) -> None:
    s = np.zeros(cat.n)
    for H in (2 * np.eye(4), np.zeros((4, 4)), np.diag([1.0, 1.0, -1.0, 1.0])):
        with pytest.raises(fc.InputError, match="not a pose"):
            cat.configuration(H, s)
    with pytest.raises(fc.InputError, match=r"expected.*got"):
        cat.configuration(np.eye(4), s[:-1])
    with pytest.raises(fc.InputError, match=r"expected.*got"):
        cat.configuration(np.eye(3), s)
    with pytest.raises(fc.InputError, match=r"expected.*got"):
        fc.load("cat", floating=False).configuration(np.eye(4), s[:-1])
    with pytest.raises(fc.InputError, match=r"expected.*got"):
        cat.split(np.zeros(cat.nq - 1))


def test_split_refuses_a_quaternion_far_from_unit_length(cat: fc.Robot) -> None:
    with pytest.raises(fc.InputError, match="far from unit length"):
        cat.split(np.zeros(cat.nq))


def test_difference_takes_the_shorter_way(cat: fc.Robot) -> None:
    """q and the same with the opposite quaternion are one configuration."""
    q = cat.random_configuration(5)
    opposite = q.copy()
    opposite[3:7] *= -1
    assert np.abs(cat.difference(q, opposite)).max() < 1e-15


# ---------------------------------------------------------------------------------------------------------------------
# Arrays


def test_lists_integers_and_other_precisions(cat: fc.Robot) -> None:
    """Whatever NumPy can read as real numbers."""
    q = cat.neutral()
    nu = np.arange(cat.nv)
    expected = cat.bias(q, nu.astype(float))
    assert np.array_equal(cat.bias(q.tolist(), nu.tolist()), expected)
    assert np.array_equal(cat.bias(tuple(q), nu), expected)
    assert np.array_equal(cat.bias(q.astype(np.float32), nu.astype(np.int8)), expected)
    assert np.array_equal(cat.bias(q.astype(">f8"), nu.astype(np.longdouble)), expected)


def test_leading_axes_broadcast(tree: fc.Robot, rng: np.random.Generator) -> None:
    """(3, 1, nq) with (4, nv) and (nv,) gives (3, 4, nv), each entry as if alone."""
    q = np.array([tree.random_configuration(rng) for _ in range(3)])[:, None]
    nu, dnu = rng.normal(size=(4, tree.nv)), rng.normal(size=tree.nv)
    tau = tree.inverse_dynamics(q, nu, dnu)
    assert tau.shape == (3, 4, tree.nv)
    for i in range(3):
        for j in range(4):
            assert np.array_equal(tau[i, j], tree.inverse_dynamics(q[i, 0], nu[j], dnu))
    assert tree.mass_matrix(q).shape == (3, 1, tree.nv, tree.nv)
    assert tree.kinetic_energy(q, nu).shape == (3, 4)
    w = rng.normal(size=(2, 1, 1, 6))
    assert tree.inverse_dynamics(q, nu, dnu, {"link1": w}).shape == (2, 3, 4, tree.nv)


def test_views_are_read_as_they_are(cat: fc.Robot, rng: np.random.Generator) -> None:
    """Strided, reversed, transposed and read-only arguments."""
    q = np.array([cat.random_configuration(rng) for _ in range(6)])
    expected = cat.mass_matrix(q)
    assert np.array_equal(cat.mass_matrix(q[::2]), expected[::2])
    assert np.array_equal(cat.mass_matrix(q[::-1]), expected[::-1])
    assert np.array_equal(cat.mass_matrix(np.asfortranarray(q)), expected)
    q.flags.writeable = False
    assert np.array_equal(cat.mass_matrix(q), expected)


def test_a_scalar_result_is_a_float(cat: fc.Robot) -> None:
    q, nu = cat.neutral(), np.ones(cat.nv)
    assert type(cat.kinetic_energy(q, nu)) is float
    assert type(cat.potential_energy(q)) is float
    assert cat.kinetic_energy(q[None], nu).shape == (1,)


def test_empty_batches(cat: fc.Robot) -> None:
    nu = np.zeros(cat.nv)
    assert cat.mass_matrix(np.zeros((0, cat.nq))).shape == (0, cat.nv, cat.nv)
    assert cat.bias(np.zeros((4, 0, cat.nq)), nu).shape == (4, 0, cat.nv)
    assert cat.kinetic_energy(np.zeros((0, cat.nq)), nu).shape == (0,)


def test_arguments_are_not_changed(cat: fc.Robot, rng: np.random.Generator) -> None:
    q, nu, dnu = state(cat, rng)
    q[3:7] *= 1.001
    before = q.copy(), nu.copy(), dnu.copy()
    cat.inverse_dynamics(q, nu, dnu, {cat.base: nu[:6]})
    assert all(np.array_equal(a, b) for a, b in zip(before, (q, nu, dnu), strict=True))


# ---------------------------------------------------------------------------------------------------------------------
# out=


def test_out_is_filled_and_returned(cat: fc.Robot, rng: np.random.Generator) -> None:
    q = np.array([cat.random_configuration(rng) for _ in range(3)])
    expected = cat.mass_matrix(q)
    out = np.full((3, cat.nv, cat.nv), np.nan)
    assert cat.mass_matrix(q, out=out) is out
    assert np.array_equal(out, expected)
    energy = np.full((3,), np.nan)
    assert cat.potential_energy(q, out=energy) is energy
    assert np.array_equal(energy, cat.potential_energy(q))
    one = np.full((), np.nan)
    assert cat.potential_energy(q[0], out=one) is one
    assert one == cat.potential_energy(q[0])


def test_out_need_not_be_contiguous(cat: fc.Robot, rng: np.random.Generator) -> None:
    """Strided, transposed, reversed: the numbers land where they belong and nowhere else."""
    q = np.array([cat.random_configuration(rng) for _ in range(3)])
    expected = cat.mass_matrix(q)
    wide = np.full((3, cat.nv, 2 * cat.nv), 7.0)
    assert np.array_equal(cat.mass_matrix(q, out=wide[..., ::2]), expected)
    assert np.array_equal(wide[..., ::2], expected)
    assert (wide[..., 1::2] == 7.0).all()
    turned = np.full((cat.nv, cat.nv, 3), np.nan)
    cat.mass_matrix(q, out=turned.transpose(2, 0, 1))
    assert np.array_equal(turned.transpose(2, 0, 1), expected)
    backwards = np.full((3, cat.nv, cat.nv), np.nan)
    cat.mass_matrix(q, out=backwards[::-1])
    assert np.array_equal(backwards[::-1], expected)


def test_out_may_be_an_argument(cat: fc.Robot, rng: np.random.Generator) -> None:
    """Integrating in place."""
    q, nu, _ = state(cat, rng)
    expected = cat.integrate(q, nu)
    cat.integrate(q, nu, out=q)
    assert np.array_equal(q, expected)


def test_out_that_does_not_fit_is_refused(cat: fc.Robot) -> None:
    q, shape = cat.neutral(), (cat.nv, cat.nv)
    frozen = np.zeros(shape)
    frozen.flags.writeable = False
    wrong = [
        (np.zeros(shape, dtype=np.float32), "float32"), (np.zeros(shape, dtype=">f8"), ">f8"), (np.zeros(shape[:1]), r"\(21,\)"),
        (np.zeros((1, *shape)), r"\(1, 21, 21\)"), (frozen, "read-only"), (frozen.tolist(), "list"), ("out", "str"),
    ]  # fmt: skip
    for out, words in wrong:
        with pytest.raises(fc.InputError, match=words):
            cat.mass_matrix(q, out=out)


# ---------------------------------------------------------------------------------------------------------------------
# Wrong arguments


def wrong_arguments(cat: fc.Robot) -> list:
    q, nu = cat.neutral(), np.zeros(cat.nv)
    return [
        (lambda: cat.mass_matrix(nu), fc.InputError, ["q has the wrong shape", "(..., 22)", "got: (21,)", "hint: q holds"]),
        (lambda: cat.bias(q, q), fc.InputError, ["nu has the wrong shape", "expected: (..., 21)", "got: (22,)"]),
        (lambda: cat.forward_dynamics(q, nu, nu[6:]), fc.InputError, ["tau has the wrong shape", "got: (15,)"]),
        (lambda: cat.mass_matrix(1.0), fc.InputError, ["q has the wrong shape", "got: ()"]),
        (lambda: cat.mass_matrix(None), fc.InputError, ["q", "got: None"]),
        (lambda: cat.mass_matrix("abc"), fc.InputError, ["q does not hold real numbers", "str"]),
        (lambda: cat.mass_matrix(q + 0j), fc.InputError, ["complex", "fallingcat.algorithms"]),
        (lambda: cat.mass_matrix([[1.0], [1.0, 2.0]]), fc.InputError, ["q is not an array"]),
        (lambda: cat.mass_matrix(np.array([{}] * 22)), fc.InputError, ["q does not hold real numbers"]),
        (lambda: cat.bias(np.stack([q] * 3), np.stack([nu] * 2)), fc.InputError, ["batch axes", "q (3, 22), nu (2, 21)", "hint"]),
        (lambda: cat.frame_pose(q, "tail_tipp"), fc.FrameError, ["no frame 'tail_tipp'", "did you mean 'tail_tip'"]),
        (lambda: cat.frame_pose(q, None), fc.FrameError, ["no frame None"]),
        (lambda: cat.frame_pose(q, ["head"]), fc.FrameError, ["no frame ['head']"]),
        (lambda: cat.frame_jacobian(q, "head", "local"), fc.InputError, ["unknown representation", "'mixed'", "got: 'local'"]),
        (lambda: cat.inverse_dynamics(q, nu, nu, {"hed": nu[:6]}), fc.FrameError, ["no frame 'hed'", "did you mean 'head'"]),
        (lambda: cat.inverse_dynamics(q, nu, nu, {"head": nu[:5]}), fc.InputError, ["wrenches['head']", "(..., 6)", "got: (5,)"]),
        (lambda: cat.inverse_dynamics(q, nu, nu, [nu[:6]]), fc.InputError, ["wrenches", "expected", "got: list"]),
        (lambda: cat.with_base("hed"), fc.InputError, ["no link 'hed'", "did you mean 'head'"]),
        (lambda: fc.load("cat", floating=False).base_acceleration(q[7:], nu[6:], nu[6:]), fc.InputError, ["floating base"]),
    ]  # fmt: skip


@pytest.mark.parametrize("k", range(19))
def test_wrong_arguments_are_explained(cat: fc.Robot, k: int) -> None:
    cases = wrong_arguments(cat)
    assert len(cases) == 19
    call, kind, words = cases[k]
    with pytest.raises(kind) as error:
        call()
    for word in words:
        assert word in str(error.value)


def test_a_quaternion_far_from_unit_length_is_refused(cat: fc.Robot, tree: fc.Robot) -> None:
    """The base's, and that of a joint inside the tree, in any row of a batch."""
    for robot in (cat, tree):
        starts = [b.q_at + b.joint.quaternion_at for b in robot.model.bodies if b.joint.quaternion_at is not None]
        for at in starts:
            q = np.stack([robot.neutral()] * 3)
            q[1, at : at + 4] *= 2.0
            with pytest.raises(fc.InputError, match=rf"q\[\.\.\., {at}:{at + 4}\] is far from unit length.*got: length 2.*hint"):
                robot.mass_matrix(q)
            with pytest.raises(fc.InputError, match="length 0"):
                robot.gravity_torque(np.zeros(robot.nq))


def test_a_slightly_long_quaternion_is_normalised(tree: fc.Robot, rng: np.random.Generator) -> None:
    """A per cent of length changes nothing: what integrators leave behind."""
    q, nu, dnu = state(tree, rng)
    long = q.copy()
    for body in tree.model.bodies:
        if body.joint.quaternion_at is not None:
            at = body.q_at + body.joint.quaternion_at
            long[at : at + 4] *= 1.009
    assert not np.array_equal(long, q)
    assert relative_error(tree.inverse_dynamics(long, nu, dnu), tree.inverse_dynamics(q, nu, dnu)) < 1e-14
    assert relative_error(tree.frame_pose(long, "link3"), tree.frame_pose(q, "link3")) < 1e-14
    assert relative_error(tree.integrate(long, nu), tree.integrate(q, nu)) < 1e-14
    assert np.abs(tree.difference(long, q)).max() < 1e-14


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_so(cat: fc.Robot, rng: np.random.Generator, bad: float) -> None:
    """Without an exception, and only in the row of the batch where it was."""
    q, nu, dnu = (np.stack([x] * 3) for x in state(cat, rng))
    for k, argument in enumerate((q, nu, dnu)):
        arguments = [q, nu, dnu]
        arguments[k] = argument.copy()
        arguments[k][1, 9] = bad
        for function in (cat.inverse_dynamics, cat.forward_dynamics):
            result = function(*arguments)
            assert not np.isfinite(result[1]).all()
            assert np.isfinite(result[[0, 2]]).all()
    position = q.copy()
    position[1, 0] = bad
    assert not np.isfinite(cat.frame_pose(position, "head")[1]).all()
    q[1, 3] = np.nan
    assert not np.isfinite(cat.gravity_torque(q)[1]).all()


# ---------------------------------------------------------------------------------------------------------------------
# Robots without joints


def single(floating: bool) -> fc.Robot:
    builder = fc.Builder("single")
    builder.link("body", mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.0, 0.0, 0.2, 0.0, 0.25))
    return fc.load(builder, floating=floating)


def test_one_floating_link() -> None:
    """It falls: every point with gravity, without turning."""
    robot = single(True)
    assert (robot.nq, robot.nv, robot.n, robot.joint_names) == (7, 6, 0, ())
    q, rest = robot.neutral(), np.zeros(6)
    assert relative_error(robot.forward_dynamics(q, rest, rest), [0, 0, -9.81, 0, 0, 0]) < 1e-15
    assert relative_error(robot.base_acceleration(q, rest, []), [0, 0, -9.81, 0, 0, 0]) < 1e-15
    assert relative_error(np.diag(robot.mass_matrix(q))[:3], [2, 2, 2]) < 1e-15
    assert robot.center_of_mass(q).tolist() == [0.1, 0.2, 0.3]
    assert robot.actuation.shape == (6, 0)
    assert robot.position_limits.shape == (0, 2)
    assert robot.velocity_limits.shape == robot.effort_limits.shape == (0,)
    assert "single" in str(robot)
    assert "single" in repr(robot)


def test_one_welded_link() -> None:
    """Nothing moves: nv = 0, and every function answers with an empty array of the right shape."""
    robot = single(False)
    q = np.zeros(0)
    assert (robot.nq, robot.nv, robot.n, robot.mass) == (0, 0, 0, 0.0)
    assert robot.neutral().shape == robot.random_configuration(0).shape == (0,)
    assert robot.mass_matrix(q).shape == (0, 0)
    assert robot.mass_matrix(np.zeros((3, 0))).shape == (3, 0, 0)
    assert robot.inverse_dynamics(q, q, q).shape == robot.forward_dynamics([], [], []).shape == (0,)
    assert robot.inverse_dynamics(q, q, q, {"body": np.ones(6)}).shape == (0,)
    assert robot.frame_jacobian(q, "body").shape == (6, 0)
    assert robot.frame_pose(q, "body").tolist() == np.eye(4).tolist()
    assert robot.frame_velocity(q, q, "body").tolist() == [0.0] * 6
    assert robot.kinetic_energy(q, q) == robot.potential_energy(q) == 0.0
    assert robot.center_of_mass_jacobian(q).shape == (3, 0)
    assert robot.integrate(q, q).shape == robot.difference(q, q).shape == (0,)
    assert robot.actuation.shape == robot.actuation_matrix(q).shape == robot.linearize(q, q, q).A.shape == (0, 0)
    assert robot.frame_poses(q).shape == (1, 4, 4)
    assert robot.position_limits.shape == (0, 2)
    assert robot.velocity_limits.shape == robot.effort_limits.shape == (0,)
    assert "single" in str(robot)
