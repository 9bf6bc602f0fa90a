"""`fallingcat papers 000`: one quick run, and the witnesses it uses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reproduced import check_figures, reproduced

import fallingcat as fc
from fallingcat.apps.papers import paper000_numbers as N
from trees import relative_error


@pytest.mark.sweep
def test_000(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every check holds, the paper's errors stand beside ours, and the figures are drawn."""
    out, text, found = reproduced("000", 20, tmp_path, capsys)

    for name, (largest, average) in N.PRINTED.items():
        assert name in text
        assert f"{largest:.2e}" in text
        assert f"{average:.2e}" in text
        assert 0.0 < found["errors"][name]["average"] < 1e-5
    for words in ("Table 1", "moving base", "singularity-free", "recursive", "exact derivatives", "Euler angles", "Cost of A"):
        assert words in text
    for words in ("Table 5, line 1", "Table 6, line 47", "Table 9"):
        assert words in text

    check_figures(out, text, "figure5.png", "singularity.png")


def test_the_draws_are_those_of_the_paper() -> None:
    """Nine joints of three types along three axes, branched at the base and further out, no wrench on the base."""
    d = N.draw(5)
    assert d.robot.n == 9
    assert sorted(name[3:] for name in d.robot.joint_names) == sorted(N.PARENTS)
    assert list(N.PARENTS.values()).count("base") == 2
    assert max(list(N.PARENTS.values()).count(name) for name in N.PARENTS) == 2
    assert np.all(d.tau[:6] == 0.0)
    assert relative_error(fc.load(d.robot.description).forward_dynamics(d.q, d.nu, d.tau), d.dnu) < 1e-10
    H, _ = d.robot.split(d.q)
    v_A = np.linalg.solve(_twist_transform(H), d.nu[:6])
    assert np.all((v_A > 0.0) & (v_A < 1.0))


def _twist_transform(H: np.ndarray) -> np.ndarray:
    R, o = H[:3, :3], H[:3, 3]
    hat = np.array([[0, -o[2], o[1]], [o[2], 0, -o[0]], [-o[1], o[0], 0]])
    return np.block([[R.T, -R.T @ hat], [np.zeros((3, 3)), R.T]])


def test_euler_angles_are_right_where_they_are_regular(rng: np.random.Generator) -> None:
    """The comparison is fair: far from the singularity, Euler angles give the same A."""
    robot = fc.load("tree9")
    y = np.concatenate([rng.normal(size=3), [0.3, -0.4, 0.5], rng.normal(size=robot.n + robot.nv)])
    tau = rng.normal(size=robot.nv)
    q = np.concatenate([y[:3], N._rpy_quaternion(y[3:6]), y[6 : robot.nv]])
    ours = robot.linearize(q, y[robot.nv :], tau).A
    assert relative_error(N.euler_linearization(robot.model, y, tau), ours) < 1e-12


def test_automatic_differentiation_does_the_same_work(rng: np.random.Generator) -> None:
    """What is counted as automatic differentiation gives the same derivatives."""
    robot = fc.load("tree9")
    q, nu, tau = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    D = np.array(N.by_dual_numbers(robot.model).evaluate(q.tolist(), nu.tolist(), tau.tolist())).T
    FD = robot.forward_dynamics_derivatives(q, nu, tau)
    whole = np.concatenate([FD.ddnu_dq, FD.ddnu_dnu, np.asarray(FD.Minv)[:, 6:]], axis=1)
    assert relative_error(D, whole) < 1e-11
