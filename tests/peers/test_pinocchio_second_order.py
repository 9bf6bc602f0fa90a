"""Second derivatives of inverse dynamics, and adjoints of its adjoint, against Pinocchio's (Singh, Russell and Wensing, 2023).

The wheel has them as headers, not as a Python function: a small program is built with the compiler and the Eigen that are there.
Joints are added depth-first: in another order Pinocchio's algorithm leaves entries out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from numpy.typing import NDArray

import fallingcat as fc

Array = NDArray[np.float64]

pytestmark = [pytest.mark.sweep, pytest.mark.long]
SOURCE = Path(__file__).with_name("second_order.cpp")
TYPES = ("revolute", "prismatic", "floating")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = next(path for path in Path(pin.__file__).parents if path.name == "cmeel.prefix")
    places = [Path("/usr/include/eigen3"), prefix / "include" / "eigen3"]
    casadi = find_spec("casadi")
    if casadi is not None and casadi.origin:
        places.append(Path(casadi.origin).parent / "include" / "eigen3")
    eigen = [place for place in places if (place / "unsupported").exists()]
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None or not eigen:
        if "compilers" in os.environ.get("FALLINGCAT_CI", "").split(","):
            raise AssertionError("no C++ compiler, or no Eigen")
        pytest.skip("needs a C++ compiler and Eigen")
    target = tmp_path_factory.mktemp("build") / "second_order"
    words = [compiler, "-std=c++17", "-O0", f"-I{prefix / 'include'}", f"-I{eigen[0]}", str(SOURCE), "-o", str(target)]
    words += [f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}", "-lpinocchio_default"]
    words += ["-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_FUSION_INVOKE_MAX_ARITY=12"]
    built = subprocess.run(words, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    return target


def tree(rng: np.random.Generator, joints: int, floating: bool) -> tuple[fc.Robot, list[float]]:
    """A random tree of revolute and prismatic joints, depth-first, for us and for the program."""
    builder, text, path = fc.Builder("tree"), [float(joints + floating)], [0]

    def body(name: str) -> list[float]:
        mass, com, moments = rng.uniform(0.5, 3.0), rng.uniform(-0.2, 0.2, size=3), rng.uniform(0.02, 0.03, size=3)
        builder.link(name, mass=mass, com=com, inertia=(moments[0], 0.0, 0.0, moments[1], 0.0, moments[2]))
        return [mass, *com, *np.diag(moments).ravel()]

    base = body("link0")
    if floating:
        text += [0, 2, *np.eye(3).ravel(), 0, 0, 0, 0, 0, 1, *base]
    for k in range(1, joints + 1):
        path = path[: rng.integers(1, len(path) + 1)]  # go on from the last link, or from one before it on its path
        kind = int(rng.random() < 0.3)
        xyz, rpy, axis = rng.uniform(-0.3, 0.3, size=3), rng.uniform(-3, 3, size=3), rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        builder.joint(f"joint{k}", TYPES[kind], f"link{path[-1]}", f"link{k}", xyz=xyz, rpy=rpy, axis=axis, lower=-9.0, upper=9.0)
        R = pin.rpy.rpyToMatrix(*rpy)
        text += [path[-1] + floating, kind, *R.ravel(), *xyz, *axis, *body(f"link{k}")]
        path.append(k)
    gravity = (1.0, -2.0, -9.0)
    return fc.load(builder, floating=floating, gravity=gravity), [*text, *gravity]


def by_algorithm(robot: fc.Robot, q: Array, nu: Array, dnu: Array) -> dict[str, Array]:
    """[i, j, k], too: the derivative by k of d tau_i / d_j."""
    d = robot.inverse_dynamics_second_derivatives(q, nu, dnu)
    return {"qq": d.dq_dq, "vv": d.dnu_dnu, "qv": d.dq_dnu, "aq": d.dM_dq}


def by_adjoints(robot: fc.Robot, q: Array, nu: Array, dnu: Array) -> dict[str, Array]:
    """[i, j, k] = d2 tau_i / d_j d_k: the cotangent e_i of tau, then the cotangent e_j of its gradient."""
    nv = robot.nv
    twice = robot.kernel("inverse_dynamics").vjp().vjp()
    e_i = np.repeat(np.eye(nv), nv, axis=0)
    e_j = np.tile(np.eye(nv), (nv, 1))
    zero = np.zeros_like(e_j)
    by_q = twice(q, nu, dnu, e_i, e_j, zero, zero)
    by_nu = twice(q, nu, dnu, e_i, zero, e_j, zero)
    by_dnu = twice(q, nu, dnu, e_i, zero, zero, e_j)
    cube = (nv, nv, nv)
    found = {"qq": by_q.q, "vv": by_nu.nu, "qv": by_q.nu, "aq": by_dnu.q}
    return {name: np.asarray(x).reshape(cube) for name, x in found.items()}


@pytest.mark.parametrize(("seed", "joints", "floating"), [(1, 4, False), (2, 9, False), (3, 14, False), (4, 8, True)])
def test_second_derivatives_of_inverse_dynamics(program: Path, seed: int, joints: int, floating: bool) -> None:
    """On a fixed base and on a floating one, where both move twice along the group by velocities of the body."""
    rng = np.random.default_rng(seed)
    robot, text = tree(rng, joints, floating)
    q, nu, dnu = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    given = " ".join(repr(float(x)) for x in [*text, *q, *nu, *dnu])
    result = subprocess.run([str(program)], input=given, capture_output=True, text=True, check=True)
    expected = np.array(list(map(float, result.stdout.split()))).reshape(4, robot.nv, robot.nv, robot.nv)
    for way in (by_algorithm, by_adjoints):
        found = way(robot, q, nu, dnu)
        for name, tensor in zip(("qq", "vv", "qv", "aq"), expected, strict=True):
            error = np.abs(found[name] - tensor).max() / max(1.0, np.abs(tensor).max())
            assert error < 1e-9, f"{way.__name__}, {name}: {error}"
