"""The tests behind the equation map fail when the equations are wrong; and the changes that show it are what they claim to be."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from fallingcat.reference import paper000

from .mutate import mutants, put_in_place
from .run import ROOT, chosen

NUMBERS = ("000", "001", "002", "003", "004")
IN_EVERY_CI = ("000", "002")


@pytest.mark.sweep
@pytest.mark.parametrize("number", [pytest.param(n, marks=[] if n in IN_EVERY_CI else [pytest.mark.long]) for n in NUMBERS])
def test_every_row_has_tests_that_see_a_wrong_equation(number: str) -> None:
    """Two changes for every function behind a row, twice its result among them: none survives, and no row is without one."""
    words = [sys.executable, "-m", "tests.mutants", number, "--most", "2", "--json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert found["mutants"] > 30
    assert found["survivors"] == []
    assert found["without"] == []


def test_changes_are_small_and_of_all_kinds() -> None:
    found = mutants("reference/paper000.py::table4")
    assert {m.kind for m in found} >= {"sign", "index", "transpose"}
    assert len({str(m) for m in found}) > 30
    assert all(m.before != m.after for m in found)
    some = chosen("reference/paper000.py::table4", 5)
    assert len(some) == 5
    assert len({m.kind for m in some}) >= 4


def test_twice_the_result_is_tried_too() -> None:
    """Within the same number of runs."""
    for source in ("reference/paper000.py::table4", "spatial/transform.py::TransformTransposed.__matmul__"):
        assert sorted(m.kind == "twice" for m in chosen(source, 2)) == [False, True]
        assert {m.kind for m in chosen(source, 1000)} >= {"twice", "sign"}


def test_a_change_is_in_place_for_all_who_have_the_function() -> None:
    ad = paper000.ad  # as another module would have imported it
    v, before = np.arange(6.0), ad.__code__
    right = ad(v)
    (change,) = [m for m in mutants("reference/paper000.py::hat") if m.before == "-x[2]"]
    hat = paper000.hat.__code__
    try:
        put_in_place(change)
        assert not np.array_equal(ad(v), right)
    finally:
        paper000.hat.__code__ = hat
    assert np.array_equal(ad(v), right)
    assert ad.__code__ is before


def test_methods_and_cached_attributes_can_be_changed() -> None:
    for source in (
        "spatial/coriolis.py::CoriolisFactor.of",
        "reference/paper003.py::Bodies.Lambda_q",
        "robot/coordinates.py::BaseChange.inverse",
        "spatial/transform.py::Transform.__matmul__",
    ):
        from .mutate import _function

        found = mutants(source)
        module = __import__("fallingcat." + source.partition(".py")[0].replace("/", "."), fromlist=["x"])
        function = _function(module, source.partition("::")[2])
        before = function.__code__
        try:
            for change in found:
                put_in_place(change)
                assert function.__code__ is not before
        finally:
            function.__code__ = before
