"""Tells whether a task runs unpatched code of this library, which is then identified by its name.

The cache identifies an algorithm by its name and the digest of the library's source, without tracing it. This is valid only
if the algorithm and the classes of the model come from that source, and none of them has been replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import is_
from types import FunctionType
from typing import Any

from fallingcat import table
from fallingcat.codegen.fingerprint import covers
from fallingcat.model.joints import Reversed
from fallingcat.model.model import Model

ROOMS = ("algorithms", "spatial", "scalar", "task", "trace", "model.joints", "model.model")
"""The modules that an algorithm runs through on its way to a program."""


def is_library_code(algorithm: Callable[..., Any], model: Model, more: Iterable[type] = ()) -> bool:
    """Do the algorithm, every class of the model, and the classes `more` come from the library's source?"""
    return _is_library_function(algorithm) and all(map(_is_library_class, {*_classes(model), *more})) and unpatched()


def _is_library_function(function: Callable[..., Any]) -> bool:
    # Not __module__, which a wrapper takes over from what it wraps. A closure may hold any function.
    if type(function) is not FunctionType or function.__closure__ is not None:
        return False
    module = str(function.__globals__.get("__name__"))
    return covers(module) and function.__globals__ is vars(sys.modules[module])


def _is_library_class(kind: type) -> bool:
    return covers(kind.__module__) and getattr(sys.modules[kind.__module__], kind.__name__, None) is kind


def _classes(model: Model) -> set[type]:
    found: set[type] = {type(model)}
    for body in model.bodies:
        joint = body.joint
        found |= {type(body), type(body.inertia), type(body.pose), type(joint)}
        while isinstance(joint, Reversed):
            joint = joint.forward
            found.add(type(joint))
    return found


def _namespaces() -> Iterator[Mapping[str, Any]]:
    """The namespaces of the modules of an algorithm, and of their classes."""
    package = table.__name__.partition(".")[0]  # it imports every algorithm; modules not imported yet would be missed
    wanted = tuple(f"{package}.{room}" for room in ROOMS)
    for module in [vars(module) for name, module in sys.modules.items() if name.startswith(wanted)]:
        yield module
        for value in module.values():
            if isinstance(value, type) and value.__module__ == module["__name__"]:
                yield vars(value)


def _functions(space: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """The names of functions and classes in a namespace, own and imported, and the objects they refer to."""
    found = {name: value for name, value in space.items() if isinstance(value, (FunctionType, type)) and name[:2] != "__"}
    return tuple(found), tuple(found.values())


_KNOWN = tuple((space.get, *_functions(space)) for space in _namespaces())


def unpatched() -> bool:
    """Are the functions of the algorithms, and those that they use, the ones that were imported (none is monkeypatched)?"""
    return all(all(map(is_, map(get, names), values)) for get, names, values in _KNOWN)
