"""Machine code is never older than what it was made from: a user's own algorithm or joint, a patched one, an upgrade."""

from __future__ import annotations

import ast
import compileall
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import functions, origin
from fallingcat.algorithms import energy
from fallingcat.codegen import Kernel, cache, fingerprint
from fallingcat.functions import FUNCTIONS, task
from fallingcat.model.joints import Reversed, Revolute

SOURCE = Path(fc.__file__).resolve().parent
PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"


def python(script: str, *, path: Path = SOURCE.parent, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": str(path)} | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


# ---------------------------------------------------------------------------------------------------------------------
# Somebody's own


def _blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("batch", ["", "[None]"])
def test_a_corrected_algorithm_of_a_user_runs(tmp_path: Path, batch: str) -> None:
    """What docs/extending.md says, with a factor that is corrected between two runs."""
    algorithm, kernel = (next(b for b in _blocks() if word in b) for word in ("def body_energies", "Kernel(task("))
    kernel = kernel.partition("T = energies")[0]

    def run(factor: str) -> float:
        script = "import numpy as np\n" + algorithm.replace("0.5 *", f"{factor} *") + kernel
        script += f"print(np.sum(energies(q{batch}, nu{batch})))"
        return float(python(script, FALLINGCAT_CACHE=str(tmp_path))[0])

    right, wrong = run("0.5"), run("0.7")
    assert wrong == pytest.approx(1.4 * right)
    assert run("0.5") == right


JOINT = """
import dataclasses
import numpy as np
import fallingcat as fc
from fallingcat.codegen import Kernel
from fallingcat.functions import task

robot = fc.load("spacearm")
bodies = list(robot.model.bodies)
bodies[2] = dataclasses.replace(bodies[2], joint=%s)
model = dataclasses.replace(robot.model, bodies=tuple(bodies))
print(Kernel(task(model, "mass_matrix"))(robot.neutral())[7, 7])
"""


@pytest.mark.parametrize("joint", ["Rolling(0.3)", "Reversed(Rolling(0.3))"])
def test_a_corrected_joint_of_a_user_runs(tmp_path: Path, joint: str) -> None:
    rolling = next(b for b in _blocks() if "class Rolling" in b)

    def run(factor: str) -> float:
        own = rolling.replace("scale(self.radius, x), unit(1)", f"scale({factor} * self.radius, x), unit(1)")
        script = own + "from fallingcat.model.joints import Reversed\n" + JOINT % joint
        return float(python(script, FALLINGCAT_CACHE=str(tmp_path))[0])

    once, twice = run("1.0"), run("2.0")
    assert once != pytest.approx(twice)
    assert run("1.0") == once


def _half(model: Any, q: Any, nu: Any) -> Any:
    return 0.5 * energy.kinetic_energy(model, q, nu)


def test_what_stands_in_the_place_of_a_function_of_the_library_runs(
    pendulum: fc.Robot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    q, nu = np.array([0.3]), np.array([2.0])

    def kinetic_energy() -> float:
        return float(Kernel(task(pendulum.model, "kinetic_energy"))(q, nu))

    before = kinetic_energy()
    assert task(pendulum.model, "kinetic_energy").key
    # another row of the table
    monkeypatch.setitem(FUNCTIONS, "kinetic_energy", functions.Function(_half, (functions.Q, functions.NU), (("T", ()),)))
    assert kinetic_energy() == pytest.approx(0.5 * before)
    monkeypatch.undo()
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    # a pass that the algorithm calls
    velocities = energy.velocities

    def faster(r: Any, nu: Any) -> Any:
        return velocities(r, [3.0 * x for x in nu])

    monkeypatch.setattr(energy, "velocities", faster)
    assert not origin.unpatched()
    assert kinetic_energy() == pytest.approx(9.0 * before)
    monkeypatch.undo()
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    # a method of a class
    columns = Revolute.columns
    monkeypatch.setattr(Revolute, "columns", lambda self, q: [(a, tuple(2.0 * x for x in b)) for a, b in columns(self, q)])
    assert not origin.unpatched()
    assert kinetic_energy() != pytest.approx(before)
    monkeypatch.undo()
    assert origin.unpatched()
    assert task(pendulum.model, "kinetic_energy").key


def test_what_the_library_has_is_known_without_tracing(ball: fc.Robot) -> None:
    for robot in (ball, ball.with_base("ball")):
        assert task(robot.model, "inverse_dynamics").key
        assert task(robot.model, "bias", representation="mixed").key
    assert any(isinstance(body.joint, Reversed) for body in robot.model.bodies)


# ---------------------------------------------------------------------------------------------------------------------
# Other source


def _installed(folder: Path) -> Path:
    target = folder / "fallingcat"
    shutil.copytree(SOURCE, target, ignore=shutil.ignore_patterns("__pycache__", "papers", "reference"))
    return target


def _compile(package: Path) -> None:
    assert compileall.compile_dir(package, quiet=1, legacy=True, force=True)


ENERGY = """
import fallingcat as fc
import numpy as np
b = fc.Builder("pendulum")
b.link("frame")
b.link("bob", mass=2.0, com=(0.0, 0.0, -0.5), inertia=(0.01, 0, 0, 0.01, 0, 0.01))
b.joint("hinge", "revolute", "frame", "bob", axis=(0, 1, 0))
r = fc.load(b, floating=False)
from fallingcat.codegen import cache
print(r.kinetic_energy(r.neutral(), np.ones(1)), len(cache.key("x")))
"""


def _edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("form", ["source", "compiled", "zipped", "zipped and compiled"])
def test_an_upgrade_without_source_files(tmp_path: Path, form: str) -> None:
    """The energy of another version of the library is another, however it is installed."""
    kept = tmp_path / "cache"

    def run(factor: str) -> list[str]:
        package = _installed(tmp_path / factor)
        algorithm = package / "algorithms" / "energy.py"
        assert "0.5 *" in algorithm.read_text(encoding="utf-8")
        _edit(algorithm, "0.5 *", f"{factor} *")
        where = package.parent
        if "compiled" in form:
            _compile(package)
            for file in package.rglob("*.py"):
                file.unlink()
        if "zipped" in form:
            where = package.parent / "library.zip"
            with zipfile.ZipFile(where, "w") as archive:
                for file in package.rglob("*.*"):
                    archive.write(file, file.relative_to(package.parent))
            shutil.rmtree(package)
        place = tmp_path / "place"  # both versions in one place, one after the other
        place.mkdir(exist_ok=True)
        if where.is_dir():
            shutil.rmtree(place / "fallingcat", ignore_errors=True)
            shutil.move(where / "fallingcat", place / "fallingcat")
        else:
            shutil.move(where, place / where.name)
        return python(ENERGY, path=place if where.is_dir() else place / where.name, FALLINGCAT_CACHE=str(kept))

    right, wrong = run("0.5"), run("0.25")
    assert float(wrong[0]) == pytest.approx(0.5 * float(right[0]))
    assert right[1] == wrong[1] == "64"
    assert len(list(kept.glob("*.o"))) == 2


def test_the_version_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    name = cache.key("x")
    monkeypatch.setattr(fc, "__version__", "0.0.0")
    assert cache.key("x") != name


def test_without_anything_to_read_nothing_is_kept(pendulum: fc.Robot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "source_digest", lambda: "")
    assert cache.key("x") == ""
    kernel = Kernel(task(pendulum.model, "potential_energy"))
    assert kernel(np.array([0.0])) == pytest.approx(-9.81)
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_outlives_its_source_keeps_nothing(tmp_path: Path) -> None:
    package = _installed(tmp_path / "here")
    script = ENERGY.partition("from fallingcat.codegen")[0] + (
        "import time\nfrom pathlib import Path\n"
        "file = Path(fc.__file__).parent / 'algorithms' / 'energy.py'\n"
        "file.write_text(file.read_text().replace('0.5 *', '0.25 *'))\n"
        "time.sleep(0.2)\n"
        "print(r.kinetic_energy(r.neutral(), np.ones(1)))\n"
    )
    kept = str(tmp_path / "cache")
    (before,) = python(script, path=package.parent, FALLINGCAT_CACHE=kept)
    after, _ = python(ENERGY, path=package.parent, FALLINGCAT_CACHE=kept)
    assert float(after) == pytest.approx(0.5 * float(before))


DIGEST = "from fallingcat.codegen.fingerprint import source_digest; print(source_digest())"


def test_pages_and_commands_have_no_part_in_it(tmp_path: Path) -> None:
    package = _installed(tmp_path)
    before = python(DIGEST, path=tmp_path)
    for file in (
        "cli/main.py", "apps/report/page.py", "apps/view/svg.py", "apps/cat/fall.py", "deploy/export.py",
        "frameworks/jax_door.py", "converters/layout.py", "motion/spline.py", "scale/job.py", "control/steps.py", "text.py",
        "robot/labels.py", "model/meshes.py", "model/urdf.py",
    ):  # fmt: skip
        _edit(package / file, '"""', '""" ')
    assert python(DIGEST, path=tmp_path) == before
    covered = {Path(file).relative_to(SOURCE).as_posix() for file in fingerprint._FILES}
    assert covered >= {"algorithms/rnea.py", "codegen/batch.py", "trace/rules.py", "scalar.py", "model/joints.py"}


WORDS = {"arrays", "errors", "text", "suggest", "choices", "announce", "files", "model.findings", "model.report", "arrays.axes",
    "arrays.eager", "arrays.non_numpy", "arrays.singular_states"}  # fmt: skip
"""What makers import without a part in the code: messages, files, and what looks at arguments and results in Python."""


def test_what_makes_code_is_covered() -> None:
    """Every module that makes a task with a key, and all that it imports, is in the digest, but for words."""
    makers = [name for name, tree in SOURCES.items() if _makes_keyed_tasks(tree)]
    makers.remove("frameworks.torch_operator")  # a key for graphs of PyTorch: that task is never compiled
    assert {"functions", "robot.constraint_tasks", "trace.gradients", "frameworks.entries"} <= {*makers}
    todo, seen = [*makers, "codegen.kernel"], set()
    while todo:
        name = todo.pop()
        if name not in seen and not name.startswith("frameworks.casadi_"):  # their names and shapes are in the key themselves
            seen.add(name)
            todo += _imported(SOURCES[name])
    covered = {_module(Path(file)) for file in fingerprint._FILES}
    assert seen - covered <= WORDS
    assert {*makers} <= covered


def _module(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix().removesuffix(".py").removesuffix("/__init__").replace("/", ".")


SOURCES = {_module(path): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}


def _makes_keyed_tasks(tree: ast.AST) -> bool:
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "Task"]
    return any(len(c.args) > 4 or any(k.arg == "key" for k in c.keywords) for c in calls)


def _imported(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(ast.Module([n for n in tree.body if not isinstance(n, ast.If)], [])):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("fallingcat"):
            module = str(node.module).removeprefix("fallingcat").removeprefix(".")
            found |= {f"{module}.{a.name}".lstrip(".") for a in node.names} | {module}
    return found & SOURCES.keys()


def test_a_file_in_another_place_is_another_library(tmp_path: Path) -> None:
    package = _installed(tmp_path)
    (package / "trace" / "extra.py").write_text("")
    before = python(DIGEST, path=tmp_path)
    (package / "trace" / "extra.py").rename(package / "codegen" / "extra.py")
    assert python(DIGEST, path=tmp_path) != before


def test_modules_from_elsewhere_are_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fingerprint.covers("fallingcat.algorithms.rnea")
    assert not fingerprint.covers("fallingcat.cli.main")
    assert not fingerprint.covers("fallingcat.algorithms.nothing")
    other = type(sys)("fallingcat.algorithms.other")
    other.__file__ = __file__
    monkeypatch.setitem(sys.modules, other.__name__, other)
    assert not fingerprint.covers(other.__name__)
