"""Every MJCF file that ships with installed packages, against MuJoCo: M and inverse dynamics."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np
import pytest
from tests.mujoco_states import disagreement

import fallingcat as fc
from fallingcat.model.mjcf import _warnings_to
from fallingcat.model.report import Report

TOLERANCE = 1e-10
LARGEST = 80
"""Degrees of freedom, for plain Python's sake."""
DEFAULT = ("gymnasium", "gymnasium_robotics", "mujoco")
MORE = ("dm_control", "brax", "metaworld", "robosuite", "dm_robotics")


def files(packages: tuple[str, ...]) -> list[Path]:
    """The MJCF files of packages that are installed; nothing of them is imported."""
    found: list[Path] = []
    for package in packages:
        spec = find_spec(package)
        for folder in spec.submodule_search_locations or () if spec is not None else ():
            found += [path for path in sorted(Path(folder).rglob("*.xml")) if b"<mujoco" in path.read_bytes()[:20000]]
    return found


def compiled(path: Path) -> mujoco.MjModel | None:
    """Some files are parts of others, or need other versions: those that MuJoCo itself refuses are left out."""
    try:
        with _warnings_to(mujoco, Report("")):
            model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        return None
    return model if 0 < model.nv <= LARGEST else None


def compare(paths: list[Path], rng: np.random.Generator) -> tuple[list[str], dict[str, tuple[float, float]]]:
    """The names of the files that were compared, and those that disagree."""
    seen, bad = [], {}
    for path in paths:
        model = compiled(path)
        if model is None:
            continue
        errors = disagreement(model, rng)
        seen.append(path.name)
        if not max(errors) < TOLERANCE:
            bad[str(path)] = errors
    return seen, bad


def test_installed_robots(rng: np.random.Generator) -> None:
    assert find_spec("gymnasium") is not None, "pip install -e '.[test]'"
    seen, bad = compare(files(DEFAULT), rng)
    assert bad == {}
    assert len(seen) >= 20


@pytest.mark.sweep
def test_more_robots(rng: np.random.Generator) -> None:
    """Those of packages that are too large to ask for."""
    paths = files(MORE)
    if not paths:
        pytest.skip(f"none of {', '.join(MORE)} is installed")
    _, bad = compare(paths, rng)
    # A free joint's armature is none of a floating base's; and MuJoCo takes nearly central masses for central ones.
    known = ("capsule.xml", "colour_objects.xml", "convex_convex.xml")
    assert {path: errors for path, errors in bad.items() if not path.endswith(known)} == {}


def test_the_files_load_as_paths(rng: np.random.Generator) -> None:
    """What a user does: fc.load(path)."""
    for path in files(("gymnasium",)):
        robot = fc.load(path)
        model = compiled(path)
        assert model is not None
        assert robot.nv == model.nv, path
        assert robot.joint_names == tuple(
            model.joint(j).name or f"joint{j}" for j in range(model.njnt) if not (robot.floating and model.jnt_type[j] == 0)
        )
