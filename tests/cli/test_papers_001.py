"""`fallingcat papers 001`: one quick run, and the witnesses it uses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reproduced import check_figures, reproduced

from fallingcat.apps.papers import paper001_numbers as N
from fallingcat.codegen import Kernel
from trees import relative_error


@pytest.mark.sweep
@pytest.mark.long
def test_001(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every check holds, the paper's numbers stand beside ours, and the figures are drawn."""
    out, text, found = reproduced("001", 30, tmp_path, capsys)

    for name, errors in N.TABLE_1.items():
        assert name in text
        assert " / ".join(f"{x:.1e}" for x in errors) in text
        assert max(found["validity"][name]) < 1e-12
    for name, times in N.TABLE_2.items():
        rows = [line.split()[-4:] for line in text.splitlines() if line.startswith(f"{name} ")]
        assert [f"{times[0]:.0f}", f"{times[1]:.0f}"] in [row[1::2] for row in rows]
        numbers = found["growth"][name]
        assert numbers["microseconds"]["C"][numbers["sizes"].index(20)] > 0.0
    for seconds in N.TABLE_3.values():
        assert " / ".join(f"{x:g}" for x in seconds) in text
    for words in ("Figures 3 and 4", "N log² N", "Algorithm 2", "What the paper gets wrong", "before (46)", "Remark 2", "Sec. 6"):
        assert words in text

    check_figures(out, text, "figure3.png", "figure4.png", "figure5.png")


def test_the_mechanisms_are_those_of_the_paper() -> None:
    """20 joints each: depths of a chain, of a tree with branching factor two, of limbs."""
    depths = {m.name: max(m.depth(i) for i in range(1, 21)) for m in N.MECHANISMS}
    assert depths == {"serial chain": 20, "branched mechanism": 5, "biped": 10, "quadruped": 5}
    for m in N.MECHANISMS:
        robot = m.robot(20)
        assert robot.n == 20
        assert robot.floating is (m.name in ("biped", "quadruped"))
        children = [sum(m.parent(i) == p for i in range(1, 21)) for p in range(1, 21)]
        assert max(children) == (2 if m is N.BRANCHED else 1)
    assert N.SERIAL.terms(20) == {N.C: 210, N.G: 2870}


def test_what_is_counted_as_symbolic_does_the_same_work() -> None:
    """Partials of H and Algorithm 2, on numbers, and the symbols without zeros, all give the library's."""
    for mechanism in (N.SERIAL, N.BRANCHED):
        robot = mechanism.robot(6)
        q = np.random.default_rng(0).normal(size=robot.nv)
        G = robot.christoffel_symbols(q)
        for way in (N.by_partials, N.written_out):
            assert relative_error(way(robot.model, q.tolist()), G) < 1e-12
        packed = Kernel(N.packed(robot.model))(q)
        assert relative_error(np.sort(packed[packed != 0.0]), np.sort(G[G != 0.0])) == 0.0


def test_an_exponent() -> None:
    """A power law is found again, and the theory of a chain is nearly N^2."""
    g = N.Growth(N.SERIAL)
    fitted, theory = g.exponent(N.C, [5, 20, 40, 80], [1e9, 20.0**1.5, 40.0**1.5, 80.0**1.5], 20)
    assert fitted == pytest.approx(1.5)
    assert theory == pytest.approx(2.0, abs=0.05)
