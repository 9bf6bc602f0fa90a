"""A million states: what is allocated beyond arguments and results stays below 64 MB."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fallingcat as fc

LIMIT = 64.0
SCRIPT = """
import resource, sys
import numpy as np
import fallingcat as fc

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

kind, count, threads = sys.argv[1], 1_000_000, int(sys.argv[2])
fc.set_threads(threads)
robot = fc.load("spacearm")
rng = np.random.default_rng(1)
q = np.empty((count, robot.nq))
q[:] = robot.random_configuration(rng)
nu = np.full((count, robot.nv), 0.1)
dnu = np.full((count, robot.nv), 0.2)
if kind == "float32":
    q, nu, dnu = (a.astype(np.float32) for a in (q, nu, dnu))
elif kind == "broadcast":
    q, nu, dnu = q.reshape(1000, 1000, -1), nu[:1000, None], dnu[0]
elif kind == "Fortran":
    q, nu, dnu = (np.asfortranarray(a) for a in (q, nu, dnu))
out = np.ones((*q.shape[:-1], robot.nv)) if kind != "result" else None
robot.inverse_dynamics(q[:8], nu[:8], dnu[:8] if dnu.ndim > 1 else dnu)  # compile first
robot.inverse_dynamics(q[:100][:, ::-1][:, ::-1], nu[:100], dnu[:100] if dnu.ndim > 1 else dnu)
before = peak()
# What was freed since the highest point would hide what is taken now: take it back, touched.
now = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20
held = np.ones(int(max(0.0, before - now) * 2**20 / 8))
before = peak()
result = robot.inverse_dynamics(q, nu, dnu, out=out)
extra = peak() - before - (result.nbytes / 2**20 if kind == "result" else 0.0)
assert result.shape == (*q.shape[:-1], robot.nv) and np.isfinite(result[-1]).all()
print(extra)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize(("kind", "threads"), [("plain", 2), ("result", 1), ("float32", 1), ("broadcast", 2), ("Fortran", 1)])
def test_a_million_states(kind: str, threads: int) -> None:
    src = str(Path(fc.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, str(threads)], env=os.environ | {"PYTHONPATH": src},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < LIMIT
