"""The inverse mass matrix (paper 002, Sec. IV-C) of trees shallow and deep, and the symmetry of all that is symmetric."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import fallingcat as fc
from fallingcat.algorithms import aba_derivatives, crba, minverse
from fallingcat.functions import task
from fallingcat.trace import trace
from trees import ALL, ONE_AXIS, TIGHT, condition, floating, load, random_tree, relative_error, seeds, state, trees

few = settings(max_examples=15)


# ---------------------------------------------------------------------------------------------------------------------
# The inverse


@few
@given(trees(max_joints=9), floating, seeds)
def test_inverse_mass_matrix(builder: fc.Builder, floating: bool, seed: int) -> None:
    """M^-1 M = 1."""
    for options in ({}, {"joint_dynamics": True}):
        robot = load(builder, floating, seed, **options)
        q, _, _ = state(robot, np.random.default_rng(seed))
        Minv, M = robot.inverse_mass_matrix(q), robot.mass_matrix(q)
        assert relative_error(Minv, Minv.T) < TIGHT
        d = np.sqrt(np.diag(M))  # free of units
        one = (Minv * np.outer(d, d)) @ (M / np.outer(d, d))
        assert relative_error(one, np.eye(robot.nv)) < TIGHT * max(1.0, condition(M) / 100.0)


def check_symmetry(types: tuple[str, ...]) -> None:
    for seed in range(8):
        robot = load(random_tree(seed, joints=5, types=types), bool(seed % 2), seed)
        q, nu, dnu = state(robot, np.random.default_rng(seed))
        for A in (
            robot.mass_matrix(q),
            robot.inverse_mass_matrix(q),
            robot.inverse_dynamics_derivatives(q, nu, dnu).M,
            robot.forward_dynamics_derivatives(q, nu, dnu).Minv,
        ):
            assert np.array_equal(A, A.T)


def test_symmetric_to_the_last_bit() -> None:
    """The mass matrix and its inverse, from every function that returns them, with and without a floating base."""
    check_symmetry(ONE_AXIS)


def test_symmetric_to_the_last_bit_with_several_axes() -> None:
    """The same where joints have several axes."""
    check_symmetry(ALL[len(ONE_AXIS) :])


# ---------------------------------------------------------------------------------------------------------------------
# Two ways, of which the cheaper one is taken


@few
@given(trees(), floating, seeds)
def test_both_ways_to_the_inverse_mass_matrix_agree(builder: fc.Builder, floating: bool, seed: int) -> None:
    """Sums along paths, and columns of wrenches and accelerations; the mass matrix in body and in common coordinates."""
    robot = load(builder, floating, seed)
    q, nu, tau = state(robot, np.random.default_rng(seed))
    model, args = robot.model, (q.tolist(), nu.tolist(), tau.tolist())

    def results() -> list[object]:
        FD = aba_derivatives.forward_dynamics_derivatives(model, *args)
        return [crba.mass_matrix(model, args[0]), minverse.inverse_mass_matrix(model, args[0]), *FD]

    first = results()
    with pytest.MonkeyPatch.context() as patch:
        for module in (crba, minverse):
            patch.setattr(module, "cheapest", lambda x, *ways: ways[-1]())
        last = results()
    for a, b in zip(first, last, strict=True):
        assert relative_error(a, b) < 1e-9


def chain(joints: int) -> fc.Robot:
    builder = fc.Builder("chain")
    builder.link("link0", 1.0, (0.0, 0.0, 0.1), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))
    for k in range(joints):
        builder.link(f"link{k + 1}", 1.0, (0.1, 0.0, 0.05), (0.01, 0.001, 0.0, 0.012, 0.0, 0.015))
        axis = [(1, 0, 0), (0, 1, 0), (0, 0, 1)][k % 3]
        builder.joint(f"joint{k}", "revolute", f"link{k}", f"link{k + 1}", axis=axis, xyz=(0.1, 0.0, 0.2))
    return fc.load(builder)


def test_a_long_chain_takes_the_other_way() -> None:
    """The program is that of the cheaper way: columns on a long chain, the factor on a short one."""
    for joints, way in ((12, 0), (20, 1)):
        made = task(chain(joints).model, "inverse_mass_matrix")
        counts = []
        for k in range(2):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(minverse, "cheapest", lambda x, *ways, k=k: ways[k]())
                counts.append(trace(made).counts())
        assert counts[way] != counts[1 - way]
        assert trace(made).counts() == counts[way]
    robot = chain(20)
    q = robot.random_configuration(0)
    M, Minv = robot.mass_matrix(q), robot.inverse_mass_matrix(q)
    assert relative_error(Minv @ M, np.eye(robot.nv)) < 1e-9
    assert np.array_equal(Minv, Minv.T)
