"""Other engines need nothing of ours beyond pickling: multiprocessing, joblib and Ray, as on the page of the documentation."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from extras import extra

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


def effort(r: fc.Robot, q: object, nu: object) -> object:
    return r.bias(q, nu)[6:]  # type: ignore[arg-type, index]


@pytest.mark.parametrize("how", ["spawn", pytest.param("forkserver", marks=pytest.mark.dask)])
def test_processes(how: str, rng: np.random.Generator) -> None:
    robot = fc.load("cat")
    q = np.stack([robot.random_configuration(rng) for _ in range(40)])
    nu = rng.normal(size=(40, robot.nv))
    own = fc.compile(effort, robot)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(how)) as pool:
        found = list(pool.map(robot.bias, np.split(q, 4), np.split(nu, 4)))
        mine = list(pool.map(own, np.split(q, 4), np.split(nu, 4)))
    np.testing.assert_array_equal(np.concatenate(found), robot.bias(q, nu))
    np.testing.assert_array_equal(np.concatenate(mine), own(q, nu))


def recipe(name: str) -> str:
    """A block of the page that names a library."""
    blocks = re.findall(r"^```py\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    (block,) = [block for block in blocks if f"import {name}" in block or f"from {name}" in block]
    return block


@pytest.mark.parametrize("name", ["concurrent", "joblib", "ray"])
@pytest.mark.dask
def test_the_recipes_on_the_page(name: str, tmp_path: Path) -> None:
    extra(name)
    script = tmp_path / "recipe.py"
    script.write_text("if __name__ == '__main__':\n" + "".join(f"    {line}\n" for line in recipe(name).splitlines()))
    environment = os.environ | {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    words = [sys.executable, str(script)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.dask
def test_the_python_of_the_page(tmp_path: Path) -> None:
    """The blocks follow on from each other."""
    for module in ("dask", "xarray", "zarr"):
        extra(module)
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.dask
def test_the_commands_of_the_page(tmp_path: Path) -> None:
    extra("zarr")
    block = next(x for x in re.findall(r"^```bash\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE) if "fallingcat sample" in x)
    for line in block.splitlines():
        words = [sys.executable, "-m", *line.replace("1e6", "2000").split(), "--workers", "0"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
