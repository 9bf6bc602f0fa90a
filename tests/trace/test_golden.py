"""The programs of four small robots, word for word, products of blocks and tables of dot products among them.

A change of the tracer, of the rules or of an algorithm shows here as a difference in text that can be read.
To accept it: FALLINGCAT_UPDATE_GOLDEN=1 pytest tests/trace/test_golden.py
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.functions import task
from fallingcat.trace import interpret, trace

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def pendulum() -> fc.Robot:
    """A point of 2 kg on a massless rod of half a metre."""
    b = fc.Builder("pendulum")
    b.link("frame")
    b.link("bob", mass=2.0, com=(0.0, 0.0, -0.5))
    b.joint("hinge", "revolute", "frame", "bob", axis=(0, 1, 0))
    return fc.load(b, floating=False)


def arm() -> fc.Robot:
    """Two equal links in a vertical plane."""
    b = fc.Builder("arm")
    b.link("frame")
    for name in ("upper", "lower"):
        b.link(name, mass=1.0, com=(0.5, 0.0, 0.0), inertia=(0.0, 0.0, 0.0, 0.125, 0.0, 0.125))
    b.joint("shoulder", "revolute", "frame", "upper", axis=(0, 1, 0))
    b.joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0), xyz=(1.0, 0.0, 0.0))
    return fc.load(b, floating=False)


def brick() -> fc.Robot:
    """One free body."""
    b = fc.Builder("brick")
    b.link("brick", mass=3.0, inertia=(0.5, 0.0, 0.0, 1.0, 0.0, 1.25))
    return fc.load(b)


def tongs() -> fc.Robot:
    """A free body with two jaws: enough velocities for a product of blocks."""
    b = fc.Builder("tongs")
    b.link("handle", mass=1.0, inertia=(0.5, 0.0, 0.0, 0.5, 0.0, 0.5))
    for name, side in (("left", -1.0), ("right", 1.0)):
        b.link(name, mass=1.0, com=(0.0, 0.5 * side, 0.0), inertia=(0.25, 0.0, 0.0, 0.25, 0.0, 0.25))
        b.joint(f"{name} hinge", "revolute", "handle", name, axis=(0, 0, 1), xyz=(side, 0.0, 0.0))
    return fc.load(b)


CASES = [
    (pendulum, "inverse_dynamics"),
    (pendulum, "potential_energy"),
    (arm, "inverse_dynamics"),
    (arm, "mass_matrix"),
    (arm, "christoffel_symbols"),
    (brick, "inverse_dynamics"),
    (tongs, "inverse_mass_matrix"),
    (tongs, "christoffel_symbols_second_kind"),
]


@pytest.mark.parametrize(("robot", "function"), CASES, ids=[f"{r.__name__}-{f}" for r, f in CASES])
def test_the_program_is_the_golden_one(robot, function: str) -> None:
    text = f"{trace(task(robot().model, function))}\n"
    path = GOLDEN / f"{robot.__name__}_{function}.txt"
    if os.environ.get("FALLINGCAT_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"see {__file__} for how to accept a change"


def test_every_golden_file_is_used() -> None:
    assert {p.name for p in GOLDEN.glob("*.txt")} == {f"{r.__name__}_{f}.txt" for r, f in CASES}


def test_some_have_blocks_and_tables() -> None:
    kinds = {kind for robot, function in CASES for kind in trace(task(robot().model, function)).counts()}
    assert {"pack", "product", "entry", "dottable"} <= kinds


def test_the_pendulum_is_the_pendulum_of_the_textbook() -> None:
    """tau = m l^2 ddq + m g l sin q."""
    program = trace(task(pendulum().model, "inverse_dynamics"))
    for q, nu, dnu in ((0.3, 0.0, 0.0), (2.0, -1.0, 0.5), (-0.7, 3.0, 1.5)):
        ((tau,),) = interpret(program, [[q], [nu], [dnu]])
        assert tau == pytest.approx(2.0 * 0.25 * dnu + 2.0 * 9.81 * 0.5 * np.sin(q), rel=1e-14)


def test_the_arm_is_the_arm_of_the_textbook() -> None:
    program = trace(task(arm().model, "mass_matrix"))
    for q2 in (0.0, 0.4, -2.5):
        (flat,) = interpret(program, [[0.2, q2]])
        own, coupling = 0.125 + 0.25, 0.5 * np.cos(q2)
        expected = [2 * own + 1.0 + 2 * coupling, own + coupling, own + coupling, own]
        np.testing.assert_allclose(flat, expected, rtol=1e-14)
