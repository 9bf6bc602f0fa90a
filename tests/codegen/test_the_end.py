"""How a process ends that has compiled code: nothing is looked at after it was freed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fallingcat as fc

SCRIPT = """
import numpy as np
import fallingcat as fc

robots = [fc.load(name) for name in ("spacearm", "tree9")]
for robot in robots:
    q, nu = robot.random_configuration(1), robot.random_velocity(2)
    for _ in range(2):
        robot.inverse_dynamics(q, nu, nu)
        robot.frame_pose(q, robot.frame_names[-1])
        robot.coriolis_terms(q, nu)
    held = robot.mass_matrix(np.tile(q, (300, 1)))[7]
height = fc.compile(lambda r, q: r.center_of_mass(q)[2], robots[0])
height(robots[0].neutral())
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="an option of glibc")
@pytest.mark.parametrize("freed", ["255", "2"])  # bytes that freed memory is filled with
def test_what_is_freed_is_not_looked_at(freed: str) -> None:
    src = str(Path(fc.__file__).resolve().parents[1])
    environment = os.environ | {"PYTHONPATH": src, "PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": freed}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
