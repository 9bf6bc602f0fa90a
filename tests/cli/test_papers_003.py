"""`fallingcat papers 003`: one quick run, and the parts of it that are not tested elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reproduced import check_figures, reproduced

from fallingcat.apps.papers import paper003_numbers as N
from fallingcat.apps.papers import space_robot as space

ERRATA = {f"3.{k}" for k in (*range(1, 20), 21) if k not in (2, 3)}


def test_003(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every check holds, every erratum is shown, and the figures are drawn."""
    out, text, found = reproduced("003", 60, tmp_path, capsys, parse_constant=pytest.fail)

    assert {row["number"] for row in found["as printed"]} == ERRATA
    for row in found["as printed"]:
        assert row["where"] in text
        assert row["corrected"] < 1e-12
    robot = found["space robot"]
    assert robot["mixed"] == [pytest.approx(2.0), pytest.approx(0.0, abs=1e-12)]
    assert robot["before"] < 1e-8 < 1e-2 < robot["transient"]
    for words in ("Theorem 1", "no fit", "Sec. V-1", "2 4 6", "Sec. V-3", "power"):
        assert words in text
    check_figures(out, text, "figure2.png", "curvature.png", "displacement.png", width=1200)


def test_the_robot_is_that_of_the_paper() -> None:
    """Base of 3.5 kg with diag(0.12, 0.14, 0.12) kg m^2, seven joints, no gravity."""
    robot = space.space_robot()
    base = next(link for link in robot.description.links if link.name == robot.base).inertial
    assert base is not None
    assert (base.mass, base.inertia) == (3.5, (0.12, 0.0, 0.0, 0.14, 0.0, 0.12))
    assert robot.n == 7
    assert not robot.gravity.any()


def test_the_energy_of_the_shape_falls_alike() -> None:
    """V + what the dampers took is constant after the hit, under both controllers, better with smaller steps."""
    robot = space.space_robot()
    off = []
    for dt in (4e-3, 2e-3):
        flights = {c: space.fly(robot, c, dt) for c in space.CONTROLLERS}
        off.append(space.compare(flights).balance)
    assert off[1] < 5e-3
    assert off[1] < 0.7 * off[0]


def test_area_integral_of_a_polynomial() -> None:
    """The quadrature is exact for a curvature 2 + x^2, with few points too: the area times 2 + c^2 + (a^2 + b^2) / 4."""

    class Bent:
        n = 3
        nq = 10

        def curvature(self, q: np.ndarray) -> np.ndarray:
            B = np.zeros((len(q), 6, 3, 3))
            B[:, 5, 0, 1] = 2.0 + q[:, 7] ** 2
            B[:, 5, 1, 0] = -B[:, 5, 0, 1]
            return B

    centre, a, b = np.array([0.4, 0.0, 0.0]), np.array([0.3, 0.0, 0.1]), np.array([0.1, 0.5, 0.0])
    mean = 2.0 + centre[0] ** 2 + (a[0] ** 2 + b[0] ** 2) / 4.0
    for around, layers in ((48, 10), (4, 2)):
        found = N.Ellipse(centre, a, b).area_integral(Bent(), around, layers)  # type: ignore[arg-type]
        np.testing.assert_allclose(found, [0, 0, 0, 0, 0, -mean * np.pi * (a[0] * b[1] - a[1] * b[0])], atol=1e-15)
