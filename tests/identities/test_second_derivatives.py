"""Second derivatives of inverse dynamics, against complex steps through the first ones and against Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bench.robots import robot_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import fallingcat as fc
from fallingcat.algorithms.configuration import integrate
from fallingcat.algorithms.rnea_derivatives import inverse_dynamics_derivatives
from spread import first
from trees import random_tree

Array = NDArray[np.float64]
TYPES = ("revolute", "continuous", "prismatic", "helical", "cylindrical", "planar", "spherical", "floating")
STEP = 1e-30


def complex_steps(robot: fc.Robot, q: Array, nu: Array, dnu: Array, representation: str = "body") -> list[Array]:
    """The derivatives of dtau_dq by q and nu, of dtau_dnu by nu, of M by q, direction by direction."""
    columns: list[list[Any]] = [[], [], [], []]
    for e in np.eye(robot.nv):
        step = (1j * STEP * e).tolist()
        by_q, by_nu = (
            inverse_dynamics_derivatives(robot.model, *state, dnu.tolist(), representation=representation)
            for state in ((integrate(robot.model, q.tolist(), step), nu.tolist()), (q.tolist(), (nu + step).tolist()))
        )
        for column, matrix in zip(columns, (by_q.dtau_dq, by_nu.dtau_dq, by_nu.dtau_dnu, by_q.M), strict=True):
            column.append(np.imag(np.array(matrix)) / STEP)
    return [np.stack(column, axis=-1) for column in columns]


def check(robot: fc.Robot, seed: int, representation: str = "body") -> None:
    rng = np.random.default_rng(seed)
    q, nu, dnu = robot.random_configuration(rng), robot.random_velocity(rng), robot.random_velocity(rng)
    found = robot.kernel("inverse_dynamics_second_derivatives", representation=representation).eager(q, nu, dnu)
    for name, ours, expected in zip(found._fields, found, complex_steps(robot, q, nu, dnu, representation), strict=True):
        assert np.abs(ours - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max()), name


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10_000), st.booleans())
def test_trees_of_every_joint_with_constant_axes(seed: int, floating: bool) -> None:
    check(fc.load(random_tree(seed, 5, TYPES, mimic=0.3 * (seed % 2)), floating=floating, joint_dynamics=True), seed)


@pytest.mark.parametrize("representation", first(1, ["inertial", "mixed"]))
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10_000), st.booleans())
def test_other_representations(representation: str, seed: int, floating: bool) -> None:
    """The same witness: complex steps through the first derivatives in that representation."""
    check(
        fc.load(random_tree(seed, 4, TYPES, mimic=0.3 * (seed % 2)), floating=floating, joint_dynamics=True), seed, representation
    )


@pytest.mark.parametrize("name", first(1, ["tree9", "cat"]))
def test_compiled_code_in_batches(name: str) -> None:
    """Compiled code has the bits of single calls in batches, and the numbers of eager runs."""
    robot = fc.load(name, floating=name == "cat")
    rng = np.random.default_rng(0)
    Q = np.stack([robot.random_configuration(rng) for _ in range(3)])
    V, A = rng.normal(size=(2, 3, robot.nv))
    many = robot.inverse_dynamics_second_derivatives(Q, V, A)
    eager = robot.kernel("inverse_dynamics_second_derivatives").eager(Q[1], V[1], A[1])
    for all_, one, plain in zip(many, robot.inverse_dynamics_second_derivatives(Q[1], V[1], A[1]), eager, strict=True):
        assert np.array_equal(all_[1], one)
        assert np.abs(one - plain).max() <= 1e-12 * max(1.0, np.abs(plain).max())


def test_what_is_known_of_it() -> None:
    """dnu_dnu is symmetric; on R^n so is dq_dq; dM_dq is what `mass_matrix_derivatives` says."""
    robot = fc.load("spacearm", floating=False)
    rng = np.random.default_rng(1)
    q, nu, dnu = robot.random_configuration(rng), robot.random_velocity(rng), robot.random_velocity(rng)
    d = robot.inverse_dynamics_second_derivatives(q, nu, dnu)
    for tensor in (d.dq_dq, d.dnu_dnu):
        assert np.abs(tensor - tensor.transpose(0, 2, 1)).max() < 1e-12
    G = robot.christoffel_symbols(q)
    assert np.abs(d.dnu_dnu - 2.0 * G).max() < 1e-12
    assert np.abs(d.dM_dq - robot.mass_matrix_derivatives(q)).max() < 1e-14


def test_moving_axes_are_refused() -> None:
    robot = fc.load(random_tree(3, 3, ("universal",)))
    x = np.zeros(robot.nv)
    with pytest.raises(fc.InputError, match=r"constant in the body.*revolute"):
        robot.inverse_dynamics_second_derivatives(robot.neutral(), x, x)


def test_differences_of_pinocchio() -> None:
    """Central differences of Pinocchio's first derivatives (its second ones are not in its wheel), on a floating base."""
    pin = pytest.importorskip("pinocchio")
    robot = fc.load(robot_file("hyq"))
    model = pin.buildModelFromUrdf(robot_file("hyq"), pin.JointModelFreeFlyer())
    data, to = model.createData(), fc.converters.pinocchio(robot, model)
    rng = np.random.default_rng(2)
    q, nu, dnu = robot.random_configuration(rng), robot.random_velocity(rng), robot.random_velocity(rng)
    E = to.T(q).T  # row k: our degree of freedom k in theirs

    def first(q: Array, nu: Array) -> list[Array]:
        dtau_dq, dtau_dnu, M = pin.computeRNEADerivatives(model, data, q, nu, E.T @ dnu)
        M = np.triu(M) + np.triu(M, 1).T
        return [E @ x @ E.T for x in (dtau_dq.copy(), dtau_dnu.copy(), M)]

    h = 1e-5
    ours = robot.inverse_dynamics_second_derivatives(q, nu, dnu)
    for k, e in enumerate(E):
        by_q = [(b - a) / (2 * h) for a, b in zip(*(first(pin.integrate(model, to.q(q), s * e), E.T @ nu) for s in (-h, h)))]
        by_nu = [(b - a) / (2 * h) for a, b in zip(*(first(to.q(q), E.T @ nu + s * e) for s in (-h, h)))]
        for found, expected in ((ours.dq_dq, by_q[0]), (ours.dq_dnu, by_nu[0]), (ours.dnu_dnu, by_nu[1]), (ours.dM_dq, by_q[2])):
            assert np.abs(found[:, :, k] - expected).max() <= 1e-7 * max(1.0, np.abs(found).max())
