"""The plan: a gait that turns the cat over, with no joint beyond its limits and the cat not through itself."""

from __future__ import annotations

from itertools import product

import numpy as np

import fallingcat as fc
from fallingcat.apps.cat import Gait, Plan, circle
from fallingcat.apps.cat.gait import terms
from fallingcat.apps.cat.holonomy import holonomy, log
from fallingcat.apps.cat.plan import HALF_TURN, Problem, area_law_radius
from fallingcat.apps.view.scene import body_poses, shapes_of
from fallingcat.motion.reconstruction import Motion, configurations

X = np.linspace(0.0, 1.0, 201)


def test_it_turns_over(cat: fc.Robot, found: Plan) -> None:
    """A half turn about the long axis, by an integration much finer than that of the search; and not sideways, or upward."""
    H = holonomy(cat, found.gait.at, 1000)
    assert np.degrees(np.linalg.norm(log(H[:3, :3] @ HALF_TURN.T))) < 1e-2
    assert np.abs(H[:2, 3]).max() < 1e-4


def test_the_area_integral_says_so_too(found: Plan) -> None:
    assert abs(np.degrees(np.linalg.norm(found.estimate)) - 180.0) < 0.5


def test_the_first_circle_has_the_area_of_a_half_turn(cat: fc.Robot) -> None:
    """A tenth of its radius, around the tucked cat, turns it by nearly a hundredth of a half turn."""
    radius = 0.1 * area_law_radius(cat)
    tucked = circle(cat, 0.0).at(np.array(0.5)).s
    plane = np.zeros((2, cat.n))
    plane[0, cat.joint_names.index("waist_bend")] = plane[1, cat.joint_names.index("waist_side")] = radius

    def around(x: np.ndarray) -> Motion:
        cos, sin = np.cos(2 * np.pi * x)[:, None], np.sin(2 * np.pi * x)[:, None]
        offset, turned = cos * plane[0] + sin * plane[1], cos * plane[1] - sin * plane[0]
        return Motion(tucked + offset, 2 * np.pi * turned, -((2 * np.pi) ** 2) * offset)

    angle = log(holonomy(cat, around, 200)[:3, :3])[0]
    assert abs(abs(angle) / (np.pi / 100.0) - 1.0) < 0.02


def test_the_search_ends_quickly_and_where_the_effort_is_stationary(cat: fc.Robot, found: Plan, rng: np.random.Generator) -> None:
    """Along the gaits that turn the cat over, the cost does not change to first order; the constraint's slope by differences."""
    assert len(found.costs) <= 15
    assert found.misses[-1] < 1e-8 < 1.0 < found.misses[0]
    problem, c = Problem.of(cat), found.gait.coefficients
    _, slope, _ = problem.cost(c)
    h = 1e-5
    J = np.transpose([(problem.miss(c + h * e)[0] - problem.miss(c - h * e)[0]) / (2 * h) for e in np.eye(len(c))])
    along = np.eye(len(c)) - np.linalg.pinv(J) @ J
    assert np.linalg.norm(along @ slope) < 1e-3 * np.linalg.norm(slope)
    d = rng.normal(size=len(c))
    difference = (problem.cost(c + h * d)[0] - problem.cost(c - h * d)[0]) / (2 * h)
    np.testing.assert_allclose(difference, slope @ d, rtol=1e-6)


def test_limits_hold(cat: fc.Robot, found: Plan) -> None:
    s = found.gait.at(X).s
    lower, upper = cat.position_limits.T
    assert np.all(s > lower + 0.05)
    assert np.all(s < upper - 0.05)


def test_derivatives_of_a_gait(cat: fc.Robot, rng: np.random.Generator) -> None:
    gait = Gait(cat.joint_names, rng.normal(size=len(terms())))
    x, h = rng.uniform(0.0, 1.0, size=50), 1e-6
    ahead, here, behind = gait.at(x + h), gait.at(x), gait.at(x - h)
    np.testing.assert_allclose((ahead.s - behind.s) / (2 * h), here.ds, atol=1e-6)
    np.testing.assert_allclose((ahead.ds - behind.ds) / (2 * h), here.dds, atol=1e-4)


def test_a_gait_begins_and_ends_standing(found: Plan) -> None:
    """At rest, with no jump of the acceleration, and so before and after."""
    for part in found.gait.at(np.array([-0.5, 0.0, 1.0, 1.5])):
        assert np.abs(part).max() < 1e-10


def test_played_backward_it_is_its_mirror_image(cat: fc.Robot, found: Plan) -> None:
    mirrored = found.gait.at(1.0 - X).s
    odd = [k for k, name in enumerate(cat.joint_names) if name.endswith(("side", "twist", "yaw"))]
    mirrored[:, odd] *= -1.0
    np.testing.assert_allclose(found.gait.at(X).s, mirrored, atol=1e-12)


def test_the_cat_does_not_pass_through_itself(cat: fc.Robot, found: Plan) -> None:
    """Balls along all drawn cylinders: legs, halves, head and tail stay apart, joints in between excepted."""
    poses = body_poses(cat, configurations(cat, found.gait.at(X[::2]).s))
    groups = {
        "front": ["front"], "rear": ["rear"], "head": ["head"], "tail": ["tail_base", "tail_tip"],
        "front legs": [n for n in cat.body_names if n.startswith("front_")],
        "rear legs": [n for n in cat.body_names if n.startswith("rear_")],
    }  # fmt: skip
    balls: dict[str, list[tuple[np.ndarray, float]]] = {name: [] for name in groups}
    for shape, (name, members) in product(shapes_of(cat)[0], groups.items()):
        if cat.body_names[shape.body] in members and shape.kind != "box":
            reach = shape.size[1] / 2 if shape.kind == "cylinder" else 0.0
            for z in np.linspace(-reach, reach, 5 if reach else 1):
                at = shape.pose[:3, 3] + z * shape.pose[:3, 2]
                H = poses[:, shape.body]
                balls[name].append((H[:, :3, :3] @ at + H[:, :3, 3], shape.size[0]))
    apart = [("front legs", "rear legs"), ("front legs", "rear"), ("rear legs", "front"), ("head", "rear legs"), ("tail", "head")]
    for a, b in apart:
        gaps = [np.linalg.norm(p - r, axis=1).min() - x - y for (p, x), (r, y) in product(balls[a], balls[b])]
        assert min(gaps) > 0.0, (a, b)
