"""The direction of imports: a list of all doors between the rooms of the house, imports for types alone included."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import fallingcat

SOURCE = Path(fallingcat.__file__).parent
MODULES = {str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py"))}

DOORS = {
    # the ground
    "errors": "",
    "elementary": "",
    "text": "",
    "suggest": "text",
    "choices": "errors text",
    "announce": "",
    "files": "errors",
    "scalar": "elementary",
    "tensors": "scalar",
    "task": "errors scalar",
    "interrupts": "",
    "lazy": "",
    # from a file to a program
    "spatial": "errors scalar",
    "model": "errors elementary text suggest choices scalar lazy spatial",
    "algorithms": "scalar tensors spatial model",
    "trace": "errors elementary announce scalar tensors task lazy",
    # from a program to arrays
    "arrays": "errors suggest task spatial",
    "codegen": "errors elementary text suggest announce scalar task trace arrays files",
    "table": "algorithms",
    "origin": "model codegen table",
    "functions": "errors text choices task lazy model algorithms origin table",
    # what a user holds
    "control": "errors text suggest choices scalar task trace arrays codegen functions",
    "motion": "errors text suggest files model arrays",
    "robot": "errors text suggest choices files task spatial model algorithms trace arrays codegen origin functions control "
    "motion",
    "deploy": "errors text suggest choices task model codegen functions control robot",
    "frameworks": "errors text suggest choices scalar lazy task trace arrays codegen functions control robot",
    "converters": "errors suggest choices model arrays robot",
    "reference": "errors choices lazy model algorithms robot",
    # what commands show: one direction among them
    "apps": "errors text files",
    "apps/bench": "codegen functions robot",
    "apps/view": "errors files spatial task model algorithms arrays functions robot",
    "apps/viewer": "errors files model motion robot apps/view",
    "apps/report": "errors model algorithms arrays codegen functions robot apps apps/bench apps/view",
    "apps/cat": "errors motion robot apps apps/view",
    "apps/play": "trace codegen model robot apps/view apps/cat",
    "apps/papers": "scalar task spatial model algorithms trace arrays codegen functions "
    "motion robot reference apps apps/bench apps/view",
    "scale": "errors suggest files arrays functions robot",
    "cli": "errors text suggest choices files interrupts model functions robot deploy scale "
    "apps apps/bench apps/view apps/viewer apps/report apps/cat apps/play apps/papers",
}  # fmt: skip
"""Which rooms a room may import besides itself."""

FOR_TYPES = {("control", "robot"), ("control", "motion"), ("errors", "model"), ("motion", "robot")}
"""Doors that are open for types alone: those who work on a robot name it, and a robot uses them."""

BY_NAME = {("robot/robot.py", "apps/viewer")}
"""Modules that are imported by name when a user asks for them: nothing in the library needs them."""

WITHOUT_NUMPY = ("spatial", "algorithms")
ENTRANCES = ("__init__.py", "__main__.py")
"""They may import anything."""


def room_of(name: str) -> str:
    """The room of a module of the package: a folder, a file at the top, or a part of `apps`."""
    parts = name.split(".")
    if parts[0] != "apps" or len(parts) == 1:
        return parts[0]
    inside = f"apps/{parts[1]}"
    return inside if inside in DOORS else "apps"


def imports(path: Path, types: bool = True) -> set[str]:
    """Every module a file imports, also inside functions; without those for types alone if they are not wanted."""
    found: set[str] = set()
    todo: list[ast.AST] = [ast.parse(path.read_text())]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not types:
            todo += node.orelse
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        todo += ast.iter_child_nodes(node)
    return found


def imports_by_name(path: Path) -> set[str]:
    """Every module of the library that a file imports by a name in quotes."""
    calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    calls = [n for n in calls if ast.unparse(n.func).split(".")[-1] in ("import_module", "__import__")]
    words = {x.value for n in calls for x in ast.walk(n) if isinstance(x, ast.Constant) and isinstance(x.value, str)}
    return {word for word in words if word.startswith("fallingcat.")}


def rooms(path: Path, types: bool = True) -> set[str]:
    """The rooms that a file imports; `fallingcat.__version__` is in none."""
    names = {name.removeprefix("fallingcat.") for name in imports(path, types) if name.startswith("fallingcat.")}
    return {room_of(name) for name in names} - {"__version__"}


@pytest.mark.parametrize("module", [name for name in MODULES if name not in ENTRANCES])
def test_every_import_goes_through_a_door(module: str) -> None:
    room = room_of(module.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    open_doors = {room, *DOORS[room].split()}
    for_types = {to for at, to in FOR_TYPES if at == room}
    assert rooms(MODULES[module]) <= open_doors | for_types
    assert rooms(MODULES[module], types=False) <= open_doors
    if room in WITHOUT_NUMPY:
        assert not {name.split(".")[0] for name in imports(MODULES[module])} & {"numpy", "scipy", "llvmlite"}


def test_imports_by_name_are_listed() -> None:
    """No door is gone round by `import_module`, but for those that are listed."""
    own = {name: room_of(name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")) for name in MODULES}
    found = {
        (name, to)
        for name, path in MODULES.items()
        if name not in ENTRANCES
        for to in (room_of(x.removeprefix("fallingcat.")) for x in imports_by_name(path))
        if to not in {own[name], *DOORS[own[name]].split()}
    }
    assert found == BY_NAME


def test_no_door_is_there_for_nothing() -> None:
    used: dict[str, set[str]] = {room: set() for room in DOORS}
    for name, path in MODULES.items():
        if name not in ENTRANCES:
            used[room_of(name.removesuffix(".py").removesuffix("/__init__").replace("/", "."))] |= rooms(path)
    unused = {room: set(doors.split()) - used[room] for room, doors in DOORS.items()}
    assert {room: left for room, left in unused.items() if left} == {}


def test_there_is_no_way_back() -> None:
    """Doors lead in one direction, but for those that are for types alone."""
    order = list(DOORS)
    back = {(a, b) for a in order for b in DOORS[a].split() if order.index(b) > order.index(a)}
    assert back == set()


def test_the_reader_of_imports_reads(tmp_path: Path) -> None:
    """It sees plain imports, imports of names, those further inside, and those for types."""
    file = tmp_path / "x.py"
    file.write_text(
        "import fallingcat.trace as t\nfrom fallingcat import model\nif t:\n    from fallingcat.codegen import g\n"
        "if TYPE_CHECKING:\n    from fallingcat.apps.report import page\n"
    )
    assert rooms(file) == {"trace", "model", "codegen", "apps/report"}
    assert rooms(file, types=False) == {"trace", "model", "codegen"}
