"""The fall with the full dynamics: momentum, energy, limits, landing, and agreement with geometry alone."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.apps.cat import Fall, Plan, drop, summarize
from fallingcat.apps.cat import fall as module
from fallingcat.apps.cat.fall import PAWS, paw_heights, predicted
from fallingcat.apps.cat.momentum import angular_momentum
from fallingcat.apps.cat.picture import momenta, page
from fallingcat.apps.cat.summary import FRONT_HALF
from fallingcat.apps.view.scene import body_poses, shapes_of


def test_it_starts_upside_down_and_at_rest(cat: fc.Robot, fall: Fall) -> None:
    up = cat.split(fall.q[0])[0][:3, 2]
    np.testing.assert_allclose(up, [0.0, 0.0, -1.0], atol=1e-15)
    assert not fall.nu[0].any()


def test_momentum_stays_zero(cat: fc.Robot, fall: Fall) -> None:
    """By a sum over the links that shares nothing with the dynamics; the halves do have momentum."""
    assert np.abs(angular_momentum(cat, fall.q, fall.nu)).max() < 1e-10
    assert np.abs(angular_momentum(cat, fall.q, fall.nu, FRONT_HALF)).max() > 0.05


def test_the_centre_of_mass_falls_freely(cat: fc.Robot, fall: Fall) -> None:
    c = cat.center_of_mass(fall.q)
    expected = c[0] + fall.t[:, None] ** 2 / 2.0 * cat.gravity
    np.testing.assert_allclose(c, expected, atol=1e-9)


def test_the_energy_balance(cat: fc.Robot, fall: Fall) -> None:
    """Torques are constant during a step, so their work is a plain sum."""
    energy = cat.kinetic_energy(fall.q, fall.nu) + cat.potential_energy(fall.q)
    work = np.concatenate([[0.0], np.cumsum(np.sum(fall.tau * np.diff(fall.q[:, 7:], axis=0), axis=1))])
    assert np.abs(energy - energy[0] - work).max() < 1e-8
    assert work.max() > 1.0


def test_the_simulation_goes_where_geometry_says(cat: fc.Robot, fall: Fall) -> None:
    """The reconstruction knows neither torques nor accelerations."""
    assert np.abs(cat.difference(predicted(fall), fall.q)).max() < 2e-5


def test_limits_hold(cat: fc.Robot, fall: Fall) -> None:
    lower, upper = cat.position_limits.T
    assert np.all((fall.q[:, 7:] > lower) & (fall.q[:, 7:] < upper))
    assert np.all(np.abs(fall.nu[:, 6:]) < cat.velocity_limits)
    assert np.all(np.abs(fall.tau) < cat.effort_limits)


def lowest_point(cat: fc.Robot, q: np.ndarray) -> np.ndarray:
    """Of everything that is drawn round."""
    poses = body_poses(cat, q)
    heights = []
    for shape in shapes_of(cat)[0]:
        H = poses[:, shape.body] @ shape.pose
        half = shape.size[1] / 2 if shape.kind == "cylinder" else 0.0
        along = np.abs(H[:, 2, 2])
        radius = shape.size[0] * (np.sqrt(np.maximum(0.0, 1.0 - along**2)) if half else 1.0)
        if shape.kind != "box":
            heights.append(H[:, 2, 3] - half * along - radius)
    return np.min(heights, axis=0)


def test_it_lands_on_its_feet(cat: fc.Robot, fall: Fall) -> None:
    """Upright, all paws at the ground and nothing else of the cat lower, after a realistic time; at no time before."""
    q = fall.q[-1]
    for link in ("front", "rear"):
        H = cat.frame_pose(q, link)
        assert np.degrees(np.arccos(min(1.0, H[2, 2]))) < 1.0
        for paw in PAWS:
            assert cat.frame_pose(q, paw)[2, 3] < H[2, 3] - 0.08
    heights = paw_heights(cat, q)
    assert abs(heights.min()) < 1e-9
    assert heights.max() < 5e-3
    assert abs(lowest_point(cat, q[None])[0] - heights.min()) < 1e-9
    assert lowest_point(cat, fall.q[:-1:20]).min() > 0.0
    assert 0.3 < fall.t[-1] < 0.6
    assert abs(fall.t[-1] - np.sqrt(2 * 1.25 / 9.81)) < 1e-4


def test_the_summary(found: Plan, fall: Fall) -> None:
    s = summarize(found, fall)
    assert s.lands_on_its_feet
    assert s.within_limits
    assert abs(s.turn - 180.0) < 0.1
    assert abs(s.turn - s.estimated_turn) < 1.0
    assert s.momentum < 1e-10
    assert s.least_height < s.height


def test_the_least_height(monkeypatch: pytest.MonkeyPatch, cat: fc.Robot, found: Plan, fall: Fall) -> None:
    """From there one limit is reached and none passed: torques and speeds scale as predicted. From less it is too fast, and
    would land on its feet all the same."""
    monkeypatch.setattr(module, "STEPS", 600)
    least = summarize(found, fall).least_height
    there = summarize(found, drop(cat, found.gait, least))
    assert abs(max(there.speed.share, there.torque.share) - 1.0) < 2e-3
    below = summarize(found, drop(cat, found.gait, 0.6 * least))
    assert not below.within_limits
    assert below.lands_on_its_feet


def test_without_the_gait_it_lands_on_its_back(monkeypatch: pytest.MonkeyPatch, cat: fc.Robot, found: Plan) -> None:
    """The summary can say no: a gait of half the size does not bring it around."""
    monkeypatch.setattr(module, "STEPS", 400)
    gait = type(found.gait)(found.gait.joints, 0.5 * found.gait.coefficients)
    summary = summarize(found, drop(cat, gait, 1.25))
    assert not summary.lands_on_its_feet
    assert max(summary.front_tilt, summary.rear_tilt) > 60.0


@pytest.mark.parametrize("height", [0.0, -1.0, float("nan"), float("inf"), 1e3])
def test_heights_that_are_none(cat: fc.Robot, found: Plan, height: float) -> None:
    with pytest.raises(fc.InputError, match="out of range"):
        drop(cat, found.gait, height)


def test_the_page_says_what_it_plots_and_follows_the_cat(found: Plan, fall: Fall) -> None:
    """The momentum in the words is the largest of the curve below them; the camera goes along, so that the cat is large."""
    summary = summarize(found, fall)
    html = page(fall, summary)
    plotted = np.abs(momenta(fall)[:, 0, 0]).max()
    assert summary.front_momentum == pytest.approx(plotted, rel=1e-12)
    assert f"each half has up to {plotted:.2f} about the long axis" in html
    assert "angular momentum about x" in html
    data = re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    assert data
    assert json.loads(data[1])["options"]["follow"] is True
