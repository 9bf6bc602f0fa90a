"""The possible bases (paper 004): a frame, a pair of frames, the centre of mass, the centroid."""

from __future__ import annotations

from fallingcat.algorithms.base_twist import CENTER_OF_MASS, CENTROIDAL, Base
from fallingcat.choices import check_floating
from fallingcat.errors import InputError
from fallingcat.model.joints import Representation
from fallingcat.model.model import Model
from fallingcat.text import shown


def check_base(model: Model, base: Base, representation: Representation) -> None:
    """Raise for a value that is no base."""
    check_floating("a change of base", model.floating)
    if isinstance(base, str) and base == CENTROIDAL:
        if representation != "mixed":
            raise InputError(
                f"the centroid has no orientation, hence no {representation} twist", expected="representation='mixed'",
                got=repr(representation), hint='for an orientation use ("center_of_mass", "a frame")',
            )  # fmt: skip
    elif isinstance(base, tuple):
        if len(base) != 2 or not all(isinstance(name, str) for name in base):
            raise InputError("base is not a pair", expected='("origin frame", "orientation frame")', got=shown(base))
        if base[0] == CENTROIDAL:
            raise InputError(
                "the centroid has no orientation of its own",
                got=repr(base),
                hint=f'for its origin use ("{CENTER_OF_MASS}", frame)',
            )
        if base[0] != CENTER_OF_MASS:
            model.frame(base[0])
        model.frame(base[1])
    elif base is not None:
        model.frame(base)
