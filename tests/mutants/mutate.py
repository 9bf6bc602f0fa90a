"""Changes to a function, one at a time: a sign, an index, a factor of two, a transpose; and putting them in place.

A mutant is put in place by exchanging the code object of the function, so that whoever has imported it runs the changed one.
"""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
import importlib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[2] / "src"

OPPOSITE = {"add": "sub", "sub": "add", "matadd": "matsub", "matsub": "matadd", "sym_add": "sym_sub", "sym_sub": "sym_add"}
"""Sums and differences of vectors by name."""
SWAPPED = {"cross"}
"""Products that change their sign with the order of their arguments."""
DROPPED = {"neg", "negative", "_minus", "transpose"}
"""Functions of one argument that a mutant leaves out."""


@dataclass(frozen=True)
class Mutant:
    """One change of one function."""

    source: str
    """file::function, relative to src/fallingcat"""
    kind: str
    line: int
    before: str
    after: str
    place: tuple[Any, ...]
    """The way to the changed node in the tree of the file."""
    changed: ast.AST

    def __str__(self) -> str:
        return f"{self.source}, line {self.line} ({self.kind}): {self.before}  ->  {self.after}"


def mutants(source: str) -> list[Mutant]:
    """All changes of a function that this file knows, in the order of its lines."""
    file, _, name = source.partition("::")
    module = _parsed(file)
    at = _places(module)[name]
    found = []
    function = _get(module, at)
    for path, node in _walk(function, ()):
        for kind, changed in _changes(node, path, function):
            line = getattr(node, "lineno", 0)
            found.append(Mutant(source, kind, line, ast.unparse(node), ast.unparse(changed), (*at, *path), changed))
    return found + list(_doubled(source, function, at))


def _doubled(source: str, function: ast.AST, at: tuple[Any, ...]) -> Iterator[Mutant]:
    """Twice what the function returns, at each of its returns."""
    for path, node in _walk(function, ()):
        if isinstance(node, ast.Return) and node.value is not None:
            changed = ast.Return(ast.Call(ast.Name(TWICE, ast.Load()), [copy.deepcopy(node.value)], []))
            before, after = ast.unparse(node), ast.unparse(changed)
            yield Mutant(source, DOUBLED, node.lineno, before, after, (*at, *path), changed)


TWICE = "_twice_of_a_mutant"
DOUBLED = "twice"
"""The kind of these changes."""


def twice(x: Any) -> Any:
    """Twice a number, an array, a vector, or a list of such; the opposite of a truth value."""
    if isinstance(x, bool):
        return not x
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(twice, x))
    if isinstance(x, list | tuple):
        return type(x)(map(twice, x))
    if dataclasses.is_dataclass(x) and not hasattr(x, "__mul__"):
        return dataclasses.replace(x, **{f.name: twice(getattr(x, f.name)) for f in dataclasses.fields(x)})  # type: ignore[type-var]
    return x * 2.0


# ---------------------------------------------------------------------------------------------------------------------
# Changes


def _changes(node: ast.AST, path: tuple[Any, ...], function: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    node = copy.deepcopy(node)
    inside_index = "slice" in path
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right) if not (inside_index or _joins(left, right) or _is_whole(right)):
            yield "sign", ast.BinOp(left, ast.Sub() if isinstance(op, ast.Add) else ast.Add(), right)
        case ast.AugAssign(target, ast.Add() | ast.Sub() as op, value):
            yield "sign", ast.AugAssign(target, ast.Sub() if isinstance(op, ast.Add) else ast.Add(), value)
        case ast.UnaryOp(ast.USub(), operand) if not inside_index and not _is_whole(operand):
            yield "sign", operand
        case ast.Call(ast.Name(name), [first, second], []) if name in OPPOSITE:
            yield "sign", ast.Call(ast.Name(OPPOSITE[name], ast.Load()), [first, second], [])
        case ast.Call(ast.Name(name), [first, second], []) if name in SWAPPED:
            yield "sign", ast.Call(ast.Name(name, ast.Load()), [second, first], [])
        case ast.Call(ast.Name(name), [only], []) if name in DROPPED:
            yield "transpose" if name == "transpose" else "sign", only
        case ast.Compare(left, [ast.In()], right) if len(right) == 1:
            yield "condition", ast.Compare(left, [ast.NotIn()], right)
        case ast.keyword("negate", ast.Constant(bool() as value)):
            yield "sign", ast.keyword("negate", ast.Constant(not value))
        case ast.Attribute(value, "T", ast.Load()):
            yield "transpose", value
        case ast.Constant(float() as value) if value != 0.0 and abs(value) >= 1e-3 and not inside_index:
            yield "factor", ast.Constant(2.0 * value)
        case ast.Subscript(value, ast.Constant(int() as k), context) if not isinstance(k, bool) and 0 <= k < 6:
            yield "index", ast.Subscript(value, ast.Constant(k + 1 if k not in (2, 5) else k - 1), context)
        case ast.Subscript(ast.Name(base), ast.Name(index), ast.Load() as context):
            for other in sorted(_indices(function, base) - {index}):
                yield "index", ast.Subscript(ast.Name(base, ast.Load()), ast.Name(other, ast.Load()), context)


def _joins(*sides: ast.AST) -> bool:
    """Is it a sum of texts or lists?"""
    kinds = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
    return any(isinstance(s, kinds) or (isinstance(s, ast.Constant) and isinstance(s.value, str)) for s in sides)


def _is_whole(node: ast.AST) -> bool:
    """A whole number: with a minus, an axis of an array."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _indices(function: ast.AST, base: str) -> set[str]:
    """Names that index a variable somewhere in the function."""
    return {
        node.slice.id
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == base
        and isinstance(node.slice, ast.Name)
    }


# ---------------------------------------------------------------------------------------------------------------------
# Trees and paths in them


@cache
def _parsed(file: str) -> ast.Module:
    return ast.parse((SOURCES / "fallingcat" / file).read_text(encoding="utf-8"))


def _places(module: ast.Module) -> dict[str, tuple[Any, ...]]:
    """Qualified name of a function -> the way to it; of several overloads the last."""
    found: dict[str, tuple[Any, ...]] = {}

    def within(body: list[ast.stmt], prefix: str, way: tuple[Any, ...]) -> None:
        for k, node in enumerate(body):
            if isinstance(node, ast.FunctionDef):
                found[prefix + node.name] = (*way, "body", k)
            elif isinstance(node, ast.ClassDef):
                within(node.body, f"{prefix}{node.name}.", (*way, "body", k))

    within(module.body, "", ())
    return found


SKIPPED = {"decorator_list", "returns", "annotation", "args", "type_params"}
"""Fields of a function, or of an assignment, that compute nothing; arguments of calls are not skipped."""


def _walk(node: ast.AST, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], ast.AST]]:
    for field, value in ast.iter_fields(node):
        if field in SKIPPED and not isinstance(node, ast.Call):
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for k, child in children:
            if isinstance(child, ast.AST) and not _is_raise(child):
                here = (*path, field) if k is None else (*path, field, k)
                yield here, child
                yield from _walk(child, here)


def _is_raise(node: ast.AST) -> bool:
    return isinstance(node, ast.Raise | ast.Assert)


def _get(tree: ast.AST, path: tuple[Any, ...]) -> Any:
    for step in path:
        tree = tree[step] if isinstance(step, int) else getattr(tree, step)  # type: ignore[index]
    return tree


def _set(tree: ast.AST, path: tuple[Any, ...], value: ast.AST) -> None:
    parent, last = _get(tree, path[:-1]), path[-1]
    if isinstance(last, int):
        parent[last] = value
    else:
        setattr(parent, last, value)


# ---------------------------------------------------------------------------------------------------------------------
# In place


def put_in_place(mutant: Mutant) -> None:
    """Exchange the code of the function in this process, for all who have it."""
    file, _, name = mutant.source.partition("::")
    module = "fallingcat." + file.removesuffix(".py").replace("/", ".")
    target = _function(importlib.import_module(module), name)
    setattr(builtins, TWICE, twice)
    tree = copy.deepcopy(_parsed(file))
    _set(tree, mutant.place, mutant.changed)
    ast.fix_missing_locations(tree)
    whole = compile(tree, str(SOURCES / "fallingcat" / file), "exec", dont_inherit=True)
    target.__code__ = _code(whole, target.__code__.co_qualname, target.__code__.co_freevars)


WRAPPERS = ("__wrapped__", "__func__", "fget", "_function")
"""Where static methods, properties, attributes computed once and decorated functions keep the function."""


def _function(module: Any, name: str) -> types.FunctionType:
    found: Any = module
    for part in name.split("."):
        found = found.__dict__[part] if isinstance(found, type) else getattr(found, part)
    while not isinstance(found, types.FunctionType) or hasattr(found, "__wrapped__"):
        inner = [getattr(found, name) for name in WRAPPERS if hasattr(found, name)]
        found = inner[0]
    assert isinstance(found, types.FunctionType), name
    return found


def _code(whole: types.CodeType, name: str, free: tuple[str, ...]) -> types.CodeType:
    """The code object of a function within that of its file; of several overloads the last."""
    found = [code for code in _codes(whole) if code.co_qualname == name]
    assert found[-1].co_freevars == free, name
    return found[-1]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)
