"""The axes of all joints in one list, in the order of nu, for algorithms that go by pairs and triples of them."""

from __future__ import annotations

from dataclasses import dataclass

from fallingcat.algorithms.posed import PerBody, Posed
from fallingcat.spatial import Motion
from fallingcat.tensors import Place


@dataclass(frozen=True)
class Axis:
    """One axis of one joint."""

    body: int
    nu: int
    """Its entry in nu."""
    S: Motion
    """In common coordinates; a joint that follows another carries its multiplier here."""


@dataclass(frozen=True)
class Axes:
    """All axes in the order of nu, and which of them carry a body."""

    all: list[Axis]
    of: PerBody[list[int]]
    """The axes of a body's own joint."""
    path: PerBody[list[int]]
    """The axes of a body's own joint and of all joints that carry it."""

    def up_to(self, axis: int) -> list[int]:
        """The axes of the joint that an axis belongs to, and of all joints that carry it."""
        return self.path[self.all[axis].body]

    def below(self, axis: int) -> list[int]:
        """The axes of all joints that carry the joint of an axis, without that joint's own."""
        own = set(self.of[self.all[axis].body])
        return [x for x in self.up_to(axis) if x not in own]

    def place(self, i: int, j: int, k: int) -> Place:
        """The entry (i, j, k) of an nv x nv x nv tensor that belongs to three axes."""
        return self.all[i].nu, self.all[j].nu, self.all[k].nu


def axes(r: Posed) -> Axes:
    """The axes of a robot."""
    model = r.model
    found = [
        Axis(i, k, model.bodies[i].multiplier * S)
        for i, _ in model.base_to_tip()
        for k, S in zip(model.dofs(i), r.S[i].columns, strict=True)
    ]
    found.sort(key=lambda axis: axis.nu)
    of: PerBody[list[int]] = {i: [] for i in r.S}
    for number, axis in enumerate(found):
        of[axis.body].append(number)
    return Axes(found, of, {i: sorted(a for j in model.path(i) for a in of[j]) for i in r.S})
