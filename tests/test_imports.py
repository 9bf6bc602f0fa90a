"""The direction of imports: what flows from model file to machine code never flows back."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import fallingcat

SOURCE = Path(fallingcat.__file__).parent
MODULES = {str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py"))}

ONLY = {"spatial": {"scalar", "errors", "spatial"}}
"""Rooms that may import nothing of the package but these."""
EDGES = ("cli", "view", "report", "papers", "cat", "converters")
"""What only a user imports."""
NEVER = {
    "model": {"algorithms", "trace", "compile", "robot", *EDGES},
    "algorithms": {"trace", "compile", "robot", *EDGES},
    "trace": {"model", "algorithms", "robot", "functions", *EDGES},
    "compile": {"model", "algorithms", "robot", "functions", *EDGES},
}
WITHOUT_NUMPY = ("spatial", "algorithms")


def imports(path: Path) -> set[str]:
    """Every module a file imports, also inside functions; names imported from the package count as its modules."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rooms(path: Path) -> set[str]:
    """The parts of the package that a file imports."""
    return {name.split(".")[1] for name in imports(path) if name.startswith("fallingcat.")}


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    room = module.split("/")[0]
    used = rooms(MODULES[module])
    if room in ONLY:
        assert used <= ONLY[room]
    assert not used & NEVER.get(room, set())
    if room in WITHOUT_NUMPY:
        assert not {name.split(".")[0] for name in imports(MODULES[module])} & {"numpy", "scipy", "llvmlite"}


def test_every_room_is_looked_at() -> None:
    """The rules above name folders that exist and hold code."""
    filled = {name.split("/")[0] for name, path in MODULES.items() if path.stat().st_size > 0}
    assert {"spatial", "model", "algorithms"} <= filled
    assert {*ONLY, *NEVER} <= {path.name for path in SOURCE.iterdir() if path.is_dir()}


def test_the_reader_of_imports_reads(tmp_path: Path) -> None:
    """It sees plain imports, imports of names, and those further inside."""
    file = tmp_path / "x.py"
    file.write_text("import fallingcat.trace as t\nfrom fallingcat import model\nif t:\n    from fallingcat.compile import g\n")
    assert rooms(file) == {"trace", "model", "compile"}
